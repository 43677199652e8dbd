//! What would tie hubs of a container together: leases of one for another, and searches that find documents of others.

use std::sync::Arc;
use std::time::Duration;

use duroxide_cosmonaut::{
    CosmosLeaseProvider, CosmosProvider, CosmosProviderConfig, InMemoryLeaseProvider, LeaseProvider, Leases,
};
use serde_json::json;

use crate::harness::{Account, Home, Server};
use crate::steps::*;

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
