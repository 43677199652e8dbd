//! What the account promises its readers, whichever region they read in.

use std::time::Duration;

use cosmonaut_driver::{CosmosResponse, OperationOptions};
use cosmonaut_emulator::{Consistency, Emulator, Lag};
use cosmonaut_options::RequestOptions;
use cosmonaut_wire::{ConsistencyLevel, ReadConsistencyStrategy};

use super::account::{Account, Client, nearest, put, trail};
use super::clock::{eventually, within_patience};
use super::{EAST, NORTH, WEST};
use crate::harness::{json_of, read};

const LAG: Lag = Lag::Between(Duration::from_millis(1), Duration::from_millis(30));

fn value(answer: &CosmosResponse) -> u64 {
    json_of(answer)["value"].as_u64().unwrap()
}

async fn account(consistency: Consistency) -> Account {
    Account::start(Emulator::builder().consistency(consistency).lag(LAG)).await
}

/// Writes again and again, and after each write reads in every region as somebody who knows nothing of it.
async fn read_after_each_write(account: &Account, check: impl Fn(&str, u64, u64)) {
    let writer = account.client(nearest(EAST));
    let readers = [EAST, WEST, NORTH].map(|region| (region, account.client(nearest(region))));
    // The item itself has to be everywhere before its values can be compared.
    writer.run(put("1", "a", 0)).await.unwrap();
    for (region, reader) in &readers {
        eventually(region, async || reader.read("1", "a").await.is_ok()).await;
    }
    for written in 1..=15 {
        writer.run(put("1", "a", written)).await.unwrap();
        for (region, reader) in &readers {
            let answer = reader.read("1", "a").await.unwrap();
            assert_eq!(trail(answer.diagnostics()), [format!("{region} 200")]);
            check(region, written, value(&answer));
        }
    }
}

#[tokio::test]
async fn a_strong_account_shows_every_write_in_every_region_at_once() {
    let account = account(Consistency::Strong).await;
    read_after_each_write(&account, |region, written, read| assert_eq!(read, written, "{region}")).await;
}

#[tokio::test]
async fn bounded_staleness_keeps_every_region_close_behind() {
    const BEHIND: u64 = 2;
    let bounded = Consistency::BoundedStaleness { max_prefix: BEHIND, max_interval: Duration::from_secs(60) };
    let account = account(bounded).await;
    read_after_each_write(&account, |region, written, read| {
        assert!(read <= written && read + BEHIND >= written, "{region}: {read} after {written}");
    })
    .await;
}

async fn read_with(client: &Client, request: RequestOptions) -> u64 {
    let options = OperationOptions { request, ..Default::default() };
    value(&client.driver.execute_operation(&read("1", "a"), &options).await.unwrap())
}

#[tokio::test]
async fn a_read_may_ask_for_less_than_the_account_promises_and_gets_it_sooner() {
    let account = Account::start(Emulator::builder().consistency(Consistency::Strong)).await;
    let (writer, reader) = (account.client(nearest(EAST)), account.client(nearest(NORTH)));
    writer.run(put("1", "a", 1)).await.unwrap();
    reader.read("1", "a").await.unwrap();
    // The majority can do without the north.
    account.control().pause(None, Some(NORTH)).unwrap();
    writer.run(put("1", "a", 2)).await.unwrap();
    let level = |level| RequestOptions { consistency_level: Some(level), ..Default::default() };
    let strategy = |one| RequestOptions { read_consistency_strategy: Some(one), ..Default::default() };
    assert_eq!(read_with(&reader, level(ConsistencyLevel::Eventual)).await, 1);
    assert_eq!(read_with(&reader, strategy(ReadConsistencyStrategy::Eventual)).await, 1);
    for request in [RequestOptions::default(), strategy(ReadConsistencyStrategy::GlobalStrong)] {
        account.control().pause(None, Some(NORTH)).unwrap();
        let asked = account.emulator.requests_in(NORTH);
        let resume = async {
            eventually("the north is asked", async || account.emulator.requests_in(NORTH) > asked).await;
            account.control().resume(None, Some(NORTH)).unwrap();
        };
        let reading = async { tokio::join!(read_with(&reader, request), resume).0 };
        assert_eq!(
            within_patience("the north catches up", reading).await,
            2,
            "it waits for what was written"
        );
    }
}
