//! Options of one operation, which are checked as those of the other layers are.

use std::time::Duration;

use cosmonaut_driver::{Credential, ErrorKind, OperationOptions};
use cosmonaut_options::{CosmosClientOptions, HedgingOptions, HedgingThreshold, RequestOptions};
use cosmonaut_wire::EMULATOR_KEY;

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

#[tokio::test(start_paused = true)]
async fn a_protocol_that_is_not_spoken_is_refused_before_anything_is_sent() {
    let network = Network::new(&["east"], false, |_, _| Answer::Status(200, 0));
    let mut options = CosmosClientOptions::default();
    options.connection.use_thin_client = Some(true);
    let key = Credential::master_key(EMULATOR_KEY).unwrap();
    let runtime = network.runtime().build().unwrap();
    let error = runtime.create_driver("http://global.test", key, options).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Configuration);
    assert!(error.to_string().contains("use_thin_client"), "{error}");
    assert!(network.take_calls().is_empty());
}
