//! A query on its way: what is asked of which container, page by page until there is enough, and what it has cost.
//!
//! `cosmonaut query` and the shell both run theirs here.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::pin::pin;
use std::time::Duration;

use cosmonaut::options::FeedOptions;
use cosmonaut::{CosmosClient, FeedScope, Query, QueryExplanation};
use serde_json::value::RawValue;

use super::output::{Manner, Rows};
use super::totals::Totals;
use crate::container::ContainerName;
use crate::failure::Failure;
use crate::runtime;
use crate::signal::StopSignal;

/// How many rows are asked for at once.
const PAGE: u32 = 1000;

/// After so long without an answer the user is told that it is awaited.
const PATIENCE: Duration = Duration::from_secs(5);

/// A query and where it goes.
pub(crate) struct Ask<'a> {
    pub(crate) container: &'a ContainerName,
    pub(crate) query: Query,
    pub(crate) scope: FeedScope,
    /// After how many rows there is enough.
    pub(crate) most: Option<u64>,
}

/// What came of a query.
pub(crate) struct Ran {
    pub(crate) totals: Totals,
    pub(crate) took: Duration,
    /// The members that rows have had, as far as anybody looked.
    pub(crate) names: BTreeSet<String>,
    pub(crate) ended: Result<(), Failure>,
}

impl Ask<'_> {
    fn options(&self) -> FeedOptions {
        let page = self.most.map_or(PAGE, |most| u32::try_from(most).map_or(PAGE, |most| most.min(PAGE)));
        FeedOptions::default().max_item_count(page)
    }

    /// Writes the rows as they come, until there are enough, no more, or the user has seen enough.
    pub(crate) async fn rows(
        self,
        client: &CosmosClient,
        manner: Manner,
        with_requests: bool,
        output: &mut impl Write,
        stop: &mut StopSignal,
    ) -> Ran {
        let (most, options) = (self.most.unwrap_or(u64::MAX), self.options());
        let mut rows = Rows::new(manner);
        let (mut totals, began) = (Totals::default(), runtime::now());
        let container = self.container.of(client);
        let items = container.query_items::<Box<RawValue>>(self.query, self.scope).options(options);
        let mut pages = items.into_pages();
        let ended = loop {
            let left = most - totals.rows;
            if left == 0 {
                break Ok(());
            }
            let page = tokio::select! {
                page = told_of_waiting(pages.next()) => page,
                () = stop.heard() => break Err(Failure::Stopped),
            };
            match page {
                None => break Ok(()),
                Some(Err(error)) => break Err(self.container.failed(client, &error).await),
                Some(Ok(page)) => {
                    let wanted = page.items.len().min(usize::try_from(left).unwrap_or(usize::MAX));
                    totals.add(&page, wanted, with_requests);
                    if let Err(error) = rows.take(&page.items[..wanted], output) {
                        break Err(Failure::Output(error));
                    }
                }
            }
        };
        // Also after a failure: half an array is of no use to whoever reads it, and the status says that it is not all.
        let ended = match ended {
            Err(failure @ Failure::Output(_)) => Err(failure),
            ended if ended.is_ok() || totals.rows > 0 => {
                rows.finish(output).map_err(Failure::Output).and(ended)
            }
            ended => ended,
        };
        Ran { totals, took: began.elapsed(), names: std::mem::take(&mut rows.names), ended }
    }

    /// What is known of how the query is run.
    pub(crate) async fn explain(self, client: &CosmosClient) -> Result<QueryExplanation, Failure> {
        let options = self.options();
        let container = self.container.of(client);
        match told_of_waiting(async {
            container.explain_query(self.query, self.scope).options(options).await
        })
        .await
        {
            Ok(explained) => Ok(explained),
            Err(error) => Err(self.container.failed(client, &error).await),
        }
    }
}

/// Says on the standard error that an answer is still awaited, if it takes long.
pub(crate) async fn told_of_waiting<T>(answer: impl Future<Output = T>) -> T {
    let mut answer = pin!(answer);
    let mut waited = Duration::ZERO;
    loop {
        tokio::select! {
            answer = &mut answer => return answer,
            () = runtime::sleep(PATIENCE) => waited += PATIENCE,
        }
        // If nobody reads it, nobody wonders either.
        let _ =
            writeln!(io::stderr(), "no answer for {} s; still waiting (Ctrl-C ends it)", waited.as_secs());
    }
}
