//! Regions that fail: where requests go instead, and when they come back.

use std::sync::atomic::Ordering;
use std::time::Duration;

use cosmonaut_driver::{AttemptOutcome, CosmosOperation, ErrorKind, NextStep, OperationType};
use cosmonaut_options::{CosmosClientOptions, HedgingOptions, RegionOptions};
use cosmonaut_policy::{FailoverMechanism, PartitionId};
use cosmonaut_wire::{CosmosStatus, PartitionKey, RegionName, ResourceId};

use crate::harness::{operation, read};
use crate::scripted::{Answer, Network, account, run};

fn create() -> CosmosOperation {
    operation(OperationType::Create, "/dbs/d/colls/c/docs")
        .with_body("{}")
        .with_target(PartitionKey::from("a"))
}

/// West before east, and no second region asked in parallel.
fn options() -> CosmosClientOptions {
    CosmosClientOptions {
        regions: RegionOptions {
            preferred_regions: Some(vec![RegionName::from("west"), RegionName::from("east")]),
            ..Default::default()
        },
        hedging: HedgingOptions { hedging_enabled: Some(false), ..Default::default() },
        ..Default::default()
    }
}

#[tokio::test(start_paused = true)]
async fn a_read_that_one_region_cannot_answer_is_answered_by_the_next() {
    for (answer, tries) in [
        (Answer::Status(503, 0), 1),
        (Answer::Status(429, 3092), 1),
        (Answer::Status(500, 0), 1),
        (Answer::Status(410, 1022), 1),
        (Answer::Refuse, 2),
        (Answer::ResetAfterSend, 2),
    ] {
        let shown = format!("{answer:?}");
        let network = Network::new(&["east", "west"], false, move |region, _| match region {
            "west" => answer.clone(),
            _ => Answer::Status(200, 0),
        });
        let response = run(&network.driver(options()), &read("1", "a")).await.unwrap();
        let mut expected = vec!["GET west".to_owned(); tries];
        expected.push("GET east".to_owned());
        assert_eq!(network.take_calls(), expected, "{shown}");
        let attempts = response.diagnostics().attempts();
        assert_eq!(attempts[tries - 1].next, NextStep::Failover(Duration::ZERO), "{shown}");
        assert!(matches!(attempts[tries].outcome, AttemptOutcome::Answered(status) if status.is_success()));
        assert_eq!(attempts[tries].endpoint.region().unwrap().as_str(), "east");
    }
}

#[tokio::test(start_paused = true)]
async fn a_write_that_may_have_arrived_is_not_repeated() {
    for (operation, answer, expected) in [
        (create(), Answer::ResetAfterSend, Err(ErrorKind::OutcomeUnknown)),
        (create(), Answer::Status(408, 0), Err(ErrorKind::OutcomeUnknown)),
        (create(), Answer::Status(500, 0), Err(ErrorKind::OutcomeUnknown)),
        (create(), Answer::Status(409, 0), Err(ErrorKind::Conflict)),
        (create().with_repeats_allowed(), Answer::ResetAfterSend, Ok(())),
    ] {
        let shown = format!("{answer:?}");
        let first = std::sync::atomic::AtomicBool::new(true);
        let network = Network::new(&["east", "west"], false, move |_, _| {
            if first.swap(false, Ordering::Relaxed) { answer.clone() } else { Answer::Status(201, 0) }
        });
        let result = run(&network.driver(options()), &operation).await;
        assert_eq!(result.as_ref().map(|_| ()).map_err(|error| error.kind()), expected, "{shown}");
        assert_eq!(network.take_calls().len(), 1 + usize::from(expected.is_ok()), "{shown}");
    }
}

#[tokio::test(start_paused = true)]
async fn writes_follow_the_write_region_when_it_moves() {
    let network = Network::new(&["east", "west"], false, |region, _| match region {
        "east" => Answer::Status(201, 0),
        _ => Answer::Status(403, 3),
    });
    let driver = network.driver(options());
    run(&driver, &create()).await.unwrap();
    assert_eq!(network.take_calls(), ["POST east"]);
    // The service moves writes to the west, and says so in the account.
    network.now(|region, _| if region == "west" { Answer::Status(201, 0) } else { Answer::Status(403, 3) });
    *network.account.lock().unwrap() = {
        let mut moved = account(&["west", "east"], false);
        moved["id"] = "moved".into();
        moved
    };
    tokio::time::advance(Duration::from_secs(10)).await;
    let before = network.account_reads.load(Ordering::Relaxed);
    run(&driver, &create()).await.unwrap();
    assert_eq!(network.take_calls(), ["POST east", "POST west"]);
    assert_eq!(network.account_reads.load(Ordering::Relaxed), before + 1);
    run(&driver, &create()).await.unwrap();
    assert_eq!(network.take_calls(), ["POST west"], "the next write goes there at once");
}

