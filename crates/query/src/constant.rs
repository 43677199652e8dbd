//! The value of an expression that does not depend on any document.
//!
//! Only what analysis needs is folded: literals, parameters, signs, and arrays and objects of these. Everything
//! else counts as not constant, which is always safe to assume.

use std::collections::HashSet;

use crate::ast::{Expr, ExprKind, Literal, UnaryOp};
use crate::parameters::Parameters;
use crate::value::Value;

/// The value of `expr`, if it can be told from the text and the parameters alone.
pub(crate) fn constant(expr: &Expr, parameters: &Parameters) -> Option<Value> {
    match &expr.kind {
        ExprKind::Literal(literal) => Some(literal_value(literal)),
        ExprKind::Parameter(name) => parameters.get(name).cloned(),
        ExprKind::Unary(op @ (UnaryOp::Minus | UnaryOp::Plus), operand) => {
            match (constant(operand, parameters)?, op) {
                (Value::Number(number), UnaryOp::Minus) => Some(Value::Number(-number)),
                (Value::Integer(number), UnaryOp::Minus) => number.checked_neg().map(Value::integer),
                (number @ (Value::Number(_) | Value::Integer(_)), _) => Some(number),
                _ => Some(Value::Undefined),
            }
        }
        ExprKind::Array(elements) => {
            let values = elements.iter().map(|element| constant(element, parameters));
            let values = values.collect::<Option<Vec<_>>>()?;
            Some(Value::Array(values.into_iter().filter(|value| !value.is_undefined()).collect()))
        }
        ExprKind::Object(members) => {
            let values = members.iter().map(|(name, member)| Some((name, constant(member, parameters)?)));
            let values = values.collect::<Option<Vec<_>>>()?;
            // Of members with one name the last counts, also one that is undefined.
            let mut seen = HashSet::new();
            let last = values.into_iter().rev().filter(|(name, _)| seen.insert(*name));
            let mut last: Vec<(Box<str>, Value)> = last
                .filter(|(_, value)| !value.is_undefined())
                .map(|(name, value)| (name.as_str().into(), value))
                .collect();
            last.reverse();
            Some(Value::Object(last))
        }
        _ => None,
    }
}

fn literal_value(literal: &Literal) -> Value {
    match literal {
        Literal::Undefined => Value::Undefined,
        Literal::Null => Value::Null,
        Literal::Bool(value) => Value::Bool(*value),
        Literal::Number(value) => Value::Number(*value),
        Literal::Integer(value) => Value::Integer(*value),
        Literal::String(value) => Value::String(value.as_str().into()),
    }
}
