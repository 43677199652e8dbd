//! What may be selected beside aggregates and `GROUP BY`: only what is the same for all rows of a group.

use std::collections::HashSet;

use super::Checker;
use super::scope::Scope;
use crate::ast::{Expr, ExprKind, Query, SelectSpec};
use crate::functions;
use crate::wording::Wording;

impl Checker<'_> {
    pub(super) fn grouping(&mut self, query: &Query, scope: &Scope<'_>) {
        let selected: Vec<&Expr> = match &query.select.spec {
            SelectSpec::Star if query.group_by.is_empty() => return,
            SelectSpec::Star => {
                let star = query.spans.star;
                let wording = Wording::coded("SC2041", star, "'SELECT *' is not allowed with GROUP BY.");
                return self.worded(star, wording, "SELECT * cannot be combined with GROUP BY");
            }
            SelectSpec::Value(expr) => vec![expr],
            SelectSpec::List(items) => items.iter().map(|item| &item.expr).collect(),
        };
        let aggregated = selected.iter().any(|expr| expr.any(&is_aggregate));
        if query.group_by.is_empty() && !aggregated {
            return;
        }
        let keys: HashSet<String> = query.group_by.iter().map(ToString::to_string).collect();
        for expr in selected {
            self.constant_in_group(expr, expr, &keys, scope);
        }
    }

    /// Checks an expression that is, or begins, the reference `whole`.
    fn constant_in_group(&mut self, expr: &Expr, whole: &Expr, keys: &HashSet<String>, scope: &Scope<'_>) {
        if is_aggregate(expr) || keys.contains(&expr.to_string()) {
            return;
        }
        match &expr.kind {
            ExprKind::Name(name) if scope.binds(name) => {
                let words = format!(
                    "Property reference '{whole}' is invalid in the select list because it is not contained in either \
                     an aggregate function or the GROUP BY clause."
                );
                let wording = Wording::coded("SC2102", whole.span, words);
                let message = format!(
                    "`{name}` is used outside of an aggregate and is no part of a GROUP BY expression"
                );
                self.worded(expr.span, wording, message);
            }
            ExprKind::Member(base, _) => self.constant_in_group(base, whole, keys, scope),
            _ => {
                for child in expr.children() {
                    self.constant_in_group(child, child, keys, scope);
                }
            }
        }
    }
}

/// Whether an expression is a call of an aggregate.
pub(crate) fn is_aggregate(expr: &Expr) -> bool {
    matches!(&expr.kind, ExprKind::Call(name, _) if functions::lookup(name).is_some_and(|f| f.aggregate))
}
