//! Queries that have to see all their documents before the first row is known: aggregates, `GROUP BY`, `DISTINCT`.
//!
//! Each page computes the whole result anew and passes over what was given before.

use std::collections::VecDeque;

use cosmonaut_query::eval::Rows;

use super::feeder::Flow;
use super::page::{PageRun, eval_error};
use super::parts::Parts;
use super::token::Token;
use crate::Failure;
use crate::engine::RegionId;

/// Fills the page.
pub(super) fn run(page: &mut PageRun<'_>, parts: &Parts, region: RegionId) -> Result<(), Failure> {
    let given = page.token.map_or(0, |token| token.given);
    let rows = compute(page, parts, region, given)?;
    page.output.pass_through();
    let passed = usize::try_from(given).unwrap_or(usize::MAX);
    let fits = rows.iter().skip(passed).all(|row| page.output.take(row));
    let given = given + page.output.rows.len() as u64;
    // As with documents, a page of distinct rows that is full may be the last one.
    let program = &page.compiled.program;
    let streams = program.is_distinct() && !program.is_grouped() && program.reads_documents();
    let is_complete = program.limit().is_some_and(|limit| given >= limit);
    if !fits || (streams && page.output.is_full() && !is_complete) {
        page.continuation = Some(Token { given, ..Token::default() });
    }
    Ok(())
}

fn compute(page: &mut PageRun<'_>, parts: &Parts, region: RegionId, given: u64) -> Result<Rows, Failure> {
    let program = &page.compiled.program;
    let mut execution = program.start();
    let mut rows = Rows::new();
    // Rows that come as documents are read need not be computed further than this page and the sign of another.
    let enough = usize::try_from(given).unwrap_or(usize::MAX).saturating_add(page.output.wanted());
    // A query without `FROM` has its row whatever the documents are.
    let parts = if program.reads_documents() { &parts.left } else { &VecDeque::new() };
    for part in parts {
        page.each_candidate(part, region, &mut |tally, document| {
            if execution.is_done() || rows.len() >= enough {
                return Ok(Flow::Done);
            }
            tally.load(document);
            execution.push(&document.body, document.number, &mut rows).map_err(eval_error)?;
            Ok(Flow::Next)
        })?;
    }
    execution.finish(&mut rows).map_err(eval_error)?;
    page.tally.matched = page.tally.cost.documents;
    Ok(rows)
}