#[tokio::test(start_paused = true)]
#[expect(clippy::disallowed_methods, reason = "the clock is virtual")]
async fn a_write_that_could_not_be_sent_follows_the_write_region_that_has_moved_meanwhile() {
    let network = Network::new(&["east", "west"], false, |_, _| Answer::Status(201, 0));
    let driver = network.driver(options());
    run(&driver, &create()).await.unwrap();
    tokio::time::advance(Duration::from_secs(10)).await;
    network.take_calls();
    // The first has the account read; the second began before that, and learns of its failure after it.
    let late = Duration::from_millis(30);
    let is_first = std::sync::atomic::AtomicBool::new(true);
    network.now(move |region, _| match region {
        "west" => Answer::Status(201, 0),
        _ if is_first.swap(false, Ordering::Relaxed) => Answer::Refuse,
        _ => Answer::RefuseAfter(late),
    });
    *network.account.lock().unwrap() = account(&["west", "east"], false);
    let began = tokio::time::Instant::now();
    let operation = create();
    let (first, second) = tokio::join!(run(&driver, &operation), run(&driver, &operation));
    first.unwrap();
    second.unwrap();
    // Each is tried twice in the east, over two connections.
    assert_eq!(began.elapsed(), 2 * late, "nothing else was waited for");
    let west = network.take_calls().iter().filter(|call| *call == "POST west").count();
    assert_eq!(west, 2);
}

#[tokio::test(start_paused = true)]
async fn many_writes_that_find_the_region_moved_ask_once() {
    let network = Network::new(&["east", "west"], false, |_, _| Answer::Status(403, 3));
    let driver = network.driver(options());
    driver.initialize().await.unwrap();
    tokio::time::advance(Duration::from_secs(10)).await;
    let before = network.account_reads.load(Ordering::Relaxed);
    let mut writes = tokio::task::JoinSet::new();
    for _ in 0..20 {
        let driver = driver.clone();
        writes.spawn(async move { run(&driver, &create()).await.map(drop) });
    }
    for result in writes.join_all().await {
        let error = result.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::DeadlineExceeded);
        assert_eq!(error.status(), Some(CosmosStatus::WRITE_FORBIDDEN));
    }
    let (reads, writes) =
        (network.account_reads.load(Ordering::Relaxed) - before, network.take_calls().len());
    assert!(writes > 20 * 100, "{writes} attempts: two minutes are long enough for a failover");
    assert!((100..=130).contains(&reads), "{reads} account reads: one a second for all of them together");
}

#[tokio::test(start_paused = true)]
async fn a_partition_that_keeps_failing_is_served_elsewhere_and_tried_again_later() {
    let network = Network::new(&["east", "west"], true, |region, _| match region {
        "west" => Answer::Status(503, 0),
        _ => Answer::Status(200, 0),
    });
    let driver = network.driver(options());
    for _ in 0..3 {
        run(&driver, &read("1", "a")).await.unwrap();
        // The endpoint's own term passes, so that what remains is the partition's.
        tokio::time::advance(Duration::from_secs(61)).await;
    }
    network.take_calls();
    let moved = run(&driver, &read("1", "a")).await.unwrap();
    assert_eq!(network.take_calls(), ["GET east"], "more than two failures moved it");
    assert!(moved.diagnostics().attempts()[0].partition_override);

    // Another failure where it was starts a new term; a success brings it back for good.
    for (answer, calls) in
        [(Answer::Status(503, 0), vec!["GET west", "GET east"]), (Answer::Status(200, 0), vec!["GET west"])]
    {
        let now = answer.clone();
        network.now(move |region, _| if region == "west" { now.clone() } else { Answer::Status(200, 0) });
        tokio::time::advance(Duration::from_secs(61)).await;
        driver.sweep_partitions();
        run(&driver, &read("1", "a")).await.unwrap();
        assert_eq!(network.take_calls(), calls, "{answer:?}: the first request after the sweep is the probe");
    }
    run(&driver, &read("1", "a")).await.unwrap();
    assert_eq!(network.take_calls(), ["GET west"]);
}

