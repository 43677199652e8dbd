//! Listings: every option of a group, with and without values.

use cosmonaut_options::{
    EnvLayer, EnvironmentOptions, ItemWriteOptions, Layer, OptionGroup, RequestOptions, RequestOptionsView,
    RetryOptions, RetryOptionsView,
};
use cosmonaut_wire::PriorityLevel;
use http::{HeaderName, HeaderValue};

use crate::variables;

#[test]
fn a_view_explains_every_option() {
    let env = EnvLayer::<RequestOptions>::read(&variables(&[("AZURE_COSMOS_CONSISTENCY_LEVEL", "Eventual")]))
        .unwrap();
    let none = RequestOptions::default();
    let mut secret = HeaderValue::from_static("hunter2");
    secret.set_sensitive(true);
    let operation = RequestOptions::default()
        .with_priority(PriorityLevel::Low)
        .with_custom_headers([(HeaderName::from_static("x-key"), secret)]);
    let explained = RequestOptionsView::new(&env, &none, &none, &operation).explain();
    let lines = explained
        .iter()
        .map(|line| (line.option.path.as_str(), line.value.as_deref(), line.sources.as_slice()));
    assert_eq!(
        lines.collect::<Vec<_>>(),
        [
            ("consistency_level", Some("Eventual"), &[Layer::Environment][..]),
            ("read_consistency_strategy", None, &[]),
            ("priority", Some("Low"), &[Layer::Operation]),
            ("throughput_bucket", None, &[]),
            ("binary_encoding_enabled", Some("false"), &[Layer::Default]),
            ("end_to_end_timeout", Some("2m"), &[Layer::Default]),
            ("custom_headers", Some("x-key: (sensitive)"), &[Layer::Operation]),
            ("excluded_regions", None, &[]),
        ]
    );
    assert_eq!(explained[0].option.info.variable.unwrap().name, "AZURE_COSMOS_CONSISTENCY_LEVEL");
}

#[test]
fn nested_options_are_listed_by_dotted_path() {
    let none = RetryOptions::default();
    let explained = RetryOptionsView::new(&none, &none, &none).explain();
    let line = explained.iter().find(|line| line.option.path == "throttling.max_cumulative_wait").unwrap();
    assert_eq!((line.value.as_deref(), line.sources.as_slice()), (Some("30s"), &[Layer::Default][..]));
    let described = RetryOptions::describe().into_iter().map(|option| option.path);
    assert!(described.eq(explained.into_iter().map(|line| line.option.path)));
}

#[test]
fn a_group_without_a_view_is_described_too() {
    assert_eq!(ItemWriteOptions::LAYERS, [Layer::Operation]);
    let described = ItemWriteOptions::describe();
    assert_eq!(described[0].path, "indexing_directive");
    assert_eq!(described[0].info.doc, "Whether the item is indexed.");
}

#[test]
fn every_option_of_every_group_is_documented() {
    for group in EnvironmentOptions::default().explain() {
        for line in group.options {
            assert!(line.option.info.doc.ends_with('.'), "{}.{}", group.name, line.option.path);
        }
    }
}
