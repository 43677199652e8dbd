//! The functions of shapes. Anything that is no valid shape has no distance, no area and no place; only the two functions
//! that ask for validity answer for it.

use crate::eval::{EvalError, Val};
use crate::raw::RawJson;
use crate::spatial::{Invalid, Shape, Surface, Work};
use crate::value::write_string;

/// A function of shapes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SpatialFunction {
    Area,
    Distance,
    Intersects,
    IsValid,
    IsValidDetailed,
    Within,
}

/// An argument read as a shape.
#[derive(Debug)]
pub(crate) enum ShapeArgument {
    Undefined,
    Valid(Shape),
    Invalid(Invalid),
}

impl ShapeArgument {
    pub(crate) fn read(
        value: &Val<'_>,
        surface: Surface,
        work: Work<'_>,
    ) -> Result<ShapeArgument, EvalError> {
        let text = match value {
            Val::Undefined => return Ok(ShapeArgument::Undefined),
            Val::Json(text) => RawJson::new(text),
            Val::Null | Val::Bool(_) | Val::Number(_) | Val::Integer(_) | Val::Str(_) => {
                RawJson::new(b"null")
            }
        };
        Ok(match Shape::read(text, surface) {
            Err(invalid) => ShapeArgument::Invalid(invalid),
            Ok(shape) => match shape.problem(work)? {
                Some(invalid) => ShapeArgument::Invalid(invalid),
                None => ShapeArgument::Valid(shape),
            },
        })
    }
}

impl SpatialFunction {
    pub(crate) fn apply(
        self,
        arguments: &[&ShapeArgument],
        work: Work<'_>,
    ) -> Result<Val<'static>, EvalError> {
        use ShapeArgument::{Undefined, Valid};
        Ok(match (self, arguments) {
            (SpatialFunction::Distance, [Valid(one), Valid(other)]) => {
                one.distance(other, work)?.map_or(Val::Undefined, Val::Number)
            }
            (SpatialFunction::Intersects, [Valid(one), Valid(other)]) => {
                Val::Bool(one.intersects(other, work)?)
            }
            (SpatialFunction::Within, [Valid(one), Valid(other)]) => Val::Bool(one.is_within(other, work)?),
            (SpatialFunction::Area, [Valid(shape)]) => Val::Number(shape.area()),
            (SpatialFunction::IsValid | SpatialFunction::IsValidDetailed, [Undefined]) => Val::Undefined,
            (SpatialFunction::IsValid, [shape]) => Val::Bool(matches!(shape, Valid(_))),
            (SpatialFunction::IsValidDetailed, [shape]) => Val::json(detailed(shape)),
            _ => Val::Undefined,
        })
    }
}

fn detailed(shape: &ShapeArgument) -> Vec<u8> {
    let ShapeArgument::Invalid(invalid) = shape else { return br#"{"valid":true}"#.to_vec() };
    let mut out = br#"{"valid":false,"reason":"#.to_vec();
    write_string(invalid.reason(), &mut out);
    out.push(b'}');
    out
}
