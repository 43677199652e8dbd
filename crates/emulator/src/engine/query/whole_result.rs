//! Queries with one row that all their documents make: aggregates without `GROUP BY`, and queries without documents.

use std::collections::VecDeque;

use cosmonaut_query::ast::{BinaryOp, Collection, Expr, ExprKind, Literal, Query, SelectSpec};
use cosmonaut_query::eval::Rows;

use super::feeder::Flow;
use super::page::{PageRun, eval_error};
use super::parts::Parts;
use super::text_counts;
use crate::Failure;
use crate::engine::RegionId;

/// Fills the page.
pub(super) fn run(page: &mut PageRun<'_>, parts: &Parts, region: RegionId) -> Result<(), Failure> {
    let rows = match text_counts::compute(page, parts, region)? {
        Some(rows) => rows,
        None => compute(page, parts, region)?,
    };
    page.output.pass_through();
    // One row always has room.
    for row in rows.iter() {
        page.output.take(row);
    }
    Ok(())
}

/// Whether the result is how many documents there are with certain values, which an index alone can tell.
fn counts_entries(query: &Query) -> bool {
    let SelectSpec::Value(selected) = &query.select.spec else { return false };
    let from_all = query.from.as_ref().is_some_and(|from| {
        let source = &from.source.collection;
        from.joins.is_empty() && matches!(source, Collection::Path { segments, .. } if segments.is_empty())
    });
    from_all
        && query.group_by.is_empty()
        && is_count(selected)
        && query.filter.as_ref().is_none_or(is_index_condition)
}

/// `COUNT(1)`, as it is or as the plan of a query wraps it.
fn is_count(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Call(name, arguments) => {
            let counts = name.eq_ignore_ascii_case("COUNT");
            counts
                && matches!(&arguments[..], [one] if matches!(one.kind, ExprKind::Literal(Literal::Number(_))))
        }
        ExprKind::Array(elements) => matches!(&elements[..], [only] if is_count(only)),
        ExprKind::Object(members) => {
            matches!(&members[..], [(name, only)] if name == "item" && is_count(only))
        }
        _ => false,
    }
}

/// Whether a condition compares paths to scalars, which an index answers without looking at the documents.
fn is_index_condition(expr: &Expr) -> bool {
    let is_path = |expr: &Expr| expr.as_path().is_some_and(|(_, segments)| !segments.is_empty());
    let is_scalar = |expr: &Expr| matches!(expr.kind, ExprKind::Literal(_) | ExprKind::Parameter(_));
    match &expr.kind {
        ExprKind::Binary(BinaryOp::And, left, right) => is_index_condition(left) && is_index_condition(right),
        ExprKind::Binary(op, left, right) => {
            use BinaryOp::{Eq, Ge, Gt, Le, Lt};
            matches!(op, Eq | Lt | Le | Gt | Ge)
                && (is_path(left) && is_scalar(right) || is_scalar(left) && is_path(right))
        }
        _ => false,
    }
}

fn compute(page: &mut PageRun<'_>, parts: &Parts, region: RegionId) -> Result<Rows, Failure> {
    let program = &page.compiled.program;
    let mut execution = program.start();
    let (mut rows, mut text) = (Rows::new(), Vec::new());
    // A query without `FROM` has its row whatever the documents are.
    let parts = if program.reads_documents() { &parts.left } else { &VecDeque::new() };
    for part in parts {
        page.each_candidate(part, region, &mut |tally, document| {
            if execution.is_done() {
                return Ok(Flow::Done);
            }
            tally.load(document);
            document.write_text(&mut text);
            execution.push(&text, document.number, &mut rows).map_err(eval_error)?;
            Ok(Flow::Next)
        })?;
    }
    execution.finish(&mut rows).map_err(eval_error)?;
    page.tally.matched = page.tally.cost.documents;
    if counts_entries(&page.compiled.query) && page.tally.used.missed.is_empty() {
        // The service counts entries of the index, and loads nothing.
        (page.tally.cost.documents, page.tally.cost.loaded_bytes) = (0, 0);
    }
    Ok(rows)
}
