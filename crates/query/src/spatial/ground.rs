//! What shapes need of the surface that they lie on: sides, edges, lengths and areas.
//!
//! Two surfaces have it, the [globe](super::globe) and the [plane](super::plane); what is made of it is the same on both.

use std::fmt::Debug;

/// A surface with points, and with one shortest edge between most of them.
pub(super) trait Ground: Sized {
    /// A place on the surface.
    type Point: Copy + Debug;

    /// The point at these coordinates, which are within their bounds.
    fn point(x: f64, y: f64) -> Self::Point;

    /// Whether two points are one but for rounding.
    fn is_same(a: Self::Point, b: Self::Point) -> bool;

    /// Whether there is one edge between two points, and not many.
    fn has_edge(a: Self::Point, b: Self::Point) -> bool;

    /// On which side of the line through an edge a point is: above zero on its left, zero on it but for rounding.
    fn side(a: Self::Point, b: Self::Point, p: Self::Point) -> f64;

    /// Whether a point of the line through an edge is on the edge, its ends included.
    fn is_between(a: Self::Point, b: Self::Point, p: Self::Point) -> bool;

    /// The point where the lines through two crossing edges meet.
    fn crossing(a: Self::Point, b: Self::Point, c: Self::Point, d: Self::Point) -> Self::Point;

    /// The middle of an edge.
    fn middle(a: Self::Point, b: Self::Point) -> Self::Point;

    /// A point far away on the left of the middle of an edge, seen from a shape with these points.
    fn far_left(a: Self::Point, b: Self::Point, points: &[Self::Point]) -> Self::Point;

    /// A number that grows with the distance of two points, and is quick to compute.
    fn chord(a: Self::Point, b: Self::Point) -> f64;

    /// A stretch of numbers; edges whose stretches do not overlap do not meet.
    fn stretch(a: Self::Point, b: Self::Point) -> (f64, f64);

    /// The distance of two points.
    fn distance(a: Self::Point, b: Self::Point) -> f64;

    /// The distance of a point from an edge.
    fn distance_to_edge(p: Self::Point, a: Self::Point, b: Self::Point) -> f64;

    /// A distance that a point has from an edge at least, quick to compute.
    fn least_distance_to_edge(p: Self::Point, a: Self::Point, b: Self::Point) -> f64;

    /// The ring in the direction that has its inside on the left.
    fn outer_ring(ring: Vec<Self::Point>) -> Vec<Self::Point>;

    /// The area on the left of all rings together.
    fn area(rings: &[Vec<Self::Point>]) -> f64;
}

/// How two edges lie to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meeting {
    /// They have no point in common.
    Apart,
    /// They have one point in common, an end of one of them at least.
    Touch,
    /// They have one point in common that is an end of neither.
    Cross,
    /// They have a stretch in common.
    Overlap,
}

/// Whether a point is on an edge, its ends included.
pub(super) fn is_on<G: Ground>(a: G::Point, b: G::Point, p: G::Point) -> bool {
    G::is_same(a, p) || G::is_same(b, p) || (G::side(a, b, p) == 0.0 && G::is_between(a, b, p))
}

/// Whether the way from `p` to `q` goes through the edge from `c` to `d`. A way through an end that two edges share goes
/// through one of them, or through both or neither where it only touches.
pub(super) fn passes<G: Ground>(p: G::Point, q: G::Point, c: G::Point, d: G::Point) -> bool {
    let (from_right, to_left) = (G::side(p, q, c) < 0.0, G::side(p, q, d) >= 0.0);
    if from_right != to_left {
        return false;
    }
    let (start, end) = (G::side(c, d, p), G::side(c, d, q));
    if from_right { start > 0.0 && end < 0.0 } else { start < 0.0 && end > 0.0 }
}

/// How two edges lie to each other.
pub(super) fn meeting<G: Ground>(a: G::Point, b: G::Point, c: G::Point, d: G::Point) -> Meeting {
    let (at_c, at_d) = (G::side(a, b, c), G::side(a, b, d));
    let apart = (at_c < 0.0 && at_d > 0.0) || (at_c > 0.0 && at_d < 0.0);
    if apart && G::side(c, d, a) != 0.0 && G::side(c, d, b) != 0.0 {
        return if passes::<G>(a, b, c, d) { Meeting::Cross } else { Meeting::Apart };
    }
    let mut shared: Option<G::Point> = None;
    let on_other = [
        (a, is_on::<G>(c, d, a)),
        (b, is_on::<G>(c, d, b)),
        (c, is_on::<G>(a, b, c)),
        (d, is_on::<G>(a, b, d)),
    ];
    for (point, _) in on_other.into_iter().filter(|(_, is_on)| *is_on) {
        match shared {
            Some(known) if !G::is_same(known, point) => return Meeting::Overlap,
            Some(_) => {}
            None => shared = Some(point),
        }
    }
    if shared.is_some() { Meeting::Touch } else { Meeting::Apart }
}
