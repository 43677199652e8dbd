//! Processes whose account loses the region that they write to.

use cosmonaut_emulator::{Failover, Outage};

use super::audit::{audit, settled};
use super::killed::{Choices, seed, start_some};
use super::ledger::Ledger;
use super::worker::{Part, Worker};
use crate::harness::{Account, Server};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn orchestrations_of_several_processes_end_although_the_write_region_is_lost() {
    let (server, ledger) = (Server::start(Account::ThreeRegions), Ledger::default());
    let home = server.home();
    let (roots, output) = start_some(&home, 0..3).await;
    let start = |name: &str| Worker::start(Part::Runtime, name, &server, &home, &ledger);
    let workers = [start("one"), start("two")];
    Choices(seed()).moment(&ledger).await;
    server.control().take_down("East US", Outage::Refuse).await.unwrap();
    server.control().move_writes("West US", Failover::Forced).unwrap();
    let documents = settled(&home, &roots).await;
    drop(workers);
    audit(&documents, &ledger, &roots, &output);
}
