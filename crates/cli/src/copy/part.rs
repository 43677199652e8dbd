//! Copies one part: a page is written before the next one counts as read, so that a part is always behind a page.

use std::sync::Arc;
use std::time::Duration;

use cosmonaut::options::FeedOptions;
use cosmonaut::{Change, ChangeFeedStart, ContainerClient, Error, Pages, RawItem};
use tokio::sync::{mpsc, watch};

use super::change::{Wanted, of_item, of_version};
use super::state::Part;
use crate::account::failed;
use crate::data::apply::{Refusal, Target, apply};
use crate::data::members::KeyFinder;
use crate::failure::Failure;
use crate::runtime;

/// How many changes are asked for at once.
const PAGE: u32 = 1000;
/// How often a page is asked for that may come later, beside what the client does, and how long is waited first.
const TRIES: u32 = 5;
const PAUSE: Duration = Duration::from_millis(500);

/// Copies a part.
pub(super) struct Copier {
    pub(super) from: ContainerClient,
    pub(super) to: Target,
    pub(super) keys: Arc<KeyFinder>,
    pub(super) part: Part,
    pub(super) index: usize,
    /// How long a part without changes is left alone, if it is followed.
    pub(super) follow: Option<Duration>,
    pub(super) with_deletes: bool,
    /// Whether it is enough.
    pub(super) stop: watch::Receiver<bool>,
}

/// A page that was written.
pub(super) struct Step {
    pub(super) index: usize,
    /// How far the part is now.
    pub(super) part: Part,
    pub(super) items: u64,
    pub(super) deleted: u64,
    pub(super) refused: Vec<Refusal>,
    pub(super) charge: f64,
    /// Whether the part was read to its end.
    pub(super) is_at_end: bool,
    /// When the last change was made, in seconds since 1970.
    pub(super) time: Option<u64>,
}

/// The feed that is read.
enum Feed {
    Latest(Pages<RawItem>),
    Versions(Pages<Change<RawItem>>),
}

/// A page of it.
struct Read {
    wanted: Vec<Wanted>,
    continuation: Option<String>,
    charge: f64,
}

impl Copier {
    /// Copies until the end. If it is told that it is enough, a part that was at its end once goes on to where that is now,
    /// and another one ends behind its page.
    pub(super) async fn run(mut self, send: &mpsc::Sender<Result<Step, Failure>>) {
        let mut was_at_end = false;
        loop {
            // Before reading: what was written before it was told is to be read.
            let is_enough = *self.stop.borrow();
            let step = self.step().await;
            let is_at_end = step.as_ref().is_ok_and(|step| step.is_at_end);
            was_at_end |= is_at_end;
            let is_over = match (&step, self.follow) {
                (Err(_), _) => true,
                (Ok(_), None) => is_at_end || is_enough,
                (Ok(_), Some(_)) => is_enough && (is_at_end || !was_at_end),
            };
            // If nobody takes it, nobody wants more.
            if send.send(step).await.is_err() || is_over {
                return;
            }
            if is_at_end {
                tokio::select! {
                    () = runtime::sleep(self.follow.unwrap_or_default()) => {}
                    // The other end is gone only when everything ends.
                    _ = self.stop.wait_for(|is_enough| *is_enough) => {}
                }
            }
        }
    }

    /// Reads the next page and writes it.
    async fn step(&mut self) -> Result<Step, Failure> {
        let reads_versions = self.reads_versions();
        let Read { wanted, continuation, charge } = self.read().await?;
        let is_empty = wanted.is_empty();
        let time = wanted.last().and_then(|wanted| wanted.time);
        let (mut writes, mut refused) = (Vec::new(), Vec::new());
        for wanted in wanted {
            match wanted.write {
                Ok(write) => writes.push(write),
                Err(refusal) => refused.push(refusal),
            }
        }
        let deleted = writes.iter().filter(|write| write.is_delete()).count() as u64;
        let applied = apply(&self.to, writes).await?;
        refused.extend(applied.refused);
        if reads_versions {
            self.part.versions = continuation.or(self.part.versions.take());
        } else {
            self.part.latest = continuation.or(self.part.latest.take());
            self.part.is_copied |= is_empty;
        }
        // Behind the first copy come all versions since it began: only behind those it is at its end.
        let is_at_end = is_empty && (reads_versions || !self.with_deletes);
        Ok(Step {
            index: self.index,
            part: self.part.clone(),
            items: applied.done.saturating_sub(deleted),
            deleted,
            refused,
            charge: charge + applied.charge,
            is_at_end,
            time,
        })
    }

    /// Whether the first copy is done and all versions since are read.
    fn reads_versions(&self) -> bool {
        self.with_deletes && self.part.is_copied
    }

    async fn read(&self) -> Result<Read, Failure> {
        let mut failures = 0;
        loop {
            match self.page().await {
                Ok(read) => return Ok(read),
                Err(error) if error.is_transient() && failures < TRIES => {
                    runtime::sleep(PAUSE * 2_u32.pow(failures)).await;
                    failures += 1;
                }
                Err(error) => return Err(failed(&error)),
            }
        }
    }

    async fn page(&self) -> Result<Read, Error> {
        match self.feed() {
            Feed::Latest(mut pages) => {
                let Some(page) = pages.next().await.transpose()? else { return Ok(Read::end()) };
                let items = page.items.iter().zip(0..);
                let wanted = items.map(|(item, place)| of_item(&self.keys, item, place)).collect();
                Ok(Read { wanted, continuation: page.continuation, charge: page.request_charge })
            }
            Feed::Versions(mut pages) => {
                let Some(page) = pages.next().await.transpose()? else { return Ok(Read::end()) };
                let changes = page.items.iter().zip(0..);
                let wanted = changes.map(|(change, place)| of_version(&self.keys, change, place)).collect();
                Ok(Read { wanted, continuation: page.continuation, charge: page.request_charge })
            }
        }
    }

    fn feed(&self) -> Feed {
        let options = |continuation: &Option<String>| FeedOptions {
            continuation: continuation.clone(),
            max_item_count: Some(PAGE),
            ..FeedOptions::default()
        };
        let (range, start) = (&self.part.range, ChangeFeedStart::Beginning);
        match self.reads_versions() {
            false => {
                let feed = self.from.change_feed::<RawItem>(start, range);
                Feed::Latest(feed.options(options(&self.part.latest)).into_pages())
            }
            true => {
                let feed = self.from.all_versions_and_deletes::<RawItem>(ChangeFeedStart::Now, range);
                Feed::Versions(feed.options(options(&self.part.versions)).into_pages())
            }
        }
    }
}

impl Read {
    /// Nothing, and no place to go on that is not known.
    fn end() -> Self {
        Self { wanted: Vec::new(), continuation: None, charge: 0.0 }
    }
}
