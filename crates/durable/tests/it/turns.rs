//! Turns of any size commit at once, survive what the service does meanwhile, and are delivered once.

use std::collections::BTreeSet;
use std::time::Duration;

use cosmonaut_emulator::{Effect, Fault, Operations};
use duroxide::providers::{Provider, WorkItem};

use crate::harness::{Account, Server};
use crate::steps::*;
use crate::world::until;

fn fan_out(instance: &str, count: u64, input: &str) -> Turn {
    let mut turn = Turn::first(instance);
    for id in 2..2 + count {
        turn.events.push(scheduled(instance, id, input));
        turn.work.push(activity(instance, id, input));
    }
    turn
}

async fn drain(provider: &dyn Provider) -> BTreeSet<u64> {
    let mut ids = BTreeSet::new();
    while let Some((item, token)) = work_now(provider).await {
        let WorkItem::ActivityExecute { id, .. } = item else { panic!("{item:?}") };
        assert!(ids.insert(id), "{id} came twice");
        provider.ack_work_item(&token, None).await.unwrap();
    }
    ids
}

#[tokio::test]
async fn more_activities_than_a_transaction_holds_are_all_there() {
    let provider = Server::shared(Account::OneRegion).home().provider().await;
    send(&provider, start("a")).await;
    let (_, token) = fetch(&provider).await;
    fan_out("a", 150, "x").ack(&provider, &token).await.unwrap();
    assert_eq!(drain(&provider).await, (2..152).collect());
    assert_eq!(provider.read("a").await.unwrap().len(), 151);
}

#[tokio::test]
async fn a_turn_of_many_megabytes_commits_and_is_read_again() {
    let home = Server::shared(Account::OneRegion).home();
    let provider = home.provider().await;
    send(&provider, start("a")).await;
    let (_, token) = fetch(&provider).await;
    let input = format!("\"ä\n{}", "x".repeat(200_000));
    fan_out("a", 12, &input).ack(&provider, &token).await.unwrap();
    for _ in 0..12 {
        let (item, token) = fetch_work(&provider).await;
        let WorkItem::ActivityExecute { input: got, .. } = item else { panic!("{item:?}") };
        assert!(got == input);
        provider.ack_work_item(&token, None).await.unwrap();
    }
    // Another process has nothing of it in memory.
    let elsewhere = home.provider().await;
    send(&elsewhere, signal("a", 1)).await;
    let (item, _) = fetch(&elsewhere).await;
    assert_eq!(item.history.len(), 13);
    assert_eq!(item.history_error, None);
}

#[tokio::test]
async fn a_large_turn_is_there_as_a_whole_or_not_at_all_wherever_it_is_stopped() {
    let server = Server::shared(Account::OneRegion);
    for requests in 1..8 {
        let home = server.home();
        let provider = home.provider().await;
        send(&provider, start("a")).await;
        let lock = Duration::from_secs(1);
        let fetched = provider.fetch_orchestration_item(lock, PATIENCE, None).await.unwrap();
        let (_, token, _) = fetched.unwrap();
        let begun = provider.usage().requests;
        let stopped = async {
            // A process that dies after so many requests: nothing of it goes on.
            while provider.usage().requests < begun + requests {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            biased;
            () = stopped => {}
            // It may also have come to its end, or have been too slow for its lock.
            _ = fan_out("a", 250, "x").ack(&provider, &token) => {}
        }
        drop(provider);
        let elsewhere = home.provider().await;
        // Either the start is delivered again, and then nothing of the turn may be seen, or all of it may.
        let mut seen = None;
        until("the turn is there or comes again", async || {
            let again = fetch_now(&elsewhere).await.is_some();
            let history = elsewhere.read("a").await.unwrap().len();
            seen = (again || history > 0).then_some((again, history));
            seen.is_some()
        })
        .await;
        match seen.unwrap() {
            (true, history) => {
                assert_eq!((history, drain(&elsewhere).await.len()), (0, 0), "after {requests}");
            }
            (false, history) => {
                let mut work = drain(&elsewhere).await;
                until("all of it is spread", async || {
                    work.extend(drain(&elsewhere).await);
                    work.len() >= 250
                })
                .await;
                assert_eq!((history, work.len()), (251, 250), "after {requests}");
            }
        }
    }
}

#[tokio::test]
async fn answers_that_are_lost_and_refusals_leave_no_part_of_a_turn_behind() {
    let server = Server::start(Account::OneRegion);
    let home = server.home();
    let provider = home.provider().await;
    send(&provider, start("a")).await;
    let (_, token) = fetch(&provider).await;
    for effect in [Effect::DropResponse, Effect::status(cosmonaut::CosmosStatus::SERVICE_UNAVAILABLE)] {
        let fault = Fault::new(effect).in_container(home.link()).on(Operations::Write).with_probability(0.3);
        server.control().add_fault(fault).await.unwrap();
    }
    fan_out("a", 150, "x").ack(&provider, &token).await.unwrap();
    server.control().clear().await.unwrap();
    assert_eq!(drain(&provider).await.len(), 150);
}

#[tokio::test]
async fn a_second_of_throttling_is_absorbed_inside_the_call() {
    let server = Server::start(Account::OneRegion);
    let home = server.home();
    let provider = home.provider().await;
    send(&provider, start("a")).await;
    let (_, token) = fetch(&provider).await;
    let throttled = Effect::Throttle { retry_after: Duration::from_millis(50) };
    let fault = Fault::new(throttled).in_container(home.link()).on(Operations::Write).times(20);
    server.control().add_fault(fault).await.unwrap();
    fan_out("a", 3, "x").ack(&provider, &token).await.unwrap();
    assert_eq!(drain(&provider).await.len(), 3);
}

#[tokio::test]
async fn a_lock_whose_answer_was_lost_is_held_all_the_same_and_its_messages_come_once() {
    let server = Server::start(Account::OneRegion);
    let home = server.home();
    let provider = home.provider().await;
    send(&provider, start("a")).await;
    let fault = Fault::new(Effect::DropResponse).in_container(home.link()).on(Operations::Write).times(1);
    server.control().add_fault(fault).await.unwrap();
    let (item, token) = fetch(&provider).await;
    assert_eq!(item.messages.len(), 1);
    Turn::first("a").ack(&provider, &token).await.unwrap();
    assert!(fetch_now(&provider).await.is_none());
    assert!(fetch_now(&home.provider().await).await.is_none(), "nor elsewhere");
}

#[tokio::test]
async fn the_operation_that_failed_decides_and_not_those_that_failed_with_it() {
    let provider = Server::shared(Account::OneRegion).home().provider().await;
    make(&provider, "a", None).await;
    send(&provider, signal("a", 1)).await;
    let (_, token) = fetch(&provider).await;
    // Event 1 is there already. All operations of the transaction fail; one of them is the cause.
    let again = Turn { work: vec![activity("a", 2, "x")], ..Turn::first("a") };
    let error = again.ack(&provider, &token).await.unwrap_err();
    assert!(!error.is_retryable(), "{error}");
    assert!(work_now(&provider).await.is_none(), "nothing of the turn was applied");
    let events = vec![scheduled("a", 2, "x")];
    Turn { events, ..Turn::default() }.ack(&provider, &token).await.unwrap();
}
