//! GeoJSON to shapes, and what is wrong with a value that is none.
//!
//! Only what can be told point by point is checked here; whether rings cross is asked of [`valid`](super::valid).

use std::borrow::Cow;

use super::Surface;
use super::figure::{Area, Figure, Location, locate_in_ring};
use super::ground::Ground;
use crate::raw::RawJson;
use crate::value::Kind;

/// Why a value is no shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Invalid(Cow<'static, str>);

impl Invalid {
    pub(super) fn new(reason: impl Into<Cow<'static, str>>) -> Invalid {
        Invalid(reason.into())
    }

    /// The reason, in a sentence.
    pub(crate) fn reason(&self) -> &str {
        &self.0
    }
}

/// A position as it is written.
type Position = [f64; 2];

/// The shape that a value is.
pub(super) fn figure<G: Ground>(value: RawJson<'_>, surface: Surface) -> Result<Figure<G>, Invalid> {
    let kind = value.member("type").and_then(RawJson::as_str);
    let coordinates = value.member("coordinates").filter(|list| list.kind() == Kind::Array);
    let Some(kind) = kind else {
        return Err(Invalid::new("The value is not a GeoJSON object: it has no type."));
    };
    let Some(list) = coordinates else {
        return Err(Invalid::new("The value is not a GeoJSON object: it has no array of coordinates."));
    };
    let reader = Reader { surface };
    match &*kind {
        "Point" => reader.position(list).map(|[x, y]| Figure::Point(G::point(x, y))),
        "LineString" => reader.line::<G>(list).map(Figure::Line),
        "Polygon" => Ok(Figure::Areas(vec![reader.area::<G>(list)?])),
        "MultiPolygon" => {
            let areas = elements(list, "A MultiPolygon holds arrays of rings.")?;
            let areas =
                areas.into_iter().map(|area| reader.area::<G>(area)).collect::<Result<Vec<_>, _>>()?;
            if areas.is_empty() {
                return Err(Invalid::new("The MultiPolygon is not valid because it has no polygon."));
            }
            Ok(Figure::Areas(areas))
        }
        _ => Err(Invalid::new("The type must be Point, LineString, Polygon or MultiPolygon.")),
    }
}

struct Reader {
    surface: Surface,
}

impl Reader {
    /// Two numbers. Those that follow, such as an altitude, count for nothing.
    fn position(&self, value: RawJson<'_>) -> Result<Position, Invalid> {
        let mut numbers =
            value.elements().map(|number| number.as_number().filter(|number| number.is_finite()));
        let (Some(Some(x)), Some(Some(y)), true) =
            (numbers.next(), numbers.next(), numbers.all(|n| n.is_some()))
        else {
            return Err(Invalid::new("A position must be an array of at least two numbers."));
        };
        match self.surface {
            Surface::Geometry => Ok([x, y]),
            Surface::Geography if !(-90.0..=90.0).contains(&y) => {
                Err(Invalid::new("Latitude values must be between -90 and 90 degrees."))
            }
            Surface::Geography if !(-180.0..=180.0).contains(&x) => {
                Err(Invalid::new("Longitude values must be between -180 and 180 degrees."))
            }
            Surface::Geography => Ok([x, y]),
        }
    }

    fn positions(&self, list: RawJson<'_>) -> Result<Vec<Position>, Invalid> {
        elements(list, "A position must be an array of at least two numbers.")?
            .into_iter()
            .map(|position| self.position(position))
            .collect()
    }

    fn line<G: Ground>(&self, list: RawJson<'_>) -> Result<Vec<G::Point>, Invalid> {
        let positions = self.positions(list)?;
        if positions.len() < 2 {
            return Err(Invalid::new("The LineString is not valid because it has fewer than two positions."));
        }
        let points = distinct::<G>(&positions);
        edges_are_certain::<G>(points.iter().copied())?;
        Ok(points)
    }

