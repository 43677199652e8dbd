//! A row for each thing that can be wrong.

use cosmonaut::model::{AccountLocation, IndexingMode};
use cosmonaut::{IndexingPolicy, UniqueKeyPolicy};

use super::super::layout::properties;
use super::*;

fn account(regions: &[&str], multi_write: bool, consistency: ConsistencyLevel) -> AccountProperties {
    let locations: Vec<_> =
        regions.iter().map(|name| AccountLocation::new(*name, format!("https://{name}.example"))).collect();
    let mut account = AccountProperties::new("a", consistency, locations.clone(), locations);
    account.enable_multiple_write_locations = Some(multi_write);
    account
}

/// Level, kind and a part of the remedy of each finding.
fn found(described: &Described<'_>) -> Vec<(FindingLevel, FindingKind, String)> {
    inspect(described).into_iter().map(|found| (found.level, found.kind, found.to_string())).collect()
}

fn matches(
    case: &str,
    found: &[(FindingLevel, FindingKind, String)],
    expected: &[(FindingLevel, FindingKind, &str)],
) {
    assert_eq!(found.len(), expected.len(), "{case}: {found:?}");
    for ((level, kind, text), (expected_level, expected_kind, part)) in found.iter().zip(expected) {
        assert_eq!((level, kind), (expected_level, expected_kind), "{case}: {text}");
        assert!(text.contains(part), "{case}: {text}");
    }
}

#[test]
fn an_account_must_write_in_one_region_and_show_what_was_written() {
    use ConsistencyLevel::{BoundedStaleness, ConsistentPrefix, Eventual, Session, Strong};
    use FindingKind::{Consistency, WriteRegions};
    use FindingLevel::{Error, Warning};
    let two = &["East US", "West US"][..];
    for (case, regions, multi_write, bound_to, level, asks, expected) in [
        ("one write region", two, false, None, Session, false, &[][..]),
        ("several", two, true, None, Session, false, &[(Error, WriteRegions, "set write_region")]),
        ("several, one of which is used", two, true, Some("westus"), Session, false, &[]),
        (
            "bound elsewhere",
            two,
            true,
            Some("Mars"),
            Session,
            false,
            &[(Error, WriteRegions, "East US, West US")],
        ),
        ("bound, but there is one", two, false, Some("Mars"), Session, false, &[]),
        (
            "soon several",
            &two[..1],
            true,
            None,
            Session,
            false,
            &[(Warning, WriteRegions, "if it got another")],
        ),
        ("strong", two, false, None, Strong, false, &[]),
        ("bounded", two, false, None, BoundedStaleness, false, &[(Warning, Consistency, "Session")]),
        ("bounded, read as a session", two, false, None, BoundedStaleness, true, &[]),
        ("prefix", two, false, None, ConsistentPrefix, true, &[(Error, Consistency, "ConsistentPrefix")]),
        ("eventual", two, false, None, Eventual, true, &[(Error, Consistency, "to Session")]),
    ] {
        let account = account(regions, multi_write, level);
        let bound_to = bound_to.map(RegionName::from);
        let described = Described {
            account: &account,
            container: None,
            throughput: None,
            bound_to: bound_to.as_ref(),
            asks_for_session: asks,
        };
        matches(case, &found(&described), expected);
    }
}

#[test]
fn a_container_must_keep_what_is_written_and_find_it() {
    use FindingKind::{Indexing, PartitionKey, TimeToLive as Ttl, UniqueKeys};
    use FindingLevel::{Error, Warning};
    let account = account(&["East US"], false, ConsistencyLevel::Session);
    let made = || properties("c");
    let indexed = |policy: IndexingPolicy| made().with_indexing_policy(policy);
    let mut own = made().indexing_policy.unwrap_or_default();
    let without = |path: &str| {
        let mut policy = own.clone();
        policy.included_paths.as_mut().unwrap().retain(|included| included.path != path);
        indexed(policy)
    };
    let other_key = ContainerProperties { partition_key: "/pk".into(), ..made() };
    let two_keys = ContainerProperties { partition_key: ["/instanceId", "/id"].into(), ..made() };
    let mut old_hash = made();
    old_hash.partition_key.version = None;
    let off = ContainerProperties { default_ttl: None, ..made() };
    let unique = made().with_unique_key_policy(UniqueKeyPolicy::default().with_key(["/type"]));
    let expiring = made().with_default_ttl(TimeToLive::seconds(60).unwrap());
    let (lock, sorted) = (without("/lock/until/?"), without(SORTED_BY));
    own.indexing_mode = Some(IndexingMode::None);
    for (case, container, expected) in [
        ("as the provider makes it", made(), &[][..]),
        ("another key", other_key, &[(Error, PartitionKey, "another container")]),
        ("a hierarchical key", two_keys, &[(Error, PartitionKey, "cannot be changed")]),
        ("an old hash", old_hash, &[(Error, PartitionKey, "version 1")]),
        ("everything expires", expiring, &[(Error, Ttl, "60 seconds: instances vanish")]),
        ("nothing expires", off, &[(Error, Ttl, "to -1")]),
        ("unique types", unique, &[(Error, UniqueKeys, "/type")]),
        ("everything is indexed", indexed(IndexingPolicy::default()), &[(Warning, Indexing, "/body/?")]),
        ("nothing is indexed", indexed(IndexingPolicy::none()), &[(Error, Indexing, "durable definition")]),
        ("index off", indexed(own), &[(Error, Indexing, "queries miss them")]),
        ("a path is missing", lock, &[(Warning, Indexing, "/lock/until/?")]),
        ("the path of lists is missing", sorted, &[(Error, Indexing, "cannot be listed")]),
    ] {
        let described = Described {
            account: &account,
            container: Some(&container),
            throughput: None,
            bound_to: None,
            asks_for_session: true,
        };
        matches(case, &found(&described), expected);
    }
}

#[test]
fn little_throughput_is_said_with_what_it_carries() {
    let account = account(&["East US"], false, ConsistencyLevel::Session);
    for (throughput, part) in [
        (ThroughputProperties::manual(400), Some("1.6 orchestrations")),
        (ThroughputProperties::manual(1_000), None),
        (ThroughputProperties::autoscale(4_000, None), None),
    ] {
        let described = Described {
            account: &account,
            container: None,
            throughput: Some(throughput),
            bound_to: None,
            asks_for_session: true,
        };
        let expected: Vec<_> =
            part.map(|part| (FindingLevel::Warning, FindingKind::Throughput, part)).into_iter().collect();
        matches(&format!("{throughput:?}"), &found(&described), &expected);
    }
}

#[test]
fn errors_come_before_warnings() {
    let account = account(&["East US", "West US"], true, ConsistencyLevel::BoundedStaleness);
    let container = ContainerProperties { default_ttl: None, ..properties("c") }
        .with_indexing_policy(IndexingPolicy::default());
    let described = Described {
        account: &account,
        container: Some(&container),
        throughput: Some(ThroughputProperties::manual(400)),
        bound_to: None,
        asks_for_session: false,
    };
    let levels: Vec<_> = inspect(&described).into_iter().map(|finding| finding.level).collect();
    let (error, warning) = (FindingLevel::Error, FindingLevel::Warning);
    assert_eq!(levels, [error, error, warning, warning, warning]);
}
