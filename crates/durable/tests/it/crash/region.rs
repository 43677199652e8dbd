//! Processes whose account loses the region that they write to, with and without what only that region had.

use std::collections::BTreeSet;

use cosmonaut_emulator::{Failover, Outage};
use serde_json::Value;

use super::audit::{audit, audit_after_loss, settled};
use super::killed::{Choices, seed, start_some};
use super::ledger::Ledger;
use super::worker::{Part, Worker};
use crate::harness::{Account, Server};
use crate::isolation::in_two;
use crate::losses::{EAST, WEST, has_lost, replicated};
use crate::world::until;

const PROCESSES: usize = 4;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn orchestrations_of_several_processes_end_although_the_write_region_is_lost() {
    let (server, ledger) = (Server::start(Account::ThreeRegions), Ledger::default());
    let home = server.home();
    let (roots, output) = start_some(&home, 0..3).await;
    let start = |n: usize| Worker::start(Part::Runtime, &format!("process {n}"), &server, &home, &ledger);
    let workers: Vec<_> = (0..PROCESSES).map(start).collect();
    Choices(seed()).moment(&ledger).await;
    server.control().take_down(EAST, Outage::Refuse).await.unwrap();
    server.control().move_writes(WEST, Failover::Forced).unwrap();
    let documents = settled(&home, &roots).await;
    drop(workers);
    audit(&documents, &ledger, &roots, &output);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn orchestrations_of_several_processes_end_as_they_should_although_some_of_what_they_did_is_lost() {
    let (server, ledger) = (Server::start(Account::ThreeRegions), Ledger::default());
    let home = server.home();
    in_two(&server, &home).await;
    let (roots, output) = start_some(&home, 0..3).await;
    // That they were started is known everywhere: nobody could repair it.
    replicated(&server, &home).await;
    let start = |n: usize| Worker::start(Part::Runtime, &format!("process {n}"), &server, &home, &ledger);
    let workers: Vec<_> = (0..PROCESSES).map(start).collect();
    let mut choices = Choices(seed());
    choices.moment(&ledger).await;
    server.control().pause(None, None).unwrap();
    choices.moment(&ledger).await;
    server.control().take_down(EAST, Outage::Refuse).await.unwrap();
    has_lost(server.control().move_writes(WEST, Failover::Forced).unwrap().lost);
    server.control().resume(None, None).unwrap();
    let documents = settled(&home, &roots).await;
    drop(workers);
    audit_after_loss(&documents, &ledger, &roots, &output, &names(&documents));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn orchestrations_of_several_processes_end_as_they_should_although_one_partition_loses_what_others_keep()
 {
    let (server, ledger) = (Server::start(Account::MovingPartitions), Ledger::default());
    let home = server.home();
    let loses = in_two(&server, &home).await;
    let (roots, output) = start_some(&home, 0..3).await;
    replicated(&server, &home).await;
    let start = |n: usize| Worker::start(Part::Runtime, &format!("process {n}"), &server, &home, &ledger);
    let workers: Vec<_> = (0..PROCESSES).map(start).collect();
    let mut choices = Choices(seed());
    choices.moment(&ledger).await;
    server.control().pause(None, None).unwrap();
    choices.moment(&ledger).await;
    until("the partition has what the other region does not have", async || {
        let partitions = server.control().partitions(&home.link()).unwrap();
        let partition = partitions.iter().find(|partition| partition.id.as_str() == loses).unwrap();
        partition.lsns.iter().any(|(_, lsn)| *lsn != partition.lsns[0].1)
    })
    .await;
    has_lost(server.control().move_partition(&home.link(), &loses, WEST, Failover::Forced).unwrap().lost);
    server.control().resume(None, None).unwrap();
    let documents = settled(&home, &roots).await;
    drop(workers);
    let ranges = home.documents().feed_ranges().await.unwrap();
    let mut have_lost = names(&documents);
    for name in names(&documents) {
        if ranges[0].contains(&home.documents().feed_range_of(&*name).await.unwrap()) {
            have_lost.remove(&name);
        }
    }
    audit_after_loss(&documents, &ledger, &roots, &output, &have_lost);
}

/// The instances that documents are of.
fn names(documents: &[Value]) -> BTreeSet<String> {
    let heads = documents.iter().filter(|document| document["type"] == "instance");
    heads.map(|head| head["instanceId"].as_str().unwrap().to_owned()).collect()
}
