//! Calls of search functions in a query: which they are, and what they measure by.

use super::Metric;
use crate::ast::{Expr, ExprKind};
use crate::constant::constant;
use crate::parameters::Parameters;
use crate::setting::Setting;
use crate::value::Value;

/// A call that gives documents a score to be ranked by.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ScoreCall<'q> {
    /// `VectorDistance`, with its arguments.
    Vector(&'q [Expr]),
    /// `FullTextScore`, with its arguments.
    Text(&'q [Expr]),
}

impl ScoreCall<'_> {
    /// The score that an expression is.
    pub(crate) fn of(expr: &Expr) -> Option<ScoreCall<'_>> {
        let ExprKind::Call(name, arguments) = &expr.kind else { return None };
        if name.eq_ignore_ascii_case("VectorDistance") {
            return Some(ScoreCall::Vector(arguments));
        }
        name.eq_ignore_ascii_case("FullTextScore").then_some(ScoreCall::Text(arguments))
    }
}

/// Whether an expression is a distance, by which the nearest come first without any direction.
pub(crate) fn is_similarity(expr: &Expr) -> bool {
    is_call(expr, &["VectorDistance", "_VectorScore"])
}

/// Whether an expression is something that no index holds but `ORDER BY` takes.
pub(crate) fn is_score(expr: &Expr) -> bool {
    is_similarity(expr) || is_call(expr, &["_FullTextScore"])
}

fn is_call(expr: &Expr, names: &[&str]) -> bool {
    matches!(&expr.kind, ExprKind::Call(name, _) if names.iter().any(|known| name.eq_ignore_ascii_case(known)))
}

/// Whether the options of a distance say how it is measured.
pub(crate) fn names_metric(distance: &Expr, parameters: &Parameters) -> bool {
    match &distance.kind {
        ExprKind::Call(_, arguments) => named_metric(arguments, parameters).is_some(),
        _ => false,
    }
}

/// What the options of a distance with these arguments say of how it is measured.
pub(crate) fn named_metric(arguments: &[Expr], parameters: &Parameters) -> Option<Metric> {
    match constant(arguments.get(3)?, parameters)?.get("distanceFunction") {
        Some(Value::String(name)) => Metric::of_name(name),
        _ => None,
    }
}

/// How a distance is measured: as its options say, else as the container says of a path that is one of its arguments.
///
/// `path` gives the names of the members that lead to an argument which is a path of the document.
pub(crate) fn metric_of(
    arguments: &[Expr],
    parameters: &Parameters,
    setting: &Setting,
    path: impl Fn(&Expr) -> Option<Vec<String>>,
) -> Metric {
    let named = named_metric(arguments, parameters);
    let at = || arguments.iter().take(2).find_map(|argument| setting.metric_at(&path(argument)?));
    named.or_else(at).unwrap_or_default()
}
