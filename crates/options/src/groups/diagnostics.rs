//! When an operation is worth reporting to the diagnostics handler, besides failing.
//!
//! Which operations are reported is decided by the driver's policy; who hears of them is set on the runtime.

use std::time::Duration;

use crate::{CosmosOptions, Expected};

/// The thresholds above which a diagnostics handler hears of an operation. Layers: runtime, account, operation.
#[derive(Clone, Debug, PartialEq, CosmosOptions)]
#[options(layers(runtime, account, operation))]
pub struct DiagnosticsOptions {
    /// An operation on one resource is slow if it takes longer than this.
    #[option(default = Duration::from_secs(1))]
    pub point_latency_threshold: Option<Duration>,

    /// Any other operation (queries, feeds, batches, stored procedures) is slow if it takes longer than this.
    #[option(default = Duration::from_secs(3))]
    pub latency_threshold: Option<Duration>,

    /// An operation is expensive if it costs more request units than this.
    #[option(default = 1000.0, check = some_charge)]
    pub request_charge_threshold: Option<f64>,

    /// A request or an answer is large if it has more bytes than this.
    #[option(default = 1024 * 1024)]
    pub payload_threshold: Option<u64>,
}

fn some_charge(charge: &f64) -> Result<(), Expected> {
    if *charge >= 0.0 { Ok(()) } else { Err(Expected::new("a number of request units (try \"1000\")")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_charge_is_a_number_that_is_not_negative() {
        for (charge, is_allowed) in
            [(0.0, true), (1000.0, true), (f64::INFINITY, true), (-1.0, false), (f64::NAN, false)]
        {
            assert_eq!(some_charge(&charge).is_ok(), is_allowed, "{charge}");
        }
    }

    #[test]
    fn a_threshold_of_one_call_goes_before_those_of_account_and_runtime() {
        let runtime = DiagnosticsOptions::default().with_latency_threshold(Duration::from_secs(9));
        let account = DiagnosticsOptions::default().with_payload_threshold(10_u64);
        let operation = DiagnosticsOptions::default().with_latency_threshold(Duration::from_secs(5));
        let view = DiagnosticsOptionsView::new(&runtime, &account, &operation);
        assert_eq!(view.latency_threshold(), Duration::from_secs(5));
        assert_eq!(view.payload_threshold(), 10);
        assert_eq!(view.point_latency_threshold(), Duration::from_secs(1));
        assert_eq!(view.request_charge_threshold(), 1000.0);
    }
}