    fn area<G: Ground>(&self, list: RawJson<'_>) -> Result<Area<G>, Invalid> {
        let rings = elements(list, "A polygon is an array of rings, which are arrays of positions.")?;
        let mut rings = rings.into_iter().enumerate().map(|(nth, ring)| self.ring::<G>(ring, nth + 1));
        let Some(outer) = rings.next() else {
            return Err(Invalid::new("The polygon is not valid because it has no ring."));
        };
        let mut read = vec![G::outer_ring(outer?)];
        for hole in rings {
            let hole = hole?;
            let directed = around_hole::<G>(hole, &read[0]);
            read.push(directed);
        }
        Ok(Area { rings: read })
    }

    fn ring<G: Ground>(&self, list: RawJson<'_>, nth: usize) -> Result<Vec<G::Point>, Invalid> {
        let positions = self.positions(list)?;
        if positions.len() < 4 {
            return Err(Invalid::new(format!(
                "The polygon is not valid because ring number {nth} has fewer than four positions."
            )));
        }
        if positions.first() != positions.last() {
            return Err(Invalid::new(format!(
                "The polygon is not valid because the start and end points of ring number {nth} are not the same."
            )));
        }
        let mut points = distinct::<G>(&positions);
        if points.len() > 1
            && matches!((points.first(), points.last()), (Some(a), Some(b)) if G::is_same(*a, *b))
        {
            points.pop();
        }
        if points.len() < 3 {
            return Err(Invalid::new(format!(
                "The polygon is not valid because ring number {nth} has fewer than three different positions."
            )));
        }
        edges_are_certain::<G>(points.iter().copied().chain(points.first().copied()))?;
        Ok(points)
    }
}

/// The elements of an array of arrays.
fn elements<'d>(list: RawJson<'d>, expected: &'static str) -> Result<Vec<RawJson<'d>>, Invalid> {
    let is_array = |value: &RawJson<'_>| value.kind() == Kind::Array;
    let found: Vec<_> = list.elements().collect();
    match is_array(&list) && found.iter().all(is_array) {
        true => Ok(found),
        false => Err(Invalid::new(expected)),
    }
}

/// The points at these positions, without those that repeat the one before.
fn distinct<G: Ground>(positions: &[Position]) -> Vec<G::Point> {
    let mut points: Vec<G::Point> = positions.iter().map(|[x, y]| G::point(*x, *y)).collect();
    points.dedup_by(|next, point| G::is_same(*point, *next));
    points
}

fn edges_are_certain<G: Ground>(points: impl Iterator<Item = G::Point> + Clone) -> Result<(), Invalid> {
    let mut edges = points.clone().zip(points.skip(1));
    match edges.all(|(a, b)| G::has_edge(a, b)) {
        true => Ok(()),
        false => Err(Invalid::new("An edge cannot join two points on opposite sides of the globe.")),
    }
}

/// The ring of a hole in the direction that has what is around the hole on the left, whichever way it was written.
fn around_hole<G: Ground>(mut hole: Vec<G::Point>, outer: &[G::Point]) -> Vec<G::Point> {
    let around = deciding::<G>(outer)
        .map(|point| locate_in_ring::<G>(&hole, point))
        .find(|at| *at != Location::Boundary);
    if around == Some(Location::Outside) {
        hole.reverse();
    }
    hole
}

/// Points of the outer ring of which one at least is not on a hole: a hole may touch a corner, and even all of them, but
/// one that has both ends and the middle of an edge overlaps the edge. They are few, so that rings that overlap, which
/// make no valid shape whatever their direction, do not take the product of their lengths.
fn deciding<G: Ground>(outer: &[G::Point]) -> impl Iterator<Item = G::Point> {
    const MOST: usize = 8;
    let edges = outer.iter().copied().zip(outer.iter().copied().cycle().skip(1));
    edges.take(MOST).flat_map(|(a, b)| [a, G::middle(a, b)])
}
