//! A region that is down: reads are answered elsewhere, and return once it is back.

use std::time::Duration;

use cosmonaut_driver::NextStep;
use cosmonaut_emulator::{Effect, Fault, Outage};
use cosmonaut_wire::CosmosStatus;
use http::StatusCode;

use super::account::{Account, Client, hedging_from, nearest, trail};
use super::clock::eventually;
use super::load::Load;
use super::{EAST, LINK, WEST};
use crate::harness::read;

const KEYS: usize = 16;

fn key(number: usize) -> String {
    format!("key {}", number % KEYS)
}

/// Whether all items are read at the first attempt, and here.
async fn all_are_read_in(client: &Client, region: &str) -> bool {
    for number in 0..KEYS {
        let answer = client.read("1", &key(number)).await.unwrap();
        if trail(answer.diagnostics()) != [format!("{region} 200")] {
            return false;
        }
    }
    true
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_read_fails_while_a_region_is_down_and_they_return_when_it_is_back() {
    for outage in [Outage::Refuse, Outage::Hang, Outage::Unavailable] {
        let account = Account::single_write().await;
        account.split_into(4).await;
        // Only a region that hangs is meant to be hedged, not one that is busy.
        let client = account.client(hedging_from(WEST, Duration::from_secs(1)));
        for number in 0..KEYS {
            client.create("1", &key(number)).await.unwrap();
        }
        let load = Load::start(&client, |caller, _| read("1", &key(caller)));
        load.succeeds(2).await;
        account.control().take_down(WEST, outage).await.unwrap();
        load.succeeds(5).await;
        for result in load.stop().await {
            result.unwrap_or_else(|error| panic!("{outage:?}: {error:?}"));
        }
        eventually("reads go straight to the east", async || all_are_read_in(&client, EAST).await).await;
        let (_, asked) = account.requests_of(all_are_read_in(&client, EAST)).await;
        assert_eq!(asked, [KEYS as u64, 0, 0], "{outage:?}: the west is left alone");

        account.control().bring_back(WEST).await.unwrap();
        client.end_terms();
        eventually("reads return to the west", async || all_are_read_in(&client, WEST).await).await;
        let (_, asked) = account.requests_of(all_are_read_in(&client, WEST)).await;
        assert_eq!(asked, [0, KEYS as u64, 0], "{outage:?}: all of them");
    }
}

#[tokio::test]
async fn a_region_that_hangs_is_given_up_even_if_no_second_one_is_asked_in_parallel() {
    let account = Account::single_write().await;
    let client = account.client(nearest(WEST));
    client.create("1", "a").await.unwrap();
    client.read("1", "a").await.unwrap();
    account.control().take_down(WEST, Outage::Hang).await.unwrap();
    let reading = async { client.read("1", "a").await.unwrap() };
    // It is sent over another connection once, and then elsewhere.
    let waiting = async {
        for _ in 0..2 {
            let asked = account.emulator.requests_in(WEST);
            eventually("the west is asked", async || account.emulator.requests_in(WEST) > asked).await;
            client.clock.skip(Duration::from_secs(6));
        }
    };
    let (answer, ()) = tokio::join!(reading, waiting);
    assert_eq!(trail(answer.diagnostics()), ["West US failed", "West US failed", "East US 200"]);
}

#[tokio::test]
async fn a_read_that_a_region_answers_with_a_failure_is_answered_by_the_next() {
    let account = Account::single_write().await;
    account.client(nearest(EAST)).create("1", "a").await.unwrap();
    for (code, sub_status) in [(503, 0), (429, 3092), (410, 1022), (500, 0), (408, 0)] {
        let client = account.client(nearest(WEST));
        let status = CosmosStatus::new(StatusCode::from_u16(code).unwrap(), sub_status);
        client.read("1", "a").await.unwrap();
        let fault = Fault::new(Effect::status(status)).in_region(WEST).in_container(LINK);
        let fault = account.control().add_fault(fault).await.unwrap();
        let (answer, asked) = account.requests_of(client.read("1", "a")).await;
        let answer = answer.unwrap();
        assert_eq!(trail(answer.diagnostics()), [format!("West US {status}"), "East US 200".to_owned()]);
        assert_eq!(answer.diagnostics().attempts()[0].next, NextStep::Failover(Duration::ZERO));
        assert_eq!(asked, [1, 1, 0], "{status}");
        account.control().remove_fault(fault).await.unwrap();
    }
}
