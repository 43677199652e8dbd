//! What environment variables set, and what is said about those that cannot be used.

use std::time::Duration;

use cosmonaut_options::{
    ConnectionOptions, EnvLayer, EnvironmentOptions, HttpProtocol, Layer, LayeredGroup, Layers,
    PartitionFailoverOptions, RequestOptions, RetryOptions,
};
use cosmonaut_wire::{ConsistencyLevel, PriorityLevel};

use crate::variables;

fn errors(pairs: &[(&str, &str)]) -> String {
    EnvironmentOptions::read(&variables(pairs)).expect_err("one of them is malformed").to_string()
}

#[test]
fn variables_set_their_options() {
    let options = EnvironmentOptions::read(&variables(&[
        ("AZURE_COSMOS_CONSISTENCY_LEVEL", "session"),
        ("AZURE_COSMOS_PRIORITY", "Low"),
        ("AZURE_COSMOS_HTTP_PROTOCOL", "HTTP1"),
        ("AZURE_COSMOS_SHARD_IDLE_TIMEOUT_SECS", "90"),
        ("AZURE_COSMOS_HTTP2_KEEPALIVE_PING_DELAY_IN_SECONDS", "3"),
        ("AZURE_COSMOS_HTTP2_KEEPALIVE_PING_TIMEOUT_IN_SECONDS", "4"),
        ("AZURE_COSMOS_CIRCUIT_BREAKER_TIMEOUT_COUNTER_RESET_WINDOW_IN_MINUTES", "2"),
        ("AZURE_COSMOS_AAD_SCOPE_OVERRIDE", "https://cosmos.azure.com/.default"),
        ("AZURE_COSMOS_AAD_TOKEN_REVOCATION_ENABLED", "true"),
        ("UNRELATED", "value"),
    ]))
    .unwrap();
    let request = &options.request.values;
    assert_eq!(request.consistency_level, Some(ConsistencyLevel::Session));
    assert_eq!(request.priority, Some(PriorityLevel::Low));
    assert_eq!(request.end_to_end_timeout, None);
    let account = options.account.values;
    assert_eq!(account.aad_scope_override.as_deref(), Some("https://cosmos.azure.com/.default"));
    assert_eq!(account.enable_token_revocation, Some(true));
    let connection = options.connection.values;
    assert_eq!(connection.http_protocol, Some(HttpProtocol::Http1));
    assert_eq!(connection.http2_keepalive_interval, Some(Duration::from_secs(3)));
    assert_eq!(connection.http2_keepalive_timeout, Some(Duration::from_secs(4)));
    assert_eq!(connection.sharding.unwrap().idle_client_timeout, Some(Duration::from_secs(90)));
    let failover = options.retry.values.partition_failover.unwrap();
    assert_eq!(failover.counter_reset_window, Some(Duration::from_secs(120)));
}

#[test]
fn a_malformed_variable_is_named_with_its_value_and_the_remedy() {
    for (name, value, expected) in [
        (
            "AZURE_COSMOS_POOL_IDLE_TIMEOUT",
            "5x",
            "environment variable AZURE_COSMOS_POOL_IDLE_TIMEOUT: \"5x\" is not a duration \
             (try \"30s\" or \"PT30S\")",
        ),
        (
            "AZURE_COSMOS_MAX_STREAMS_PER_CLIENT",
            "25",
            "environment variable AZURE_COSMOS_MAX_STREAMS_PER_CLIENT: \"25\" is not a number from 1 to 20, \
             which is what the service allows on one connection",
        ),
        (
            "AZURE_COSMOS_CONSISTENCY_LEVEL",
            "",
            "environment variable AZURE_COSMOS_CONSISTENCY_LEVEL: \"\" is not a consistency level \
             (try one of: Strong, BoundedStaleness, Session, ConsistentPrefix, Eventual)",
        ),
        (
            "AZURE_COSMOS_HEDGING_ENABLED_OVERRIDE",
            "maybe",
            "environment variable AZURE_COSMOS_HEDGING_ENABLED_OVERRIDE: \"maybe\" is not a switch \
             (try \"true\" or \"false\"; 1, 0, yes, no, on and off are read too)",
        ),
    ] {
        assert_eq!(errors(&[(name, value)]), expected);
    }
}

