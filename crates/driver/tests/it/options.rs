//! Options of one operation, which are checked as those of the other layers are.

use std::time::Duration;

use cosmonaut_driver::{ErrorKind, OperationOptions};
use cosmonaut_options::{HedgingOptions, HedgingThreshold, RequestOptions};

use crate::harness::read;
use crate::scripted::{Answer, Network};

#[tokio::test(start_paused = true)]
async fn options_of_one_operation_that_allow_no_answer_are_refused() {
    let network = Network::new(&["east"], false, |_, _| Answer::Status(200, 0));
    let driver = network.driver(Default::default());
    let second = Duration::from_secs(1);
    let reversed = HedgingThreshold::Dynamic { min: 2 * second, max: second };
    let no_time = RequestOptions { end_to_end_timeout: Some(Duration::ZERO), ..Default::default() };
    for (options, name) in [
        (
            OperationOptions {
                hedging: HedgingOptions { hedging_threshold: Some(reversed), ..Default::default() },
                ..Default::default()
            },
            "HedgingOptions.hedging_threshold",
        ),
        (OperationOptions { request: no_time, ..Default::default() }, "RequestOptions.end_to_end_timeout"),
    ] {
        let error = driver.execute_operation(&read("1", "a"), &options).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Configuration, "{error}");
        assert!(error.to_string().contains(name), "{error}");
        assert!(network.take_calls().is_empty());
    }
}
