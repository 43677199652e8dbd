//! The plane: coordinates are numbers without a unit, edges are straight.

use super::ground::Ground;

/// The plane.
#[derive(Debug)]
pub(super) enum Plane {}

/// A point of the plane.
pub(super) type Spot = [f64; 2];

/// How far rounding moves a point, as a share of its coordinates.
const ROUNDING: f64 = 1e-14;

impl Ground for Plane {
    type Point = Spot;

    fn point(x: f64, y: f64) -> Spot {
        [x, y]
    }

    fn is_same(a: Spot, b: Spot) -> bool {
        a == b || Self::chord(a, b) <= ROUNDING * size(a).max(size(b))
    }

    fn has_edge(_: Spot, _: Spot) -> bool {
        true
    }

    fn side(a: Spot, b: Spot, p: Spot) -> f64 {
        let (along, to) = (minus(b, a), minus(p, a));
        let turn = cross(along, to);
        // The distance from the line, times the length of the edge.
        let rounding = ROUNDING * size(a).max(size(b)).max(size(p)) * length(along);
        if turn.abs() <= rounding { 0.0 } else { turn }
    }

    fn is_between(a: Spot, b: Spot, p: Spot) -> bool {
        let along = minus(b, a);
        let place = dot(along, minus(p, a));
        (0.0..=dot(along, along)).contains(&place)
    }

    fn crossing(a: Spot, b: Spot, c: Spot, d: Spot) -> Spot {
        let (along, other) = (minus(b, a), minus(d, c));
        let share = cross(minus(c, a), other) / cross(along, other);
        [a[0] + share * along[0], a[1] + share * along[1]]
    }

    fn middle(a: Spot, b: Spot) -> Spot {
        [a[0] / 2.0 + b[0] / 2.0, a[1] / 2.0 + b[1] / 2.0]
    }

    fn far_left(a: Spot, b: Spot, points: &[Spot]) -> Spot {
        let (along, middle) = (minus(b, a), Self::middle(a, b));
        let farthest = points.iter().map(|point| Self::chord(middle, *point)).fold(0.0, f64::max);
        let scale = 2.0 * farthest / length(along);
        [middle[0] - scale * along[1], middle[1] + scale * along[0]]
    }

    fn chord(a: Spot, b: Spot) -> f64 {
        length(minus(a, b))
    }

    fn stretch(a: Spot, b: Spot) -> (f64, f64) {
        let rounding = ROUNDING * size(a).max(size(b));
        (a[0].min(b[0]) - rounding, a[0].max(b[0]) + rounding)
    }

    fn distance(a: Spot, b: Spot) -> f64 {
        Self::chord(a, b)
    }

    fn distance_to_edge(p: Spot, a: Spot, b: Spot) -> f64 {
        let (along, to) = (minus(b, a), minus(p, a));
        let square = dot(along, along);
        if square == 0.0 {
            return length(to);
        }
        let share = (dot(along, to) / square).clamp(0.0, 1.0);
        length([to[0] - share * along[0], to[1] - share * along[1]])
    }

    fn least_distance_to_edge(p: Spot, a: Spot, b: Spot) -> f64 {
        Self::distance_to_edge(p, a, b)
    }

    fn outer_ring(mut ring: Vec<Spot>) -> Vec<Spot> {
        if signed_area(&ring) < 0.0 {
            ring.reverse();
        }
        ring
    }

    fn area(rings: &[Vec<Spot>]) -> f64 {
        rings.iter().map(|ring| signed_area(ring)).sum()
    }
}

/// The area of a ring that is not repeated at its end; below zero if it goes clockwise.
fn signed_area(ring: &[Spot]) -> f64 {
    let Some(first) = ring.first() else { return 0.0 };
    let from_first = |point: &Spot| minus(*point, *first);
    ring.windows(2).map(|edge| cross(from_first(&edge[0]), from_first(&edge[1]))).sum::<f64>() / 2.0
}

fn minus(a: Spot, b: Spot) -> Spot {
    [a[0] - b[0], a[1] - b[1]]
}

fn dot(a: Spot, b: Spot) -> f64 {
    a[0] * b[0] + a[1] * b[1]
}

fn cross(a: Spot, b: Spot) -> f64 {
    a[0] * b[1] - a[1] * b[0]
}

fn length(a: Spot) -> f64 {
    a[0].hypot(a[1])
}

fn size(a: Spot) -> f64 {
    a[0].abs().max(a[1].abs())
}
