//! A second region in case the first is slow.

use std::sync::atomic::Ordering;
use std::time::Duration;

use cosmonaut_driver::{AttemptOutcome, NextStep, OperationType};
use cosmonaut_options::{CosmosClientOptions, HedgingOptions, HedgingThreshold};
use cosmonaut_wire::PartitionKey;

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
