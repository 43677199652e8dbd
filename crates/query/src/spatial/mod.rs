//! Shapes on the globe and on the plane: reading them, and what the `ST_` functions ask of them.
//!
//! A container says which of the two its coordinates are of. Everything but lengths, areas and sides is the same on both.

mod ellipsoid;
mod extent;
mod figure;
mod globe;
mod ground;
mod plane;
mod read;
mod relate;
#[cfg(test)]
mod tests;
mod valid;
mod vector;

pub use extent::Rectangle;
pub(crate) use read::Invalid;

use crate::eval::EvalError;
use crate::raw::RawJson;
use figure::Figure;
use globe::Globe;
use ground::Ground;
use plane::Plane;

/// What coordinates mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Surface {
    /// Degrees of longitude and latitude on the globe.
    #[default]
    Geography,
    /// Numbers on a plane.
    Geometry,
}

/// Counts bytes that are gone through; an error if the query is to stop.
pub(crate) type Work<'w> = &'w dyn Fn(usize) -> Result<(), EvalError>;

/// What looking at a pair of edges counts as, in bytes of text. No more is looked at than the edges of one shape before
/// that is counted.
const PAIR: usize = 16;

/// A point, a line or areas, on one of the surfaces.
#[derive(Debug)]
pub(crate) struct Shape(OnSurface);

#[derive(Debug)]
enum OnSurface {
    Globe(Figure<Globe>),
    Plane(Figure<Plane>),
}

impl Shape {
    /// Reads a GeoJSON value. Rings that cross are not noticed.
    pub(crate) fn read(value: RawJson<'_>, surface: Surface) -> Result<Shape, Invalid> {
        Ok(Shape(match surface {
            Surface::Geography => OnSurface::Globe(read::figure(value, surface)?),
            Surface::Geometry => OnSurface::Plane(read::figure(value, surface)?),
        }))
    }

    /// What is wrong with the shape, if anything is.
    pub(crate) fn problem(&self, work: Work<'_>) -> Result<Option<Invalid>, EvalError> {
        match &self.0 {
            OnSurface::Globe(figure) => valid::problem(figure, work),
            OnSurface::Plane(figure) => valid::problem(figure, work),
        }
    }

    /// The least distance of two shapes; none if they are on different surfaces.
    pub(crate) fn distance(&self, other: &Shape, work: Work<'_>) -> Result<Option<f64>, EvalError> {
        match (&self.0, &other.0) {
            (OnSurface::Globe(one), OnSurface::Globe(other)) => relate::distance(one, other, work).map(Some),
            (OnSurface::Plane(one), OnSurface::Plane(other)) => relate::distance(one, other, work).map(Some),
            (OnSurface::Globe(_), OnSurface::Plane(_)) | (OnSurface::Plane(_), OnSurface::Globe(_)) => {
                Ok(None)
            }
        }
    }

    /// Whether two shapes have a point in common.
    pub(crate) fn intersects(&self, other: &Shape, work: Work<'_>) -> Result<bool, EvalError> {
        match (&self.0, &other.0) {
            (OnSurface::Globe(one), OnSurface::Globe(other)) => relate::intersects(one, other, work),
            (OnSurface::Plane(one), OnSurface::Plane(other)) => relate::intersects(one, other, work),
            (OnSurface::Globe(_), OnSurface::Plane(_)) | (OnSurface::Plane(_), OnSurface::Globe(_)) => {
                Ok(false)
            }
        }
    }

    /// Whether this shape lies within another.
    pub(crate) fn is_within(&self, other: &Shape, work: Work<'_>) -> Result<bool, EvalError> {
        match (&self.0, &other.0) {
            (OnSurface::Globe(one), OnSurface::Globe(other)) => relate::is_within(one, other, work),
            (OnSurface::Plane(one), OnSurface::Plane(other)) => relate::is_within(one, other, work),
            (OnSurface::Globe(_), OnSurface::Plane(_)) | (OnSurface::Plane(_), OnSurface::Globe(_)) => {
                Ok(false)
            }
        }
    }

    /// The area, 0 for points and lines.
    pub(crate) fn area(&self) -> f64 {
        match &self.0 {
            OnSurface::Globe(figure) => area(figure),
            OnSurface::Plane(figure) => area(figure),
        }
    }
}

fn area<G: Ground>(figure: &Figure<G>) -> f64 {
    match figure {
        Figure::Point(_) | Figure::Line(_) => 0.0,
        Figure::Areas(areas) => areas.iter().map(|area| G::area(&area.rings)).sum(),
    }
}
