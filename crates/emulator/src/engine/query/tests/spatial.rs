//! Conditions on shapes: an index answers as a plain run does, and by what it gives.

use cosmonaut_wire::model::{
    BoundingBox, ContainerProperties, GeospatialType, IndexingPolicy, SpatialIndex, SpatialType,
};
use proptest::prelude::*;

use super::store::{Store, unordered};
use crate::engine::query::{IndexMetrics, PageSize, QueryRequest};
use crate::engine::{FeedScope, RegionId};
use crate::index::Index;

const TYPES: [SpatialType; 4] =
    [SpatialType::Point, SpatialType::LineString, SpatialType::Polygon, SpatialType::MultiPolygon];

/// A container whose `p` and whose elements of `list` may be shapes.
fn container(is_plane: bool) -> Store {
    let kind = if is_plane { GeospatialType::Geometry } else { GeospatialType::Geography };
    let index = |path: &str| {
        let index = SpatialIndex::new(path, TYPES);
        match is_plane {
            true => index.with_bounding_box(BoundingBox::new([-50.0, -50.0], [50.0, 50.0])),
            false => index,
        }
    };
    let policy =
        IndexingPolicy::default().with_spatial_index(index("/p/*")).with_spatial_index(index("/list/[]/?"));
    let mut store = Store::new(&policy, 1);
    store.properties =
        ContainerProperties::new("c", "/pk").with_indexing_policy(policy).with_geospatial_type(kind);
    store
}

