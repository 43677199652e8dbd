//! The globe: coordinates are degrees of longitude and latitude, edges are great elliptic arcs, lengths are in metres.
//!
//! A point is a vector of the sphere that the ellipsoid becomes when its axes are made alike. Sides, crossings and insides
//! are those of the sphere; lengths and areas are those of the [ellipsoid](super::ellipsoid).

use super::ellipsoid::{self, Arc, POLAR, on_sphere};
use super::ground::Ground;
use super::vector::{Vector, angle, cross, dot, length, minus, normal, plus, times, unit};

/// The globe.
#[derive(Debug)]
pub(super) enum Globe {}

/// How far rounding moves a point, as an angle: less than a micrometre.
const ROUNDING: f64 = 1e-13;

impl Ground for Globe {
    type Point = Vector;

    fn point(longitude: f64, latitude: f64) -> Vector {
        on_sphere(longitude, latitude)
    }

    fn is_same(a: Vector, b: Vector) -> bool {
        length(minus(a, b)) <= ROUNDING
    }

    fn has_edge(a: Vector, b: Vector) -> bool {
        length(plus(a, b)) > 1e-9
    }

    fn side(a: Vector, b: Vector, p: Vector) -> f64 {
        let along = minus(b, a);
        // The distance from the plane of the edge, times the length of the edge.
        let volume = dot(a, cross(along, minus(p, a)));
        if volume.abs() <= ROUNDING * length(cross(a, along)) { 0.0 } else { volume }
    }

    fn is_between(a: Vector, b: Vector, p: Vector) -> bool {
        let across = normal(a, b);
        dot(cross(a, minus(p, a)), across) >= 0.0 && dot(cross(p, minus(b, p)), across) >= 0.0
    }

    fn crossing(a: Vector, b: Vector, c: Vector, d: Vector) -> Vector {
        let meet = unit(cross(normal(a, b), normal(c, d)));
        // The circles meet twice, at opposite ends.
        if dot(meet, plus(a, b)) < 0.0 { times(meet, -1.0) } else { meet }
    }

    fn middle(a: Vector, b: Vector) -> Vector {
        unit(plus(a, b))
    }

    fn far_left(a: Vector, b: Vector, _: &[Vector]) -> Vector {
        unit(normal(a, b))
    }

    fn chord(a: Vector, b: Vector) -> f64 {
        length(minus(a, b))
    }

    fn stretch(a: Vector, b: Vector) -> (f64, f64) {
        // An arc leaves its chord by no more than this.
        let sagitta = 1.0 - length(plus(a, b)) / 2.0 + ROUNDING;
        (a[2].min(b[2]) - sagitta, a[2].max(b[2]) + sagitta)
    }

    fn distance(a: Vector, b: Vector) -> f64 {
        Arc::between(a, b).length()
    }

    fn distance_to_edge(p: Vector, a: Vector, b: Vector) -> f64 {
        let edge = Arc::between(a, b);
        let foot = edge.foot(p).clamp(0.0, edge.angle);
        // The foot on the ellipsoid is near the one on the sphere, unless all of the edge is about as far.
        let off = angle(p, edge.at(foot));
        let (low, high) =
            if off < 0.5 { (foot - 0.05 * off, foot + 0.05 * off) } else { nearest_part(p, &edge) };
        let to = |place: f64| Self::distance(p, edge.at(place.clamp(0.0, edge.angle)));
        least(low.max(0.0), high.min(edge.angle), &to)
    }

    fn least_distance_to_edge(p: Vector, a: Vector, b: Vector) -> f64 {
        let edge = Arc::between(a, b);
        let foot = edge.foot(p);
        let nearest = if (0.0..=edge.angle).contains(&foot) {
            angle(p, edge.at(foot))
        } else {
            angle(p, a).min(angle(p, b))
        };
        // An arc is nowhere shorter than its angle times the least radius.
        nearest * POLAR * (1.0 - 1e-9)
    }

    fn outer_ring(ring: Vec<Vector>) -> Vec<Vector> {
        ring
    }

    fn area(rings: &[Vec<Vector>]) -> f64 {
        ellipsoid::area(rings)
    }
}

/// The part of an edge that has its point nearest to `p`.
fn nearest_part(p: Vector, edge: &Arc) -> (f64, f64) {
    const PARTS: u32 = 64;
    let place = |nth: u32| edge.angle * f64::from(nth) / f64::from(PARTS);
    let far = |nth: u32| Arc::between(p, edge.at(place(nth))).length();
    let nearest = (0..=PARTS).min_by(|a, b| far(*a).total_cmp(&far(*b))).unwrap_or(0);
    (place(nearest.saturating_sub(1)), place((nearest + 1).min(PARTS)))
}

/// The least value of a function with one valley, and of its ends.
fn least(mut low: f64, mut high: f64, f: &dyn Fn(f64) -> f64) -> f64 {
    const GOLDEN: f64 = 0.618_033_988_749_894_9;
    const STEPS: usize = 40;
    let ends = f(low).min(f(high));
    let inner = |low: f64, high: f64| (high - GOLDEN * (high - low), low + GOLDEN * (high - low));
    let (mut left, mut right) = inner(low, high);
    let (mut at_left, mut at_right) = (f(left), f(right));
    for _ in 0..STEPS {
        if at_left < at_right {
            (high, right, at_right) = (right, left, at_left);
            left = inner(low, high).0;
            at_left = f(left);
        } else {
            (low, left, at_left) = (left, right, at_right);
            right = inner(low, high).1;
            at_right = f(right);
        }
    }
    ends.min(at_left).min(at_right)
}

/// The greatest angle between two points that are so many metres apart.
pub(super) fn angle_within(metres: f64) -> f64 {
    metres / POLAR
}
