//! Throttling that is waited out, and deadlines that end a call when they pass.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use cosmonaut_driver::{ErrorKind, NextStep};
use cosmonaut_options::{CosmosClientOptions, RequestOptions};

use crate::harness::read;
use crate::scripted::{Answer, Network, run};

fn within(millis: u64) -> CosmosClientOptions {
    let end_to_end_timeout = Some(Duration::from_millis(millis));
    CosmosClientOptions {
        request: RequestOptions { end_to_end_timeout, ..Default::default() },
        ..Default::default()
    }
}

#[tokio::test(start_paused = true)]
#[expect(clippy::disallowed_methods, reason = "the clock is virtual")]
async fn a_deadline_against_a_hang_ends_the_call_when_it_passes() {
    let network = Network::new(&["east"], false, |_, _| Answer::Hang);
    let driver = network.driver(within(250));
    driver.initialize().await.unwrap();
    let began = tokio::time::Instant::now();
    let error = run(&driver, &read("1", "a")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::DeadlineExceeded, "{error:?}");
    assert_eq!(began.elapsed(), Duration::from_millis(250));
    assert_eq!(network.under_way.load(Ordering::Relaxed), 0, "the stream is free");
    let endpoint = driver.location().unwrap().account.preferred_read_endpoints()[0].clone();
    assert!(driver.shards(&endpoint).iter().all(|shard| shard.inflight == 0));
}

#[tokio::test(start_paused = true)]
async fn throttling_is_waited_out_as_long_as_the_service_asks() {
    let calls = AtomicUsize::new(0);
    let network = Network::new(&["east"], false, move |_, _| match calls.fetch_add(1, Ordering::Relaxed) {
        0 | 1 => Answer::With(429, "x-ms-retry-after-ms", "700".to_owned()),
        _ => Answer::Status(200, 0),
    });
    let response = run(&network.driver(CosmosClientOptions::default()), &read("1", "a")).await.unwrap();
    let attempts = response.diagnostics().attempts();
    assert_eq!(attempts.len(), 3);
    assert_eq!(attempts[0].next, NextStep::RetryThrottled(Duration::from_millis(700)));
    assert_eq!(attempts[2].started.since(attempts[0].started), Duration::from_millis(1400));
    assert_eq!(response.request_charge(), 4.5, "every try is paid for");
}

#[tokio::test(start_paused = true)]
async fn throttling_without_end_is_given_up() {
    for (case, options, wait, expected) in [
        ("too often", CosmosClientOptions::default(), "10", 10),
        ("too long", CosmosClientOptions::default(), "20000", 2),
        ("past the deadline", within(1000), "600", 2),
    ] {
        let network = Network::new(&["east"], false, move |_, _| {
            Answer::With(429, "x-ms-retry-after-ms", wait.to_owned())
        });
        let error = run(&network.driver(options), &read("1", "a")).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Throttled, "{case}: {error}");
        assert_eq!(error.retry_after().unwrap().as_millis().to_string(), wait, "{case}");
        assert_eq!(network.take_calls().len(), expected, "{case}");
    }
}

#[tokio::test(start_paused = true)]
#[expect(clippy::disallowed_methods, reason = "the clock is virtual")]
async fn a_deadline_holds_while_the_account_is_looked_up() {
    let network = Network::new(&["east"], false, |_, _| Answer::Status(200, 0));
    network.account_hangs.store(true, Ordering::Relaxed);
    let driver = network.driver(within(100));
    let began = tokio::time::Instant::now();
    // The second waits for the first one's lookup, and must not inherit its deadline.
    let read = read("1", "a");
    let (first, second) = tokio::join!(run(&driver, &read), async {
        crate::waiting::sleep(Duration::from_millis(60)).await;
        run(&driver, &read).await
    });
    for error in [first.unwrap_err(), second.unwrap_err()] {
        assert_eq!(error.kind(), ErrorKind::DeadlineExceeded, "{error:?}");
    }
    assert_eq!(began.elapsed(), Duration::from_millis(160));
    network.account_hangs.store(false, Ordering::Relaxed);
    // The look-up goes on without them, and asks again once its own time is up.
    crate::waiting::sleep(Duration::from_secs(6)).await;
    run(&driver, &read).await.unwrap();
}
