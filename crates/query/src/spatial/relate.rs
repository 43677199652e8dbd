//! How two shapes lie to each other: whether they meet, whether one is within the other, and how far apart they are.

use super::figure::{Edge, Figure, Location};
use super::ground::{Ground, Meeting, is_on, meeting};
use super::{PAIR, Work};
use crate::eval::EvalError;

/// Whether two shapes have a point in common.
pub(super) fn intersects<G: Ground>(
    one: &Figure<G>,
    other: &Figure<G>,
    work: Work<'_>,
) -> Result<bool, EvalError> {
    let (edges, others) = (one.edges(), other.edges());
    for edge in &edges {
        work(PAIR * others.len())?;
        let meets = |other: &Edge<G>| meeting::<G>(edge.a, edge.b, other.a, other.b) != Meeting::Apart;
        if others.iter().any(|other| edge.is_near(other) && meets(other)) {
            return Ok(true);
        }
    }
    Ok(has_part_in(one, other, others.len(), work)? || has_part_in(other, one, edges.len(), work)?)
}

/// Whether a part of one shape has a point in the other, which has so many edges. The boundaries of the two do not meet,
/// unless one is a point.
fn has_part_in<G: Ground>(
    one: &Figure<G>,
    other: &Figure<G>,
    edges: usize,
    work: Work<'_>,
) -> Result<bool, EvalError> {
    for point in one.samples() {
        work(PAIR * (edges + 1))?;
        if other.locate(point) != Location::Outside {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether a shape lies within another: no point of it is outside, and not all of it is on the boundary.
pub(super) fn is_within<G: Ground>(
    one: &Figure<G>,
    other: &Figure<G>,
    work: Work<'_>,
) -> Result<bool, EvalError> {
    match (one, other) {
        (Figure::Point(point), _) => Ok(other.locate(*point) == Location::Inside),
        (Figure::Line(points), _) if one.edges().is_empty() => {
            Ok(points.first().is_some_and(|point| other.locate(*point) == Location::Inside))
        }
        (Figure::Line(_), Figure::Line(_) | Figure::Areas(_)) => {
            let found = locations(one, other, work)?;
            Ok(!found.contains(&Location::Outside) && found.contains(&Location::Inside))
        }
        (Figure::Areas(areas), Figure::Areas(_)) => {
            if locations(one, other, work)?.contains(&Location::Outside)
                || locations(other, one, work)?.contains(&Location::Inside)
            {
                return Ok(false);
            }
            // No boundary of the other runs through an area, so that one of its points speaks for all.
            let edges = other.edges().len();
            for area in areas {
                let Some(point) = area.inner_point(work)? else { return Ok(false) };
                work(PAIR * edges)?;
                if other.locate(point) != Location::Inside {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        (Figure::Line(_), Figure::Point(_)) | (Figure::Areas(_), Figure::Point(_) | Figure::Line(_)) => {
            Ok(false)
        }
    }
}

/// Where the edges of one shape lie to the other, piece by piece.
fn locations<G: Ground>(
    one: &Figure<G>,
    other: &Figure<G>,
    work: Work<'_>,
) -> Result<Vec<Location>, EvalError> {
    let others = other.edges();
    let mut found = Vec::new();
    for edge in one.edges() {
        work(PAIR * others.len())?;
        let cuts = cuts(&edge, &others);
        for piece in cuts.windows(2).filter(|piece| !G::is_same(piece[0], piece[1])) {
            work(PAIR * others.len())?;
            let location = other.locate(G::middle(piece[0], piece[1]));
            if !found.contains(&location) {
                found.push(location);
            }
        }
    }
    Ok(found)
}

/// The points of an edge where others meet it, from its start to its end, both included.
fn cuts<G: Ground>(edge: &Edge<G>, others: &[Edge<G>]) -> Vec<G::Point> {
    let Edge { a, b, .. } = *edge;
    let mut cuts = vec![a, b];
    for other in others.iter().filter(|other| edge.is_near(other)) {
        match meeting::<G>(a, b, other.a, other.b) {
            Meeting::Apart => {}
            Meeting::Cross => cuts.push(G::crossing(a, b, other.a, other.b)),
            Meeting::Touch | Meeting::Overlap => {
                cuts.extend([other.a, other.b].into_iter().filter(|end| is_on::<G>(a, b, *end)));
            }
        }
    }
    cuts.sort_by(|x, y| G::chord(a, *x).total_cmp(&G::chord(a, *y)));
    cuts
}

/// The least distance of two shapes.
pub(super) fn distance<G: Ground>(
    one: &Figure<G>,
    other: &Figure<G>,
    work: Work<'_>,
) -> Result<f64, EvalError> {
    if let (Figure::Point(a), Figure::Point(b)) = (one, other) {
        return Ok(if G::is_same(*a, *b) { 0.0 } else { G::distance(*a, *b) });
    }
    if intersects(one, other, work)? {
        return Ok(0.0);
    }
    // The nearest points of two edges that do not meet include an end of one of them.
    let nearest = nearest_end(one, other, f64::INFINITY, work)?;
    nearest_end(other, one, nearest, work)
}

/// The least distance of a point of one shape from an edge of the other, or `known` if that is less.
fn nearest_end<G: Ground>(
    one: &Figure<G>,
    other: &Figure<G>,
    known: f64,
    work: Work<'_>,
) -> Result<f64, EvalError> {
    let (points, edges) = (one.points(), other.edges());
    if edges.is_empty() {
        let pairs = points.iter().flat_map(|a| other.points().into_iter().map(|b| G::distance(*a, b)));
        return Ok(pairs.fold(known, f64::min));
    }
    let mut bounds = Vec::with_capacity(edges.len());
    let mut nearest = known;
    for point in points {
        work(PAIR * edges.len())?;
        bounds.clear();
        bounds.extend(edges.iter().map(|edge| (G::least_distance_to_edge(point, edge.a, edge.b), edge)));
        bounds.sort_by(|x, y| x.0.total_cmp(&y.0));
        for (least, edge) in &bounds {
            if *least >= nearest {
                break;
            }
            nearest = nearest.min(G::distance_to_edge(point, edge.a, edge.b));
        }
    }
    Ok(nearest)
}
