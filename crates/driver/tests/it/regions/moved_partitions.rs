//! One partition whose writes the service has moved, on an account whose partitions fail over on their own.

use std::time::Duration;

use cosmonaut_emulator::{Emulator, Failover};
use cosmonaut_policy::ExecutionContext;

use super::account::{Account, Client, create, nearest, put, trail};
use super::load::{CALLERS, at_once};
use super::{EAST, LINK, NORTH};

async fn account() -> (Account, Client, Vec<(String, String)>) {
    let account = Account::start(Emulator::builder().partition_failover(true)).await;
    account.split_into(3).await;
    let client = account.client(nearest(EAST));
    let partitions = client.partitions().await;
    let named = partitions.into_iter().map(|(one, key)| (one.id.range().as_str().to_owned(), key)).collect();
    (account, client, named)
}

async fn write(client: &Client, id: &str, key: &str) -> Vec<String> {
    trail(client.create(id, key).await.unwrap().diagnostics())
}

#[tokio::test]
async fn writes_of_one_partition_follow_it_and_the_others_stay() {
    let (account, client, partitions) = account().await;
    for (_, key) in &partitions {
        assert_eq!(write(&client, "before", key).await, ["East US 201"]);
    }
    let (partition, key) = &partitions[0];
    account.control().move_partition(LINK, partition, NORTH, Failover::Graceful).unwrap();
    // The refusal does not say where it went: regions are tried in order.
    let found = write(&client, "1", key).await;
    assert_eq!(found, ["East US 403/3", "West US 403/3", "North Europe 201"]);
    let answer = client.create("2", key).await.unwrap();
    assert_eq!(trail(answer.diagnostics()), ["North Europe 201"], "and it is remembered");
    assert!(answer.diagnostics().attempts()[0].partition_override);
    for (_, key) in &partitions[1..] {
        assert_eq!(write(&client, "after", key).await, ["East US 201"]);
    }
    let answer = client.read("2", key).await.unwrap();
    assert_eq!(trail(answer.diagnostics()), ["East US 200"], "reads stay where they are");

    account.control().move_partition(LINK, partition, EAST, Failover::Graceful).unwrap();
    assert_eq!(write(&client, "3", key).await.last().unwrap(), "East US 201");
}

#[tokio::test]
async fn it_is_tried_where_it_was_by_one_write_after_a_while() {
    let (account, client, partitions) = account().await;
    let (partition, key) = &partitions[0];
    write(&client, "before", key).await;
    account.control().move_partition(LINK, partition, super::WEST, Failover::Graceful).unwrap();
    assert_eq!(write(&client, "1", key).await, ["East US 403/3", "West US 201"]);
    let end_term = || {
        client.clock.skip(Duration::from_secs(6));
        client.driver.sweep_partitions();
    };
    end_term();
    assert_eq!(
        write(&client, "in between", key).await,
        ["West US 201"],
        "what cannot be repeated is not risked"
    );
    let answer = client.run(put("2", key, 0)).await.unwrap();
    assert_eq!(trail(answer.diagnostics()), ["East US 403/3", "West US 201"], "it has not come back");
    assert_eq!(answer.diagnostics().attempts()[0].context, ExecutionContext::Probe);
    assert_eq!(write(&client, "3", key).await, ["West US 201"], "one write found out for all");

    end_term();
    account.control().move_partition(LINK, partition, EAST, Failover::Graceful).unwrap();
    let answer = client.run(put("4", key, 0)).await.unwrap();
    assert_eq!(trail(answer.diagnostics()), ["East US 201"]);
    assert_eq!(answer.diagnostics().attempts()[0].context, ExecutionContext::Probe);
    assert_eq!(write(&client, "5", key).await, ["East US 201"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_writes_that_find_it_moved_look_at_the_account_once() {
    let (account, client, partitions) = account().await;
    let (partition, key) = &partitions[0];
    write(&client, "before", key).await;
    client.clock.skip(Duration::from_secs(5));
    account.control().move_partition(LINK, partition, super::WEST, Failover::Graceful).unwrap();
    let work = at_once(&client, |caller| create(&caller.to_string(), key));
    let (results, asked) = account.requests_of(work).await;
    let mut refusals = 0;
    for result in results {
        let trail = trail(result.unwrap().diagnostics());
        assert_eq!(trail.last().unwrap(), "West US 201");
        refusals += trail.len() as u64 - 1;
    }
    assert_eq!(asked, [refusals + 1, CALLERS as u64, 0]);
    assert!(refusals <= CALLERS as u64, "nobody is refused twice: {refusals}");
}

#[tokio::test]
async fn an_account_without_the_flag_moves_no_partition() {
    let account = Account::single_write().await;
    let failure = account.control().move_partition(LINK, "0", NORTH, Failover::Graceful).unwrap_err();
    assert!(failure.status.code().is_client_error(), "{}", failure.message);
    let client = account.client(nearest(EAST));
    client.create("1", "a").await.unwrap();
    assert!(!client.driver.location().unwrap().partitions.per_partition_automatic_failover_enabled);
}
