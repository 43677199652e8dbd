//! Whether a parsed query means something: names, functions, and which clauses go together.
//!
//! It decides nothing about how the query runs, and accepts some queries that only one partition at a time
//! can answer; those are for the planner to refuse.

mod error;
mod grouping;
mod scope;
#[cfg(test)]
mod tests;

pub use error::CheckError;
pub(crate) use grouping::is_aggregate;

use std::cell::Cell;
use std::collections::HashSet;

use crate::ast::{Collection, Expr, ExprKind, OrderBy, Query, SelectSpec, Source, Span};
use crate::functions;
use crate::wording::Wording;
use scope::Scope;

/// How many `JOIN`s one query can have: the service's own limit.
const MAX_JOINS: usize = 10;

/// How many calls of user-defined functions one query can have.
const MAX_USER_FUNCTIONS: usize = 10;

/// Checks a query against the text it was parsed from.
pub fn check(query: &Query, text: &str) -> Result<(), CheckError> {
    let checker = Checker { text, user_functions: Cell::new(0) };
    checker.query(query, &Scope::outermost())
}

type Result<T, E = CheckError> = std::result::Result<T, E>;

/// Where an expression stands, as far as aggregates are concerned.
#[derive(Clone, Copy)]
enum Aggregates {
    /// In a `SELECT`, where they belong.
    Allowed,
    /// Inside the aggregate that stands there.
    Nested(Span),
    /// In a clause that has none.
    Outside(&'static str),
}

struct Checker<'t> {
    text: &'t str,
    /// How many calls of user-defined functions there were so far.
    user_functions: Cell<usize>,
}

