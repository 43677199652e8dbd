//! Which layer wins, what merging does, and what a View tells about it.

use std::collections::HashMap;
use std::time::Duration;

use cosmonaut_options::{
    ConnectionOptions, ConnectionOptionsView, ConnectionPoolOptions, CosmosAccountOptions,
    CosmosAccountOptionsView, CosmosClientOptions, CosmosOptions, CosmosRuntimeOptions, EnvLayer,
    EnvironmentOptions, HedgingOptions, HedgingOptionsView, HedgingThreshold, ItemWriteOptions, Layer,
    RegionOptions, RegionOptionsView, RequestOptions, RequestOptionsView, RetryOptions, RetryOptionsView,
    SessionRetryOptions,
};
use cosmonaut_wire::{ConsistencyLevel, PriorityLevel, RegionName};
use http::{HeaderName, HeaderValue};

use crate::variables;

#[test]
fn each_value_comes_from_the_highest_layer_that_has_one() {
    let env = EnvironmentOptions::read(&variables(&[])).unwrap();
    let runtime = CosmosRuntimeOptions {
        request: RequestOptions {
            consistency_level: Some(ConsistencyLevel::Session),
            priority: Some(PriorityLevel::High),
            ..Default::default()
        },
        ..Default::default()
    };
    let account = CosmosClientOptions {
        request: RequestOptions { throughput_bucket: Some(5), ..Default::default() },
        regions: RegionOptions {
            preferred_regions: Some(vec!["West US".into(), "East US".into()]),
            ..Default::default()
        },
        ..Default::default()
    };
    let operation = RequestOptions { priority: Some(PriorityLevel::Low), ..Default::default() };

    let view = RequestOptionsView::new(&env.request, &runtime.request, &account.request, &operation);
    assert_eq!((view.priority(), view.priority_source()), (Some(PriorityLevel::Low), Some(Layer::Operation)));
    assert_eq!(
        (view.consistency_level(), view.consistency_level_source()),
        (Some(ConsistencyLevel::Session), Some(Layer::Runtime))
    );
    assert_eq!((view.throughput_bucket(), view.throughput_bucket_source()), (Some(5), Some(Layer::Account)));
    assert_eq!((view.excluded_regions(), view.excluded_regions_source()), (None, None));

    let regions = RegionOptionsView::new(&runtime.regions, &account.regions);
    assert_eq!(
        regions.preferred_regions().unwrap(),
        &[RegionName::from("westus"), RegionName::from("eastus")]
    );
}

#[test]
fn the_environment_is_the_lowest_layer_and_its_override_the_highest() {
    let view = |pairs: &[(&str, &str)]| {
        let env = EnvLayer::<HedgingOptions>::read(&variables(pairs)).unwrap();
        let runtime = HedgingOptions::default();
        let operation = HedgingOptions::default().with_hedging_enabled(true);
        let view = HedgingOptionsView::new(&env, &runtime, &runtime, &operation);
        ((view.hedging_enabled(), view.hedging_enabled_source()), view.hedging_threshold())
    };
    let fixed = HedgingThreshold::Static(Duration::from_millis(100));
    for (pairs, enabled, threshold) in [
        (&[][..], (true, Layer::Operation), HedgingThreshold::default()),
        (&[("AZURE_COSMOS_HEDGING_ENABLED", "off")], (true, Layer::Operation), HedgingThreshold::default()),
        (
            &[("AZURE_COSMOS_HEDGING_ENABLED_OVERRIDE", "off")],
            (false, Layer::Override),
            HedgingThreshold::default(),
        ),
        (&[("AZURE_COSMOS_HEDGING_THRESHOLD_MS", "100")], (true, Layer::Operation), fixed),
    ] {
        assert_eq!(view(pairs), (enabled, threshold), "{pairs:?}");
    }
}

#[test]
fn headers_of_all_layers_are_sent_and_the_highest_wins_per_name() {
    let headers = |pairs: &[(&'static str, &'static str)]| {
        let pair = |(name, value): &(&'static str, &'static str)| {
            (HeaderName::from_static(name), HeaderValue::from_static(value))
        };
        pairs.iter().map(pair).collect::<HashMap<_, _>>()
    };
    let none = RequestOptions::default();
    let account =
        RequestOptions::default().with_custom_headers(headers(&[("x-a", "account"), ("x-b", "account")]));
    let operation = RequestOptions::default().with_custom_headers(headers(&[("x-b", "operation")]));
    let view = RequestOptionsView::new(&none, &none, &account, &operation);
    assert_eq!(view.custom_headers(), headers(&[("x-a", "account"), ("x-b", "operation")]));
    assert_eq!(view.custom_headers_sources(), [Layer::Account, Layer::Operation]);
    assert!(RequestOptionsView::new(&none, &none, &none, &none).custom_headers().is_empty());
}

