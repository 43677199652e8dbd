//! Sessions when a region lags, and when a forced failover has lost what a session had seen.

use std::time::Duration;

use cosmonaut_driver::{Error, ErrorKind, NextStep};
use cosmonaut_emulator::Failover;
use cosmonaut_options::{CosmosClientOptions, SessionRetryOptions};
use cosmonaut_wire::{CosmosStatus, ResourcePath};

use super::account::{Account, nearest, put, token, trail};
use super::{EAST, NORTH, WEST};
use crate::harness::{json_of, read};

/// Without a long wait for a region to catch up, as here it does not.
fn impatient(region: &str) -> CosmosClientOptions {
    let mut options = nearest(region);
    let min_in_region_retry_time = Some(Duration::from_millis(1));
    let session_retry = SessionRetryOptions { min_in_region_retry_time, ..Default::default() };
    options.retry.session_retry = Some(session_retry);
    options
}

fn assert_is_lost(error: &Error) {
    assert_eq!(error.kind(), ErrorKind::SessionNotAvailable, "{error:?}");
    assert_eq!(error.status(), Some(CosmosStatus::READ_SESSION_NOT_AVAILABLE));
    let last = error.diagnostics().unwrap().attempts().last().unwrap();
    assert_eq!(last.next, NextStep::Done);
}

#[tokio::test]
async fn a_region_that_has_not_caught_up_is_passed_over_by_those_who_have_seen_more() {
    let account = Account::single_write().await;
    let client = account.client(impatient(WEST));
    client.run(put("1", "a", 1)).await.unwrap();
    account.control().pause(None, Some(WEST)).unwrap();
    client.run(put("1", "a", 2)).await.unwrap();
    let answer = client.read("1", "a").await.unwrap();
    let found = trail(answer.diagnostics());
    assert_eq!(found, ["West US 404/1002", "West US 404/1002", "East US 200"], "once more, then the writer");
    assert!(matches!(answer.diagnostics().attempts()[0].next, NextStep::RetryForSession(_)));
    assert_eq!(json_of(&answer)["value"], 2);
    let stranger = account.client(impatient(WEST)).read("1", "a").await.unwrap();
    assert_eq!(trail(stranger.diagnostics()), ["West US 200"], "who has seen nothing may read the past");
    assert_eq!(json_of(&stranger)["value"], 1);
    account.control().resume(None, Some(WEST)).unwrap();
    let answer = client.read("1", "a").await.unwrap();
    assert_eq!(trail(answer.diagnostics()), ["West US 200"]);
    assert_eq!(json_of(&answer)["value"], 2);
}

#[tokio::test]
async fn what_a_forced_failover_has_lost_is_an_error_of_its_own_and_never_the_past() {
    let account = Account::single_write().await;
    let client = account.client(impatient(EAST));
    let survived = token(&client.run(put("1", "a", 1)).await.unwrap());
    account.control().pause(Some(EAST), None).unwrap();
    client.run(put("1", "a", 2)).await.unwrap();
    let lost = token(&client.run(put("2", "a", 1)).await.unwrap());
    assert!(account.control().move_writes(WEST, Failover::Graceful).is_err(), "the west cannot catch up");
    assert_eq!(account.control().move_writes(WEST, Failover::Forced).unwrap().lost, 2);
    account.control().resume(None, None).unwrap();

    for value in [1, 3] {
        for region in [EAST, WEST, NORTH] {
            let client = account.client(impatient(region));
            // "2" is not there any more, but that is not what somebody who has seen it is told.
            for id in ["1", "2"] {
                assert_is_lost(&client.run_in(&lost, read(id, "a")).await.unwrap_err());
            }
            assert_eq!(json_of(&client.run_in(&survived, read("1", "a")).await.unwrap())["value"], value);
            let gone = client.run_in(&survived, read("2", "a")).await.unwrap_err();
            assert_eq!(gone.kind(), ErrorKind::NotFound, "who has not seen it may know that it is gone");
        }
        // It stays lost when the log has grown past where it was.
        let writer = account.client(impatient(WEST));
        for _ in 0..5 {
            writer.run(put("1", "a", 3)).await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_driver_that_has_seen_what_was_lost_says_so_until_it_writes_again() {
    let account = Account::single_write().await;
    let client = account.client(impatient(EAST));
    client.run(put("1", "a", 1)).await.unwrap();
    account.control().pause(Some(EAST), None).unwrap();
    client.run(put("1", "a", 2)).await.unwrap();
    client.clock.skip(Duration::from_secs(5));
    assert_eq!(account.control().move_writes(WEST, Failover::Forced).unwrap().lost, 1);
    account.control().resume(None, None).unwrap();
    let error = client.read("1", "a").await.unwrap_err();
    assert_is_lost(&error);
    assert!(error.to_string().contains("forced failover"), "{error}");
    client.run(put("1", "a", 3)).await.unwrap();
    assert_eq!(json_of(&client.read("1", "a").await.unwrap())["value"], 3);
}

#[tokio::test]
async fn a_driver_that_forgets_its_session_reads_what_is_left() {
    let account = Account::single_write().await;
    let client = account.client(impatient(EAST));
    client.run(put("1", "a", 1)).await.unwrap();
    account.control().pause(Some(EAST), None).unwrap();
    client.run(put("1", "a", 2)).await.unwrap();
    assert_eq!(account.control().move_writes(WEST, Failover::Forced).unwrap().lost, 1);
    account.control().resume(None, None).unwrap();
    assert_is_lost(&client.read("1", "a").await.unwrap_err());
    let path = ResourcePath::parse("/dbs/d/colls/c").unwrap();
    client.driver.forget_session(client.driver.container(&path).await.unwrap().rid);
    assert_eq!(json_of(&client.read("1", "a").await.unwrap())["value"], 1);
}
