//! Queries over the small lists that an account keeps in memory: databases, containers, offers.
//!
//! They have no partitions and no index; a page reads the list from its beginning, as far as it has to.

use bytes::Bytes;
use cosmonaut_query::eval::{EvalError, Rows};
#[cfg(feature = "scripts")]
use cosmonaut_wire::model::ContainerProperties;
use cosmonaut_wire::model::QuerySpec;

use super::compiled::Compiled;
#[cfg(feature = "scripts")]
use super::functions::Callable;
use super::page::eval_error;
use super::page_rows::Output;
use super::request::PageSize;
use super::token::Token;
use crate::engine::charge::{self, QueryCost};
use crate::pace::{Next, Pace};
use crate::{Failure, World};

/// One page of a query over a list.
#[derive(Clone, Debug)]
pub struct FeedQuery {
    /// The text and its parameters.
    pub spec: QuerySpec,
    /// How many rows at most.
    pub page_size: PageSize,
    /// Where the last page ended.
    pub continuation: Option<String>,
}

/// The rows of such a page.
#[derive(Debug)]
pub struct FeedQueryPage {
    /// The rows, each the JSON text of one value.
    pub rows: Rows,
    /// Where the next page starts; none if this is the last.
    pub continuation: Option<String>,
    /// What it cost, in request units.
    pub charge: f64,
}

/// One page of the whole list. `entry` gives the JSON text at a place, and is asked for those of the page only.
pub(crate) fn list_over(
    entry: &dyn Fn(usize) -> Option<Bytes>,
    page_size: PageSize,
    continuation: Option<&str>,
) -> Result<FeedQueryPage, Failure> {
    let given = continuation.map(Token::read).transpose()?.map_or(0, |token| token.given);
    let mut cost = QueryCost::default();
    let (mut rows, mut continuation) = (Rows::new(), None);
    for nth in given.. {
        let Some(text) = usize::try_from(nth).ok().and_then(entry) else { break };
        let is_over = !rows.is_empty() && rows.byte_len() + text.len() > page_size.bytes();
        if is_over || rows.len() >= page_size.rows() {
            continuation = Some(Token { given: nth, ..Token::default() }.write());
            break;
        }
        cost.documents += 1;
        cost.loaded_bytes += text.len() as u64;
        rows.push(&text);
    }
    cost.sent_bytes = rows.byte_len() as u64;
    Ok(FeedQueryPage { rows, continuation, charge: charge::query(&cost) })
}

/// Answers one page of a query over `documents`, each a JSON text.
pub(crate) fn run_over(
    documents: impl IntoIterator<Item = Bytes>,
    query: &FeedQuery,
    pace: &Pace,
    world: &dyn World,
) -> Result<FeedQueryPage, Failure> {
    let mut compiled = Compiled::over_list(&query.spec, world)?;
    compiled.program = compiled.program.interrupted_by(pace.interrupt());
    if let Some(name) = compiled.program.user_functions().first() {
        return Err(Failure::bad_request(format!("there is no user-defined function udf.{name} here")));
    }
    page_of(documents, query, pace, &compiled)
}

/// The same over items of a container, which have computed properties and functions.
#[cfg(feature = "scripts")]
pub(crate) fn run_over_items(
    documents: impl IntoIterator<Item = Bytes>,
    query: &FeedQuery,
    properties: &ContainerProperties,
    (pace, functions): (&Pace, &Callable),
    world: &dyn World,
) -> Result<FeedQueryPage, Failure> {
    let mut compiled = Compiled::new(&query.spec, properties, world)?;
    compiled.program = functions.in_program(compiled.program.interrupted_by(pace.interrupt()))?;
    page_of(documents, query, pace, &compiled).map_err(|failure| functions.told(failure))
}

fn page_of(
    documents: impl IntoIterator<Item = Bytes>,
    query: &FeedQuery,
    pace: &Pace,
    compiled: &Compiled,
) -> Result<FeedQueryPage, Failure> {
    let given = match &query.continuation {
        Some(text) => Token::read(text)?.given,
        None => 0,
    };
    let mut cost = QueryCost::default();
    let mut execution = compiled.program.start();
    let mut rows = Rows::new();
    // Where no later document changes the rows before, no more of them are made than the page shows.
    let enough = usize::try_from(given).unwrap_or(usize::MAX).saturating_add(query.page_size.rows());
    for (place, document) in (0..).zip(documents) {
        if pace.next() == Next::Stop {
            return Err(eval_error(EvalError::Interrupted));
        }
        cost.documents += 1;
        cost.loaded_bytes += document.len() as u64;
        execution.push(&document, place, &mut rows).map_err(eval_error)?;
        if compiled.program.is_streaming() && rows.len() > enough {
            break;
        }
    }
    execution.finish(&mut rows).map_err(eval_error)?;

    let mut output = Output::new(&compiled.program, query.page_size, Default::default());
    output.pass_through();
    let mut continuation = None;
    for (nth, row) in (0..).zip(rows.iter()).skip(usize::try_from(given).unwrap_or(usize::MAX)) {
        if !output.take(row) {
            continuation = Some(Token { given: nth, ..Token::default() }.write());
            break;
        }
    }
    cost.sent_bytes = output.rows.byte_len() as u64;
    Ok(FeedQueryPage { rows: output.rows, continuation, charge: charge::query(&cost) })
}
