//! One partition that fails in one region: it alone is served from elsewhere, and comes back by one probe.

use std::time::Duration;

use cosmonaut_driver::{CosmosOperation, ErrorKind, OperationOptions};
use cosmonaut_emulator::{Effect, Fault, FaultId, Operations};
use cosmonaut_options::RequestOptions;
use cosmonaut_policy::ExecutionContext;
use cosmonaut_wire::CosmosStatus;

use super::account::{Account, Client, nearest, put, trail};
use super::clock::{eventually, within_patience};
use super::load::{CALLERS, at_once};
use super::{LINK, WEST};
use crate::harness::read;

/// More failures than the breaker puts up with.
const READ_FAILURES: usize = 3;
const WRITE_FAILURES: usize = 6;

/// An account with several partitions, one of which is about to fail in the west.
struct Setting {
    account: Account,
    client: Client,
    /// The partition, and a key in it.
    partition: String,
    key: String,
    /// Keys in all the others.
    other_keys: Vec<String>,
}

impl Setting {
    async fn of(account: Account) -> Self {
        account.split_into(4).await;
        let client = account.client(nearest(WEST));
        let mut partitions = client.partitions().await;
        let (partition, key) = partitions.swap_remove(1);
        let other_keys: Vec<String> = partitions.into_iter().map(|(_, key)| key).collect();
        for key in other_keys.iter().chain([&key]) {
            client.run(put("1", key, 0)).await.unwrap();
        }
        Self { account, client, partition: partition.id.range().as_str().to_owned(), key, other_keys }
    }

    async fn fail(&self, effect: Effect) -> FaultId {
        self.account.control().fail_partition(LINK, &self.partition, WEST, effect).await.unwrap()
    }

    async fn lift(&self, fault: FaultId) {
        self.account.control().remove_fault(fault).await.unwrap();
    }

    /// Lets the partition's own term pass.
    fn end_term(&self) {
        self.client.clock.skip(Duration::from_secs(6));
        self.client.driver.sweep_partitions();
    }

    async fn trail_of(&self, operation: CosmosOperation) -> Vec<String> {
        trail(self.client.run(operation).await.unwrap().diagnostics())
    }

    async fn read(&self) -> Vec<String> {
        self.trail_of(read("1", &self.key)).await
    }

    /// Fails the partition for as long as it takes to move it.
    async fn trip(&self) -> FaultId {
        let fault = self.fail(unavailable()).await;
        for _ in 0..READ_FAILURES {
            assert_eq!(self.read().await, ["West US 503", "East US 200"]);
        }
        assert_eq!(self.read().await, ["East US 200"]);
        fault
    }

    async fn others_stay(&self, request: impl Fn(&str) -> CosmosOperation) {
        for key in &self.other_keys {
            assert_eq!(self.trail_of(request(key)).await, ["West US 200"], "{key:?} has not failed");
        }
    }
}

fn unavailable() -> Effect {
    Effect::status(CosmosStatus::SERVICE_UNAVAILABLE)
}

#[tokio::test]
async fn reads_of_one_partition_move_alone_and_come_back() {
    let setting = Setting::of(Account::single_write().await).await;
    let fault = setting.fail(unavailable()).await;
    for _ in 0..READ_FAILURES {
        assert_eq!(setting.read().await, ["West US 503", "East US 200"], "failures are counted");
        setting.others_stay(|key| read("1", key)).await;
    }
    let answer = setting.client.read("1", &setting.key).await.unwrap();
    assert_eq!(trail(answer.diagnostics()), ["East US 200"], "one failure too many");
    assert!(answer.diagnostics().attempts()[0].partition_override);
    let ((), asked) = setting.account.requests_of(setting.others_stay(|key| read("1", key))).await;
    assert_eq!(asked, [0, 3, 0]);

    setting.lift(fault).await;
    assert_eq!(setting.read().await, ["East US 200"], "its term is not over");
    setting.end_term();
    let answer = setting.client.read("1", &setting.key).await.unwrap();
    assert_eq!(trail(answer.diagnostics()), ["West US 200"]);
    assert_eq!(answer.diagnostics().attempts()[0].context, ExecutionContext::Probe);
    assert_eq!(setting.read().await, ["West US 200"], "and it is back");
}

#[tokio::test]
async fn it_comes_back_by_exactly_one_probe() {
    let setting = Setting::of(Account::single_write().await).await;
    let fault = setting.trip().await;
    setting.lift(fault).await;
    // The probe is under way for as long as its partition hangs.
    let fault = setting.fail(Effect::Hang).await;
    setting.end_term();
    let west_before = setting.account.emulator.requests_in(WEST);
    let probe = async { setting.read().await };
    let rest = async {
        let asked = async || setting.account.emulator.requests_in(WEST) - west_before;
        eventually("the probe is under way", async || asked().await == 1).await;
        for result in at_once(&setting.client, |_| read("1", &setting.key)).await {
            assert_eq!(trail(result.unwrap().diagnostics()), ["East US 200"]);
        }
        setting.end_term();
        assert_eq!(setting.read().await, ["East US 200"], "no second probe while one is under way");
        assert_eq!(asked().await, 1);
        setting.lift(fault).await;
    };
    let (probed, ()) = within_patience("the probe ends", async { tokio::join!(probe, rest) }).await;
    assert_eq!(probed, ["West US failed", "West US 200"], "its first try was out of time meanwhile");
    let work = at_once(&setting.client, |_| read("1", &setting.key));
    let (_, asked) = setting.account.requests_of(work).await;
    assert_eq!(asked, [0, CALLERS as u64, 0], "everybody is back");
}

