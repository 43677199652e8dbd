//! What would tie hubs of a container together: leases of one for another, and searches that find documents of others.

use std::sync::Arc;
use std::time::Duration;

use cosmonaut::Patch;
use duroxide::providers::{Provider, ProviderAdmin, ProviderError};
use duroxide_cosmonaut::{
    CosmosLeaseProvider, CosmosProvider, CosmosProviderConfig, InMemoryLeaseProvider, LeaseProvider, Leases,
};
use serde_json::json;

use crate::harness::{Account, Home, Server};
use crate::said::Said;
use crate::steps::*;
use crate::world::until;

fn home(hub: Option<&'static str>) -> Home {
    Server::shared(Account::OneRegion).home().of_hub(hub)
}

#[tokio::test]
async fn leases_of_another_hub_are_refused() {
    const LEASE: Duration = Duration::from_secs(10);
    for (own, leased, is_refused) in [
        (None, None, false),
        (Some("orders"), Some("orders"), false),
        (Some("orders"), None, true),
        (Some("orders"), Some("order"), true),
        (None, Some("orders"), true),
    ] {
        let home = home(own);
        let leases = CosmosLeaseProvider::new(home.documents(), "process", LEASE);
        let leases = match leased {
            Some(hub) => leases.in_hub(hub).unwrap(),
            None => leases,
        };
        let connected = connect(&home, leases).await;
        assert_eq!(connected.is_err(), is_refused, "{own:?} {leased:?}");
        if let Err(error) = connected {
            let error = error.to_string();
            let called =
                |hub: Option<&str>| hub.map_or("the hub without a name".into(), |hub| format!("{hub:?}"));
            for part in [&*called(own), &*called(leased), "CosmosLeaseProvider::in_hub"] {
                assert!(error.contains(part), "{part} in {error}");
            }
        }
    }
    // A process that has the container for itself shares nothing.
    assert!(connect(&home(Some("orders")), InMemoryLeaseProvider).await.is_ok());
}

async fn connect(
    home: &Home,
    leases: impl LeaseProvider,
) -> Result<CosmosProvider, duroxide_cosmonaut::ConnectError> {
    let leases = Leases::Custom(Arc::new(leases));
    CosmosProvider::connect(CosmosProviderConfig { leases, ..home.config() }).await
}

#[tokio::test]
async fn what_was_delivered_in_a_hub_is_not_looked_for_in_others() {
    const OTHERS: usize = 200;
    let home = home(Some("orders"));
    let provider = home.provider().await;
    send(&provider, start("parent")).await;
    let (_, token) = fetch(&provider).await;
    let turn = Turn { work: vec![activity("other", 7, "x")], ..Turn::first("parent") };
    turn.ack(&provider, &token).await.unwrap();
    drop(provider);
    // Activities of another hub have the same ids.
    for n in 0..OTHERS {
        let key = format!("$stock/i{n}");
        let work = json!({"id": "w:1:7", "instanceId": key, "type": "work@stock", "v": 1, "slot": 0,
            "visibleAt": u64::MAX >> 12, "attempts": 0, "lock": null, "body": "{}"});
        home.documents().create_item(&*key, &work).await.unwrap();
    }
    let later = home.provider().await;
    assert!(fetch_now(&later).await.is_none());
    later.checked_deliveries().await;
    let asked = later.background_usage().requests;
    assert!(asked < OTHERS as u64 / 2, "{asked} requests beside {OTHERS} activities of another hub");
}

#[tokio::test]
async fn errors_and_logs_show_names_as_users_know_them_and_the_hub_apart() {
    let said = Said::listen();
    let home = home(Some("orders"));
    let provider = home.provider().await;
    for (instance, status) in [("parent", None), ("newer", None), ("owing", Some("Completed"))] {
        make(&provider, instance, status).await;
    }
    send(&provider, child("leaf", "parent")).await;
    let (_, token) = fetch(&provider).await;
    Turn { parent: Some("parent".into()), ..Turn::first("leaf") }.ack(&provider, &token).await.unwrap();
    for document in home.all(&*home.key("newer")).await {
        let newer = Patch::new().set("/v", 99);
        home.documents()
            .patch_item(home.key("newer"), document["id"].as_str().unwrap(), newer)
            .await
            .unwrap();
    }
    let shown = |error: ProviderError, name: &str| {
        let error = error.to_string();
        assert!(error.contains(name) && error.contains("orders") && !error.contains("$orders"), "{error}");
    };
    let delete = async |names: &[&str], force| {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        provider.delete_instances_atomic(&names, force).await.unwrap_err()
    };
    shown(provider.get_instance_info("nobody").await.unwrap_err(), "nobody (hub orders)");
    shown(provider.get_execution_info("nobody", 1).await.unwrap_err(), "nobody (hub orders)");
    shown(provider.get_instance_info("newer").await.unwrap_err(), "\"newer\" (hub \"orders\")");
    shown(delete(&["parent"], false).await, "parent (hub orders)");
    shown(delete(&["parent"], true).await, "leaf (hub orders)");
    shown(
        provider.append_with_execution("parent", 5, vec![started("parent", 5)]).await.unwrap_err(),
        "parent",
    );
    send(&provider, signal("newer", 1)).await;
    shown(provider.fetch_orchestration_item(LOCK, Duration::ZERO, None).await.unwrap_err(), "newer");
    let strange = json!({
        "id": "o:1.0", "instanceId": home.key("owing"), "type": "intent@orders", "v": 99, "slot": 0, "visibleAt": 0,
    });
    home.documents().create_item(home.key("owing"), &strange).await.unwrap();
    shown(delete(&["owing"], false).await, "owing");
    until("it is said that what is owed cannot be delivered", async || {
        drop(provider.fetch_orchestration_item(LOCK, Duration::ZERO, None).await);
        said.has(&["instance=\"owing\"", "hub=\"orders\"", "half done"])
    })
    .await;
    assert!(said.has(&["instance=\"newer\"", "hub=\"orders\"", "cannot be fetched"]));
    assert!(!said.has(&["$orders/"]), "{:?}", said.lines());
}