impl Checker<'_> {
    fn error<T>(&self, span: Span, message: impl Into<String>) -> Result<T> {
        let message = message.into();
        let wording = Wording::Plain(message.clone().into());
        Err(CheckError::new(self.text, span, message, wording))
    }

    /// An error for which the service has words.
    fn worded<T>(&self, span: Span, wording: Wording, message: impl Into<String>) -> Result<T> {
        Err(CheckError::new(self.text, span, message.into(), wording))
    }

    fn query(&self, query: &Query, outer: &Scope<'_>) -> Result<()> {
        let scope = self.from(query, outer)?;
        self.select(query, &scope)?;
        if let Some(filter) = &query.filter {
            self.expr(filter, &scope, Aggregates::Outside("WHERE"))?;
        }
        for key in &query.group_by {
            self.expr(key, &scope, Aggregates::Outside("GROUP BY"))?;
        }
        if let Some(order_by) = &query.order_by {
            self.order_by(query, order_by, &scope)?;
        }
        self.uncut_if_nested(query, &scope)?;
        if let (Some(_), Some(_)) = (&query.select.top, &query.offset_limit) {
            return self.error(query_span(query), "TOP cannot be combined with OFFSET and LIMIT");
        }
        self.grouping(query, &scope)
    }

    /// Refuses `TOP`, `OFFSET` and `LIMIT` in subqueries.
    fn uncut_if_nested(&self, query: &Query, scope: &Scope<'_>) -> Result<()> {
        if scope.is_top_level() {
            return Ok(());
        }
        let span = query_span(query);
        if query.select.top.is_some() {
            let wording = Wording::coded("SC2203", span, "'TOP' is not supported in subqueries.");
            return self.worded(span, wording, "TOP is not supported in subqueries");
        }
        if query.offset_limit.is_some() {
            let words = "'OFFSET LIMIT' clause is not supported in subqueries.";
            let wording = Wording::coded("SC2204", span, words);
            return self.worded(span, wording, "OFFSET and LIMIT are not supported in subqueries");
        }
        Ok(())
    }

    /// Checks the sources and brings their names into scope, each visible to those after it.
    fn from<'q>(&self, query: &'q Query, outer: &Scope<'q>) -> Result<Scope<'q>> {
        let mut scope = outer.nested();
        let Some(from) = &query.from else { return Ok(scope) };
        if let Some(join) = from.joins.get(MAX_JOINS) {
            return self.error(join.span, format!("a query can have at most {MAX_JOINS} JOINs"));
        }
        self.source(&from.source, &mut scope, outer.has_container())?;
        for join in &from.joins {
            self.source(join, &mut scope, false)?;
        }
        Ok(scope)
    }

    fn source<'q>(&self, source: &'q Source, scope: &mut Scope<'q>, container: bool) -> Result<()> {
        match &source.collection {
            Collection::Subquery(query) => match container {
                true => self.query(query, &scope.with_container())?,
                false => self.query(query, scope)?,
            },
            Collection::Path { root, .. } if !container => self.name(root, source.span, scope)?,
            Collection::Path { .. } => {}
        }
        let Some(binding) = source.binding() else {
            return self.error(source.span, "this source needs a name: add `AS name`");
        };
        match scope.bind(binding) {
            true => Ok(()),
            false => self.error(source.span, format!("the alias `{binding}` is given to two sources")),
        }
    }

    fn select(&self, query: &Query, scope: &Scope<'_>) -> Result<()> {
        match &query.select.spec {
            SelectSpec::Star => match &query.from {
                None => self.error(query_span(query), "SELECT * needs a FROM clause"),
                Some(from) if !from.joins.is_empty() => {
                    let message =
                        "SELECT * needs exactly one source: name what is selected, as in SELECT VALUE c";
                    self.error(from.joins[0].span, message)
                }
                Some(_) => Ok(()),
            },
            SelectSpec::Value(expr) => self.expr(expr, scope, Aggregates::Allowed),
            SelectSpec::List(items) => {
                let mut names = HashSet::new();
                for item in items {
                    self.expr(&item.expr, scope, Aggregates::Allowed)?;
                    let Some(name) = item.name() else { continue };
                    if !names.insert(name) {
                        return self.error(item.expr.span, format!("the name `{name}` is selected twice"));
                    }
                }
                Ok(())
            }
        }
    }

    fn order_by(&self, query: &Query, order_by: &OrderBy, scope: &Scope<'_>) -> Result<()> {
        let keys = match order_by {
            OrderBy::Rank(expr) => {
                return self.error(expr.span, "ORDER BY RANK is not supported yet");
            }
            OrderBy::Keys(keys) => keys,
        };
        for key in keys {
            self.expr(&key.expr, scope, Aggregates::Outside("ORDER BY"))?;
            if !scope.is_document_path(query, &key.expr) {
                let message = "ORDER BY takes paths into the document, such as c.name";
                let wording = match key.expr.as_path() {
                    Some((_, segments)) if !segments.is_empty() => {
                        Wording::Plain("Order-by over correlated collections is not supported.".into())
                    }
                    _ => Wording::Numbered(
                        2206,
                        "Unsupported ORDER BY clause. ORDER BY item expression could not be mapped to a document path.",
                    ),
                };
                return self.worded(key.expr.span, wording, message);
            }
        }
        let first = keys.first().map_or_else(Span::default, |key| key.expr.span);
        if !scope.is_top_level() {
            let wording = Wording::coded("SC2202", first, "'ORDER BY' is not supported in subqueries.");
            return self.worded(first, wording, "ORDER BY is not supported in subqueries");
        }
        Ok(())
    }

    fn expr(&self, expr: &Expr, scope: &Scope<'_>, aggregates: Aggregates) -> Result<()> {
        let mut inside = aggregates;
        match &expr.kind {
            ExprKind::Name(name) => self.name(name, expr.span, scope)?,
            ExprKind::Call(name, arguments) => {
                inside = self.call(name, arguments.len(), expr.span, aggregates)?;
            }
            ExprKind::Udf(..) => self.user_function(expr.span)?,
            _ => {}
        }
        if let Some(query) = expr.subquery() {
            self.query(query, scope)?;
        }
        expr.children().into_iter().try_for_each(|child| self.expr(child, scope, inside))
    }

    fn user_function(&self, span: Span) -> Result<()> {
        self.user_functions.set(self.user_functions.get() + 1);
        if self.user_functions.get() <= MAX_USER_FUNCTIONS {
            return Ok(());
        }
        let words = format!(
            "The SQL query exceeded the maximum number of user-defined function calls. The allowed limit is \
             {MAX_USER_FUNCTIONS}."
        );
        let message = format!("a query can call user-defined functions at most {MAX_USER_FUNCTIONS} times");
        self.worded(span, Wording::coded("SC3005", span, words), message)
    }

    fn name(&self, name: &str, span: Span, scope: &Scope<'_>) -> Result<()> {
        if scope.contains(name) {
            return Ok(());
        }
        let wording = Wording::coded("SC2001", span, format!("Identifier '{name}' could not be resolved."));
        let known = scope.names().map(|known| format!("`{known}`")).collect::<Vec<_>>().join(", ");
        match known.is_empty() {
            true => {
                self.worded(span, wording, format!("`{name}` is not known here: there is no FROM clause"))
            }
            false => self.worded(span, wording, format!("`{name}` is not known here (known: {known})")),
        }
    }

    /// Checks a call and tells where its arguments stand.
    fn call(&self, name: &str, arguments: usize, span: Span, aggregates: Aggregates) -> Result<Aggregates> {
        if functions::is_unsupported(name) {
            return self.error(span, format!("the function {name} is not supported yet"));
        }
        let Some(function) = functions::lookup(name) else {
            let place = Span { start: span.start, end: span.start + name.len() };
            let words = format!("'{name}' is not a recognized built-in function name.");
            let wording = Wording::coded("SC2005", place, words);
            return self.worded(span, wording, format!("there is no function {name}"));
        };
        if !(function.min_args..=function.max_args).contains(&arguments) {
            let expected = arity(function.min_args, function.max_args);
            let message = format!("{} takes {expected}, not {arguments}", function.name);
            let required = required(function.min_args, function.max_args);
            let words = format!("The {} function requires {required} argument(s).", function.name);
            return self.worded(span, Wording::coded("SC2050", span, words), message);
        }
        match aggregates {
            _ if !function.aggregate => Ok(aggregates),
            Aggregates::Allowed => Ok(Aggregates::Nested(span)),
            Aggregates::Nested(outer) => {
                let words = "Cannot perform an aggregate function on an expression containing an aggregate or a subquery.";
                let wording = Wording::coded("SC2101", outer, words);
                let message = format!("the aggregate {} stands inside another one", function.name);
                self.worded(span, wording, message)
            }
            Aggregates::Outside(clause) => {
                self.error(span, format!("the aggregate {} cannot stand in {clause}", function.name))
            }
        }
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

/// A place for what concerns the query as a whole: its first expression, or failing that its start.
fn query_span(query: &Query) -> Span {
    match (&query.select.spec, &query.from) {
        (SelectSpec::Value(expr), _) => expr.span,
        (SelectSpec::List(items), _) => items.first().map_or_else(Span::default, |item| item.expr.span),
        (SelectSpec::Star, Some(from)) => from.source.span,
        (SelectSpec::Star, None) => Span::default(),
    }
}
