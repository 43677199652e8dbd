//! From a `WHERE` condition to what an index can answer of it.
//!
//! `None` always means "no restriction": a part that cannot be expressed drops out of an `AND`, and takes the
//! whole `OR` with it.

use std::ops::Bound;

use super::Aliases;
use super::filter::IndexFilter;
use super::path::DocPath;
use crate::ast::{BinaryOp, Expr, ExprKind, Query, SelectSpec, UnaryOp};
use crate::check::is_aggregate;
use crate::constant::constant;
use crate::parameters::Parameters;
use crate::value::{Kind, Value};

impl Aliases {
    /// What must hold for a document if `expr` is true for one of its rows.
    pub(super) fn condition(&self, expr: &Expr, parameters: &Parameters) -> Option<IndexFilter> {
        if let Some(value) = constant(expr, parameters) {
            return (value != Value::Bool(true)).then(IndexFilter::nothing);
        }
        let condition = |expr| self.condition(expr, parameters);
        match &expr.kind {
            ExprKind::Binary(BinaryOp::And, left, right) => both(condition(left), condition(right)),
            ExprKind::Binary(BinaryOp::Or, left, right) => Some(condition(left)?.or(condition(right)?)),
            ExprKind::Binary(op, left, right) => self.comparison(*op, left, right, parameters),
            ExprKind::Unary(UnaryOp::Not, operand) => {
                Some(IndexFilter::Equal(self.path(operand)?, Value::Bool(false)))
            }
            ExprKind::In { needle, haystack, negated } => {
                let values =
                    haystack.iter().map(|item| constant(item, parameters)).collect::<Option<Vec<_>>>();
                match (values, negated) {
                    (Some(values), false) => Some(any_of(self.path(needle)?, values)),
                    _ => Some(IndexFilter::Defined(self.path(needle)?)),
                }
            }
            ExprKind::Between { value, low, high, negated: false } => {
                let low = self.comparison(BinaryOp::Ge, value, low, parameters);
                both(low, self.comparison(BinaryOp::Le, value, high, parameters))
            }
            ExprKind::Like { value, pattern, escape, negated: false } => {
                let escape = match escape {
                    Some(escape) => Some(constant(escape, parameters)?),
                    None => None,
                };
                like(self.path(value)?, &constant(pattern, parameters)?, escape.as_ref())
            }
            ExprKind::Call(name, arguments) => self.call(name, arguments, parameters),
            ExprKind::Exists(query) => self.exists(query, parameters),
            ExprKind::Name(_) | ExprKind::Member(..) | ExprKind::Index(..) => {
                Some(IndexFilter::Equal(self.path(expr)?, Value::Bool(true)))
            }
            _ => None,
        }
    }

    fn comparison(
        &self,
        op: BinaryOp,
        left: &Expr,
        right: &Expr,
        parameters: &Parameters,
    ) -> Option<IndexFilter> {
        if op == BinaryOp::Eq
            && let Some(filter) =
                self.absolute(left, right, parameters).or_else(|| self.absolute(right, left, parameters))
        {
            return Some(filter);
        }
        if let Some(filter) = self.distance(op, left, right, parameters) {
            return Some(filter);
        }
        let (path, op, value) = match (self.path(left), constant(right, parameters)) {
            (Some(path), Some(value)) => (path, op, value),
            _ => (self.path(right)?, mirrored(op), constant(left, parameters)?),
        };
        let comparable = matches!(value.kind(), Kind::Bool | Kind::Number | Kind::String);
        let range = |low, high| Some(IndexFilter::half_range(path.clone(), low, high));
        match op {
            BinaryOp::Eq | BinaryOp::Ne | BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge
                if value.is_undefined() =>
            {
                Some(IndexFilter::nothing())
            }
            BinaryOp::Eq => Some(equal(path, value)),
            BinaryOp::Lt if comparable => range(Bound::Unbounded, Bound::Excluded(value)),
            BinaryOp::Le if comparable => range(Bound::Unbounded, Bound::Included(value)),
            BinaryOp::Gt if comparable => range(Bound::Excluded(value), Bound::Unbounded),
            BinaryOp::Ge if comparable => range(Bound::Included(value), Bound::Unbounded),
            BinaryOp::Ne | BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge => {
                Some(IndexFilter::Defined(path))
            }
            _ => None,
        }
    }