fn point(x: f64, y: f64) -> String {
    format!(r#"{{"type":"Point","coordinates":[{x},{y}]}}"#)
}

fn any_position() -> impl Strategy<Value = [f64; 2]> {
    prop_oneof![
        ((-18i32..=18), (-9i32..=9)).prop_map(|(x, y)| [f64::from(x) * 10.0, f64::from(y) * 10.0]),
        ((175.0..185.0f64), (-5.0..5.0f64)).prop_map(|(x, y)| [if x > 180.0 { x - 360.0 } else { x }, y]),
        ((-180.0..180.0f64), prop_oneof![85.0..90.0f64, -90.0..-85.0f64]).prop_map(|(x, y)| [x, y]),
        ((-5.0..5.0f64), (-5.0..5.0f64)).prop_map(|(x, y)| [x, y]),
    ]
}

fn list(positions: &[[f64; 2]]) -> String {
    let texts: Vec<_> = positions.iter().map(|[x, y]| format!("[{x},{y}]")).collect();
    format!("[{}]", texts.join(","))
}

fn ring(mut corners: Vec<[f64; 2]>) -> String {
    corners.push(corners[0]);
    format!("[{}]", list(&corners))
}

/// Shapes of all types and sizes, some of which are not valid, and values that are none.
fn any_shape() -> impl Strategy<Value = String> {
    let area = || {
        prop_oneof![
            prop::collection::vec(any_position(), 3..5).prop_map(ring),
            (any_position(), 0.01..30.0f64).prop_map(|([x, y], size)| {
                let (east, north) = ((x + size).min(180.0), (y + size).min(90.0));
                ring(vec![[x, y], [east, y], [east, north], [x, north]])
            }),
        ]
    };
    prop_oneof![
        4 => any_position().prop_map(|[x, y]| point(x, y)),
        2 => prop::collection::vec(any_position(), 2..4)
            .prop_map(|line| format!(r#"{{"type":"LineString","coordinates":{}}}"#, list(&line))),
        2 => area().prop_map(|area| format!(r#"{{"type":"Polygon","coordinates":{area}}}"#)),
        1 => (area(), area()).prop_map(|(a, b)| format!(r#"{{"type":"MultiPolygon","coordinates":[{a},{b}]}}"#)),
        1 => prop_oneof![Just("5"), Just("null"), Just(r#"{"type":"Point"}"#), Just("[1,2]")].prop_map(str::to_owned),
    ]
}

fn any_document() -> impl Strategy<Value = String> {
    (any_shape(), prop::collection::vec(any_shape(), 0..2))
        .prop_map(|(p, list)| format!(r#"{{"p":{p},"list":[{}]}}"#, list.join(",")))
}

fn any_condition() -> impl Strategy<Value = String> {
    let path = prop_oneof![3 => Just("c.p"), 1 => Just("x")];
    let metres = prop_oneof![Just(0.0), 1.0..1e5f64, 1e5..2.1e7f64];
    (path, any_shape(), metres, 0u8..8).prop_map(|(path, shape, far, kind)| match kind {
        0 => format!("ST_WITHIN({path}, {shape})"),
        1 => format!("ST_WITHIN({shape}, {path})"),
        2 => format!("ST_INTERSECTS({path}, {shape})"),
        3 => format!("ST_INTERSECTS({shape}, {path})"),
        4 => format!("ST_DISTANCE({path}, {shape}) < {far}"),
        5 => format!("{far} >= ST_DISTANCE({shape}, {path})"),
        6 => format!("ST_DISTANCE({path}, {shape}) BETWEEN 1 AND {far}"),
        _ => format!("ST_DISTANCE({path}, {shape}) <= {}", far / 1e5),
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn an_index_answers_as_a_plain_run_does(
        documents in prop::collection::vec(any_document(), 0..40), condition in any_condition(), gone in any::<u8>(),
        is_plane in any::<bool>(), size in 1usize..6, is_split in any::<bool>(),
    ) {
        let mut store = container(is_plane);
        let numbers: Vec<u64> = documents.iter().map(|document| store.insert(document)).collect();
        if is_split {
            store.split();
        }
        numbers.iter().filter(|number| **number % 5 == u64::from(gone % 5)).for_each(|number| store.remove(*number));
        let text = format!("SELECT c.id FROM c JOIN x IN c.list WHERE {condition}");
        let text = if condition.contains("c.p") { text.replace(" JOIN x IN c.list", "") } else { text };
        let rows = store.rows(&text, FeedScope::Container, size).unwrap();
        prop_assert_eq!(unordered(rows), unordered(store.plain(&text).unwrap()), "{}", text);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// After a restart, after another policy and in the halves of a partition an index is filled. It is the same as one
    /// that has followed all writes.
    #[test]
    fn an_index_that_is_filled_is_one_that_followed(
        documents in prop::collection::vec(any_document(), 0..30), gone in any::<u8>(), is_plane in any::<bool>(),
    ) {
        let store = container(is_plane);
        let numbers: Vec<u64> = documents.iter().map(|document| store.insert(document)).collect();
        numbers.iter().filter(|number| **number % 3 == u64::from(gone % 3)).for_each(|number| store.remove(*number));
        let mut filled = Index::of(&store.properties).unwrap();
        store.layout.ranges()[0].replica(RegionId(0)).read(|state| {
            let all: Vec<_> = state.documents().filter_map(|d| state.share(d.number).cloned()).collect();
            filled.fill(&all, || {});
            prop_assert!(filled == *state.index());
            Ok(())
        })?;
    }
}

/// What a query looked at, what it cost, and which indexes it says that it used and missed.
fn measured(store: &Store, text: &str) -> (u64, f64, String) {
    let mut request = QueryRequest::new(text, FeedScope::Container);
    request.page_size = PageSize::Rows(1000);
    request.populate_metrics = true;
    request.index_metrics = Some(IndexMetrics::UriEncoded);
    let page = store.run(&request).unwrap();
    let metrics = page.metrics.unwrap();
    let count = metrics.split(';').find_map(|entry| entry.strip_prefix("retrievedDocumentCount=")).unwrap();
    (count.parse().unwrap(), page.charge, page.index_utilization.unwrap())
}

/// Points a hundredth of a degree apart, `count` of them around each of some places.
fn points(places: u32, count: u32) -> Store {
    let store = container(false);
    for place in 0..places {
        for n in 0..count {
            let (x, y) = (f64::from(place % 17) * 10.0 - 80.0, f64::from(place / 17) * 5.0 - 40.0);
            store.insert(&format!(r#"{{"p":{}}}"#, point(x + f64::from(n) * 0.01, y)));
        }
    }
    store
}

#[test]
fn cost_grows_with_the_result_and_not_with_the_container() {
    let here = point(-80.0, -40.0);
    let frame = r#"{"type":"Polygon","coordinates":[[[-80.1,-40.1],[-79.905,-40.1],[-79.905,-39.9],[-80.1,-39.9],[-80.1,-40.1]]]}"#;
    let (small, large) = (points(2, 20), points(200, 20));
    for condition in [
        format!("ST_DISTANCE(c.p, {here}) < 8000"),
        format!("8000 > ST_DISTANCE({here}, c.p)"),
        format!("ST_WITHIN(c.p, {frame})"),
        format!("ST_INTERSECTS({frame}, c.p)"),
    ] {
        let text = format!("SELECT c.id FROM c WHERE {condition}");
        let (few, charge, _) = measured(&small, &text);
        let (looked_at, same_charge, _) = measured(&large, &text);
        assert_eq!(small.plain(&text).unwrap().len(), 10, "{text}");
        assert!(few <= 11 && looked_at == few, "{text} looked at {few} and {looked_at} documents");
        assert!((charge - same_charge).abs() < 0.05, "{text} costs {charge} and {same_charge}");
    }
}

#[test]
fn metrics_name_the_index_that_was_used_or_missed() {
    let store = points(2, 20);
    let near = |path: &str| format!("SELECT * FROM c WHERE ST_DISTANCE({path}, {}) < 10", point(0.0, 0.0));
    let report = |used: &str, missed: &str| format!("{used}|{missed}");
    let told = |text: &str| {
        let (_, _, encoded) = measured(&store, text);
        let decoded =
            encoded.replace("%22", "\"").replace("%2F", "/").replace("%2A", "*").replace("%3A", ":");
        let specs = |part: &str| {
            let found = part.split("\"IndexSpec\":\"").skip(1).map(|rest| rest.split('"').next().unwrap());
            found.collect::<Vec<_>>().join(" ")
        };
        let (used, missed) = decoded.split_once("Potential").unwrap();
        report(&specs(used), &specs(missed))
    };
    assert_eq!(told(&near("c.p")), report("/p/*", ""));
    assert_eq!(told(&near("c.q")), report("", "/q/*"));
}
