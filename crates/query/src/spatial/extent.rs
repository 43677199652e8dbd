//! Rectangles of coordinates that hold a shape, for an index to find it by.
//!
//! On the globe they are degrees of longitude, and of latitude on the sphere that stands for the ellipsoid. A shape across
//! the antimeridian has one on each side of it; what holds a pole goes all the way round.

use super::figure::{Area, Figure, Location, locate_in_ring, ring_edges};
use super::globe::{Globe, angle_within};
use super::ground::Ground;
use super::plane::{Plane, Spot};
use super::vector::{NORTH, Vector, dot, minus, normal, times};
use super::{OnSurface, Shape, Surface};
use crate::raw::RawJson;

/// A rectangle of coordinates, its edges included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rectangle {
    /// From the least to the greatest first coordinate.
    pub x: (f64, f64),
    /// From the least to the greatest second coordinate.
    pub y: (f64, f64),
}

/// More than rounding moves a point on the globe, in degrees.
const SLACK: f64 = 1e-9;
/// The same on the plane, as a share of coordinates.
const PLANE_SLACK: f64 = 1e-12;
/// Closer to a pole than this, in radians, longitudes say nothing.
const POLE: f64 = 1e-6;

impl Surface {
    /// The rectangles that hold the shape which a GeoJSON value is; none if it is no shape.
    pub fn extent(self, value: RawJson<'_>) -> Option<Vec<Rectangle>> {
        Some(Shape::read(value, self).ok()?.extent())
    }

    /// The rectangles that meet the extent of every shape no farther than `distance` from the shape that a value is; none
    /// if it is no shape.
    pub fn extent_within(self, value: RawJson<'_>, distance: f64) -> Option<Vec<Rectangle>> {
        let shape = Shape::read(value, self).ok()?;
        // A distance below zero and one that is no number are those of no shape.
        if distance.is_nan() || distance < 0.0 {
            return Some(Vec::new());
        }
        Some(match &shape.0 {
            OnSurface::Globe(figure) => {
                let by = angle_within(distance).to_degrees() + SLACK;
                bands(figure).into_iter().flat_map(|band| band.widened(by).rectangles()).collect()
            }
            OnSurface::Plane(figure) => {
                rectangles(figure).into_iter().map(|rectangle| rectangle.widened(distance)).collect()
            }
        })
    }
}

impl Shape {
    fn extent(&self) -> Vec<Rectangle> {
        match &self.0 {
            OnSurface::Globe(figure) => bands(figure).into_iter().flat_map(Band::rectangles).collect(),
            OnSurface::Plane(figure) => rectangles(figure),
        }
    }
}

impl Rectangle {
    /// Whether two rectangles have a point in common.
    pub fn meets(&self, other: &Rectangle) -> bool {
        let overlap = |a: (f64, f64), b: (f64, f64)| a.0 <= b.1 && b.0 <= a.1;
        overlap(self.x, other.x) && overlap(self.y, other.y)
    }

    /// The rectangle that holds this one and another.
    pub fn with(self, other: Rectangle) -> Rectangle {
        let both = |a: (f64, f64), b: (f64, f64)| (a.0.min(b.0), a.1.max(b.1));
        Rectangle { x: both(self.x, other.x), y: both(self.y, other.y) }
    }

    fn of_spot(spot: Spot) -> Rectangle {
        Rectangle { x: (spot[0], spot[0]), y: (spot[1], spot[1]) }
    }

    fn widened(self, distance: f64) -> Rectangle {
        let wider = |(low, high): (f64, f64)| {
            let by = distance + PLANE_SLACK * (low.abs().max(high.abs()) + distance);
            (low - by, high + by)
        };
        Rectangle { x: wider(self.x), y: wider(self.y) }
    }
}

/// One for each part of a shape on the plane.
fn rectangles(figure: &Figure<Plane>) -> Vec<Rectangle> {
    let around =
        |points: &[Spot]| points.iter().map(|spot| Rectangle::of_spot(*spot)).reduce(Rectangle::with);
    match figure {
        Figure::Point(point) => vec![Rectangle::of_spot(*point)],
        Figure::Line(points) => around(points).into_iter().collect(),
        Figure::Areas(areas) => areas.iter().filter_map(|area| around(area.rings.first()?)).collect(),
    }
}

/// A part of the globe between two meridians and two parallels, in degrees.
#[derive(Clone, Copy, Debug)]
struct Band {
    /// From the west, -180 to 180, to the east, which is no less and less than a turn further.
    longitudes: (f64, f64),
    latitudes: (f64, f64),
}

const ALL_ROUND: (f64, f64) = (-180.0, 180.0);

