//! Names, calls and indexes within expressions.

use super::scope::Scope;
use super::{Checker, MAX_PROBLEMS};
use crate::ast::{Expr, ExprKind, Literal, Span, UnaryOp};
use crate::functions;
use crate::wording::Wording;

/// How many calls of user-defined functions one query can have.
const MAX_USER_FUNCTIONS: usize = 10;

/// Where an expression stands, as far as aggregates are concerned.
#[derive(Clone, Copy)]
pub(super) enum Aggregates {
    /// In a `SELECT`, where they belong.
    Allowed,
    /// Inside the aggregate that stands there.
    Nested(Span),
    /// In a clause that has none.
    Outside(&'static str),
}

impl Checker<'_> {
    pub(super) fn expr(&mut self, expr: &Expr, scope: &Scope<'_>, aggregates: Aggregates) {
        if self.problems.len() >= MAX_PROBLEMS {
            return;
        }
        let mut inside = aggregates;
        match &expr.kind {
            ExprKind::Name(name) => self.name(name, expr.span, scope),
            ExprKind::Call(name, arguments) if self.may_stand_here(name, arguments, expr.span) => {
                inside = self.call(name, arguments.len(), expr.span, aggregates);
            }
            ExprKind::Udf(..) => self.user_function(expr.span),
            ExprKind::Index(_, index) if !is_literal(index) => {
                let words = "The specified query includes 'member indexer' which is currently not supported.";
                let wording = Wording::coded("SC2990", expr.span, words);
                self.worded(index.span, wording, "an index must be a number, a string or a parameter");
            }
            _ => {}
        }
        if let Some(query) = expr.subquery() {
            if let Aggregates::Nested(outer) = aggregates {
                self.nested_aggregate(expr.span, outer, "a subquery stands inside an aggregate");
            }
            self.query(query, scope);
        }
        for child in expr.children() {
            self.expr(child, scope, inside);
        }
    }

    fn user_function(&mut self, span: Span) {
        self.user_functions += 1;
        if self.user_functions != MAX_USER_FUNCTIONS + 1 {
            return;
        }
        let words = format!(
            "The SQL query exceeded the maximum number of user-defined function calls. The allowed limit is \
             {MAX_USER_FUNCTIONS}."
        );
        let message = format!("a query can call user-defined functions at most {MAX_USER_FUNCTIONS} times");
        self.worded(span, Wording::coded("SC3005", self.whole(), words), message);
    }

    pub(super) fn name(&mut self, name: &str, span: Span, scope: &Scope<'_>) {
        if scope.contains(name) {
            return;
        }
        let wording = Wording::coded("SC2001", span, format!("Identifier '{name}' could not be resolved."));
        let known = scope.names().map(|known| format!("`{known}`")).collect::<Vec<_>>().join(", ");
        let known = match known.is_empty() {
            true => ": there is no FROM clause".to_owned(),
            false => format!(" (known: {known})"),
        };
        self.worded(span, wording, format!("`{name}` is not known here{known}"));
    }

    /// Checks a call and tells where its arguments stand.
    fn call(&mut self, name: &str, arguments: usize, span: Span, aggregates: Aggregates) -> Aggregates {
        let Some(function) = functions::lookup(name) else {
            self.unknown_function(name, span);
            return aggregates;
        };
        if !(function.min_args..=function.max_args).contains(&arguments) {
            let expected = arity(function.min_args, function.max_args);
            let message = format!("{} takes {expected}, not {arguments}", function.name);
            let required = required(function.min_args, function.max_args);
            let words = format!("The {} function requires {required} argument(s).", function.name);
            self.worded(span, Wording::coded("SC2050", span, words), message);
        }
        match aggregates {
            _ if !function.aggregate => aggregates,
            Aggregates::Allowed => Aggregates::Nested(span),
            Aggregates::Nested(outer) => {
                let message = format!("the aggregate {} stands inside another one", function.name);
                self.nested_aggregate(span, outer, message);
                aggregates
            }
            Aggregates::Outside(clause) => {
                self.error(span, format!("the aggregate {} cannot stand in {clause}", function.name));
                aggregates
            }
        }
    }

    fn unknown_function(&mut self, name: &str, span: Span) {
        let place = Span { start: span.start, end: span.start + name.len() };
        let mut words = format!("'{name}' is not a recognized built-in function name.");
        let mut message = format!("there is no function {name}");
        if let Some(meant) = functions::nearest(name) {
            words.push_str(&format!(" Did you mean '{meant}'?"));
            message.push_str(&format!(" (did you mean {meant}?)"));
        }
        self.worded(span, Wording::coded("SC2005", place, words), message);
    }

    /// Refuses what stands inside an aggregate; said once of each.
    fn nested_aggregate(&mut self, span: Span, outer: Span, message: impl Into<String>) {
        let words =
            "Cannot perform an aggregate function on an expression containing an aggregate or a subquery.";
        let wording = Wording::coded("SC2101", outer, words);
        if !self.problems.iter().any(|problem| problem.wording == wording) {
            self.worded(span, wording, message);
        }
    }
}

/// Whether an index is written as a value. A parameter counts as one.
fn is_literal(index: &Expr) -> bool {
    match &index.kind {
        ExprKind::Literal(_) | ExprKind::Parameter(_) => true,
        ExprKind::Unary(UnaryOp::Minus | UnaryOp::Plus, operand) => {
            matches!(operand.kind, ExprKind::Literal(Literal::Number(_) | Literal::Integer(_)))
        }
        _ => false,
    }
}

/// How the service says how many arguments there must be.
fn required(least: usize, most: usize) -> String {
    match (least, most) {
        (least, most) if least == most => least.to_string(),
        (least, usize::MAX) => format!("at least {least}"),
        (least, most) => format!("{least} to {most}"),
    }
}

fn arity(least: usize, most: usize) -> String {
    match (least, most) {
        (0, 0) => "no arguments".to_owned(),
        (1, 1) => "1 argument".to_owned(),
        (least, most) if least == most => format!("{least} arguments"),
        (least, usize::MAX) => format!("at least {least} arguments"),
        (least, most) => format!("{least} to {most} arguments"),
    }
}
