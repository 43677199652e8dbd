//! A region that is down: writes recover, with one write region once its writes have moved, and with several at
//! once.

use std::time::Duration;

use cosmonaut_driver::{Error, ErrorKind};
use cosmonaut_emulator::{Failover, Outage};

use super::account::{Account, create, hedging_from, nearest, put, trail};
use super::load::Load;
use super::{EAST, WEST};

const OUTAGES: [Outage; 3] = [Outage::Refuse, Outage::Hang, Outage::Unavailable];

/// What a caller may be told of a write that met an outage: that it was not carried out, or that nobody knows.
fn is_honest(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::OutcomeUnknown | ErrorKind::Unavailable | ErrorKind::Transport(_))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writes_recover_once_they_have_moved_and_all_are_there_but_those_that_were_lost() {
    for outage in OUTAGES {
        let account = Account::single_write().await;
        let mut options = nearest(EAST);
        // Short enough for a region that hangs to be given up soon.
        options.connection.request_timeout = Some(Duration::from_secs(1));
        let client = account.client(options);
        let load = Load::start(&client, |caller, nth| create(&nth.to_string(), &format!("key {caller}")));
        load.succeeds(2).await;
        // The account was read just now; it is not read again at once.
        client.clock.skip(Duration::from_secs(5));
        account.control().take_down(EAST, outage).await.unwrap();
        // What was written while it went down may not have got out any more.
        let lost = account.control().move_writes(WEST, Failover::Forced).unwrap().lost;
        load.succeeds(2).await;
        let mut acknowledged = Vec::new();
        for result in load.stop().await {
            match result {
                Ok(answer) => acknowledged.push(crate::harness::json_of(&answer)),
                Err(error) => assert!(is_honest(&error), "{outage:?}: {error:?}"),
            }
        }
        let answer = client.create("last", "key 0").await.unwrap();
        assert_eq!(trail(answer.diagnostics()), ["West US 201"], "{outage:?}");
        let mut missing = 0;
        for item in acknowledged {
            let (id, key) = (item["id"].as_str().unwrap(), item["pk"].as_str().unwrap());
            match client.read(id, key).await {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::NotFound => missing += 1,
                Err(error) => panic!("{outage:?}, {key}/{id}: {error:?}"),
            }
        }
        assert!(missing <= lost, "{outage:?}: {missing} are missing, {lost} were lost");
        // The east comes back as a region that is read from; the writes stay where they are.
        account.control().bring_back(EAST).await.unwrap();
        client.end_terms();
        super::clock::eventually("the east is read from again", async || {
            let answer = client.read("last", "key 0").await.unwrap();
            trail(answer.diagnostics()) == ["East US 200"]
        })
        .await;
        let answer = client.create("later", "key 0").await.unwrap();
        assert_eq!(trail(answer.diagnostics()).last().unwrap(), "West US 201", "{outage:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_every_region_takes_writes_none_fails_that_may_be_repeated() {
    for outage in OUTAGES {
        let account = Account::multi_write().await;
        let client = account.client(hedging_from(WEST, Duration::from_secs(1)));
        let load = Load::start(&client, |caller, nth| put("1", &format!("key {caller}"), nth as u64));
        load.succeeds(2).await;
        account.control().take_down(WEST, outage).await.unwrap();
        load.succeeds(5).await;
        let results = load.stop().await;
        for result in &results {
            assert!(result.is_ok(), "{outage:?}: {result:?}");
        }
        account.control().bring_back(WEST).await.unwrap();
        client.end_terms();
        super::clock::eventually("writes return to the west", async || {
            let answer = client.run(put("1", "key 0", 0)).await.unwrap();
            trail(answer.diagnostics()) == ["West US 200"]
        })
        .await;
    }
}
