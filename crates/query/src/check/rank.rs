//! `ORDER BY RANK`, and where search functions may stand.

use super::scope::Scope;
use super::{Aggregates, Checker};
use crate::ast::{Collection, Expr, ExprKind, Literal, Query, Rank, Span, UnaryOp};
use crate::search::ScoreCall;
use crate::wording::Wording;

/// The most and the least of a multiplier in the options of `VectorDistance`.
const MULTIPLIERS: std::ops::RangeInclusive<f64> = 1.0..=100.0;

/// How many scores can be fused. The plan has a query for each, and each names all of them, so that a query full of scores
/// would have a plan of gigabytes.
const MAX_SCORES: usize = 32;

impl Checker<'_> {
    pub(super) fn rank(&mut self, query: &Query, rank: &Rank, scope: &Scope<'_>) {
        if !scope.is_top_level() {
            let words = "The ORDER BY RANK clause is not supported in subqueries.";
            return self.coded("SC2228", rank.span, words);
        }
        self.ranked_source(query);
        if query.select.distinct || !query.group_by.is_empty() {
            self.error(rank.span, "ORDER BY RANK cannot be combined with DISTINCT or GROUP BY");
        }
        let (scores, weights) = match &rank.score.kind {
            ExprKind::Call(name, arguments) if name.eq_ignore_ascii_case("RRF") => {
                let scores = arguments.iter().take_while(|argument| is_call(argument)).count();
                arguments.split_at(scores)
            }
            _ => (std::slice::from_ref(&rank.score), &[][..]),
        };
        let is_fused = !std::ptr::eq(scores.as_ptr(), &raw const rank.score);
        if (is_fused && scores.len() < 2) || scores.iter().any(|score| ScoreCall::of(score).is_none()) {
            let words = "The ORDER BY RANK clause must be followed by a VectorDistance and/or a FullTextScore \
                         function call.";
            return self.coded("SC2221", rank.span, words);
        }
        if !are_weights(weights, scores.len()) {
            self.coded("SC2229", rank.span, WEIGHTS);
        }
        if scores.len() > MAX_SCORES {
            let count = scores.len();
            return self.error(rank.span, format!("RRF takes at most {MAX_SCORES} scores, not {count}"));
        }
        for score in scores {
            self.ranked_by(score, scope);
        }
    }

    fn ranked_by(&mut self, score: &Expr, scope: &Scope<'_>) {
        let outside = Aggregates::Outside("ORDER BY");
        match ScoreCall::of(score) {
            Some(ScoreCall::Text(arguments)) => {
                if arguments.len() < 2 {
                    let words = "The FullTextScore function requires at least 2 argument(s).";
                    self.coded("SC2050", score.span, words);
                }
                for argument in arguments {
                    self.expr(argument, scope, outside);
                }
            }
            Some(ScoreCall::Vector(_)) | None => self.expr(score, scope, outside),
        }
    }

    /// A rank is one of whole documents.
    fn ranked_source(&mut self, query: &Query) {
        let Some(from) = &query.from else { return };
        if let Some(last) = from.joins.last() {
            let span = Span { start: from.source.span.start, end: last.span.end };
            let words = "The JOIN operator is not allowed with the ORDER BY RANK clause.";
            self.coded("SC2224", span, words);
        }
        let span = from.source.span;
        if from.source.iterate {
            let words = "The FROM clause with the IN operator is not allowed with the ORDER BY RANK clause.";
            self.coded("SC2223", span, words);
        }
        if matches!(from.source.collection, Collection::Subquery(_)) {
            let words = "Subqueries in the FROM clause are not allowed with the ORDER BY RANK clause.";
            self.coded("SC2225", span, words);
        }
    }

    /// Whether a function is none that only `ORDER BY RANK` knows. Also checks what search functions demand beyond the
    /// number of their arguments.
    pub(super) fn may_stand_here(&mut self, name: &str, arguments: &[Expr], span: Span) -> bool {
        if name.eq_ignore_ascii_case("FullTextScore") {
            let words = "The FullTextScore function is only allowed in the ORDER BY RANK clause.";
            self.coded("SC2240", span, words);
            return false;
        }
        let options = arguments.get(3).filter(|_| name.eq_ignore_ascii_case("VectorDistance"));
        let Some(Expr { kind: ExprKind::Object(members), span }) = options else { return true };
        for (member, value) in members {
            let bounded = ["searchListSizeMultiplier", "quantizedVectorListMultiplier"].contains(&&**member);
            if let Some(number) = number(value).filter(|number| bounded && !MULTIPLIERS.contains(number)) {
                let words = format!(
                    "The '{member}' value {number} specified in the VectorDistance function is outside the supported \
                     range. The value must be between 1 and 100."
                );
                self.coded("SC2213", *span, words);
            }
        }
        true
    }

    /// An error that the service has a code for.
    fn coded(&mut self, code: &'static str, span: Span, words: impl Into<String>) {
        let words = words.into();
        self.worded(span, Wording::coded(code, span, words.clone()), words);
    }
}

/// What the service says of weights that fit no scores.
pub(crate) const WEIGHTS: &str = "The last parameter of the RRF function is an optional array of weights. When present, it must be a \
     literal array of numbers, one for each of the component scores used for the RRF function. The length of this \
     array must be the same as the number of the component scores.";

fn is_call(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::Call(..))
}

/// Whether arguments behind the scores are weights for them, or a parameter that may be.
fn are_weights(arguments: &[Expr], scores: usize) -> bool {
    match arguments {
        [] => true,
        [only] => match &only.kind {
            ExprKind::Parameter(_) => true,
            ExprKind::Array(weights) => {
                weights.len() == scores && weights.iter().all(|weight| number(weight).is_some())
            }
            _ => false,
        },
        _ => false,
    }
}

/// The number that is written.
fn number(expr: &Expr) -> Option<f64> {
    match &expr.kind {
        ExprKind::Literal(Literal::Number(number)) => Some(*number),
        ExprKind::Literal(Literal::Integer(number)) => Some(*number as f64),
        ExprKind::Unary(UnaryOp::Minus, operand) => number(operand).map(|number| -number),
        ExprKind::Unary(UnaryOp::Plus, operand) => number(operand),
        _ => None,
    }
}
