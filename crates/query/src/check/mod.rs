//! Whether a parsed query means something: names, functions, and which clauses go together.
//!
//! It decides nothing about how the query runs, and accepts some queries that only one partition at a time
//! can answer; those are for the planner to refuse.

mod error;
mod expressions;
mod grouping;
mod rank;
mod scope;
#[cfg(test)]
mod search_tests;
#[cfg(test)]
mod tests;

pub use error::CheckError;
pub(crate) use grouping::is_aggregate;
pub(crate) use rank::WEIGHTS;

use std::collections::HashSet;

use crate::ast::{Collection, OrderBy, Query, SelectSpec, Source, Span};
use crate::lexer::tokenize;
use crate::wording::Wording;
use error::Problem;
use expressions::Aggregates;
use scope::Scope;

/// How many `JOIN`s one query can have: the service's own limit.
const MAX_JOINS: usize = 10;

/// So many problems are told; nobody reads more.
const MAX_PROBLEMS: usize = 100;

/// Checks a query against the text it was parsed from. The error tells all that is wrong.
pub fn check(query: &Query, text: &str) -> Result<(), CheckError> {
    let mut checker = Checker { text, user_functions: 0, problems: Vec::new() };
    checker.query(query, &Scope::outermost());
    CheckError::of(checker.problems).map_or(Ok(()), Err)
}

struct Checker<'t> {
    text: &'t str,
    /// How many calls of user-defined functions there were so far.
    user_functions: usize,
    /// What was found to be wrong so far.
    problems: Vec<Problem>,
}

impl Checker<'_> {
    fn error(&mut self, span: Span, message: impl Into<String>) {
        let message = message.into();
        let wording = Wording::Plain(message.clone().into());
        self.worded(span, wording, message);
    }

    /// An error for which the service has words.
    fn worded(&mut self, span: Span, wording: Wording, message: impl Into<String>) {
        if self.problems.len() < MAX_PROBLEMS {
            self.problems.push(Problem::new(self.text, span, message.into(), wording));
        }
    }

    /// The place of the whole text.
    fn whole(&self) -> Span {
        Span { start: 0, end: self.text.len() }
    }

    fn query(&mut self, query: &Query, outer: &Scope<'_>) {
        let scope = self.from(query, outer);
        self.select(query, &scope);
        if let Some(filter) = &query.filter {
            self.expr(filter, &scope, Aggregates::Outside("WHERE"));
        }
        for key in &query.group_by {
            self.expr(key, &scope, Aggregates::Outside("GROUP BY"));
        }
        if let Some(order_by) = &query.order_by {
            self.order_by(query, order_by, &scope);
        }
        self.uncut_if_nested(query, &scope);
        if let (Some(_), Some(_)) = (&query.select.top, &query.offset_limit) {
            self.error(query.spans.offset_limit, "TOP cannot be combined with OFFSET and LIMIT");
        }
        self.grouping(query, &scope);
    }

    /// Refuses `TOP`, `OFFSET` and `LIMIT` in subqueries.
    fn uncut_if_nested(&mut self, query: &Query, scope: &Scope<'_>) {
        if scope.is_top_level() {
            return;
        }
        if query.select.top.is_some() {
            let span = query.spans.top;
            let wording = Wording::coded("SC2203", span, "'TOP' is not supported in subqueries.");
            self.worded(span, wording, "TOP is not supported in subqueries");
        }
        if query.offset_limit.is_some() {
            let span = query.spans.offset_limit;
            let words = "'OFFSET LIMIT' clause is not supported in subqueries.";
            let wording = Wording::coded("SC2204", span, words);
            self.worded(span, wording, "OFFSET and LIMIT are not supported in subqueries");
        }
    }

    /// Checks the sources and brings their names into scope, each visible to those after it.
    fn from<'q>(&mut self, query: &'q Query, outer: &Scope<'q>) -> Scope<'q> {
        let mut scope = outer.nested();
        let Some(from) = &query.from else { return scope };
        if let Some(join) = from.joins.get(MAX_JOINS) {
            let words = format!(
                "The SQL query exceeded the maximum number of joins. The allowed limit is {MAX_JOINS}."
            );
            let message = format!("a query can have at most {MAX_JOINS} JOINs");
            self.worded(join.span, Wording::Plain(words.into()), message);
        }
        self.source(&from.source, &mut scope, outer.has_container());
        for join in &from.joins {
            self.source(join, &mut scope, false);
        }
        scope
    }

    fn source<'q>(&mut self, source: &'q Source, scope: &mut Scope<'q>, container: bool) {
        match &source.collection {
            Collection::Subquery(query) => match container {
                true => self.query(query, &scope.with_container()),
                false => self.query(query, scope),
            },
            Collection::Path { root, .. } if !container => self.name(root, self.root_span(source), scope),
            Collection::Path { .. } => {}
        }
        match (source.binding(), &source.collection) {
            (Some(binding), _) if scope.bind(binding) => {}
            (Some(binding), _) => {
                self.error(source.span, format!("the alias `{binding}` is given to two sources"));
            }
            // Its rows count, though nothing refers to them.
            (None, Collection::Subquery(_)) => {}
            (None, Collection::Path { .. }) => {
                self.error(source.span, "this source needs a name: add `AS name`");
            }
        }
    }

    /// The place of the name that a path begins with: the first word of a source, or the third, after `name IN`.
    fn root_span(&self, source: &Source) -> Span {
        let tokens = tokenize(self.text.get(source.span.start..source.span.end).unwrap_or_default());
        let place = if source.iterate { 2 } else { 0 };
        tokens.get(place).map_or(source.span, |token| Span {
            start: source.span.start + token.span.start,
            end: source.span.start + token.span.end,
        })
    }

    fn select(&mut self, query: &Query, scope: &Scope<'_>) {
        match &query.select.spec {
            SelectSpec::Star => match query.from.as_ref().map(|from| from.joins.first()) {
                None => self.error(query.spans.star, "SELECT * needs a FROM clause"),
                Some(Some(join)) => {
                    let message =
                        "SELECT * needs exactly one source: name what is selected, as in SELECT VALUE c";
                    self.error(join.span, message);
                }
                Some(None) => {}
            },
            SelectSpec::Value(expr) => self.expr(expr, scope, Aggregates::Allowed),
            SelectSpec::List(items) => {
                let mut names = HashSet::new();
                for item in items {
                    self.expr(&item.expr, scope, Aggregates::Allowed);
                    if let Some(name) = item.name().filter(|name| !names.insert(*name)) {
                        self.error(item.expr.span, format!("the name `{name}` is selected twice"));
                    }
                }
            }
        }
    }

    fn order_by(&mut self, query: &Query, order_by: &OrderBy, scope: &Scope<'_>) {
        let keys = match order_by {
            OrderBy::Rank(rank) => return self.rank(query, rank, scope),
            OrderBy::Keys(keys) => keys,
        };
        if !scope.is_top_level() {
            let clause = query.spans.order_by;
            let wording = Wording::coded("SC2202", clause, "'ORDER BY' is not supported in subqueries.");
            return self.worded(clause, wording, "ORDER BY is not supported in subqueries");
        }
        for key in keys {
            self.expr(&key.expr, scope, Aggregates::Outside("ORDER BY"));
            let is_lone_score = keys.len() == 1 && key.is_score();
            if is_lone_score || scope.is_document_path(query, &key.expr) {
                continue;
            }
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
            self.worded(key.expr.span, wording, message);
        }
    }
}
