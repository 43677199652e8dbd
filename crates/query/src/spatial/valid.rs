//! Whether a shape that could be read is one: its rings do not cross, and holes are where they can be.

use super::figure::{Area, Edge, Figure, Location, locate_in_ring};
use super::ground::{Ground, Meeting, is_on, meeting};
use super::read::Invalid;
use super::{PAIR, Work};
use crate::eval::EvalError;

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
    for (ring, hole) in (2..).zip(holes) {
        for point in hole {
            work(PAIR * outer.len())?;
            if locate_in_ring::<G>(outer, *point) == Location::Outside {
                return Ok(Some(Invalid::new(format!(
                    "The polygon is not valid because ring number {ring} is not inside ring number 1."
                ))));
            }
        }
    }
    Ok(None)
}

/// An edge of a ring, with the point before it.
struct Link<G: Ground> {
    edge: Edge<G>,
    before: G::Point,
    /// Which ring, which edge of it, and how many edges the ring has.
    place: (usize, usize, usize),
}

/// Whether two edges of an area have more in common than an end of one of them, or rings cross where they have one. Edges
/// are looked at in the order of where their stretches begin, each beside those only whose stretches have not ended.
fn rings_cross<G: Ground>(area: &Area<G>, work: Work<'_>) -> Result<bool, EvalError> {
    let mut links: Vec<Link<G>> =
        area.rings.iter().enumerate().flat_map(|(nth, ring)| links::<G>(nth, ring)).collect();
    links.sort_by(|x, y| x.edge.stretch.0.total_cmp(&y.edge.stretch.0));
    let mut open: Vec<&Link<G>> = Vec::new();
    for link in &links {
        open.retain(|earlier| earlier.edge.stretch.1 >= link.edge.stretch.0);
        work(PAIR * open.len())?;
        let cross =
            |other: &&Link<G>| match meeting::<G>(link.edge.a, link.edge.b, other.edge.a, other.edge.b) {
                Meeting::Cross | Meeting::Overlap => true,
                Meeting::Touch => !follow_each_other(link, other) && cross_where_they_touch(link, other),
                Meeting::Apart => false,
            };
        if open.iter().any(cross) {
            return Ok(true);
        }
        open.push(link);
    }
    Ok(false)
}

fn links<G: Ground>(nth: usize, ring: &[G::Point]) -> impl Iterator<Item = Link<G>> {
    let count = ring.len();
    let from = move |first: usize| ring.iter().copied().cycle().skip(first).take(count);
    let points = from(count.saturating_sub(1)).zip(from(0)).zip(from(1));
    points.enumerate().map(move |(edge, ((before, a), b))| Link {
        edge: Edge::new(a, b),
        before,
        place: (nth, edge, count),
    })
}

/// Whether two edges have the corner in common that one ends with and the other begins with.
fn follow_each_other<G: Ground>(one: &Link<G>, other: &Link<G>) -> bool {
    let ((ring, first, count), (same, second, _)) = (one.place, other.place);
    ring == same && ((first + 1) % count == second || (second + 1) % count == first)
}

/// Whether the ways through a point that two edges touch in cross there. Where a point is a corner, the edge that begins
/// there answers for the one that ends there.
fn cross_where_they_touch<G: Ground>(one: &Link<G>, other: &Link<G>) -> bool {
    let (x, y) = (&one.edge, &other.edge);
    if G::is_same(x.a, y.a) {
        return ways_cross::<G>([one.before, x.a, x.b], [other.before, y.b]);
    }
    let is_inside = |edge: &Edge<G>, p: G::Point| !G::is_same(edge.b, p) && is_on::<G>(edge.a, edge.b, p);
    if is_inside(y, x.a) {
        return ways_cross::<G>([one.before, x.a, x.b], [y.a, y.b]);
    }
    is_inside(x, y.a) && ways_cross::<G>([other.before, y.a, y.b], [x.a, x.b])
}

/// Whether the two points, which another way comes from and goes to at the middle one of three, are on different sides
/// of the way through these.
fn ways_cross<G: Ground>([from, at, to]: [G::Point; 3], ends: [G::Point; 2]) -> bool {
    let turns_left = G::side(from, at, to) > 0.0;
    let [is_left, is_too] = ends.map(|end| {
        let (of_first, of_second) = (G::side(from, at, end) > 0.0, G::side(at, to, end) > 0.0);
        if turns_left { of_first && of_second } else { of_first || of_second }
    });
    is_left != is_too
}
