//! `ORDER BY RANK` over partitions: what texts are compared with is counted in all of them, each score is asked of all
//! that can have results, and documents are ranked here by their scores together.
//!
//! The result is one page: it is known as a whole or not at all.

use cosmonaut_query::merge::{Fusion, MergeError, Statistics};
use cosmonaut_wire::EpkRange;
use cosmonaut_wire::model::HybridSearchQueryInfo;
use serde_json::value::RawValue;

use super::fetch::{Fetched, PageRequest};
use super::run::Context;
use crate::feeds::parts::{Arrival, Child, Parts};
use crate::feeds::place::Place;
use crate::{Error, ErrorKind, Result};

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

impl Where {
    /// The places of a part of the container that are asked.
    async fn places(self, context: &Context, range: &EpkRange, refresh: bool) -> Result<Vec<Place>> {
        match self {
            Self::Container => context.places(range, refresh).await,
            Self::Results => context.concerned(range, refresh).await,
        }
    }
}

/// The rows of a query from all partitions. Those that take the place of one that is not there any more begin anew: its rows
/// are in an order that only it has.
async fn everywhere(context: &mut Context, asked: Where, text: &str) -> Result<Vec<Box<RawValue>>> {
    let body = context.plan.body_of(text)?;
    let range = match asked {
        Where::Container => EpkRange::FULL,
        Where::Results => context.scope.range.clone(),
    };
    let mut parts: Parts<Vec<Box<RawValue>>, Fetched> = Parts::new();
    for place in asked.places(context, &range, false).await? {
        parts.push(place, None, Vec::new());
    }
    parts.begin_page();
    let mut rows = Vec::new();
    loop {
        parts.ask_idle(context.concurrency, |part| {
            let (target, continuation) = (part.place.target.clone(), part.at.clone());
            context.fetcher.fetch(PageRequest { target, body: body.clone(), continuation, most: None })
        });
        match parts.next().await {
            Some(Arrival::Answered(at, (page, response))) => {
                context.tally.add(response.diagnostics());
                let part = &mut parts[at];
                part.state.extend(page.rows);
                part.at = page.continuation;
                if part.at.is_none() {
                    rows.append(&mut part.state);
                    parts.remove(at);
                }
            }
            Some(Arrival::Moved(at, error)) => {
                context.tally.add_failed(&error);
                let range = parts[at].place.range.clone();
                let found = parts.during(asked.places(context, &range, true)).await?;
                let child = |place| Child { place, at: None, state: Vec::new() };
                parts.divide(at, found.into_iter().map(child).collect());
            }
            Some(Arrival::Failed(_, error)) => return Err(context.explained(error)),
            Some(Arrival::Late) => {}
            None => return Ok(rows),
        }
    }
}

fn unmergeable(error: MergeError) -> Error {
    Error::caused_by(ErrorKind::InvalidResponse, error.to_string(), error)
}
