//! A shape on a surface: a point, a line, or areas with their rings; and where a point lies to it.

use super::ground::{Ground, is_on, passes};
use super::{PAIR, Work};
use crate::eval::EvalError;

/// A shape.
#[derive(Debug)]
pub(super) enum Figure<G: Ground> {
    Point(G::Point),
    /// At least one point; no two neighbours are the same.
    Line(Vec<G::Point>),
    Areas(Vec<Area<G>>),
}

/// What lies on the left of all rings. A ring has at least three points, and does not repeat its first at its end.
#[derive(Debug)]
pub(super) struct Area<G: Ground> {
    pub(super) rings: Vec<Vec<G::Point>>,
}

/// An edge, with the stretch that tells it from edges far away.
#[derive(Debug)]
pub(super) struct Edge<G: Ground> {
    pub(super) a: G::Point,
    pub(super) b: G::Point,
    pub(super) stretch: (f64, f64),
}

/// Where a point lies to a shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Location {
    Outside,
    Boundary,
    Inside,
}

impl<G: Ground> Edge<G> {
    pub(super) fn new(a: G::Point, b: G::Point) -> Edge<G> {
        Edge { a, b, stretch: G::stretch(a, b) }
    }

    /// Whether two edges are so near that they may meet.
    pub(super) fn is_near(&self, other: &Edge<G>) -> bool {
        self.stretch.0 <= other.stretch.1 && other.stretch.0 <= self.stretch.1
    }
}

impl<G: Ground> Figure<G> {
    /// All edges; none of a point, and none of a line that is one.
    pub(super) fn edges(&self) -> Vec<Edge<G>> {
        match self {
            Figure::Point(_) => Vec::new(),
            Figure::Line(points) => points.windows(2).map(|pair| Edge::new(pair[0], pair[1])).collect(),
            Figure::Areas(areas) => areas.iter().flat_map(Area::edges).collect(),
        }
    }

    /// All points, those of rings once.
    pub(super) fn points(&self) -> Vec<G::Point> {
        match self {
            Figure::Point(point) => vec![*point],
            Figure::Line(points) => points.clone(),
            Figure::Areas(areas) => areas.iter().flat_map(|area| area.rings.concat()).collect(),
        }
    }

    /// A point of each part.
    pub(super) fn samples(&self) -> Vec<G::Point> {
        match self {
            Figure::Point(point) => vec![*point],
            Figure::Line(points) => points.first().copied().into_iter().collect(),
            Figure::Areas(areas) => {
                areas.iter().filter_map(|area| area.rings.first()?.first().copied()).collect()
            }
        }
    }

    /// Where a point lies to this. The ends of an open line are its boundary; a point is all inside.
    pub(super) fn locate(&self, p: G::Point) -> Location {
        match self {
            Figure::Point(point) if G::is_same(*point, p) => Location::Inside,
            Figure::Point(_) => Location::Outside,
            Figure::Line(points) => locate_on_line::<G>(points, p),
            Figure::Areas(areas) => {
                areas.iter().map(|area| area.locate(p)).max().unwrap_or(Location::Outside)
            }
        }
    }
}

fn locate_on_line<G: Ground>(points: &[G::Point], p: G::Point) -> Location {
    let (Some(first), Some(last)) = (points.first(), points.last()) else { return Location::Outside };
    let is_closed = G::is_same(*first, *last);
    if !is_closed && (G::is_same(*first, p) || G::is_same(*last, p)) {
        return Location::Boundary;
    }
    let is_on_it = points.windows(2).any(|edge| is_on::<G>(edge[0], edge[1], p)) || G::is_same(*first, p);
    if is_on_it { Location::Inside } else { Location::Outside }
}

impl<G: Ground> Area<G> {
    pub(super) fn edges(&self) -> impl Iterator<Item = Edge<G>> {
        self.rings.iter().flat_map(|ring| ring_edges::<G>(ring)).map(|(a, b)| Edge::new(a, b))
    }

    pub(super) fn locate(&self, p: G::Point) -> Location {
        self.rings.iter().map(|ring| locate_in_ring::<G>(ring, p)).min().unwrap_or(Location::Outside)
    }

    /// A point inside: between the middle of an edge and what is next on its left.
    pub(super) fn inner_point(&self, work: Work<'_>) -> Result<Option<G::Point>, EvalError> {
        let points = self.rings.concat();
        for (a, b) in self.rings.iter().flat_map(|ring| ring_edges::<G>(ring)) {
            work(PAIR * points.len())?;
            let (middle, far) = (G::middle(a, b), G::far_left(a, b, &points));
            let others = self.rings.iter().flat_map(|ring| ring_edges::<G>(ring));
            let met = others.filter(|(c, d)| passes::<G>(middle, far, *c, *d));
            let nearest = met
                .map(|(c, d)| G::crossing(middle, far, c, d))
                .min_by(|x, y| G::chord(middle, *x).total_cmp(&G::chord(middle, *y)));
            let inner = G::middle(middle, nearest.unwrap_or(far));
            if self.locate(inner) == Location::Inside {
                return Ok(Some(inner));
            }
        }
        Ok(None)
    }
}

/// The edges of a ring.
pub(super) fn ring_edges<G: Ground>(ring: &[G::Point]) -> impl Iterator<Item = (G::Point, G::Point)> {
    ring.iter().copied().zip(ring.iter().copied().cycle().skip(1))
}

/// Whether a point lies on the left of a ring.
///
/// The way from the point to the middle of an edge changes sides wherever it passes another edge, and where it ends, the
/// edge tells the side.
pub(super) fn locate_in_ring<G: Ground>(ring: &[G::Point], p: G::Point) -> Location {
    if ring_edges::<G>(ring).any(|(a, b)| is_on::<G>(a, b, p)) {
        return Location::Boundary;
    }
    let usable = |(_, (a, b)): &(usize, (G::Point, G::Point))| {
        G::side(*a, *b, p) != 0.0 && G::has_edge(p, G::middle(*a, *b))
    };
    let Some((chosen, (a, b))) = ring_edges::<G>(ring).enumerate().find(usable) else {
        return Location::Outside;
    };
    let middle = G::middle(a, b);
    let others = ring_edges::<G>(ring).enumerate().filter(|(nth, _)| *nth != chosen);
    let passed = others.filter(|(_, (c, d))| passes::<G>(p, middle, *c, *d)).count();
    if (G::side(a, b, p) > 0.0) == passed.is_multiple_of(2) { Location::Inside } else { Location::Outside }
}