    /// `ABS(path) = number`: the number or its opposite.
    fn absolute(&self, call: &Expr, value: &Expr, parameters: &Parameters) -> Option<IndexFilter> {
        let ExprKind::Call(name, arguments) = &call.kind else { return None };
        let [argument] = &arguments[..] else { return None };
        let (true, Value::Number(size)) = (name.eq_ignore_ascii_case("ABS"), constant(value, parameters)?)
        else {
            return None;
        };
        let path = self.path(argument)?;
        // Integers that no double holds have sizes that are rounded.
        const FIRST_ROUNDED: f64 = 9_007_199_254_740_992.0;
        Some(match size {
            size if size >= FIRST_ROUNDED => IndexFilter::Defined(path),
            size if size > 0.0 => any_of(path, vec![Value::Number(size), Value::Number(-size)]),
            0.0 => IndexFilter::Equal(path, Value::Number(0.0)),
            _ => IndexFilter::nothing(),
        })
    }

    /// A text that has terms, where these are constant.
    fn text(&self, arguments: &[Expr], all: bool, parameters: &Parameters) -> Option<IndexFilter> {
        let (path, terms) = arguments.split_first()?;
        let terms = terms.iter().map(|term| constant(term, parameters)).collect::<Option<Vec<_>>>()?;
        Some(IndexFilter::Text { path: self.path(path)?, terms, all })
    }

    /// The functions whose truth says something about a path.
    fn call(&self, name: &str, arguments: &[Expr], parameters: &Parameters) -> Option<IndexFilter> {
        let first = arguments.first()?;
        let second = || arguments.get(1).and_then(|argument| constant(argument, parameters));
        // The optional last argument: ignore case, or match in part.
        let flag = match arguments.get(2) {
            None => Some(false),
            Some(argument) => constant(argument, parameters).map(|value| value == Value::Bool(true)),
        };
        let any_number = || Bound::Included(Value::Number(f64::NEG_INFINITY));
        match name.to_ascii_uppercase().as_str() {
            "FULLTEXTCONTAINS" | "FULLTEXTCONTAINSALL" => self.text(arguments, true, parameters),
            "FULLTEXTCONTAINSANY" => self.text(arguments, false, parameters),
            "IS_DEFINED" => Some(IndexFilter::Defined(self.path(first)?)),
            "IS_NULL" => Some(IndexFilter::Equal(self.path(first)?, Value::Null)),
            "IS_BOOL" => Some(any_of(self.path(first)?, vec![Value::Bool(false), Value::Bool(true)])),
            "IS_NUMBER" => Some(IndexFilter::half_range(self.path(first)?, any_number(), Bound::Unbounded)),
            "IS_STRING" => Some(IndexFilter::Prefix(self.path(first)?, "".into())),
            "STARTSWITH" => match (second(), flag) {
                (Some(Value::String(prefix)), Some(false)) => {
                    Some(IndexFilter::Prefix(self.path(first)?, prefix))
                }
                _ => Some(IndexFilter::Prefix(self.path(first)?, "".into())),
            },
            "STRINGEQUALS" => match (second(), flag) {
                (Some(value @ Value::String(_)), Some(false)) => {
                    Some(IndexFilter::Equal(self.path(first)?, value))
                }
                _ => Some(IndexFilter::Prefix(self.path(first)?, "".into())),
            },
            "CONTAINS" | "ENDSWITH" | "REGEXMATCH" => Some(IndexFilter::Prefix(self.path(first)?, "".into())),
            "ST_INTERSECTS" | "ST_WITHIN" => self.near(arguments, 0.0, parameters),
            "ARRAY_CONTAINS" => self.array_contains(arguments, flag, parameters),
            "ARRAY_CONTAINS_ANY" => {
                Some(any_of(self.path(first)?.element(), self.listed(arguments, parameters)?))
            }
            "ARRAY_CONTAINS_ALL" => {
                let path = self.path(first)?.element();
                let each =
                    self.listed(arguments, parameters)?.into_iter().map(|value| equal(path.clone(), value));
                each.reduce(IndexFilter::and)
            }
            _ => None,
        }
    }

