//! What the operators do with values: logic of three values, comparison, arithmetic, 32-bit integers, strings.
//!
//! Operands are evaluated by the caller; nothing here sees a document.

use super::Val;
use crate::ast::{BinaryOp, UnaryOp};
use crate::value::Kind;

/// `NOT`, `-`, `+` and `~`.
pub(super) fn unary<'a>(op: UnaryOp, operand: &Val<'a>) -> Val<'a> {
    match (op, operand) {
        (UnaryOp::Not, Val::Bool(value)) => Val::Bool(!value),
        (UnaryOp::Minus, Val::Number(value)) => Val::Number(-value),
        (UnaryOp::Plus, Val::Number(value)) => Val::Number(*value),
        (UnaryOp::Minus, Val::Integer(value)) => value.checked_neg().map_or(Val::Undefined, Val::integer),
        (UnaryOp::Plus, Val::Integer(value)) => Val::Integer(*value),
        (UnaryOp::BitNot, Val::Integer(value)) => Val::Number(f64::from(!(*value as i32))),
        (UnaryOp::BitNot, Val::Number(value)) => Val::Number(f64::from(!to_int32(*value))),
        (UnaryOp::Not | UnaryOp::Minus | UnaryOp::Plus | UnaryOp::BitNot, _) => Val::Undefined,
    }
}

/// `=`: false between kinds, undefined only if an operand is.
pub(super) fn equal<'a>(left: &Val<'_>, right: &Val<'_>) -> Val<'a> {
    if left.is_undefined() || right.is_undefined() { Val::Undefined } else { Val::Bool(left.equals(right)) }
}

/// The comparisons. Those of order are undefined between kinds and for arrays and objects.
pub(super) fn compare<'a>(op: BinaryOp, left: &Val<'_>, right: &Val<'_>) -> Val<'a> {
    match op {
        BinaryOp::Eq => return equal(left, right),
        BinaryOp::Ne => return unary(UnaryOp::Not, &equal(left, right)),
        _ => {}
    }
    let kind = left.kind();
    if kind != right.kind() || matches!(kind, Kind::Undefined | Kind::Array | Kind::Object) {
        return Val::Undefined;
    }
    let order = left.cmp_scalar(right);
    Val::Bool(match op {
        BinaryOp::Lt => order.is_lt(),
        BinaryOp::Le => order.is_le(),
        BinaryOp::Gt => order.is_gt(),
        _ => order.is_ge(),
    })
}

/// Arithmetic on two numbers; bitwise operators first cut them to 32 bits, as JavaScript does.
pub(super) fn arithmetic(op: BinaryOp, a: f64, b: f64) -> Option<f64> {
    let (int_a, int_b) = (to_int32(a), to_int32(b));
    // JavaScript takes shift counts modulo 32.
    let shift = int_b as u32 & 31;
    Some(match op {
        BinaryOp::Add => a + b,
        BinaryOp::Sub => a - b,
        BinaryOp::Mul => a * b,
        BinaryOp::Div => a / b,
        BinaryOp::Mod => a % b,
        BinaryOp::BitOr => f64::from(int_a | int_b),
        BinaryOp::BitXor => f64::from(int_a ^ int_b),
        BinaryOp::BitAnd => f64::from(int_a & int_b),
        BinaryOp::ShiftLeft => f64::from(int_a.wrapping_shl(shift)),
        BinaryOp::ShiftRight => f64::from(int_a.wrapping_shr(shift)),
        BinaryOp::ShiftRightZero => f64::from((int_a as u32).wrapping_shr(shift)),
        BinaryOp::Or
        | BinaryOp::And
        | BinaryOp::Coalesce
        | BinaryOp::Eq
        | BinaryOp::Ne
        | BinaryOp::Lt
        | BinaryOp::Le
        | BinaryOp::Gt
        | BinaryOp::Ge
        | BinaryOp::Concat => return None,
    })
}

/// JavaScript's ToInt32: the integer part, modulo 2^32, as a signed number; 0 for what is not finite.
fn to_int32(number: f64) -> i32 {
    const MODULUS: f64 = 4_294_967_296.0;
    if !number.is_finite() {
        return 0;
    }
    number.trunc().rem_euclid(MODULUS) as u32 as i32
}

/// One operand of `AND` or `OR` joined to the result so far, whose neutral element is `!decisive`.
///
/// The decisive value (`false` for `AND`, `true` for `OR`) wins over undefined, and so ends the evaluation.
pub(super) struct Logic {
    decisive: bool,
    undefined: bool,
}

impl Logic {
    pub(super) fn and() -> Logic {
        Logic { decisive: false, undefined: false }
    }

    pub(super) fn or() -> Logic {
        Logic { decisive: true, undefined: false }
    }

    /// Takes the next operand; `true` if it decides the result.
    pub(super) fn decided_by(&mut self, operand: &Val<'_>) -> bool {
        match operand {
            Val::Bool(value) => *value == self.decisive,
            _ => {
                self.undefined = true;
                false
            }
        }
    }

    /// The result once all operands were taken and none decided.
    pub(super) fn undecided<'a>(&self) -> Val<'a> {
        if self.undefined { Val::Undefined } else { Val::Bool(!self.decisive) }
    }

    /// The result that an operand decided.
    pub(super) fn decided<'a>(&self) -> Val<'a> {
        Val::Bool(self.decisive)
    }
}