#[tokio::test(start_paused = true)]
async fn a_probe_that_is_dropped_is_left_to_the_next_request() {
    let network = Network::new(&["east", "west"], true, |region, _| match region {
        "west" => Answer::Status(503, 0),
        _ => Answer::Status(200, 0),
    });
    let driver = network.driver(options());
    for _ in 0..3 {
        run(&driver, &read("1", "a")).await.unwrap();
        tokio::time::advance(Duration::from_secs(61)).await;
    }
    driver.sweep_partitions();
    network.now(|region, _| if region == "west" { Answer::Hang } else { Answer::Status(200, 0) });
    network.take_calls();
    let dropped = crate::waiting::timeout(Duration::from_secs(1), run(&driver, &read("1", "a"))).await;
    assert!(dropped.is_err());
    assert_eq!(network.take_calls(), ["GET west"]);
    network.now(|_, _| Answer::Status(200, 0));
    run(&driver, &read("1", "a")).await.unwrap();
    assert_eq!(network.take_calls(), ["GET west"], "it probes again");
}

#[tokio::test(start_paused = true)]
async fn an_endpoint_leaves_rotation_when_it_cannot_be_reached_and_rejoins_when_it_can() {
    let network = Network::new(&["east", "west"], false, |_, _| Answer::Status(200, 0));
    let driver = network.driver(options());
    driver.initialize().await.unwrap();
    network.down.lock().unwrap().push("west".to_owned());
    run(&driver, &read("1", "a")).await.unwrap();
    // The check runs in the background; it takes no time.
    crate::waiting::sleep(Duration::from_millis(1)).await;
    run(&driver, &read("1", "a")).await.unwrap();
    assert_eq!(network.take_calls(), ["GET east", "GET east"]);
    let direct = run(&driver, &read("1", "a")).await.unwrap();
    assert_eq!(
        direct.diagnostics().attempts().len(),
        1,
        "the west is not even tried: {}",
        direct.diagnostics()
    );
    network.down.lock().unwrap().clear();
    crate::waiting::sleep(Duration::from_secs(11)).await;
    network.take_calls();
    run(&driver, &read("1", "a")).await.unwrap();
    assert_eq!(network.take_calls(), ["GET west"], "a probe brought it back before its term was over");
}

#[tokio::test(start_paused = true)]
async fn excluded_regions_are_not_used() {
    let network = Network::new(&["east", "west"], false, |_, _| Answer::Status(200, 0));
    let mut options = options();
    options.request.excluded_regions = Some(vec![RegionName::from("west")]);
    run(&network.driver(options), &read("1", "a")).await.unwrap();
    assert_eq!(network.take_calls(), ["GET east"]);
}

#[tokio::test(start_paused = true)]
async fn a_partition_that_only_its_answer_names_is_failed_over_by_itself() {
    let rid = ResourceId::container(1, 1);
    let network = Network::new(&["east", "west"], false, move |region, request| {
        match (request.uri().path(), region) {
            // The container may not be read.
            ("/dbs/d/colls/other", _) => Answer::Status(403, 0),
            (_, "west") => Answer::WithAll(
                503,
                vec![
                    ("x-ms-documentdb-partitionkeyrangeid", "7".to_owned()),
                    ("x-ms-content-path", rid.to_string()),
                ],
            ),
            _ => Answer::Status(200, 0),
        }
    });
    let driver = network.driver(options());
    let read =
        operation(OperationType::Read, "/dbs/d/colls/other/docs/1").with_target(PartitionKey::from("a"));
    let response = run(&driver, &read).await.unwrap();
    assert_eq!(response.diagnostics().attempts().len(), 2);
    let location = driver.location().unwrap();
    let partition = PartitionId::new(rid, "7");
    let entry = location.partitions.entry(FailoverMechanism::CircuitBreaker, &partition);
    assert_eq!(entry.map(|entry| entry.read_failure_count), Some(1));
}
