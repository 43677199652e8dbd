//! What would tie hubs of a container together: leases of one for another, and searches that find documents of others.

use serde_json::json;

use crate::harness::{Account, Home, Server};
use crate::steps::*;

fn home(hub: Option<&'static str>) -> Home {
    Server::shared(Account::OneRegion).home().of_hub(hub)
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
