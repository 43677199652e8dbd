//! `ORDER BY RANK` over partitions: what texts are compared with is counted in all of them, each score is asked of all
//! that can have results, and documents are ranked here by their scores together.
//!
//! The result is one page: it is known as a whole or not at all.

use bytes::Bytes;
use cosmonaut_driver::DiagnosticsContext;
use cosmonaut_query::merge::{Fusion, MergeError, Statistics};
use cosmonaut_wire::EpkRange;
use cosmonaut_wire::model::HybridSearchQueryInfo;
use serde_json::value::RawValue;

use super::fetch::PageRequest;
use super::run::Context;
use crate::feeds::in_flight::try_all;
use crate::feeds::place::{MOST_MOVES, Place, has_moved, places};
use crate::{Error, ErrorKind, Result};

/// All rows that one place has answered a query with, and what was tried for them.
type Answered = (Vec<Box<RawValue>>, Vec<DiagnosticsContext>);

/// The rows of the result.
pub(super) async fn rows(
    context: &mut Context,
    search: &HybridSearchQueryInfo,
) -> Result<Vec<Box<RawValue>>> {
    let mut search = search.clone();
    if search.requires_global_statistics {
        let mut statistics = Statistics::default();
        for row in everywhere(context, Where::Container, &search.global_statistics_query).await? {
            statistics.add(&row).map_err(unmergeable)?;
        }
        statistics.fill(&mut search.component_query_infos);
    }
    let mut fusion = Fusion::new(&search);
    for component in &search.component_query_infos {
        for row in everywhere(context, Where::Results, &component.rewritten_query).await? {
            fusion.add(&row).map_err(unmergeable)?;
        }
    }
    Ok(fusion.finish())
}

/// Which partitions are asked.
#[derive(Clone, Copy)]
enum Where {
    /// All of them: texts are compared with those that no result can be among, too.
    Container,
    /// Those that can have results.
    Results,
}

/// The rows of a query from all partitions, which are asked again if some of them are not there any more.
async fn everywhere(context: &mut Context, asked: Where, text: &str) -> Result<Vec<Box<RawValue>>> {
    let body = context.plan.body_of(text)?;
    let mut moves = 0;
    let answered = loop {
        match ask_all(context, asked, &body, moves > 0).await {
            Err(error) if has_moved(&error) && moves < MOST_MOVES => moves += 1,
            Err(error) => return Err(context.explained(error)),
            Ok(answered) => break answered,
        }
    };
    let mut rows = Vec::new();
    for (more, tried) in answered {
        rows.extend(more);
        tried.iter().for_each(|tried| context.tally.add(tried));
    }
    Ok(rows)
}

async fn ask_all(context: &Context, asked: Where, body: &Bytes, refresh: bool) -> Result<Vec<Answered>> {
    let found = match asked {
        Where::Container => places(context.handle(), &context.scope, &EpkRange::FULL, refresh).await?,
        Where::Results => context.concerned(&context.scope.range, refresh).await?,
    };
    try_all(found.into_iter().map(|place| ask(context, place, body.clone())), context.concurrency).await
}

/// All pages of one place.
async fn ask(context: &Context, place: Place, body: Bytes) -> Result<Answered> {
    let (mut rows, mut tried, mut continuation) = (Vec::new(), Vec::new(), None);
    loop {
        let request =
            PageRequest { target: place.target.clone(), body: body.clone(), continuation, most: None };
        let (page, response) = context.fetcher.page(request).await?;
        rows.extend(page.rows);
        tried.push(response.diagnostics().clone());
        continuation = page.continuation;
        if continuation.is_none() {
            return Ok((rows, tried));
        }
    }
}

fn unmergeable(error: MergeError) -> Error {
    Error::caused_by(ErrorKind::InvalidResponse, error.to_string(), error)
}
