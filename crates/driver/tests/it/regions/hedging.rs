//! A region that is slow: another is asked as well, and the one that loses is let go.

use std::time::Duration;

use cosmonaut_driver::{ErrorKind, NextStep};
use cosmonaut_emulator::Delay;
use cosmonaut_policy::{CosmosEndpoint, ExecutionContext};

use super::account::{Account, Client, hedging_from, nearest, put, regions, trail};
use super::clock::{eventually, within_patience};
use super::{EAST, LINK, WEST};

const PATIENT: Duration = Duration::from_millis(300);
/// As good as never.
const AGES: Delay = Delay::Fixed(Duration::from_secs(600));

/// Requests that the driver has under way in a region.
fn under_way(account: &Account, client: &Client, region: &str) -> u32 {
    let endpoint = CosmosEndpoint::global(&account.emulator.region_url(region).unwrap()).unwrap();
    client.driver.shards(&endpoint).iter().map(|shard| shard.inflight).sum()
}

#[tokio::test]
async fn a_slow_region_is_answered_for_and_let_go() {
    let account = Account::single_write().await;
    let client = account.client(hedging_from(WEST, PATIENT));
    client.create("1", "a").await.unwrap();
    client.read("1", "a").await.unwrap();
    account.control().slow_down(WEST, AGES).await.unwrap();
    let (answer, asked) = account.requests_of(client.read("1", "a")).await;
    let answer = answer.unwrap();
    assert_eq!(trail(answer.diagnostics()), ["West US cancelled", "East US 200"]);
    assert_eq!(asked, [1, 1, 0]);
    let [lost, won] = answer.diagnostics().attempts() else { panic!("{}", answer.diagnostics()) };
    assert_eq!((lost.context, lost.next), (ExecutionContext::Initial, NextStep::HedgeTaken));
    assert_eq!((won.context, won.next), (ExecutionContext::Hedging, NextStep::Done));
    assert!(won.request_charge.unwrap() > 0.0);
    assert_eq!(Some(answer.request_charge()), won.request_charge);
    assert!(answer.diagnostics().has_unknown_charge(), "what the other would have cost nobody knows");
    assert_eq!(under_way(&account, &client, WEST), 0, "nothing waits for the west any more");
}

#[tokio::test]
async fn the_charge_of_both_is_reported_where_both_answer() {
    let account = Account::single_write().await;
    let client = account.client(hedging_from(WEST, PATIENT));
    client.create("1", "a").await.unwrap();
    let alone = client.read("missing", "a").await.unwrap_err();
    let alone = alone.diagnostics().unwrap().request_charge();
    account.control().slow_down(WEST, Delay::Fixed(PATIENT * 2)).await.unwrap();
    // An item that is not in one region may be in the other, so both are waited for.
    let error = client.read("missing", "a").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    let diagnostics = error.diagnostics().unwrap();
    assert_eq!(trail(diagnostics), ["East US 404", "North Europe 404", "West US 404"]);
    assert!(alone > 0.0);
    assert_eq!(diagnostics.request_charge(), 3.0 * alone);
    assert!(!diagnostics.has_unknown_charge());
}

#[tokio::test]
async fn a_write_is_hedged_where_every_region_takes_writes_and_the_next_one_comes_after_the_loser() {
    let account = Account::multi_write().await;
    let client = account.client(hedging_from(WEST, PATIENT));
    client.run(put("1", "a", 1)).await.unwrap();
    account.control().slow_down(WEST, Delay::Fixed(PATIENT * 3)).await.unwrap();
    let (answer, asked) = account.requests_of(client.run(put("1", "a", 2))).await;
    assert_eq!(trail(answer.unwrap().diagnostics()), ["West US left running", "East US 200"]);
    assert_eq!(asked, [1, 1, 0]);
    account.control().slow_down(WEST, Delay::Fixed(Duration::ZERO)).await.unwrap();
    let answer = client.run(put("1", "a", 3)).await.unwrap();
    assert_eq!(trail(answer.diagnostics()), ["West US 200"]);
    let commits = || account.control().partitions(LINK).unwrap()[0].lsns.clone();
    eventually("every region has every write", async || commits().iter().all(|(_, lsn)| *lsn >= 4)).await;
    for region in [EAST, WEST] {
        let answer = account.client(nearest(region)).read("1", "a").await.unwrap();
        assert_eq!(crate::harness::json_of(&answer)["value"], 3, "{region}: the last write stands");
    }
}

#[tokio::test]
async fn a_write_is_not_hedged_where_one_region_takes_them() {
    let account = Account::single_write().await;
    let client = account.client(hedging_from(EAST, PATIENT));
    client.create("1", "a").await.unwrap();
    account.control().slow_down(EAST, Delay::Fixed(PATIENT * 2)).await.unwrap();
    let (answer, asked) = account.requests_of(client.create("2", "a")).await;
    assert_eq!(trail(answer.unwrap().diagnostics()), ["East US 201"]);
    assert_eq!(asked, [1, 0, 0]);
}

#[tokio::test]
async fn a_partition_that_is_always_slow_is_served_from_elsewhere() {
    let account = Account::single_write().await;
    account.split_into(2).await;
    let client = account.client(hedging_from(WEST, PATIENT));
    let partitions = client.partitions().await;
    for (_, key) in &partitions {
        client.create("1", key).await.unwrap();
    }
    let (slow, key) = &partitions[0];
    account.control().slow_partition(LINK, slow.id.range().as_str(), WEST, AGES).await.unwrap();
    within_patience("the partition moves", async {
        loop {
            let answer = client.read("1", key).await.unwrap();
            match regions(answer.diagnostics())[..] {
                [WEST, EAST] => continue,
                [EAST] => break,
                ref other => panic!("{other:?}"),
            }
        }
    })
    .await;
    let answer = client.read("1", &partitions[1].1).await.unwrap();
    assert_eq!(trail(answer.diagnostics()), ["West US 200"], "the other stays");
}
