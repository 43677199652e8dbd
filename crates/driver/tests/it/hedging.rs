//! A second region in case the first is slow.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cosmonaut_driver::{AttemptOutcome, CosmosOperation, NextStep, OperationType};
use cosmonaut_options::{CosmosClientOptions, HedgingOptions, HedgingThreshold};
use cosmonaut_policy::FailoverMechanism;
use cosmonaut_wire::{PartitionKey, ResourceId};

use crate::harness::{operation, read};
use crate::scripted::{Answer, Network, run};

fn after(millis: u64) -> CosmosClientOptions {
    let hedging_threshold = Some(HedgingThreshold::Static(Duration::from_millis(millis)));
    CosmosClientOptions {
        hedging: HedgingOptions { hedging_threshold, ..Default::default() },
        ..Default::default()
    }
}

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

#[tokio::test(start_paused = true)]
async fn nothing_is_started_if_the_first_answers_in_time() {
    let network = Network::new(&["east", "west"], false, |_, _| Answer::After(ms(99), 200));
    let response = run(&network.driver(after(100)), &read("1", "a")).await.unwrap();
    assert_eq!(network.take_calls(), ["GET east"]);
    assert_eq!(response.diagnostics().attempts().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_first_success_is_taken_and_the_other_dropped() {
    for (case, east, west, winner) in [
        ("second is faster", Answer::Hang, Answer::After(ms(10), 200), "west"),
        ("first is faster after all", Answer::After(ms(150), 200), Answer::Hang, "east"),
        ("second fails", Answer::After(ms(500), 200), Answer::Status(503, 0), "east"),
        ("first fails late", Answer::After(ms(150), 503), Answer::After(ms(400), 200), "west"),
    ] {
        let network = Network::new(&["east", "west"], false, move |region, _| match region {
            "east" => east.clone(),
            _ => west.clone(),
        });
        let response = run(&network.driver(after(100)), &read("1", "a")).await.unwrap();
        assert_eq!(network.take_calls(), ["GET east", "GET west"], "{case}");
        assert_eq!(network.under_way.load(Ordering::Relaxed), 0, "{case}: the loser is gone");
        let attempts = response.diagnostics().attempts();
        let won = attempts.last().unwrap();
        assert_eq!(won.endpoint.region().unwrap().as_str(), winner, "{case}");
        let expected = if winner == "west" { NextStep::HedgeTaken } else { NextStep::HedgeDropped };
        assert_eq!(attempts[0].next, expected, "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_dropped_leg_is_in_the_diagnostics() {
    let network = Network::new(&["east", "west"], false, |region, _| match region {
        "east" => Answer::Hang,
        _ => Answer::After(ms(10), 200),
    });
    let response = run(&network.driver(after(100)), &read("1", "a")).await.unwrap();
    let lost = &response.diagnostics().attempts()[0];
    assert_eq!((lost.outcome, lost.latency.as_millis()), (AttemptOutcome::Cancelled, 110));
}

#[tokio::test(start_paused = true)]
async fn writes_are_hedged_only_where_every_region_takes_them() {
    for (multi_write, kind, expected) in [
        (false, OperationType::Create, 1),
        (true, OperationType::Create, 2),
        (true, OperationType::Patch, 1),
        (false, OperationType::Read, 2),
    ] {
        let network = Network::new(&["east", "west"], multi_write, |_, _| Answer::After(ms(150), 200));
        let path =
            if kind == OperationType::Create { "/dbs/d/colls/c/docs" } else { "/dbs/d/colls/c/docs/1" };
        let operation = operation(kind, path).with_target(PartitionKey::from("a"));
        run(&network.driver(after(100)), &operation).await.unwrap();
        assert_eq!(
            network.take_calls().len(),
            expected,
            "{kind:?}, every region takes writes: {multi_write}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_region_that_is_always_slow_loses_the_partition() {
    let network = Network::new(&["east", "west"], true, |region, _| match region {
        "east" => Answer::After(ms(900), 200),
        _ => Answer::After(ms(5), 200),
    });
    let driver = network.driver(after(100));
    let mut calls = Vec::new();
    for _ in 0..100 {
        run(&driver, &read("1", "a")).await.unwrap();
        calls = network.take_calls();
        if calls == ["GET west"] {
            return;
        }
    }
    panic!("still hedging after 100 lost races: {calls:?}");
}

fn upsert(value: &'static str) -> CosmosOperation {
    operation(OperationType::Upsert, "/dbs/d/colls/c/docs")
        .with_body(value)
        .with_target(PartitionKey::from("a"))
}

/// A region that is slow applies a write late even if nobody waits for it any more.
#[tokio::test(start_paused = true)]
#[expect(clippy::disallowed_methods, reason = "the server's work goes on by itself")]
async fn a_write_waits_for_the_leg_that_its_predecessor_has_left_behind() {
    let applied: Arc<Mutex<Vec<String>>> = Arc::default();
    let log = Arc::clone(&applied);
    let network = Network::new(&["east", "west"], true, move |region, request| {
        let delay = if region == "east" { ms(400) } else { ms(5) };
        let (log, line) = (Arc::clone(&log), format!("{region} {}", String::from_utf8_lossy(request.body())));
        tokio::spawn(async move {
            crate::waiting::sleep(delay).await;
            log.lock().unwrap().push(line);
        });
        Answer::After(delay, 200)
    });
    let driver = network.driver(after(100));
    let first = run(&driver, &upsert("1")).await.unwrap();
    assert_eq!(first.diagnostics().attempts()[0].outcome, AttemptOutcome::LeftRunning);
    assert!(first.diagnostics().has_unknown_charge());
    run(&driver, &upsert("2")).await.unwrap();
    let place = |line: &str| applied.lock().unwrap().iter().position(|applied| applied == line).unwrap();
    assert!(
        place("east 1") < place("west 2"),
        "the late one must not overwrite: {:?}",
        applied.lock().unwrap()
    );
}

#[tokio::test(start_paused = true)]
async fn a_write_does_not_wait_for_ever_for_one_that_hangs() {
    let network = Network::new(&["east", "west"], true, |region, _| match region {
        "east" => Answer::Hang,
        _ => Answer::After(ms(5), 200),
    });
    let driver = network.driver(after(100));
    let began = tokio_now();
    run(&driver, &upsert("1")).await.unwrap();
    run(&driver, &upsert("2")).await.unwrap();
    assert_eq!(began.elapsed().as_secs(), 2, "two seconds for the one that hangs");
    let other = upsert("3").with_target(PartitionKey::from("b"));
    let began = tokio_now();
    run(&driver, &other).await.unwrap();
    assert!(began.elapsed() < ms(200), "another key waits for nobody");
}

#[expect(clippy::disallowed_methods, reason = "the clock is virtual")]
fn tokio_now() -> tokio::time::Instant {
    tokio::time::Instant::now()
}

#[tokio::test(start_paused = true)]
async fn hedging_can_be_turned_off_for_writes_alone() {
    let network = Network::new(&["east", "west"], true, |_, _| Answer::After(ms(150), 200));
    let mut options = after(100);
    options.hedging.write_hedging_enabled = Some(false);
    let driver = network.driver(options);
    run(&driver, &upsert("1")).await.unwrap();
    run(&driver, &read("1", "a")).await.unwrap();
    assert_eq!(network.take_calls(), ["POST east", "GET east", "GET west"]);
}

#[tokio::test(start_paused = true)]
async fn what_a_losing_leg_was_answered_counts() {
    let network = Network::new(&["east", "west"], false, |region, _| match region {
        "east" => Answer::After(ms(150), 503),
        _ => Answer::After(ms(100), 200),
    });
    let driver = network.driver(after(100));
    for _ in 0..3 {
        run(&driver, &read("1", "a")).await.unwrap();
    }
    network.take_calls();
    let response = run(&driver, &read("1", "a")).await.unwrap();
    assert_eq!(network.take_calls(), ["GET west"], "three failures are enough");
    assert!(response.diagnostics().attempts()[0].partition_override);
    let location = driver.location().unwrap();
    let partition = cosmonaut_driver::PartitionId::new("1FAbAPmd4Rw=".parse::<ResourceId>().unwrap(), "0");
    let entry = location.partitions.entry(FailoverMechanism::CircuitBreaker, &partition).unwrap();
    assert_eq!((entry.read_failure_count, entry.hedge_wins), (3, 0), "answers are no silence");
}

#[tokio::test(start_paused = true)]
async fn a_refusal_that_comes_late_has_the_account_read() {
    let network = Network::new(&["east", "west"], true, |region, _| match region {
        "east" => Answer::AfterWith(ms(150), 403, 3),
        _ => Answer::After(ms(100), 200),
    });
    let driver = network.driver(after(100));
    driver.initialize().await.unwrap();
    let before = network.account_reads.load(Ordering::Relaxed);
    run(&driver, &upsert("1")).await.unwrap();
    crate::waiting::sleep(ms(10)).await;
    assert_eq!(network.account_reads.load(Ordering::Relaxed), before + 1);
}

#[tokio::test(start_paused = true)]
async fn a_third_region_is_asked_after_a_step_or_a_failure() {
    for (case, east, west, north, expected) in [
        ("two are silent", Answer::Hang, Answer::Hang, Answer::After(ms(5), 200), 605),
        ("the second fails", Answer::Hang, Answer::After(ms(20), 503), Answer::After(ms(5), 200), 125),
        ("the second answers", Answer::Hang, Answer::After(ms(20), 200), Answer::Hang, 120),
    ] {
        let network = Network::new(&["east", "west", "north"], false, move |region, _| match region {
            "east" => east.clone(),
            "west" => west.clone(),
            _ => north.clone(),
        });
        let driver = network.driver(after(100));
        driver.initialize().await.unwrap();
        let response = run(&driver, &read("1", "a")).await.unwrap();
        assert_eq!(response.diagnostics().elapsed().as_millis(), expected, "{case}");
    }
}

#[tokio::test(start_paused = true)]
async fn hedges_that_never_win_are_given_up() {
    let network = Network::new(&["east", "west"], false, |_, _| Answer::After(ms(300), 200));
    let driver = network.driver(after(100));
    let mut asked_twice = 0;
    for _ in 0..500 {
        run(&driver, &read("1", "a")).await.unwrap();
        asked_twice += usize::from(network.take_calls().len() == 2);
    }
    assert!(
        (90..=160).contains(&asked_twice),
        "{asked_twice} of 500: a service that is slow is not made slower"
    );
}

/// A reader that lets its operation lie: the pause is not the server's.
#[tokio::test(start_paused = true)]
async fn a_callers_pause_is_no_latency() {
    let slow_by = Arc::new(AtomicUsize::new(5));
    let answers = Arc::clone(&slow_by);
    let network = Network::new(&["east", "west"], false, move |_, _| {
        Answer::After(ms(answers.load(Ordering::Relaxed) as u64), 200)
    });
    let driver = network.driver(CosmosClientOptions::default());
    let read = read("1", "a");
    for _ in 0..300 {
        let mut reading = Box::pin(run(&driver, &read));
        let begun = crate::waiting::timeout(ms(1), reading.as_mut()).await;
        assert!(begun.is_err());
        // Nobody polls it, while others go on.
        crate::waiting::sleep(Duration::from_secs(30)).await;
        reading.await.unwrap();
    }
    network.take_calls();
    slow_by.store(2_000, Ordering::Relaxed);
    run(&driver, &read).await.unwrap();
    assert_eq!(network.take_calls(), ["GET east", "GET west"], "two seconds are slow, whatever readers do");
}
