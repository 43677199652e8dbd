//! Leases that .NET has written are taken over, and what is written back is what .NET reads.

use cosmonaut::{Changes, FeedScope};
use serde_json::{Value, json};

use super::harness::{Events, Ledger, Note, Shop};
use crate::partitioned::{FIVE, inside};

/// The documents of .NET's processor `p` on the container `c`: leases as old and new versions write them, and the
/// marker. The first partition was read until now, the others not at all.
async fn write_by_hand(shop: &Shop, continuation: &str) -> String {
    let container = inside(&shop.bench, "c");
    let rid = container.rid();
    let url = shop.bench.emulator.url().to_owned();
    let host = url.split("://").nth(1).unwrap().split([':', '/']).next().unwrap();
    let prefix = format!("p{host}_{}_{rid}", rid.parent().unwrap());
    let ranges = container.partition_key_ranges();
    for (at, range) in ranges.iter().enumerate() {
        let token = range.id.as_str();
        let mut lease = json!({
            "id": format!("{prefix}..{token}"), "partitionKey": format!("guid {at}"), "LeaseToken": token,
            "Owner": null, "ContinuationToken": null, "properties": {}, "version": 0,
            "timestamp": "2024-05-01T12:34:56.1234567Z", "Mode": "Incremental Feed",
            "FeedRange": {"Range": {"min": range.range().min.to_string(), "max": range.range().max.to_string()}},
        });
        if at == 0 {
            lease["ContinuationToken"] = continuation.into();
            lease["properties"] = json!({"host": "a-host"});
        }
        if at == 1 {
            // As the first versions of .NET wrote it.
            let members = lease.as_object_mut().unwrap();
            members.remove("FeedRange");
            members.remove("Mode");
            members.remove("version");
            members.insert("PartitionId".into(), token.into());
        }
        let key = format!("guid {at}");
        shop.leases.create_item(&*key, &lease).await.unwrap();
    }
    let marker = format!("{prefix}.info");
    shop.leases.create_item(&*marker, json!({"id": marker, "partitionKey": marker})).await.unwrap();
    prefix
}

#[tokio::test(flavor = "multi_thread")]
async fn leases_that_net_has_written_are_taken_over() {
    let shop = Shop::with(FIVE, "/partitionKey").await;
    // Where .NET would have come to: the etag behind what the first partition has.
    shop.write(1).await;
    let first = shop.notes.feed_ranges().await.unwrap().remove(0);
    let (ledger, etag) = (Ledger::default(), super::harness::shared(String::new()));
    let before = {
        let (ledger, etag) = (ledger.clone(), etag.clone());
        let handler = move |changes: Changes<Note>| {
            if changes.context.feed_range() == first {
                *etag.lock().unwrap() = changes.context.continuation().to_owned();
            }
            ledger.add("before", changes);
            async { Ok(()) }
        };
        let builder = super::harness::quick(shop.notes.change_feed_processor("q", &shop.leases));
        builder.start(handler).await.unwrap()
    };
    ledger.until(30).await;
    before.stop().await;
    let of_first: Vec<Note> =
        ledger.entries().into_iter().filter(|entry| entry.lease == "0").map(|entry| entry.note).collect();
    let etag = etag.lock().unwrap().clone();

    let prefix = write_by_hand(&shop, &etag).await;
    let (ledger, events) = (Ledger::default(), Events::default());
    let one = ledger.start("one", shop.processor().on_event(events.listener())).await;
    ledger.until(30 - of_first.len()).await;
    shop.write(2).await;
    ledger.until(60 - of_first.len()).await;
    one.stop().await;
    ledger.check_once();
    assert!(!ledger.entries().iter().any(|entry| of_first.contains(&entry.note)), "it was read by .NET");

    let query = cosmonaut::Query::new("SELECT * FROM c WHERE STARTSWITH(c.id, @prefix) ORDER BY c.id")
        .with("@prefix", format!("{prefix}.."));
    let leases = shop.leases.query_items::<Value>(query, FeedScope::Container).collect().await.unwrap();
    assert_eq!(leases.len(), 5, "no lease was made beside those that there were");
    for (at, lease) in leases.iter().enumerate() {
        assert_eq!(lease["partitionKey"], format!("guid {at}"));
        assert_eq!(lease["id"], format!("{prefix}..{at}"));
        let continuation = lease["ContinuationToken"].as_str().unwrap();
        assert!(
            continuation.starts_with('"') && continuation.ends_with('"'),
            "quotes included: {continuation}"
        );
        assert!(lease["Owner"].is_null() && lease["FeedRange"]["Range"]["max"].is_string(), "{lease}");
        let time = lease["timestamp"].as_str().unwrap();
        assert!(time.len() == 28 && time.ends_with('Z') && time.starts_with("20"), "{time}");
    }
    assert_eq!(leases[0]["properties"], json!({"host": "a-host"}));
    assert_eq!(leases[1]["PartitionId"], "1");
    assert!(leases[0].get("PartitionId").is_none());
}

/// Gives a lease to an owner who has renewed it at a time.
async fn give(shop: &Shop, prefix: &str, at: usize, owner: &str, time: &str) {
    let (key, id) = (format!("guid {at}"), format!("{prefix}..{at}"));
    let patch = cosmonaut::Patch::new().set("/Owner", owner).set("/timestamp", time);
    shop.leases.patch_item(&*key, &id, patch).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_of_a_dead_owner_whose_clock_ran_ahead_is_taken_and_has_the_time_of_its_new_owner() {
    let shop = Shop::with(FIVE, "/partitionKey").await;
    let prefix = write_by_hand(&shop, "\"0\"").await;
    shop.write(1).await;
    for at in 0..5 {
        give(&shop, &prefix, at, "dead", "2999-01-01T00:00:00.0000000Z").await;
    }
    let ledger = Ledger::default();
    let one = ledger.start("one", shop.processor().lease_expiry(std::time::Duration::from_secs(2))).await;
    shop.owners_when(|counts| counts.get("one") == Some(&5)).await;
    ledger.until(30).await;
    one.stop().await;
    for lease in shop.lease_documents().await.values() {
        assert!(lease["timestamp"].as_str().unwrap() < "2999", ".NET goes by the time: {lease}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_of_a_live_owner_is_left_alone_and_one_of_a_dead_owner_is_taken() {
    let shop = Shop::with(FIVE, "/partitionKey").await;
    let prefix = write_by_hand(&shop, "\"0\"").await;
    shop.write(1).await;
    // .NET instances have two leases each; one of them has not been heard of for years.
    let ahead = "2999-01-01T00:00:00.0000000Z";
    let behind = "2024-01-01T00:00:00.0000000Z";
    for (at, owner, time) in
        [(0, "alive", ahead), (1, "alive", ahead), (2, "dead", behind), (3, "dead", behind)]
    {
        give(&shop, &prefix, at, owner, time).await;
    }
    let ledger = Ledger::default();
    let one = ledger.start("one", shop.processor()).await;
    let counts = shop.owners_when(|counts| counts.get("one") == Some(&3)).await;
    assert_eq!(counts.get("alive"), Some(&2));
    let leases = shop.lease_documents().await;
    assert_eq!((&leases["0"]["Owner"], &leases["1"]["Owner"]), (&json!("alive"), &json!("alive")));
    one.stop().await;
    assert!(ledger.entries().iter().all(|entry| !["0", "1"].contains(&&*entry.lease)));
}
