//! Insides, meetings and rectangles on both surfaces, and what holds for shapes of any kind.

use proptest::prelude::*;

use super::{Rectangle, Shape, Surface};
use crate::raw::RawJson;

const BOTH: [Surface; 2] = [Surface::Geography, Surface::Geometry];

fn shape(surface: Surface, text: &str) -> Shape {
    Shape::read(RawJson::new(text.as_bytes()), surface)
        .unwrap_or_else(|error| panic!("{text}: {}", error.reason()))
}

fn point(x: f64, y: f64) -> String {
    format!(r#"{{"type":"Point","coordinates":[{x},{y}]}}"#)
}

fn written(kind: &str, coordinates: &str) -> String {
    format!(r#"{{"type":"{kind}","coordinates":{coordinates}}}"#)
}

fn polygon(rings: &str) -> String {
    written("Polygon", rings)
}

fn is_within(surface: Surface, a: &str, b: &str) -> bool {
    shape(surface, a).is_within(&shape(surface, b), &|_| Ok(())).unwrap()
}

fn intersects(surface: Surface, a: &str, b: &str) -> bool {
    let both =
        [(a, b), (b, a)].map(|(a, b)| shape(surface, a).intersects(&shape(surface, b), &|_| Ok(())).unwrap());
    assert_eq!(both[0], both[1], "{a} {b}");
    both[0]
}

fn distance(surface: Surface, a: &str, b: &str) -> f64 {
    shape(surface, a).distance(&shape(surface, b), &|_| Ok(())).unwrap().unwrap()
}

const BOX: &str = "[[[0,0],[10,0],[10,10],[0,10],[0,0]]]";
const FRAME: &str = "[[[0,0],[10,0],[10,10],[0,10],[0,0]],[[3,3],[3,7],[7,7],[7,3],[3,3]]]";
/// The same, its hole written the other way round.
const FRAME_TOO: &str = "[[[0,0],[10,0],[10,10],[0,10],[0,0]],[[3,3],[7,3],[7,7],[3,7],[3,3]]]";

#[test]
fn what_is_within_on_either_surface() {
    for surface in BOTH {
        for (inner, outer, expected) in [
            (point(5.0, 5.0), polygon(BOX), true),
            (point(5.0, 11.0), polygon(BOX), false),
            (point(0.0, 5.0), polygon(BOX), false),   // on the boundary
            (point(0.0, 0.0), polygon(BOX), false),   // a corner
            (point(5.0, 5.0), polygon(FRAME), false), // in the hole
            (point(5.0, 5.0), polygon(FRAME_TOO), false),
            (point(2.0, 2.0), polygon(FRAME), true),
            (point(2.0, 2.0), polygon(FRAME_TOO), true),
            (point(2.0, 2.0), point(2.0, 2.0), true),
            (point(2.0, 2.0), point(2.0, 2.1), false),
            (point(0.0, 5.0), written("LineString", "[[0,0],[0,9]]"), true),
            (point(0.0, 9.0), written("LineString", "[[0,0],[0,9]]"), false), // an end
            (written("LineString", "[[1,1],[9,1]]"), polygon(BOX), true),
            (written("LineString", "[[1,1],[11,1]]"), polygon(BOX), false),
            (written("LineString", "[[0,1],[0,9]]"), polygon(BOX), false), // along the boundary
            (written("LineString", "[[0,1],[0,9],[5,5]]"), polygon(BOX), true),
            (written("LineString", "[[1,5],[9,5]]"), polygon(FRAME), false), // through the hole
            (written("LineString", "[[0,2],[0,3]]"), written("LineString", "[[0,0],[0,9]]"), true),
            (written("LineString", "[[0,2],[0,10]]"), written("LineString", "[[0,0],[0,9]]"), false),
            (polygon(BOX), polygon(BOX), true),
            (polygon(FRAME), polygon(BOX), true),
            (polygon(BOX), polygon(FRAME), false), // the hole is inside
            (polygon("[[[3,3],[7,3],[7,7],[3,7],[3,3]]]"), polygon(FRAME), false), // the hole itself
            (polygon("[[[1,1],[2,1],[2,2],[1,1]]]"), polygon(FRAME), true),
            (polygon("[[[1,1],[12,1],[2,2],[1,1]]]"), polygon(BOX), false),
            (polygon(BOX), written("LineString", "[[0,0],[10,10]]"), false),
            (
                polygon("[[[21,1],[22,1],[22,2],[21,1]]]"),
                written("MultiPolygon", &format!("[{BOX},[[[20,0],[30,0],[30,10],[20,0]]]]")),
                true,
            ),
        ] {
            assert_eq!(is_within(surface, &inner, &outer), expected, "{surface:?}: {inner} in {outer}");
        }
    }
}

#[test]
fn what_meets_on_either_surface() {
    for surface in BOTH {
        for (one, other, expected) in [
            (point(0.0, 5.0), polygon(BOX), true), // on the boundary
            (point(5.0, 5.0), polygon(FRAME), false),
            (point(1.0, 1.0), point(1.0, 1.0), true),
            (written("LineString", "[[-1,5],[11,5]]"), polygon(BOX), true),
            (written("LineString", "[[4,4],[6,6]]"), polygon(FRAME), false),
            (written("LineString", "[[0,0],[4,0]]"), written("LineString", "[[2,-2],[2,2]]"), true),
            (written("LineString", "[[0,0],[4,0]]"), written("LineString", "[[2,0],[2,2]]"), true), // touches
            (written("LineString", "[[0,0],[4,0]]"), written("LineString", "[[2,1],[2,2]]"), false),
            (polygon("[[[4,4],[5,4],[5,5],[4,4]]]"), polygon(BOX), true), // one in the other
            (polygon("[[[4,4],[5,4],[5,5],[4,4]]]"), polygon(FRAME), false), // one in the hole
            (polygon("[[[10,10],[12,10],[12,12],[10,10]]]"), polygon(BOX), true), // a corner
            (polygon("[[[11,11],[12,11],[12,12],[11,11]]]"), polygon(BOX), false),
        ] {
            assert_eq!(intersects(surface, &one, &other), expected, "{surface:?}: {one} and {other}");
            let apart = distance(surface, &one, &other);
            assert_eq!(apart == 0.0, expected, "{surface:?}: {one} and {other} are {apart} apart");
        }
    }
}

#[test]
fn poles_the_antimeridian_and_rings_that_go_clockwise() {
    let arctic = polygon("[[[0,80],[90,80],[180,80],[-90,80],[0,80]]]");
    let antarctic = polygon("[[[0,-80],[-90,-80],[180,-80],[90,-80],[0,-80]]]");
    let fiji = polygon("[[[177,-20],[-178,-20],[-178,-15],[177,-15],[177,-20]]]");
    let all_but_a_box = polygon("[[[0,0],[0,10],[10,10],[10,0],[0,0]]]");
    let within = |x: f64, y: f64, area: &str| is_within(Surface::Geography, &point(x, y), area);
    for (x, y, area, expected) in [
        (0.0, 90.0, &arctic, true),
        (123.0, 89.0, &arctic, true),
        (45.0, 70.0, &arctic, false),
        (0.0, -90.0, &arctic, false),
        (0.0, -90.0, &antarctic, true),
        (45.0, -89.0, &antarctic, true),
        (45.0, 89.0, &antarctic, false),
        (180.0, -17.0, &fiji, true),
        (-180.0, -17.0, &fiji, true),
        (-179.0, -17.0, &fiji, true),
        (179.0, -17.0, &fiji, true),
        (0.0, -17.0, &fiji, false),
        (5.0, 5.0, &all_but_a_box, false),
        (50.0, 5.0, &all_but_a_box, true),
        (-175.0, -5.0, &all_but_a_box, true),
        (0.0, 90.0, &all_but_a_box, true),
    ] {
        assert_eq!(within(x, y, area), expected, "({x}, {y}) in {area}");
    }
    assert!(
        is_within(Surface::Geometry, &point(5.0, 5.0), &all_but_a_box),
        "on the plane the order has no meaning"
    );
    assert_eq!(distance(Surface::Geography, &point(180.0, 0.0), &point(-180.0, 0.0)), 0.0);
    assert_eq!(distance(Surface::Geography, &point(0.0, 90.0), &point(120.0, 90.0)), 0.0);
    let half_the_meridian = 10_001_965.729;
    let to_the_pole = distance(Surface::Geography, &point(7.0, 0.0), &point(-31.0, 90.0));
    assert!((to_the_pole - half_the_meridian).abs() < 0.001, "{to_the_pole}");
    let to_the_other_side = distance(Surface::Geography, &point(0.0, 0.0), &point(180.0, 0.0));
    assert!((to_the_other_side - 2.0 * half_the_meridian).abs() < 0.002, "{to_the_other_side}");
}

#[test]
fn areas_add_up() {
    let area = |text: &str| shape(Surface::Geography, text).area();
    // The surface of WGS-84 is 510,065,621.724 km².
    let globe = 510_065_621_724_088.4;
    let close = |found: f64, expected: f64| (found - expected).abs() < 1e-9 * globe;
    let (inside, outside) = (area(&polygon(BOX)), area(&polygon("[[[0,0],[0,10],[10,10],[10,0],[0,0]]]")));
    assert!(close(inside + outside, globe), "{inside} and {outside}");
    let octant = area(&polygon("[[[0,0],[90,0],[0,90],[0,0]]]"));
    assert!(close(octant, globe / 8.0), "{octant}");
    let hole = area(&polygon("[[[3,3],[7,3],[7,7],[3,7],[3,3]]]"));
    for frame in [FRAME, FRAME_TOO] {
        assert!((area(&polygon(frame)) - (inside - hole)).abs() < 1.0, "a hole counts off");
        assert_eq!(shape(Surface::Geometry, &polygon(frame)).area(), 84.0);
    }
    assert_eq!(area(&point(1.0, 1.0)), 0.0);
    assert_eq!(area(&written("LineString", "[[0,0],[9,9]]")), 0.0);
}

fn problem(surface: Surface, text: &str) -> Option<String> {
    shape(surface, text).problem(&|_| Ok(())).unwrap().map(|invalid| invalid.reason().to_owned())
}

#[test]
fn rings_may_touch_in_a_point_but_not_cross_there() {
    for surface in BOTH {
        for (rings, is_valid) in [
            // Through a corner that is written twice, first to the other side and then back.
            ("[[[0,0],[1,1],[2,2],[2,0],[1,1],[0,2],[0,0]]]", false),
            ("[[[0,0],[1,1],[2,0],[2,2],[1,1],[0,2],[0,0]]]", true),
            // A hole that goes through a corner of the outer ring, and one that touches it there.
            ("[[[0,0],[4,0],[4,4],[2,2],[0,4],[0,0]],[[1,1],[2,2],[2,3],[1,1]]]", false),
            ("[[[0,0],[4,0],[4,4],[2,2],[0,4],[0,0]],[[1,1],[2,1],[2,2],[1,1]]]", true),
            // Two holes that touch in a corner.
            ("[[[0,0],[9,0],[9,9],[0,9],[0,0]],[[1,1],[3,1],[3,3],[1,1]],[[3,3],[5,3],[5,5],[3,3]]]", true),
        ] {
            let found = problem(surface, &polygon(rings));
            assert_eq!(found.is_none(), is_valid, "{surface:?}: {rings}: {found:?}");
        }
    }
    // On the plane a corner can lie on an edge exactly.
    for (rings, is_valid) in [
        ("[[[0,0],[2,2],[2,0],[1,1],[0,2],[0,0]]]", false),
        ("[[[0,0],[4,0],[4,4],[2,0],[0,4],[0,0]]]", true),
        // Across a notch of the outer ring, with all corners on that ring.
        ("[[[0,0],[4,0],[4,4],[2,2],[0,4],[0,0]],[[1,3],[2,0],[3,3],[1,3]]]", false),
    ] {
        let found = problem(Surface::Geometry, &polygon(rings));
        assert_eq!(found.is_none(), is_valid, "{rings}: {found:?}");
    }
}

#[test]
fn a_hole_may_touch_all_corners_of_the_outer_ring() {
    let outer = [[0, 0], [8, 0], [8, 8], [0, 8]];
    let hole = [[0, 0], [4, 1], [8, 0], [7, 4], [8, 8], [4, 7], [0, 8], [1, 4]];
    let written = |mut corners: Vec<[i32; 2]>| {
        corners.push(corners[0]);
        format!("{corners:?}")
    };
    let backwards = hole.iter().rev().copied().collect();
    for hole in [hole.to_vec(), backwards] {
        let text = polygon(&format!("[{},{}]", written(outer.to_vec()), written(hole)));
        assert_eq!(problem(Surface::Geometry, &text), None, "{text}");
        assert_eq!(shape(Surface::Geometry, &text).area(), 16.0, "{text}");
        assert!(!is_within(Surface::Geometry, &point(4.0, 4.0), &text), "{text}");
        assert!(is_within(Surface::Geometry, &point(4.0, 0.5), &text), "{text}");
    }
}

/// A ring of so many corners that goes back and forth between two heights.
fn comb(corners: u32, heights: [f64; 2]) -> String {
    let tooth = |n: u32| [f64::from(n) * 0.01, heights[n as usize % 2]];
    let mut ring: Vec<_> = (0..corners).map(tooth).collect();
    ring.extend([[f64::from(corners) * 0.01, -1.0], [0.0, -1.0]]);
    ring.push(ring[0]);
    list(&ring)
}

/// What stops a run is asked often enough, however the points of shapes lie: nothing is gone through that was not counted.
#[test]
fn work_is_counted_before_it_is_done() {
    let (large, other) = (comb(400, [0.5, 1.0]), comb(400, [0.25, 0.75]));
    let within = comb(400, [0.1, 0.2]);
    let twice = format!("[{large},{large}]");
    for surface in BOTH {
        let most = std::cell::Cell::new(0);
        let work = |bytes: usize| {
            most.set(most.get().max(bytes));
            Ok(())
        };
        let read = |rings: &str| shape(surface, &polygon(rings));
        let (large, other, within) =
            (read(&format!("[{large}]")), read(&format!("[{other}]")), read(&format!("[{large},{within}]")));
        read(&twice).problem(&work).unwrap();
        within.problem(&work).unwrap();
        large.is_within(&other, &work).unwrap();
        large.intersects(&other, &work).unwrap();
        large.distance(&other, &work).unwrap();
        assert!(most.get() <= 16 * 900, "{surface:?}: {} at once", most.get());
    }
}

fn any_position() -> impl Strategy<Value = [f64; 2]> {
    prop_oneof![
        ((-180i32..=180), (-90i32..=90)).prop_map(|(x, y)| [f64::from(x), f64::from(y)]),
        ((170.0..190.0f64), (-20.0..20.0f64)).prop_map(|(x, y)| [if x > 180.0 { x - 360.0 } else { x }, y]),
        ((-180.0..180.0f64), (80.0..90.0f64)).prop_map(|(x, y)| [x, y]),
        ((-5.0..5.0f64), (-5.0..5.0f64)).prop_map(|(x, y)| [x, y]),
    ]
}

fn list(positions: &[[f64; 2]]) -> String {
    let texts: Vec<_> = positions.iter().map(|[x, y]| format!("[{x},{y}]")).collect();
    format!("[{}]", texts.join(","))
}

/// Points, lines and triangles, in either direction.
pub(crate) fn any_shape() -> impl Strategy<Value = String> {
    let triangle = |corners: Vec<[f64; 2]>| {
        let mut ring = corners;
        ring.push(ring[0]);
        polygon(&format!("[{}]", list(&ring)))
    };
    prop_oneof![
        any_position().prop_map(|[x, y]| point(x, y)),
        prop::collection::vec(any_position(), 2..4).prop_map(|line| written("LineString", &list(&line))),
        prop::collection::vec(any_position(), 3).prop_map(triangle),
        (any_position(), 0.01..20.0f64).prop_map(move |([x, y], size)| {
            let (east, north) = ((x + size).min(180.0), (y + size).min(90.0));
            triangle(vec![[x, y], [east, y], [x, north]])
        }),
    ]
}

fn valid(surface: Surface, text: &str) -> Option<Shape> {
    let shape = Shape::read(RawJson::new(text.as_bytes()), surface).ok()?;
    shape.problem(&|_| Ok(())).unwrap().is_none().then_some(shape)
}

fn meets(some: &[Rectangle], others: &[Rectangle]) -> bool {
    some.iter().any(|one| others.iter().any(|other| one.meets(other)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    /// What is within something meets it, what meets is no distance away, and rectangles leave nothing out.
    #[test]
    fn the_functions_agree_and_extents_hold_what_is_near(
        one in any_shape(), other in any_shape(), flat in any::<bool>(), more in 0.0..1.5f64,
    ) {
        let surface = BOTH[usize::from(flat)];
        let (Some(a), Some(b)) = (valid(surface, &one), valid(surface, &other)) else { return Ok(()) };
        let work = |_| Ok(());
        let apart = a.distance(&b, &work).unwrap().unwrap();
        let back = b.distance(&a, &work).unwrap().unwrap();
        let meet = a.intersects(&b, &work).unwrap();
        prop_assert!((apart - back).abs() <= 1e-9 * apart.max(1e-3), "{apart} and {back} back");
        prop_assert!(!meet || apart == 0.0);
        prop_assert!(meet || apart > 0.0 || apart < 1e-5, "{apart}");
        prop_assert!(meet || !a.is_within(&b, &work).unwrap(), "within but apart by {apart}");
        let extent = surface.extent(RawJson::new(one.as_bytes())).unwrap();
        let near = surface.extent_within(RawJson::new(other.as_bytes()), apart * (1.0 + more)).unwrap();
        prop_assert!(meets(&extent, &near), "{apart} apart: {extent:?} {near:?}");
    }

    /// Every point of the globe is either in a ring or in the same ring written backwards.
    #[test]
    fn a_ring_and_its_reverse_share_the_globe(corners in prop::collection::vec(any_position(), 3), at in any_position()) {
        let ring = |corners: &[[f64; 2]]| {
            let closed: Vec<_> = corners.iter().chain(&corners[..1]).copied().collect();
            polygon(&format!("[{}]", list(&closed)))
        };
        let reversed: Vec<_> = corners.iter().rev().copied().collect();
        let surface = Surface::Geography;
        let (Some(one), Some(other)) = (valid(surface, &ring(&corners)), valid(surface, &ring(&reversed))) else {
            return Ok(());
        };
        let place = shape(surface, &point(at[0], at[1]));
        let inside = [&one, &other].map(|area| place.is_within(area, &|_| Ok(())).unwrap());
        let on_both = place.intersects(&one, &|_| Ok(())).unwrap() && place.intersects(&other, &|_| Ok(())).unwrap();
        prop_assert!(inside[0] != inside[1] || (on_both && !inside[0]), "{inside:?}");
    }
}
