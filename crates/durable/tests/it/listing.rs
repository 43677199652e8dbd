//! What lists cost.

use serde_json::Value;

use crate::harness::{Account, Home, Server};
use crate::steps::*;

/// What a page of ten instances costs, in request units.
async fn page(home: &Home) -> f64 {
    let provider = home.provider().await;
    let found = provider.list_summaries_page(None, 10, None).await.unwrap();
    assert_eq!(found.summaries.len(), 10);
    let names = provider.list_instances_page(None, 10, None).await.unwrap();
    let listed: Vec<_> = found.summaries.into_iter().map(|summary| summary.instance).collect();
    assert_eq!(names.instances, listed);
    provider.usage().charge
}

#[tokio::test]
async fn a_page_of_a_list_costs_the_same_however_many_instances_there_are() {
    let home = Server::shared(Account::OneRegion).home();
    make(&home.provider().await, "a", Some("Completed")).await;
    let mut head: Value = home.documents().read_item("a", "instance").await.unwrap().into_value();
    let created = head["state"]["createdAt"].as_u64().unwrap();
    let mut charges = Vec::new();
    for count in [20, 400] {
        for n in 0..count {
            let name = format!("copy-{n}");
            head["instanceId"] = (&*name).into();
            head["state"]["createdAt"] = (created + n).into();
            home.documents().upsert_item(&*name, &head).await.unwrap();
        }
        charges.push(page(&home).await);
    }
    assert!(charges[1] < 1.5 * charges[0], "{charges:?}");
}
