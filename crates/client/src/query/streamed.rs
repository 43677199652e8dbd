//! Queries whose rows are the partitions' rows: one partition after the other, the next ones asked ahead.
//!
//! A page is made of whole answers of partitions, so that it ends where the service can go on by itself.

use bytes::Bytes;
use cosmonaut_query::merge::Window;
use cosmonaut_wire::EpkRange;
use serde_json::value::RawValue;

use super::fetch::{Fetched, PageRequest, PartitionPage};
use super::run::Context;
use super::token::{At, Progress};
use crate::Result;
use crate::feeds::parts::{Arrival, Part, Parts};

/// A result in the making.
pub(super) struct Streamed {
    /// What is not given yet. Each goes on behind what was given of it, and holds the answer from there.
    parts: Parts<Option<PartitionPage>, Fetched>,
    window: Window,
    body: Bytes,
    /// How many parts are asked at once. It doubles with every answer that is used, so that a reader who only
    /// wants the first rows is not charged for others.
    look_ahead: usize,
}

impl Streamed {
    pub(super) async fn start(
        context: &Context,
        window: Window,
        ranges: Vec<(EpkRange, Option<String>)>,
    ) -> Result<Self> {
        let mut parts = Parts::new();
        for (range, continuation) in ranges {
            for place in context.concerned(&range, false).await? {
                parts.push(place, continuation.clone(), None);
            }
        }
        Ok(Self { parts, window, body: context.plan.body("true")?, look_ahead: 1 })
    }

    /// The rows of the next page; few or none only at the end, or where partitions end.
    pub(super) async fn next_rows(&mut self, context: &mut Context) -> Result<Vec<Box<RawValue>>> {
        let most = context.page_size as usize;
        let mut rows = Vec::new();
        self.parts.begin_page();
        while rows.len() < most && self.window.take > 0 {
            let Some(first) = self.parts.first_mut() else { return Ok(rows) };
            match first.state.take() {
                Some(page) if rows.is_empty() || rows.len() + page.rows.len() <= most => {
                    self.give(page, &mut rows);
                    self.look_ahead = (self.look_ahead * 2).min(context.concurrency);
                }
                Some(page) => {
                    first.state = Some(page);
                    break;
                }
                None => {
                    self.ask(context, rows.len());
                    self.receive(context).await?;
                }
            }
        }
        if self.window.take == 0 {
            self.parts.clear();
        }
        self.ask(context, 0);
        self.parts.send().await;
        Ok(rows)
    }

    /// What is left; `None` at the end.
    pub(super) fn progress(&self) -> Option<Progress> {
        let left = |part: &Part<_>| (part.place.range.clone(), part.at.clone());
        let left: Vec<_> = self.parts.iter().map(left).collect();
        (!left.is_empty()).then_some(Progress { window: self.window, at: At::Pieces(left) })
    }

    /// Moves the answer of the first part into the page.
    fn give(&mut self, page: PartitionPage, rows: &mut Vec<Box<RawValue>>) {
        let skipped = self.window.skip.min(page.rows.len() as u64);
        self.window.skip -= skipped;
        let wanted = usize::try_from(self.window.take).unwrap_or(usize::MAX);
        let before = rows.len();
        rows.extend(page.rows.into_iter().skip(skipped as usize).take(wanted));
        self.window.take -= (rows.len() - before) as u64;
        match (page.continuation, self.parts.first_mut()) {
            (Some(continuation), Some(first)) => first.at = Some(continuation),
            (None, _) => self.parts.pop_first(),
            (Some(_), None) => {}
        }
    }

    /// Asks the parts that come next, if they are not asked and have not answered. The first is asked for no
    /// more rows than the page still takes.
    fn ask(&mut self, context: &Context, have: usize) {
        for nth in 0..self.parts.len().min(self.look_ahead) {
            let part = &self.parts[nth];
            if part.is_asked || part.state.is_some() {
                continue;
            }
            let have = if nth == 0 { have as u32 } else { 0 };
            let request = PageRequest {
                target: part.place.target.clone(),
                body: self.body.clone(),
                continuation: part.at.clone(),
                most: Some(context.page_size.saturating_sub(have).max(1)),
            };
            self.parts.ask(nth, context.fetcher.fetch(request));
        }
    }

    /// Waits for an answer.
    async fn receive(&mut self, context: &mut Context) -> Result<()> {
        match self.parts.next().await {
            Some(Arrival::Answered(at, (page, response))) => {
                context.tally.add(response.diagnostics());
                self.parts[at].state = Some(page);
            }
            Some(Arrival::Moved(at, error)) => {
                context.tally.add_failed(&error);
                let range = self.parts[at].place.range.clone();
                let found = self.parts.during(context.concerned(&range, true)).await?;
                self.parts.replace(at, found, || None);
            }
            Some(Arrival::Failed(_, error)) => return Err(context.explained(error)),
            Some(Arrival::Late) | None => {}
        }
        Ok(())
    }
}
