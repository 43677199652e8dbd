//! Which shapes of a document are in a spatial index, and that they leave it as they came.

use cosmonaut_query::raw::RawJson;
use cosmonaut_query::spatial::{Rectangle, Surface};
use cosmonaut_wire::model::{BoundingBox, IndexingPolicy, SpatialIndex, SpatialType};
use serde_json::json;

use super::super::path::IndexPath;
use super::Shapes;

fn policy(paths: &[&str]) -> IndexingPolicy {
    let index = |path: &&str| SpatialIndex::new(*path, [SpatialType::Point]);
    paths.iter().map(index).fold(IndexingPolicy::default(), IndexingPolicy::with_spatial_index)
}

fn path(text: &str) -> IndexPath {
    IndexPath::parse(&format!("{text}/?")).unwrap().0
}

fn around(x: f64, y: f64) -> Rectangle {
    Rectangle { x: (x - 0.5, x + 0.5), y: (y - 0.5, y + 0.5) }
}

fn found(shapes: &Shapes, at: &str, x: f64, y: f64) -> Vec<u64> {
    shapes.touching(&path(at).0, &[around(x, y)], 100).unwrap()
}

const POINT: &str = r#"{"type":"Point","coordinates":[7,8]}"#;

#[test]
fn the_shapes_that_a_path_names_are_found() {
    let body = format!(
        r#"{{"p":{POINT},"deep":{{"q":{POINT}}},"list":[{{"p":{POINT}}},{{"p":5}}],"shape":{{"type":"Point","coordinates":[7,8],"more":{POINT}}}}}"#
    );
    for (indexed, at, expected) in [
        ("/p/?", "/p", true),
        ("/p/*", "/p", true),
        ("/*", "/p", true),
        ("/*", "/deep/q", true),
        ("/deep/?", "/deep/q", false),
        ("/deep/*", "/deep/q", true),
        ("/list/[]/p/?", "/list/[]/p", true),
        ("/list/*", "/list/[]/p", true),
        ("/shape/*", "/shape", true),
        ("/shape/*", "/shape/more", true),
        ("/q/*", "/p", false),
    ] {
        let mut shapes = Shapes::new(&policy(&[indexed]), true).unwrap();
        shapes.insert(RawJson::new(body.as_bytes()), 3);
        assert_eq!(shapes.covers(&path(at).0, Surface::Geography), expected, "{indexed} covers {at}");
        assert!(!shapes.covers(&path(at).0, Surface::Geometry), "{indexed} covers {at} of the plane");
        assert_eq!(
            found(&shapes, at, 7.0, 8.0),
            if expected { vec![3] } else { vec![] },
            "{indexed} has {at}"
        );
        assert!(found(&shapes, at, 9.0, 8.0).is_empty(), "{indexed} has {at} elsewhere");
    }
}

#[test]
fn the_old_form_is_an_index_too() {
    let mut policy = IndexingPolicy::default().with_included_path("/p/?");
    policy.included_paths.as_mut().unwrap()[1].indexes =
        Some(vec![json!({"kind": "Spatial", "dataType": "Point"})]);
    let mut shapes = Shapes::new(&policy, true).unwrap();
    assert_eq!(shapes.insert(RawJson::new(format!(r#"{{"p":{POINT}}}"#).as_bytes()), 3), 1);
    assert_eq!(found(&shapes, "/p", 7.0, 8.0), [3]);
}

#[test]
fn a_shape_outside_the_box_of_its_index_is_found() {
    let index = SpatialIndex::new("/p/*", [SpatialType::Point]);
    let boxed = index.with_bounding_box(BoundingBox::new([0.0, 0.0], [5.0, 5.0]));
    let mut shapes = Shapes::new(&IndexingPolicy::default().with_spatial_index(boxed), true).unwrap();
    shapes.insert(RawJson::new(format!(r#"{{"p":{POINT}}}"#).as_bytes()), 3);
    assert!(shapes.covers(&path("/p").0, Surface::Geometry));
    assert_eq!(found(&shapes, "/p", 7.0, 8.0), [3]);
    assert!(found(&shapes, "/p", 1.0, 1.0).is_empty());
}

#[test]
fn what_is_removed_leaves_nothing_behind_and_many_are_told_as_too_many() {
    let body =
        |n: u64| format!(r#"{{"p":{{"type":"Point","coordinates":[{},{}]}},"q":{POINT}}}"#, n % 180, n % 90);
    let mut shapes = Shapes::new(&policy(&["/p/*", "/*"]), true).unwrap();
    for n in 0..500 {
        assert_eq!(shapes.insert(RawJson::new(body(n).as_bytes()), n), 2, "each shape once");
    }
    let everywhere = [Rectangle { x: (-180.0, 180.0), y: (-90.0, 90.0) }];
    let all = |most| shapes.touching(&path("/p").0, &everywhere, most);
    assert_eq!(all(499), None);
    assert_eq!(all(500), Some((0..500).collect()));
    assert_eq!(found(&shapes, "/p", 5.0, 5.0), [5, 185, 365]);
    for n in 0..500 {
        assert_eq!(shapes.remove(RawJson::new(body(n).as_bytes()), n), 2);
    }
    assert_eq!(shapes, Shapes::new(&policy(&["/p/*", "/*"]), true).unwrap());
}

#[test]
fn a_policy_that_cannot_be_followed_is_refused() {
    for (policy, on, words) in [(policy(&["/p"]), true, "'/p'"), (policy(&["/p/*"]), false, "consistent")] {
        let message = Shapes::new(&policy, on).unwrap_err().message;
        assert!(message.contains(words), "{message}");
    }
}