impl Band {
    /// With everything that is no further from it than an angle in degrees.
    fn widened(self, by: f64) -> Band {
        let (south, north) = self.latitudes;
        let latitudes = ((south - by).max(-90.0), (north + by).min(90.0));
        if north + by >= 90.0 || south - by <= -90.0 {
            return Band { longitudes: ALL_ROUND, latitudes };
        }
        // Seen from a pole, a circle is widest where it is nearest to the pole.
        let nearest = south.abs().max(north.abs()).to_radians();
        let sideways = (by.to_radians().sin() / nearest.cos()).clamp(-1.0, 1.0).asin().to_degrees() + SLACK;
        let (west, east) = (self.longitudes.0 - sideways, self.longitudes.1 + sideways);
        Band { longitudes: if east - west >= 360.0 { ALL_ROUND } else { (west, east) }, latitudes }
    }

    fn rectangles(self) -> impl Iterator<Item = Rectangle> {
        let (mut west, mut east) = self.longitudes;
        if west < -180.0 {
            (west, east) = (west + 360.0, east + 360.0);
        }
        let first = Rectangle { x: (west, east.min(180.0)), y: self.latitudes };
        let second = (east > 180.0).then(|| Rectangle { x: (-180.0, east - 360.0), y: self.latitudes });
        std::iter::once(first).chain(second)
    }
}

/// One for each part of a shape on the globe.
fn bands(figure: &Figure<Globe>) -> Vec<Band> {
    match figure {
        Figure::Point(point) => vec![along(&[*point], &[])],
        Figure::Line(points) => {
            let edges: Vec<_> = points.iter().copied().zip(points.iter().copied().skip(1)).collect();
            vec![along(points, &edges)]
        }
        Figure::Areas(areas) => areas.iter().filter_map(band_of_area).collect(),
    }
}

fn band_of_area(area: &Area<Globe>) -> Option<Band> {
    let outer = area.rings.first()?;
    let edges: Vec<_> = ring_edges::<Globe>(outer).collect();
    let mut band = along(outer, &edges);
    for pole in [NORTH, times(NORTH, -1.0)] {
        if locate_in_ring::<Globe>(outer, pole) != Location::Outside {
            band.longitudes = ALL_ROUND;
            band.latitudes.0 = band.latitudes.0.min(pole[2] * 90.0);
            band.latitudes.1 = band.latitudes.1.max(pole[2] * 90.0);
        }
    }
    Some(band)
}

/// What holds a chain of edges.
fn along(points: &[Vector], edges: &[(Vector, Vector)]) -> Band {
    let extremes = edges.iter().flat_map(|(a, b)| turning_points(*a, *b));
    let heights = points.iter().copied().chain(extremes).map(latitude);
    let (south, north) =
        heights.fold((90.0, -90.0), |(low, high): (f64, f64), at| (low.min(at), high.max(at)));
    Band { longitudes: longitudes(points, edges), latitudes: (south, north) }
}

fn longitudes(points: &[Vector], edges: &[(Vector, Vector)]) -> (f64, f64) {
    let Some(first) = points.first() else { return ALL_ROUND };
    if points.iter().any(|point| point[0].hypot(point[1]) < POLE) {
        return ALL_ROUND;
    }
    let start = longitude(*first);
    let (mut at, mut west, mut east) = (start, start, start);
    for (a, b) in edges {
        let turn = longitude(*b) - longitude(*a);
        let turn = turn - 360.0 * (turn / 360.0).round();
        // An edge that comes close to a pole may pass it on either side.
        if turn.abs() > 180.0 - POLE.to_degrees() {
            return ALL_ROUND;
        }
        at += turn;
        (west, east) = (west.min(at), east.max(at));
    }
    match east - west < 360.0 {
        true if west < -180.0 => (west + 360.0, east + 360.0),
        true => (west, east),
        false => ALL_ROUND,
    }
}

/// The points of an edge that are farther north or south than both its ends.
fn turning_points(a: Vector, b: Vector) -> impl Iterator<Item = Vector> {
    let across = normal(a, b);
    let top = minus(times(NORTH, dot(across, across)), times(across, across[2]));
    let size = dot(top, top).sqrt();
    let tops = [1.0, -1.0].map(|way| times(top, way / size));
    tops.into_iter().filter(move |top| size > 0.0 && Globe::is_between(a, b, *top))
}

fn latitude(point: Vector) -> f64 {
    point[2].atan2(point[0].hypot(point[1])).to_degrees()
}

fn longitude(point: Vector) -> f64 {
    point[1].atan2(point[0]).to_degrees()
}