#[test]
fn a_nested_group_is_resolved_field_by_field() {
    let env =
        ConnectionOptions::from_env(&variables(&[("AZURE_COSMOS_POOL_IDLE_TIMEOUT", "PT10S")])).unwrap();
    let runtime = ConnectionOptions::default()
        .with_connection_pool(ConnectionPoolOptions { max_connections: Some(7), ..Default::default() });
    let account = ConnectionOptions::default();
    let view = ConnectionOptionsView::new(&env, &runtime, &account);
    let pool = view.connection_pool();
    assert_eq!(
        (pool.idle_timeout(), pool.idle_timeout_source()),
        (Duration::from_secs(10), Layer::Environment)
    );
    assert_eq!((pool.max_connections(), pool.max_connections_source()), (7, Layer::Runtime));
    assert_eq!((pool.max_idle_per_host(), pool.max_idle_per_host_source()), (100, Layer::Default));
    assert_eq!(
        (view.request_timeout(), view.request_timeout_source()),
        (Duration::from_secs(65), Layer::Default)
    );
}

#[test]
fn either_of_two_options_sends_session_retries_abroad() {
    let none = RetryOptions::default();
    let outer = |value| RetryOptions::default().with_enable_remote_region_preferred_for_session_retry(value);
    let inner = |retry: RetryOptions, value| {
        retry.with_session_retry(SessionRetryOptions::default().with_remote_region_preferred(value))
    };
    for (account, expected) in [
        (none.clone(), false),
        (outer(true), true),
        (inner(none.clone(), true), true),
        (inner(outer(true), false), false),
    ] {
        let view = RetryOptionsView::new(&none, &none, &account);
        assert_eq!(view.remote_region_preferred(), expected, "{account:?}");
    }
}

#[test]
fn setters_take_what_converts_into_the_option() {
    let options =
        CosmosAccountOptions::default().with_application_name("shop").with_custom_endpoints(["a".to_owned()]);
    let none = CosmosAccountOptions::default();
    let view = CosmosAccountOptionsView::new(&none, &none, &options);
    assert_eq!(view.application_name().map(String::as_str), Some("shop"));
    let write = ItemWriteOptions::default().with_if_match_etag("\"1\"").with_content_response_on_write(true);
    assert_eq!(write.if_match_etag.unwrap().as_str(), "\"1\"");
}

mod a_group_of_ones_own {
    //! What a user of the derive can write outside the crate that defines it.

    use super::*;

    #[derive(CosmosOptions)]
    #[options(layers(operation, runtime))]
    struct Paging {
        /// Rows in a page.
        ///
        /// More than the service allows are cut off.
        #[option(default = 100)]
        r#size: Option<u32>,
        #[option(default = vec!["id".to_owned()])]
        columns: Option<Vec<String>>,
        #[option(merge = "extend")]
        tags: Option<Vec<String>>,
    }

    #[test]
    fn resolves_like_the_built_in_ones() {
        let runtime = Paging::default().with_tags(["a".to_owned()]).with_size(10);
        let operation = Paging::default().with_tags(["b".to_owned()]);
        let view = PagingView::new(&runtime, &operation);
        assert_eq!((view.size(), view.size_source()), (10, Layer::Runtime));
        assert_eq!(
            (view.columns().as_slice(), view.columns_source()),
            (&["id".to_owned()][..], Layer::Default)
        );
        assert_eq!(view.tags(), ["a", "b"]);
        assert_eq!(Paging::describe()[0].info.doc, "Rows in a page.");
        assert_eq!(
            format!("{view:?}"),
            "PagingView { size: 10 (runtime), columns: id (default), tags: a,b (operation) }"
        );
    }

    #[derive(CosmosOptions)]
    #[options(layers(operation))]
    struct WithDefault {
        #[option(default = 3)]
        attempts: Option<u8>,
    }

    #[test]
    fn has_a_view_for_one_layer_if_there_is_a_default() {
        let unset = WithDefault::default();
        assert_eq!(WithDefaultView::new(&unset).attempts(), 3);
    }
}
