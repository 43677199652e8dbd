//! The metrics of operations and requests: names, units and buckets of the OpenTelemetry conventions.

use opentelemetry::KeyValue;
use opentelemetry::metrics::{Gauge, Histogram, Meter, UpDownCounter};

use super::attributes::Ending;
use crate::diagnostics::AttemptDiagnostics;

/// In seconds. The buckets that a provider would pick are made for milliseconds.
const DURATIONS: [f64; 9] = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0];
/// In request units.
const CHARGES: [f64; 9] = [1.0, 5.0, 10.0, 25.0, 50.0, 100.0, 250.0, 500.0, 1000.0];
/// In rows.
const ROWS: [f64; 8] = [1.0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7];
const KIB: f64 = 1024.0;
const MIB: f64 = 1024.0 * KIB;
/// In bytes.
const SIZES: [f64; 14] = [
    0.0,
    64.0 * KIB,
    128.0 * KIB,
    256.0 * KIB,
    512.0 * KIB,
    MIB,
    1.5 * MIB,
    2.0 * MIB,
    2.5 * MIB,
    3.0 * MIB,
    4.0 * MIB,
    6.0 * MIB,
    8.0 * MIB,
    10.0 * MIB,
];

/// The instruments of one driver.
pub(super) struct Instruments {
    duration: Histogram<f64>,
    request_charge: Histogram<f64>,
    returned_rows: Histogram<u64>,
    active_instances: UpDownCounter<i64>,
    change_feed_lag: Gauge<u64>,
    requests: Option<RequestInstruments>,
}

/// The instruments for single attempts.
struct RequestInstruments {
    duration: Histogram<f64>,
    request_size: Histogram<u64>,
    response_size: Histogram<u64>,
}

impl Instruments {
    pub(super) fn new(meter: &Meter, with_requests: bool) -> Self {
        Self {
            duration: meter
                .f64_histogram("db.client.operation.duration")
                .with_unit("s")
                .with_description("How long operations take, retries included")
                .with_boundaries(DURATIONS.to_vec())
                .build(),
            request_charge: meter
                .f64_histogram("azure.cosmosdb.client.operation.request_charge")
                .with_unit("{request_unit}")
                .with_description("What operations cost")
                .with_boundaries(CHARGES.to_vec())
                .build(),
            returned_rows: meter
                .u64_histogram("db.client.response.returned_rows")
                .with_unit("{row}")
                .with_description("How many rows queries and feeds return")
                .with_boundaries(ROWS.to_vec())
                .build(),
            active_instances: meter
                .i64_up_down_counter("azure.cosmosdb.client.active_instance.count")
                .with_unit("{instance}")
                .with_description("How many clients there are")
                .build(),
            change_feed_lag: meter
                .u64_gauge("azure.cosmosdb.client.change_feed.lag")
                .with_unit("{change}")
                .with_description("About how many changes a change-feed processor has not read yet")
                .build(),
            requests: with_requests.then(|| RequestInstruments::new(meter)),
        }
    }

    /// Counts an operation that has ended.
    pub(super) fn record(&self, ending: &Ending<'_>, attributes: &[KeyValue]) {
        self.duration.record(ending.elapsed.as_secs_f64(), attributes);
        self.request_charge.record(ending.request_charge, attributes);
        if let Some(rows) = ending.rows {
            self.returned_rows.record(rows, attributes);
        }
    }

    /// Whether single attempts are counted.
    pub(super) fn counts_requests(&self) -> bool {
        self.requests.is_some()
    }

    /// Counts one attempt, whose request had a body of so many bytes.
    pub(super) fn record_request(
        &self,
        attempt: &AttemptDiagnostics,
        request_bytes: usize,
        attributes: &[KeyValue],
    ) {
        let Some(requests) = &self.requests else { return };
        requests.duration.record(attempt.latency.as_secs_f64(), attributes);
        requests.request_size.record(request_bytes as u64, attributes);
        requests.response_size.record(attempt.response_bytes as u64, attributes);
    }

    /// Notes how far a change-feed processor is behind.
    pub(super) fn record_lag(&self, lag: u64, attributes: &[KeyValue]) {
        self.change_feed_lag.record(lag, attributes);
    }

    /// Counts a driver that starts (1) or ends (-1).
    pub(super) fn count_instance(&self, change: i64, attributes: &[KeyValue]) {
        self.active_instances.add(change, attributes);
    }
}

impl RequestInstruments {
    fn new(meter: &Meter) -> Self {
        let size = |name: &'static str, description: &'static str| {
            let histogram = meter.u64_histogram(name).with_unit("By").with_description(description);
            histogram.with_boundaries(SIZES.to_vec()).build()
        };
        Self {
            duration: meter
                .f64_histogram("azure.cosmosdb.client.request.duration")
                .with_unit("s")
                .with_description("How long single attempts take")
                .with_boundaries(DURATIONS.to_vec())
                .build(),
            request_size: size("azure.cosmosdb.client.request.body.size", "How large requests are"),
            response_size: size("azure.cosmosdb.client.response.body.size", "How large answers are"),
        }
    }
}