#[test]
fn all_malformed_variables_are_reported_at_once() {
    let text = errors(&[
        ("AZURE_COSMOS_REQUEST_TIMEOUT", "soon"),
        ("AZURE_COSMOS_POOL_MAX_CONNECTIONS", "0"),
        ("AZURE_COSMOS_PRIORITY", "Low"),
        ("AZURE_COSMOS_HEDGING_THRESHOLD_MS", "fast"),
    ]);
    let named = text.lines().map(|line| line.split(':').next().unwrap_or_default()).collect::<Vec<_>>();
    assert_eq!(
        named,
        [
            "environment variable AZURE_COSMOS_REQUEST_TIMEOUT",
            "environment variable AZURE_COSMOS_POOL_MAX_CONNECTIONS",
            "environment variable AZURE_COSMOS_HEDGING_THRESHOLD_MS",
        ]
    );
}

#[test]
fn a_password_in_a_proxy_is_not_repeated() {
    let text = errors(&[("AZURE_COSMOS_PROXY", "http://me:hunter2@proxy")]);
    assert!(text.contains("AZURE_COSMOS_PROXY") && !text.contains("hunter2"), "{text}");
}

#[cfg(unix)]
#[test]
fn a_value_that_is_not_unicode_is_an_error() {
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt;

    let environment =
        |name: &str| (name == "AZURE_COSMOS_PRIORITY").then(|| OsString::from_vec(vec![b'L', 0xff]));
    let error = RequestOptions::from_env(&environment).unwrap_err().to_string();
    assert_eq!(error, "environment variable AZURE_COSMOS_PRIORITY: \"L\u{fffd}\" is not valid UTF-8");
}

#[test]
fn an_alias_is_read_when_the_first_name_is_not_set() {
    let (name, alias) = (
        "AZURE_COSMOS_PER_PARTITION_CIRCUIT_BREAKER_ENABLED",
        "AZURE_COSMOS_ENABLE_PARTITION_CIRCUIT_BREAKER",
    );
    for (pairs, expected) in [
        (&[][..], (true, Layer::Default)),
        (&[(alias, "no")], (false, Layer::Environment)),
        (&[(name, "no"), (alias, "yes")], (false, Layer::Environment)),
        (&[(name, "yes"), (alias, "no")], (true, Layer::Environment)),
    ] {
        let env = EnvLayer::<RetryOptions>::read(&variables(pairs)).unwrap();
        let view = RetryOptions::view(Layers::none().with_environment((&env).into()));
        let found = (
            view.enable_partition_level_circuit_breaker(),
            view.enable_partition_level_circuit_breaker_source(),
        );
        assert_eq!(found, expected, "{pairs:?}");
    }
    assert!(
        errors(&[(name, "yes"), (alias, "perhaps")]).contains(alias),
        "an unused alias must be well formed too"
    );
}

#[test]
fn no_two_options_share_a_variable() {
    let mut names = EnvironmentOptions::default()
        .explain()
        .into_iter()
        .flat_map(|group| group.options)
        .filter_map(|explanation| explanation.option.info.variable)
        .flat_map(|variable| {
            [variable.name].into_iter().chain(variable.aliases.iter().copied()).chain(variable.override_name)
        })
        .collect::<Vec<_>>();
    let count = names.len();
    assert!(count > 15 && names.iter().all(|name| name.starts_with("AZURE_COSMOS_")), "{names:?}");
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
}

#[test]
fn partition_failover_has_its_documented_defaults() {
    let view = PartitionFailoverOptions::view(Layers::none());
    assert_eq!((view.read_failure_threshold(), view.write_failure_threshold()), (2, 5));
    assert_eq!(view.counter_reset_window(), Duration::from_secs(300));
    assert_eq!(view.partition_unavailability_duration(), Duration::from_secs(5));
    assert_eq!(view.failback_sweep_interval(), Duration::from_secs(300));
}

#[test]
fn defaults_pass_their_own_checks() {
    let all = ConnectionOptions::describe().into_iter().chain(RetryOptions::describe());
    let defaults = all.filter_map(|option| Some((option.info.variable?.name, (option.info.default?)())));
    let defaults = defaults.collect::<Vec<_>>();
    let pairs = defaults.iter().map(|(name, value)| (*name, value.as_str())).collect::<Vec<_>>();
    assert!(pairs.len() > 10);
    EnvironmentOptions::read(&variables(&pairs)).unwrap();
}
