//! A diagnostics handler hears of operations that failed, were slow, expensive or large, and of no others.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use cosmonaut_driver::{
    CosmosDriver, DiagnosticsEvent, DiagnosticsHandler, DiagnosticsReason, ErrorKind, OperationOptions,
    OperationType,
};
use cosmonaut_options::{CosmosClientOptions, CosmosRuntimeOptions, DiagnosticsOptions};
use cosmonaut_wire::PartitionKey;

use crate::harness::{operation, read};
use crate::scripted::{Answer, Network, run};

/// What an event said.
#[derive(Clone, Debug, PartialEq)]
struct Heard {
    reason: DiagnosticsReason,
    operation: &'static str,
    elapsed: Duration,
    charge: f64,
    attempts: usize,
    error: Option<ErrorKind>,
    dropped: u64,
}

#[derive(Clone, Default)]
struct Listener(Arc<Mutex<Vec<Heard>>>);

impl Listener {
    fn take(&self) -> Vec<Heard> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

impl DiagnosticsHandler for Listener {
    fn handle(&self, event: &DiagnosticsEvent<'_>) {
        self.0.lock().unwrap().push(Heard {
            reason: event.reason,
            operation: event.operation_name,
            elapsed: event.elapsed,
            charge: event.request_charge,
            attempts: event.diagnostics.attempts().len(),
            error: event.error.map(|error| error.kind()),
            dropped: event.dropped_before,
        });
    }
}

fn heard_by(network: &Arc<Network>, listener: &Listener) -> CosmosDriver {
    let runtime = network.runtime().diagnostics_handler(Arc::new(listener.clone()));
    Network::driver_of(runtime, CosmosClientOptions::default())
}

#[tokio::test(start_paused = true)]
async fn failures_are_reported_but_not_ordinary_answers() {
    let network = Network::new(&["west"], false, |_, _| Answer::Status(200, 0));
    let listener = Listener::default();
    let driver = heard_by(&network, &listener);
    for (code, sub_status, expected) in [
        (200, 0, None),
        (404, 0, None),
        (409, 0, None),
        (412, 0, None),
        (400, 0, Some(ErrorKind::BadRequest)),
        (403, 0, Some(ErrorKind::Forbidden)),
    ] {
        network.now(move |_, _| Answer::Status(code, sub_status));
        let result = run(&driver, &read("1", "a")).await;
        assert_eq!(result.is_ok(), code == 200);
        let heard = listener.take();
        assert_eq!(
            heard.iter().map(|heard| heard.error).collect::<Vec<_>>(),
            expected.map_or(vec![], |kind| vec![Some(kind)]),
            "{code}"
        );
        for heard in heard {
            assert_eq!((heard.reason, heard.operation), (DiagnosticsReason::Failed, "read_item"));
            assert_eq!((heard.attempts, heard.charge), (1, 1.5));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn slow_operations_are_reported_by_the_threshold_of_their_kind() {
    let network = Network::new(&["west"], false, |_, _| Answer::After(Duration::from_secs(2), 200));
    let listener = Listener::default();
    let driver = heard_by(&network, &listener);
    run(&driver, &read("1", "a")).await.unwrap();
    let heard = listener.take();
    assert_eq!(heard.len(), 1, "{heard:?}");
    assert_eq!((heard[0].reason, heard[0].error), (DiagnosticsReason::SlowPoint, None));
    assert!(heard[0].elapsed >= Duration::from_secs(2), "{heard:?}");

    let query = operation(OperationType::Query, "/dbs/d/colls/c/docs").with_target(PartitionKey::from("a"));
    run(&driver, &query).await.unwrap();
    assert_eq!(listener.take(), [], "two seconds are not long for a query");
    let diagnostics = DiagnosticsOptions::default().with_latency_threshold(Duration::from_secs(1));
    let options =
        OperationOptions { diagnostics, operation_name: Some("read_many_items"), ..Default::default() };
    driver.execute_operation(&query, &options).await.unwrap();
    let heard = listener.take();
    assert_eq!((heard[0].reason, heard[0].operation), (DiagnosticsReason::Slow, "read_many_items"));
}

#[tokio::test(start_paused = true)]
async fn expensive_and_large_operations_are_reported_by_the_options_of_runtime_and_account() {
    let network = Network::new(&["west"], false, |_, _| Answer::Status(200, 0));
    let listener = Listener::default();
    let everywhere = CosmosRuntimeOptions {
        diagnostics: DiagnosticsOptions::default().with_request_charge_threshold(1.0),
        ..Default::default()
    };
    let runtime = network.runtime().options(everywhere).diagnostics_handler(Arc::new(listener.clone()));
    let driver = Network::driver_of(runtime, CosmosClientOptions::default());
    run(&driver, &read("1", "a")).await.unwrap();
    assert_eq!(listener.take()[0].reason, DiagnosticsReason::Expensive);

    let here = CosmosClientOptions {
        diagnostics: DiagnosticsOptions::default().with_payload_threshold(9_u64),
        ..Default::default()
    };
    let runtime = network.runtime().diagnostics_handler(Arc::new(listener.clone()));
    let driver = Network::driver_of(runtime, here);
    // The answer has ten bytes.
    run(&driver, &read("1", "a")).await.unwrap();
    assert_eq!(listener.take()[0].reason, DiagnosticsReason::LargePayload);
}

#[tokio::test(start_paused = true)]
async fn many_reports_are_cut_off_and_the_next_minute_says_how_many() {
    let network = Network::new(&["west"], false, |_, _| Answer::Status(400, 0));
    let listener = Listener::default();
    let driver = heard_by(&network, &listener);
    for _ in 0..115 {
        assert!(run(&driver, &read("1", "a")).await.is_err());
    }
    let heard = listener.take();
    assert_eq!(heard.len(), 110);
    assert!(heard.iter().all(|heard| heard.dropped == 0));
    tokio::time::advance(Duration::from_secs(60)).await;
    assert!(run(&driver, &read("1", "a")).await.is_err());
    assert!(run(&driver, &read("1", "a")).await.is_err());
    assert_eq!(listener.take().iter().map(|heard| heard.dropped).collect::<Vec<_>>(), [5, 0]);
}

#[tokio::test(start_paused = true)]
async fn a_write_whose_outcome_is_unknown_is_reported() {
    let network = Network::new(&["west"], false, |_, _| Answer::ResetAfterSend);
    let listener = Listener::default();
    let driver = heard_by(&network, &listener);
    let create = operation(OperationType::Create, "/dbs/d/colls/c/docs").with_body("{}");
    let create = create.with_target(PartitionKey::from("a"));
    assert!(run(&driver, &create).await.is_err());
    let heard = listener.take();
    assert_eq!((heard[0].operation, heard[0].error), ("create_item", Some(ErrorKind::OutcomeUnknown)));
}

struct Panics;

impl DiagnosticsHandler for Panics {
    fn handle(&self, _: &DiagnosticsEvent<'_>) {
        panic!("a handler may be wrong");
    }
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_panics_harms_nothing() {
    let network = Network::new(&["west"], false, |_, _| Answer::Status(400, 0));
    let runtime = network.runtime().diagnostics_handler(Arc::new(Panics));
    let driver = Network::driver_of(runtime, CosmosClientOptions::default());
    for _ in 0..2 {
        let error = run(&driver, &read("1", "a")).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::BadRequest);
    }
}
