//! Aggregates across partitions: what each partition computes, and how the client knows what it got.

use cosmonaut_wire::model::AggregateKind;

use super::PlanError;
use super::build::{call, object};
use crate::ast::{Expr, ExprKind};
use crate::check::is_aggregate;

/// The aggregate that an expression is; an error if one is hidden within it.
pub(super) fn aggregate(expr: &Expr) -> Result<Option<AggregateKind>, PlanError> {
    if !expr.any(&is_aggregate) {
        return Ok(None);
    }
    let kind = match &expr.kind {
        ExprKind::Call(name, _) => kind(name),
        _ => None,
    };
    kind.map(Some).ok_or_else(|| PlanError::Composition(expr.to_string()))
}

fn kind(function: &str) -> Option<AggregateKind> {
    Some(match function.to_ascii_uppercase().as_str() {
        "AVG" => AggregateKind::Average,
        "COUNT" => AggregateKind::Count,
        "COUNTIF" => AggregateKind::CountIf,
        "MAX" => AggregateKind::Max,
        "MIN" => AggregateKind::Min,
        "SUM" => AggregateKind::Sum,
        "MAKELIST" => AggregateKind::MakeList,
        "MAKESET" => AggregateKind::MakeSet,
        _ => return None,
    })
}

/// What a partition computes for an aggregate: its value wrapped as `item`.
///
/// `MIN` and `MAX` come a second time as `item2`, with how many values there were: an undefined extreme of no
/// values means something else than an undefined extreme of some.
pub(super) fn partial(expr: &Expr, kind: AggregateKind) -> Expr {
    let ExprKind::Call(_, arguments) = &expr.kind else { return expr.clone() };
    let count = || call("COUNT", arguments);
    match kind {
        AggregateKind::Average => {
            object([("item", object([("sum", call("SUM", arguments)), ("count", count())]))])
        }
        AggregateKind::Min => extreme(expr, "min", count()),
        AggregateKind::Max => extreme(expr, "max", count()),
        AggregateKind::Count
        | AggregateKind::CountIf
        | AggregateKind::Sum
        | AggregateKind::MakeList
        | AggregateKind::MakeSet => object([("item", expr.clone())]),
    }
}

fn extreme(expr: &Expr, name: &str, count: Expr) -> Expr {
    object([("item", expr.clone()), ("item2", object([(name, expr.clone()), ("count", count)]))])
}
