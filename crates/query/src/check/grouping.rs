//! What may be selected beside aggregates and `GROUP BY`: only what is the same for all rows of a group.

use std::collections::HashSet;

use super::scope::Scope;
use super::{Checker, Result, query_span};
use crate::ast::{Expr, ExprKind, Query, SelectSpec};
use crate::functions;

impl Checker<'_> {
    pub(super) fn grouping(&self, query: &Query, scope: &Scope<'_>) -> Result<()> {
        let selected: Vec<&Expr> = match &query.select.spec {
            SelectSpec::Star if query.group_by.is_empty() => return Ok(()),
            SelectSpec::Star => {
                return self.error(query_span(query), "SELECT * cannot be combined with GROUP BY");
            }
            SelectSpec::Value(expr) => vec![expr],
            SelectSpec::List(items) => items.iter().map(|item| &item.expr).collect(),
        };
        let aggregated = selected.iter().any(|expr| expr.any(&is_aggregate));
        if query.group_by.is_empty() && !aggregated {
            return Ok(());
        }
        if let (true, Some(_)) = (aggregated, &query.order_by) {
            return self.error(query_span(query), "aggregates cannot be combined with ORDER BY");
        }
        let keys: HashSet<String> = query.group_by.iter().map(ToString::to_string).collect();
        selected.into_iter().try_for_each(|expr| self.constant_in_group(expr, &keys, scope))
    }

    fn constant_in_group(&self, expr: &Expr, keys: &HashSet<String>, scope: &Scope<'_>) -> Result<()> {
        if is_aggregate(expr) || keys.contains(&expr.to_string()) {
            return Ok(());
        }
        match &expr.kind {
            ExprKind::Name(name) if scope.binds(name) => self.error(
                expr.span,
                format!("`{name}` is used outside of an aggregate and is no part of a GROUP BY expression"),
            ),
            _ => expr.children().into_iter().try_for_each(|child| self.constant_in_group(child, keys, scope)),
        }
    }
}

/// Whether an expression is a call of an aggregate.
pub(crate) fn is_aggregate(expr: &Expr) -> bool {
    matches!(&expr.kind, ExprKind::Call(name, _) if functions::lookup(name).is_some_and(|f| f.aggregate))
}
