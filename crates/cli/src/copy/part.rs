//! Copies one part: a page is written before the next one counts as read, so that a part is always behind a page. What was
//! refused is tried again at the end of the part.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use cosmonaut::options::FeedOptions;
use cosmonaut::{Change, ChangeFeedStart, ContainerClient, Error, Pages, RawItem};
use tokio::sync::{mpsc, watch};

use super::change::{Wanted, of_item, of_version};
use super::state::{Item, Part, Refused};
use crate::account::failed;
use crate::data::apply::{Refusal, Target, Write, apply};
use crate::data::members::KeyFinder;
use crate::failure::Failure;
use crate::runtime;

/// How many changes are asked for at once.
const PAGE: u32 = 1000;
/// How often a page is asked for that may come later, beside what the client does, and how long is waited first.
const TRIES: u32 = 5;
const PAUSE: Duration = Duration::from_millis(500);
/// How many refused items a part remembers. More of them have a cause that no repetition mends.
const MOST_REFUSED: usize = 10_000;

/// Copies a part.
pub(super) struct Copier {
    pub(super) from: ContainerClient,
    pub(super) to: Target,
    pub(super) keys: Arc<KeyFinder>,
    pub(super) part: Part,
    /// Whether something was written that matters to what is refused since that was last tried.
    pub(super) is_untried: bool,
    /// Versions that stood in each other's way even without older ones, by key.
    pub(super) in_vain: HashMap<String, BTreeSet<Vec<u8>>>,
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
    /// What is refused that was not before.
    pub(super) refused: Vec<Refused>,
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
        let (mut writes, mut unwritable) = (Vec::new(), Vec::new());
        for wanted in wanted {
            match wanted.write {
                Ok(write) => writes.push(write),
                Err(refusal) => unwritable.push(refusal),
            }
        }
        let mut deleted = writes.iter().filter(|write| write.is_delete()).count() as u64;
        let last = last_of_each(&writes);
        let applied = apply(&self.to, writes).await?;
        let (mut done, mut charge) = (applied.done, charge + applied.charge);
        let refused = self.remember(&last, applied.refused, unwritable)?;
        if reads_versions {
            self.part.versions = continuation.or(self.part.versions.take());
        } else {
            self.part.latest = continuation.or(self.part.latest.take());
            self.part.is_copied |= is_empty;
        }
        // Behind the first copy come all versions since it began: only behind those it is at its end.
        let is_at_end = is_empty && (reads_versions || !self.with_deletes);
        // An item is in the way of those of its own key alone.
        let keys: HashSet<&String> = last.keys().map(|(key, _)| key).collect();
        let concerns = |refused: &Refused| refused.key.as_ref().is_some_and(|key| keys.contains(key));
        self.is_untried |= self.part.refused.iter().any(concerns);
        if is_at_end && self.is_untried {
            let tried = self.again().await?;
            done += tried.done;
            deleted += tried.deleted;
            charge += tried.charge;
            self.part.refused = tried.left;
            self.is_untried = false;
        }
        Ok(Step {
            index: self.index,
            part: self.part.clone(),
            items: done.saturating_sub(deleted),
            deleted,
            refused,
            charge,
            is_at_end,
            time,
        })
    }

    /// Notes which of the writes were refused, and forgets what was refused before and is written now. What is new of it.
    fn remember(
        &mut self,
        last: &HashMap<Item, u64>,
        refusals: Vec<Refusal>,
        unwritable: Vec<Refusal>,
    ) -> Result<Vec<Refused>, Failure> {
        let keys: HashMap<u64, &String> = last.iter().map(|((key, _), place)| (*place, key)).collect();
        // What became of a version that another one has replaced does not matter.
        let of_last = refusals.into_iter().filter_map(|refusal| {
            let key = keys.get(&refusal.place).copied().cloned()?;
            Some(Refused::of(refusal, Some(key)))
        });
        let found: Vec<_> =
            of_last.chain(unwritable.into_iter().map(|refusal| Refused::of(refusal, None))).collect();
        let before: HashSet<_> =
            self.part.refused.iter().map(|refused| (refused.item(), &refused.id)).collect();
        let new = found.iter().filter(|refused| !before.contains(&(refused.item(), &refused.id)));
        let new: Vec<_> = new.cloned().collect();
        let is_written = |refused: &Refused| refused.item().is_some_and(|item| last.contains_key(&item));
        self.part.refused.retain(|refused| !is_written(refused) && !found.contains(refused));
        self.part.refused.extend(found);
        if self.part.refused.len() > MOST_REFUSED {
            let first = self.part.refused.first().map_or("", |refused| &refused.message);
            return Err(Failure::Work(format!(
                "more than {MOST_REFUSED} items of a partition were refused, the first: {first}"
            )));
        }
        Ok(new)
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

/// Which write is the last one of each item.
fn last_of_each(writes: &[Write]) -> HashMap<Item, u64> {
    writes.iter().map(|write| ((write.key.to_string(), write.id.clone()), write.place)).collect()
}

impl Read {
    /// Nothing, and no place to go on that is not known.
    fn end() -> Self {
        Self { wanted: Vec::new(), continuation: None, charge: 0.0 }
    }
}
