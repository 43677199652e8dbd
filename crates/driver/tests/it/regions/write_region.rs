//! Writes that move to another region while callers write.

use std::time::Duration;

use cosmonaut_driver::{AttemptOutcome, CosmosResponse, NextStep};
use cosmonaut_emulator::Failover;

use super::account::{Account, Client, create, nearest, put, trail};
use super::load::{CALLERS, Load, at_once};
use super::{EAST, WEST};
use crate::harness::read;

/// The account is not read anew twice within this time.
const LEAST_REFRESH_INTERVAL: Duration = Duration::from_secs(5);

async fn write_at_once(client: &Client, id: &str) -> Vec<CosmosResponse> {
    let written = at_once(client, |caller| create(id, &format!("key {caller}"))).await;
    written.into_iter().map(Result::unwrap).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_writes_follow_after_one_refusal_each_and_one_look_at_the_account() {
    let account = Account::single_write().await;
    account.split_into(3).await;
    let client = account.client(nearest(EAST));
    write_at_once(&client, "before").await;
    client.clock.skip(LEAST_REFRESH_INTERVAL);
    account.control().move_writes(WEST, Failover::Graceful).unwrap();

    let (written, asked) = account.requests_of(write_at_once(&client, "moved")).await;
    let mut refusals = 0;
    for answer in &written {
        let attempts = answer.diagnostics().attempts();
        match trail(answer.diagnostics()).as_slice() {
            [only] => assert_eq!(only, "West US 201", "somebody was faster"),
            [first, second] => {
                assert_eq!([first.as_str(), second], ["East US 403/3", "West US 201"]);
                assert!(matches!(attempts[0].next, NextStep::Failover(_)), "{}", answer.diagnostics());
                refusals += 1;
            }
            more => panic!("{more:?}"),
        }
    }
    assert!(refusals >= 1);
    let [east, west, north] = asked;
    assert_eq!(east - refusals, 1, "the account was read once, however many were refused: {refusals}");
    assert_eq!((west, north), (CALLERS as u64, 0));

    let (written, asked) = account.requests_of(write_at_once(&client, "after")).await;
    assert!(written.iter().all(|answer| trail(answer.diagnostics()) == ["West US 201"]));
    assert_eq!(asked, [0, CALLERS as u64, 0], "the east is not asked about writes any more");
    let answer = client.read("after", "key 0").await.unwrap();
    assert_eq!(trail(answer.diagnostics()), ["East US 200"], "but it still answers reads");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_or_written_twice_while_writes_move_to_and_fro() {
    let account = Account::single_write().await;
    let client = account.client(nearest(EAST));
    let load = Load::start(&client, |caller, nth| create(&nth.to_string(), &format!("key {caller}")));
    for region in [WEST, EAST, super::NORTH] {
        load.succeeds(2).await;
        client.clock.skip(LEAST_REFRESH_INTERVAL);
        let moved = account.control().move_writes(region, Failover::Graceful).unwrap();
        assert_eq!(moved.lost, 0);
    }
    load.succeeds(2).await;
    let results = load.stop().await;
    // A 409 would be a write that was repeated after it had been carried out.
    let written: Vec<_> = results.into_iter().map(Result::unwrap).collect();
    let last = written.last().unwrap();
    assert_eq!(trail(last.diagnostics()).last().unwrap(), "North Europe 201");
    let counts = account.control().partitions(super::LINK).unwrap();
    let lsns: Vec<i64> = counts[0].lsns.iter().map(|(_, lsn)| *lsn).collect();
    assert_eq!(lsns, [lsns[0]; 3], "every region has them all");
    assert!(lsns[0] >= written.len() as i64);
}

#[tokio::test]
async fn a_region_that_refuses_writes_keeps_its_reads() {
    let account = Account::multi_write().await;
    let client = account.client(nearest(WEST));
    client.run(put("1", "a", 0)).await.unwrap();
    account.control().forbid_writes(WEST).await.unwrap();
    let answer = client.run(put("1", "a", 1)).await.unwrap();
    assert_eq!(trail(answer.diagnostics()), ["West US 403/3", "East US 200"]);
    let answer = client.run(put("1", "a", 2)).await.unwrap();
    assert_eq!(trail(answer.diagnostics()), ["East US 200"], "the west is passed over");
    let answer = client.run(read("1", "a")).await.unwrap();
    assert_eq!(trail(answer.diagnostics()), ["West US 200"], "for writes only");
    assert!(matches!(answer.diagnostics().attempts()[0].outcome, AttemptOutcome::Answered(_)));
    account.control().allow_writes(WEST).await.unwrap();
    client.end_terms();
    let answer = client.run(put("1", "a", 3)).await.unwrap();
    assert_eq!(trail(answer.diagnostics()), ["West US 200"]);
}
