//! What options allow, and what is said about what they do not.

use std::time::Duration;

use cosmonaut_options::{
    ConnectionOptions, CosmosClientOptions, HedgingOptions, HedgingThreshold, LayeredGroup, Layers,
    RetryOptions, ShardingOptions, ThrottlingRetryOptions,
};

#[test]
fn a_layer_names_every_option_that_is_out_of_range() {
    let options = CosmosClientOptions {
        connection: ConnectionOptions::default().with_request_timeout(Duration::ZERO).with_sharding(
            ShardingOptions::default().with_load_spread_ratio(1.5).with_max_streams_per_client(21),
        ),
        retry: RetryOptions::default().with_throttling(
            ThrottlingRetryOptions::default().with_backoff_factor(f64::NAN).with_max_attempts(0),
        ),
        hedging: HedgingOptions::default().with_hedging_threshold(HedgingThreshold::Dynamic {
            min: Duration::from_secs(2),
            max: Duration::from_secs(1),
        }),
        ..Default::default()
    };
    let errors = options.validate().unwrap_err();
    assert_eq!(
        errors.iter().map(ToString::to_string).collect::<Vec<_>>(),
        [
            "option ConnectionOptions.request_timeout: \"0s\" is not a duration longer than zero \
             (try \"30s\")",
            "option ConnectionOptions.sharding.max_streams_per_client: \"21\" is not a number from 1 to 20, \
             which is what the service allows on one connection",
            r#"option ConnectionOptions.sharding.load_spread_ratio: "1.5" is not a ratio from 0 to 1"#,
            r#"option RetryOptions.throttling.backoff_factor: "NaN" is not a factor of at least 1"#,
            "option HedgingOptions.hedging_threshold: \"2s..1s\" is not a hedging threshold: \
             its lower bound is above its upper one (try \"50ms..4s\")",
        ]
    );
    assert_eq!(CosmosClientOptions::default().validate(), Ok(()));
}

#[test]
fn bounds_from_different_layers_must_fit_together() {
    let runtime = ShardingOptions::default().with_max_clients_per_endpoint(2);
    let account = ShardingOptions::default().with_min_clients_per_endpoint(3);
    let view = ShardingOptions::view(Layers::none().with_runtime(&runtime).with_account(&account));
    assert_eq!(
        view.validate().unwrap_err().to_string(),
        "option ShardingOptions.min_clients_per_endpoint: \"3\" is not a number of at most \
         max_clients_per_endpoint, which is 2 (runtime)"
    );
    assert_eq!(ShardingOptions::view(Layers::none().with_runtime(&runtime)).validate(), Ok(()));
}