#[tokio::test]
async fn a_failed_probe_begins_another_term() {
    let setting = Setting::of(Account::single_write().await).await;
    let fault = setting.trip().await;
    for _ in 0..3 {
        setting.client.driver.sweep_partitions();
        assert_eq!(setting.read().await, ["East US 200"], "the term is not over");
        setting.end_term();
        let answer = setting.client.read("1", &setting.key).await.unwrap();
        assert_eq!(trail(answer.diagnostics()), ["West US 503", "East US 200"]);
        assert_eq!(answer.diagnostics().attempts()[0].context, ExecutionContext::Probe);
    }
    setting.others_stay(|key| read("1", key)).await;
    setting.lift(fault).await;
    setting.end_term();
    assert_eq!(setting.read().await, ["West US 200"]);
}

#[tokio::test]
async fn a_partition_that_fails_where_it_was_moved_to_moves_on() {
    let setting = Setting::of(Account::single_write().await).await;
    setting.trip().await;
    let control = setting.account.control();
    control.fail_partition(LINK, &setting.partition, super::EAST, unavailable()).await.unwrap();
    assert_eq!(setting.read().await, ["East US 503", "North Europe 200"]);
    assert_eq!(setting.read().await, ["North Europe 200"]);
    setting.others_stay(|key| read("1", key)).await;
}

#[tokio::test]
async fn writes_of_one_partition_move_alone_where_every_region_takes_them() {
    let setting = Setting::of(Account::multi_write().await).await;
    let writes = Fault::new(unavailable())
        .in_region(WEST)
        .in_container(LINK)
        .in_partition(setting.partition.as_str())
        .on(Operations::Write);
    let fault = setting.account.control().add_fault(writes).await.unwrap();
    for _ in 0..WRITE_FAILURES {
        let answers = setting.trail_of(put("1", &setting.key, 1)).await;
        assert_eq!(answers, ["West US 503", "East US 200"]);
    }
    assert_eq!(setting.trail_of(put("1", &setting.key, 2)).await, ["East US 200"]);
    setting.others_stay(|key| put("1", key, 1)).await;
    assert_eq!(setting.read().await, ["West US 200"], "reads of it have not failed");
    setting.lift(fault).await;
    setting.end_term();
    assert_eq!(setting.trail_of(put("1", &setting.key, 3)).await, ["West US 200"]);
}

#[tokio::test]
async fn without_the_breaker_a_failure_is_the_whole_regions() {
    let account = Account::single_write().await;
    account.split_into(2).await;
    let mut options = nearest(WEST);
    options.retry.enable_partition_level_circuit_breaker = Some(false);
    let client = account.client(options);
    let partitions = client.partitions().await;
    for (_, key) in &partitions {
        client.create("1", key).await.unwrap();
    }
    let failing = partitions[0].0.id.range().as_str();
    account.control().fail_partition(LINK, failing, WEST, unavailable()).await.unwrap();
    let answer = client.read("1", &partitions[0].1).await.unwrap();
    assert_eq!(trail(answer.diagnostics()), ["West US 503", "East US 200"]);
    for (_, key) in &partitions {
        let answer = client.read("1", key).await.unwrap();
        assert_eq!(trail(answer.diagnostics()), ["East US 200"], "the west is out of service for a while");
    }
    account.control().clear().await.unwrap();
    client.end_terms();
    let answer = client.read("1", &partitions[0].1).await.unwrap();
    assert_eq!(trail(answer.diagnostics()), ["West US 200"]);
}

#[tokio::test]
async fn failures_far_apart_are_not_counted_together() {
    let setting = Setting::of(Account::single_write().await).await;
    setting.fail(unavailable()).await;
    for _ in 0..3 {
        for _ in 0..READ_FAILURES - 1 {
            assert_eq!(setting.read().await, ["West US 503", "East US 200"]);
        }
        setting.client.clock.skip(Duration::from_secs(5 * 60 + 1));
    }
}

#[tokio::test]
async fn a_partition_that_fails_everywhere_is_an_error_and_is_routed_as_ever_when_it_is_over() {
    let setting = Setting::of(Account::single_write().await).await;
    let everywhere = Fault::new(unavailable()).in_container(LINK).in_partition(setting.partition.as_str());
    let fault = setting.account.control().add_fault(everywhere).await.unwrap();
    let request =
        RequestOptions { end_to_end_timeout: Some(Duration::from_millis(500)), ..Default::default() };
    let options = OperationOptions { request, ..Default::default() };
    let failed = setting.client.driver.execute_operation(&read("1", &setting.key), &options).await;
    let error = failed.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::DeadlineExceeded, "{error:?}");
    let tried = trail(error.diagnostics().unwrap());
    assert_eq!(tried[..3], ["West US 503", "East US 503", "North Europe 503"], "every region was tried");
    setting.others_stay(|key| read("1", key)).await;
    setting.lift(fault).await;
    setting.client.end_terms();
    setting.read().await;
    assert_eq!(setting.read().await, ["West US 200"]);
}
