//! The container whose changes are processed, or that of the leases, is deleted and made anew under its name.

use cosmonaut::ChangeFeedStart;

use super::harness::{Events, Ledger, Shop, another_client, patiently, pause};
use crate::harness::Bench;
use crate::partitioned::{FIVE, ONE, inside};

/// Deletes the container `c` and makes it anew, as somebody else would who has a client of their own.
async fn make_anew(bench: &Bench, throughput: u32) {
    use cosmonaut::options::CreateContainerOptions;
    use cosmonaut::{ContainerProperties, ThroughputProperties};
    let database = another_client(bench).database("d");
    database.container("c").delete().await.unwrap();
    let throughput = Some(ThroughputProperties::manual(throughput));
    let options = CreateContainerOptions { throughput, ..Default::default() };
    database.create_container(ContainerProperties::new("c", "/pk")).options(options).await.unwrap();
}

/// A shop as it is seen by somebody who knows nothing of it yet.
fn seen_by_another(shop: Shop) -> Shop {
    let database = another_client(&shop.bench).database("d");
    let (notes, leases) = (database.container("c"), database.container("leases"));
    Shop { bench: shop.bench, notes, leases }
}

/// The ids of the leases that there are for the container as it is now.
async fn leases_of_now(shop: &Shop) -> Vec<String> {
    let rid = inside(&shop.bench, "c").rid().to_string();
    let query =
        cosmonaut::Query::new("SELECT VALUE c.id FROM c WHERE CONTAINS(c.id, @rid) AND IS_DEFINED(c.Owner)");
    let query = query.with("@rid", format!("_{rid}.."));
    let scope = cosmonaut::FeedScope::Container;
    shop.leases.query_items::<String>(query, scope).collect().await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_container_that_is_made_anew_is_read_from_the_start_by_whoever_runs() {
    // The new container has as many partitions, fewer or more, and fewer changes than were read of the old one.
    for (before, after) in [(ONE, ONE), (FIVE, ONE), (ONE, FIVE)] {
        for start in [ChangeFeedStart::Beginning, ChangeFeedStart::Now] {
            let shop = Shop::with(before, "/id").await;
            let (ledger, events) = (Ledger::default(), Events::default());
            let builder = || shop.processor().start_from(start).on_event(events.listener());
            let one = ledger.start("one", builder()).await;
            let two = ledger.start("two", builder()).await;
            shop.write(1).await;
            shop.write(2).await;
            ledger.until(60).await;
            make_anew(&shop.bench, after).await;
            let shop = seen_by_another(shop);
            shop.write(3).await;
            ledger.until(90).await;
            shop.write(4).await;
            ledger.until(120).await;
            events.until("ContainerReplaced {").await;
            assert!(!leases_of_now(&shop).await.is_empty());
            let lag = one.estimator().lag().await.unwrap();
            assert_eq!(lag.leases.len(), leases_of_now(&shop).await.len(), "{lag:?}");
            one.stop().await;
            two.stop().await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_processor_starts_anew_though_its_client_knows_the_old_container() {
    let shop = Shop::with(ONE, "/id").await;
    let ledger = Ledger::default();
    let one = ledger.start("one", shop.processor()).await;
    shop.write(1).await;
    shop.write(2).await;
    ledger.until(60).await;
    one.stop().await;
    make_anew(&shop.bench, ONE).await;
    let (stale, fresh) = (shop.processor(), another_client(&shop.bench).database("d").container("c"));
    let estimator = stale.estimator();
    assert_eq!(estimator.lag().await.unwrap().leases, [], "the leases of the old container say nothing");
    let note = super::harness::Note { id: "3".into(), pk: "key".into(), n: 1 };
    fresh.create_item("key", &note).await.unwrap();
    let events = Events::default();
    let two = ledger.start("two", stale.on_event(events.listener())).await;
    ledger.until(61).await;
    patiently(async {
        while estimator.lag().await.unwrap().total() > 0 {
            pause().await;
        }
    })
    .await;
    assert_eq!(leases_of_now(&shop).await.len(), 1);
    two.stop().await;
    assert_eq!(events.all(), ["acquired 0", "released 0 Shutdown"], "nothing of the old container was met");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_container_that_is_away_for_a_while_is_read_from_the_start_when_it_is_there_again() {
    let shop = Shop::with(ONE, "/id").await;
    let (ledger, events) = (Ledger::default(), Events::default());
    let one = ledger.start("one", shop.processor().on_event(events.listener())).await;
    shop.write(1).await;
    shop.write(2).await;
    ledger.until(60).await;
    let database = another_client(&shop.bench).database("d");
    database.container("c").delete().await.unwrap();
    events.until("released 0 RequestFailed").await;
    let properties = cosmonaut::ContainerProperties::new("c", "/pk");
    database.create_container(properties).await.unwrap();
    let shop = seen_by_another(shop);
    shop.write(3).await;
    ledger.until(90).await;
    one.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_container_that_is_made_anew_and_refuses_where_the_old_one_was_is_read_from_the_start() {
    let shop = Shop::with(ONE, "/id").await;
    let ledger = Ledger::default();
    let one = ledger.start("one", shop.processor()).await;
    shop.write(1).await;
    ledger.until(30).await;
    one.stop().await;
    let id = shop.lease_documents().await["0"]["id"].as_str().unwrap().to_owned();
    let patch = cosmonaut::Patch::new().set("/ContinuationToken", "nowhere");
    shop.leases.patch_item(&*id, &id, patch).await.unwrap();
    let events = Events::default();
    let two = ledger.start("two", shop.processor().on_event(events.listener())).await;
    events.until("released 0 RequestFailed").await;
    make_anew(&shop.bench, ONE).await;
    events.until("ContainerReplaced {").await;
    let shop = seen_by_another(shop);
    shop.write(2).await;
    ledger.until(60).await;
    two.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn leases_are_made_anew_when_their_container_was() {
    let shop = Shop::with(ONE, "/id").await;
    let (ledger, events) = (Ledger::default(), Events::default());
    let one = ledger.start("one", shop.processor().on_event(events.listener())).await;
    shop.write(1).await;
    ledger.until(30).await;
    let database = another_client(&shop.bench).database("d");
    database.container("leases").delete().await.unwrap();
    events.until("released 0 LeaseGone").await;
    let properties = cosmonaut::ContainerProperties::new("leases", "/id");
    database.create_container(properties).await.unwrap();
    shop.write(2).await;
    ledger.until(60).await;
    one.stop().await;
    ledger.check_order();
    assert!(shop.lease_documents().await["0"]["ContinuationToken"].is_string());
}
