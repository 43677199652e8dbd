//! Processes of a deployment: replaced one by one under load, and throttled in one partition.

use std::collections::VecDeque;
use std::time::Duration;

use cosmonaut_emulator::{Effect, Fault};

use super::audit::{audit, has_ended, settled};
use super::killed::{Choices, seed, start_some};
use super::ledger::Ledger;
use super::worker::{Part, Worker};
use crate::harness::{Account, Server};
use crate::isolation::in_two;
use crate::world::until;

const PROCESSES: usize = 4;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deployment_that_replaces_every_process_loses_nothing() {
    let (server, ledger) = (Server::shared(Account::OneRegion), Ledger::default());
    let home = server.home();
    let (mut roots, output) = start_some(&home, 0..2).await;
    let mut choices = Choices(seed());
    let start = |name: String| Worker::start(Part::Runtime, &name, server, &home, &ledger);
    let mut workers: VecDeque<_> = (0..PROCESSES).map(|n| start(format!("old {n}"))).collect();
    for n in 0..PROCESSES {
        choices.moment(&ledger).await;
        workers.push_back(start(format!("new {n}")));
        let mut old = workers.pop_front().unwrap();
        old.tell();
        let (more, _) = start_some(&home, 2 + n..3 + n).await;
        roots.extend(more);
        old.says("stopped");
    }
    let documents = settled(&home, &roots).await;
    drop(workers);
    audit(&documents, &ledger, &roots, &output);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_partition_that_throttles_everything_holds_up_only_what_is_in_it() {
    const SECONDS: &str = "DURABLE_THROTTLED_SECONDS";
    let seconds = std::env::var(SECONDS).map_or(0, |text| text.parse().expect("a number of seconds"));
    let (server, ledger) = (Server::start(Account::OneRegion), Ledger::default());
    let home = server.home();
    let throttled = in_two(&server, &home).await;
    let (roots, output) = start_some(&home, 0..12).await;
    let ranges = home.documents().feed_ranges().await.unwrap();
    let mut outside = Vec::new();
    for root in &roots {
        if ranges[0].contains(&home.documents().feed_range_of(&**root).await.unwrap()) {
            outside.push(root);
        }
    }
    assert!((1..roots.len()).contains(&outside.len()), "{outside:?}");
    let start = |n: usize| Worker::start(Part::Runtime, &format!("process {n}"), &server, &home, &ledger);
    let workers: Vec<_> = (0..PROCESSES).map(start).collect();
    ledger.grows_by(1).await;
    let effect = Effect::Throttle { retry_after: Duration::from_millis(50) };
    let fault = Fault::new(effect).in_container(home.link()).in_partition(&*throttled);
    let fault = server.control().add_fault(fault).await.unwrap();
    // Whose children are all in the other partition, too, needs nothing of this one, and ends.
    until("an orchestration outside of the partition ends", async || {
        for root in &outside {
            if has_ended(&home, root).await {
                return true;
            }
        }
        false
    })
    .await;
    crate::waiting::sleep(Duration::from_secs(seconds)).await;
    server.control().remove_fault(fault).await.unwrap();
    let documents = settled(&home, &roots).await;
    drop(workers);
    audit(&documents, &ledger, &roots, &output);
}