    /// The arguments after the first, if all are constant and not undefined.
    fn listed(&self, arguments: &[Expr], parameters: &Parameters) -> Option<Vec<Value>> {
        let values = arguments[1..].iter().map(|argument| constant(argument, parameters));
        let values = values.collect::<Option<Vec<_>>>()?;
        // What an undefined one means is for evaluation to say.
        (!values.is_empty() && !values.iter().any(Value::is_undefined)).then_some(values)
    }

    /// `ARRAY_CONTAINS(path, constant)` and `ARRAY_CONTAINS(constants, path)`.
    fn array_contains(
        &self,
        arguments: &[Expr],
        partial: Option<bool>,
        parameters: &Parameters,
    ) -> Option<IndexFilter> {
        let [array, sought, ..] = arguments else { return None };
        if let Some(path) = self.path(array) {
            let element = path.element();
            return Some(match (constant(sought, parameters)?, partial) {
                (Value::Undefined, _) => IndexFilter::Defined(path),
                (Value::Object(members), Some(true)) => members
                    .into_iter()
                    .map(|(name, value)| equal(element.member(name), value))
                    .reduce(IndexFilter::and)
                    .unwrap_or(IndexFilter::Defined(element)),
                (Value::Object(_), None) => IndexFilter::Defined(element),
                (value, _) => equal(element, value),
            });
        }
        match (constant(array, parameters)?, partial) {
            (Value::Array(values), Some(false)) => Some(any_of(self.path(sought)?, values)),
            _ => None,
        }
    }

    /// `EXISTS(SELECT … FROM x IN c.list WHERE …)`: some element fulfils the condition.
    fn exists(&self, query: &Query, parameters: &Parameters) -> Option<IndexFilter> {
        let selected: Vec<&Expr> = match &query.select.spec {
            SelectSpec::Star => Vec::new(),
            SelectSpec::Value(expr) => vec![expr],
            SelectSpec::List(items) => items.iter().map(|item| &item.expr).collect(),
        };
        // An aggregate yields a row even where nothing matches.
        if selected.iter().any(|expr| expr.any(&is_aggregate)) {
            return None;
        }
        let mut inner = self.clone();
        if let Some(from) = &query.from {
            inner.join(std::slice::from_ref(&from.source));
            inner.join(&from.joins);
        }
        inner.condition(query.filter.as_ref()?, parameters)
    }
}

/// What two conditions say together.
fn both(one: Option<IndexFilter>, other: Option<IndexFilter>) -> Option<IndexFilter> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.and(other)),
        (one, other) => one.or(other),
    }
}

pub(super) fn mirrored(op: BinaryOp) -> BinaryOp {
    match op {
        BinaryOp::Lt => BinaryOp::Gt,
        BinaryOp::Le => BinaryOp::Ge,
        BinaryOp::Gt => BinaryOp::Lt,
        BinaryOp::Ge => BinaryOp::Le,
        other => other,
    }
}

fn equal(path: DocPath, value: Value) -> IndexFilter {
    match value.kind() {
        Kind::Undefined => IndexFilter::nothing(),
        Kind::Null | Kind::Bool | Kind::Number | Kind::String | Kind::Array | Kind::Object => {
            IndexFilter::Equal(path, value)
        }
    }
}

fn any_of(path: DocPath, mut values: Vec<Value>) -> IndexFilter {
    values.retain(|value| !value.is_undefined());
    match values.as_slice() {
        [] => IndexFilter::nothing(),
        [_] => IndexFilter::Equal(path, values.remove(0)),
        _ => IndexFilter::In(path, values),
    }
}

/// The text before the first wildcard.
fn like(path: DocPath, pattern: &Value, escape: Option<&Value>) -> Option<IndexFilter> {
    let Value::String(pattern) = pattern else { return Some(IndexFilter::Prefix(path, "".into())) };
    let escape = match escape {
        None => None,
        Some(Value::String(escape)) => escape.chars().next(),
        Some(_) => return Some(IndexFilter::Prefix(path, "".into())),
    };
    let mut prefix = String::new();
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        match c {
            c if Some(c) == escape => match chars.next() {
                Some(escaped) => prefix.push(escaped),
                // What a pattern means that ends in its escape character, nobody says.
                None => return Some(IndexFilter::Prefix(path, prefix.into())),
            },
            '%' | '_' | '[' => return Some(IndexFilter::Prefix(path, prefix.into())),
            c => prefix.push(c),
        }
    }
    Some(IndexFilter::Equal(path, Value::String(prefix.into())))
}
