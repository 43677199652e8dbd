//! What conditions on shapes say of where documents have theirs.

use super::Aliases;
use super::condition::mirrored;
use super::filter::IndexFilter;
use crate::ast::{BinaryOp, Expr, ExprKind};
use crate::constant::constant;
use crate::parameters::Parameters;
use crate::value::Value;

impl Aliases {
    /// `ST_DISTANCE(path, shape) < number`, in either order and with either bound included.
    pub(super) fn distance(
        &self,
        op: BinaryOp,
        left: &Expr,
        right: &Expr,
        parameters: &Parameters,
    ) -> Option<IndexFilter> {
        let (op, arguments, most) = match (measured(left), measured(right)) {
            (Some(arguments), _) => (op, arguments, constant(right, parameters)?),
            (None, Some(arguments)) => (mirrored(op), arguments, constant(left, parameters)?),
            (None, None) => return None,
        };
        match (op, most.as_f64()) {
            (BinaryOp::Lt | BinaryOp::Le | BinaryOp::Eq, Some(most)) => {
                self.near(arguments, most, parameters)
            }
            _ => None,
        }
    }

    /// Of two arguments one is a path and the other a shape, no farther than a distance from what the path leads to.
    pub(super) fn near(
        &self,
        arguments: &[Expr],
        distance: f64,
        parameters: &Parameters,
    ) -> Option<IndexFilter> {
        let [one, other] = arguments else { return None };
        let (path, shape) = match self.path(one) {
            Some(path) => (path, constant(other, parameters)?),
            None => (self.path(other)?, constant(one, parameters)?),
        };
        match shape {
            // Nothing else is a shape, and what is asked of it has no answer.
            Value::Object(_) => Some(IndexFilter::Near(path, shape, distance)),
            _ => Some(IndexFilter::nothing()),
        }
    }
}

/// The arguments of a call of `ST_DISTANCE`.
fn measured(expr: &Expr) -> Option<&[Expr]> {
    match &expr.kind {
        ExprKind::Call(name, arguments) if name.eq_ignore_ascii_case("ST_DISTANCE") => Some(arguments),
        _ => None,
    }
}
