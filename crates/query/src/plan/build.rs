//! Small pieces of syntax tree for rewritten queries. They have no place in the user's text.

use crate::ast::{Count, Expr, ExprKind, Literal, OffsetLimit, Query, Select, SelectItem, SelectSpec, Span};

pub(super) fn expr(kind: ExprKind) -> Expr {
    Expr { kind, span: Span::default() }
}

/// Text that is printed as it stands, as the name of a parameter is.
pub(super) fn verbatim(text: String) -> Expr {
    expr(ExprKind::Parameter(text))
}

pub(super) fn name(name: &str) -> Expr {
    expr(ExprKind::Name(name.to_owned()))
}

pub(super) fn member(base: Expr, name: &str) -> Expr {
    expr(ExprKind::Member(Box::new(base), name.to_owned()))
}

pub(super) fn number(number: u64) -> Expr {
    expr(ExprKind::Literal(Literal::Number(number as f64)))
}

pub(super) fn object<const N: usize>(members: [(&str, Expr); N]) -> Expr {
    expr(ExprKind::Object(members.map(|(name, value)| (name.to_owned(), value)).into()))
}

pub(super) fn array(elements: Vec<Expr>) -> Expr {
    expr(ExprKind::Array(elements))
}

pub(super) fn call(function: &str, arguments: &[Expr]) -> Expr {
    expr(ExprKind::Call(function.to_owned(), arguments.to_vec()))
}

/// `[{"item": a}, {"item": b}, …]`
pub(super) fn items<'e>(values: impl IntoIterator<Item = &'e Expr>) -> Expr {
    array(values.into_iter().map(|value| object([("item", value.clone())])).collect())
}

pub(super) fn item(expr: Expr, alias: Option<&str>) -> SelectItem {
    SelectItem { expr, alias: alias.map(str::to_owned) }
}

/// The query with another `SELECT`, without `DISTINCT` and `TOP`, and without a window.
pub(super) fn with_select(query: &Query, spec: SelectSpec) -> Query {
    let select = Select { distinct: false, top: None, spec };
    Query { select, offset_limit: None, ..query.clone() }
}

pub(super) fn first_rows(count: u64) -> OffsetLimit {
    OffsetLimit { offset: Count::Literal(0), limit: Count::Literal(count) }
}
