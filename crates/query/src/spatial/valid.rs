//! Whether a shape that could be read is one: its rings do not cross, and holes are where they can be.

use super::Work;
use super::figure::{Area, Edge, Figure, Location, locate_in_ring};
use super::ground::{Ground, Meeting, meeting};
use super::read::Invalid;
use crate::eval::EvalError;

/// What looking at a pair of edges counts as, in bytes of text.
const PAIR: usize = 16;

/// What is wrong with a shape, if anything is.
pub(super) fn problem<G: Ground>(figure: &Figure<G>, work: Work<'_>) -> Result<Option<Invalid>, EvalError> {
    match figure {
        Figure::Point(_) | Figure::Line(_) => Ok(None),
        Figure::Areas(areas) => {
            for area in areas {
                if let Some(invalid) = problem_of_area(area, work)? {
                    return Ok(Some(invalid));
                }
            }
            Ok(None)
        }
    }
}

fn problem_of_area<G: Ground>(area: &Area<G>, work: Work<'_>) -> Result<Option<Invalid>, EvalError> {
    if rings_cross(area, work)? {
        return Ok(Some(Invalid::new(
            "The polygon is not valid because one of its rings crosses or overlaps itself or another ring.",
        )));
    }
    let Some((outer, holes)) = area.rings.split_first() else { return Ok(None) };
    for (nth, hole) in holes.iter().enumerate() {
        work(PAIR * hole.len() * outer.len())?;
        if hole.iter().any(|point| locate_in_ring::<G>(outer, *point) == Location::Outside) {
            let ring = nth + 2;
            return Ok(Some(Invalid::new(format!(
                "The polygon is not valid because ring number {ring} is not inside ring number 1."
            ))));
        }
    }
    Ok(None)
}

/// Whether two edges of an area have more in common than an end of one of them. Edges are looked at in the order of where
/// their stretches begin, each beside those only whose stretches have not ended.
fn rings_cross<G: Ground>(area: &Area<G>, work: Work<'_>) -> Result<bool, EvalError> {
    let mut edges: Vec<Edge<G>> = area.edges().collect();
    edges.sort_by(|x, y| x.stretch.0.total_cmp(&y.stretch.0));
    let mut open: Vec<&Edge<G>> = Vec::new();
    for edge in &edges {
        open.retain(|earlier| earlier.stretch.1 >= edge.stretch.0);
        work(PAIR * open.len())?;
        let crosses = |other: &&Edge<G>| match meeting::<G>(edge.a, edge.b, other.a, other.b) {
            Meeting::Cross | Meeting::Overlap => true,
            Meeting::Apart | Meeting::Touch => false,
        };
        if open.iter().any(crosses) {
            return Ok(true);
        }
        open.push(edge);
    }
    Ok(false)
}
