//! Processes that stand still for longer than what they have is theirs, and then go on as if nothing had happened.

use duroxide::providers::Provider;

use super::audit::{audit, settled};
use super::killed::{Choices, seed, start_some};
use super::ledger::Ledger;
use super::worker::{Part, Worker};
use crate::harness::{Account, Server};
use crate::steps::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_paused_process_does_late_changes_nothing() {
    let (server, ledger) = (Server::shared(Account::OneRegion), Ledger::default());
    let home = server.home();
    let (mut roots, output) = start_some(&home, 0..3).await;
    let mut choices = Choices(seed());
    let start = |name: &str| Worker::start(Part::Runtime, name, server, &home, &ledger);
    let (paused, other) = (start("paused"), start("other"));
    choices.moment(&ledger).await;
    paused.signal("STOP");
    // The other one can finish only what it takes over.
    settled(&home, &roots).await;
    paused.signal("CONT");
    drop(other);
    // Now it has to do all by itself, and has done what it was about to when it can.
    let (more, _) = start_some(&home, 3..4).await;
    roots.extend(more);
    let documents = settled(&home, &roots).await;
    drop(paused);
    audit(&documents, &ledger, &roots, &output);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_and_a_work_item_that_were_taken_over_are_refused_to_who_had_them() {
    const INSTANCE: &str = "held";
    let server = Server::shared(Account::OneRegion);
    let home = server.home();
    let provider = home.provider().await;
    send(&provider, start(INSTANCE)).await;
    provider.enqueue_for_worker(activity(INSTANCE, 2, "x")).await.unwrap();
    let mut holder = Worker::start(Part::Holder, "holder", server, &home, &Ledger::default());
    holder.says("holding");
    holder.signal("STOP");
    let (item, token) = fetch(&provider).await;
    assert_eq!(item.instance, INSTANCE);
    let events = vec![started(INSTANCE, 1), scheduled(INSTANCE, 2, "x")];
    Turn { events, ..Turn::default() }.ack(&provider, &token).await.unwrap();
    let (_, token) = fetch_work(&provider).await;
    provider.ack_work_item(&token, Some(completion(INSTANCE, 2))).await.unwrap();
    holder.signal("CONT");
    holder.tell();
    assert!(holder.says("turn").starts_with("refused"));
    assert!(holder.says("work").starts_with("refused"));
    assert_eq!(provider.read(INSTANCE).await.unwrap().len(), 2);
    assert_eq!(home.count("message").await, 1, "one completion");
}
