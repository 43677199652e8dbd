//! One reader: it follows the changes of one piece of the container, and searches that piece for what the feed does
//! not show. What fails there delays nothing elsewhere.
//!
//! What the documents mean for the queues is in `sight`.

use std::sync::{Arc, Weak};
use std::time::Duration;

use cosmonaut::{ChangeFeedStart, ContainerClient, ErrorKind, FeedRange, Pages, Query};
use serde_json::value::RawValue;
use tokio::time::Instant;

use super::agenda::Limits;
use super::division::Piece;
use super::pace::Pace;
use super::pause::pause;
use super::row::{COLUMNS, Row};
use super::searched::{Extent, Knowledge, Missing};
use super::{Asked, Shared};
use crate::clock;

/// How many pages of changes are read before others get their turn.
const PAGES_AT_ONCE: usize = 64;
/// How long before something is due it is searched for.
pub(super) const LEAD_MS: u64 = 60_000;

/// A feed that its reader follows, and that the reader's successor reads to its end.
pub(super) type Feed = Arc<tokio::sync::Mutex<Pages<Box<RawValue>>>>;

/// A reader.
pub(super) struct Reader {
    pub(super) number: u64,
    pub(super) piece: Piece,
    pub(super) feed: Feed,
    /// The feeds of the readers that this one replaces.
    pub(super) takes_over: Vec<Feed>,
    /// What nobody has searched yet.
    pub(super) to_search: Vec<FeedRange>,
    /// How far the piece is known.
    pub(super) knowledge: Knowledge,
    left_behind: Option<Pages<Row>>,
    next_page_at: Option<Instant>,
}

/// What a read has brought.
struct Read {
    news: bool,
    /// The piece lies in several partitions by now.
    is_split: bool,
    /// Nothing was left to read.
    is_drained: bool,
}

impl Reader {
    pub(super) fn new(number: u64, piece: Piece, container: &ContainerClient) -> Self {
        let feed = container.change_feed(ChangeFeedStart::Now, &piece.range).into_pages();
        Self {
            number,
            to_search: vec![piece.range.clone()],
            piece,
            feed: Arc::new(tokio::sync::Mutex::new(feed)),
            takes_over: Vec::new(),
            knowledge: Knowledge::default(),
            left_behind: None,
            next_page_at: None,
        }
    }

    /// Reads for ever, or until nobody is left to read for.
    pub(super) async fn run(mut self, shared: Weak<Shared>, asked: Arc<Asked>) {
        let (mut pace, mut failures, mut unmet_since) = (Pace::new(), 0, None);
        loop {
            let Some(shared) = shared.upgrade() else { return };
            let number = shared.rounds().begin();
            let result = self.round(&shared).await;
            // Who has asked waits until all is read.
            if result.as_ref().map_or(true, |read| read.is_drained) {
                shared.end_round(self.number, number, result.is_err());
            }
            let rest = match result {
                Ok(read) => {
                    (failures, unmet_since) = (0, None);
                    if read.is_split {
                        shared.division_changed.notify_one();
                    }
                    pace.after(read.news, shared.readers().idle_pause())
                }
                Err(error) => {
                    failures += 1;
                    shared.traffic.add_failed(&error);
                    if error.kind() == ErrorKind::SessionNotAvailable {
                        let since = *unmet_since.get_or_insert_with(|| {
                            shared.store.losses().unmet();
                            clock::instant()
                        });
                        if shared.store.losses().is_certain(since) {
                            shared.store.losses().forget_session().await;
                        }
                    }
                    tracing::warn!(range = %self.piece.range, %error, "changes cannot be read; it is tried again");
                    pause(failures).max(error.retry_after().unwrap_or_default())
                }
            };
            drop(shared);
            rest_of(self.number, &asked, rest).await;
        }
    }

    async fn round(&mut self, shared: &Shared) -> cosmonaut::Result<Read> {
        shared.settle_time().await;
        // Whatever is written after the first read of the feed is in it; what was there before is in the feeds of
        // those who followed the piece before, or found by a search.
        let mut read = shared.read(&self.feed).await?;
        while let Some(feed) = self.takes_over.last() {
            let before = shared.read(feed).await?;
            read.news |= before.news;
            if !before.leave_if_drained(&mut self.takes_over) {
                read.is_drained = false;
                break;
            }
        }
        self.search(shared).await?;
        self.search_left_behind(shared).await?;
        Ok(read)
    }

    /// Finds what is due, or will be soon, as far as it is not known.
    async fn search(&mut self, shared: &Shared) -> cosmonaut::Result<()> {
        let (now, search) = shared.next_search();
        let until = now + Limits::USUAL.horizon_ms;
        let found = Extent { until, search };
        while let Some(range) = self.to_search.last() {
            shared.search(range, Due { after: None, until }).await?;
            self.to_search.pop();
            self.knowledge.found(found);
        }
        let Some(known) = self.knowledge.known(found, self.takes_over.is_empty()) else { return Ok(()) };
        let after = match known.missing(search, now + LEAD_MS) {
            Missing::Nothing => return Ok(()),
            Missing::After(until) => Some(until),
            Missing::Everything => None,
        };
        shared.search(&self.piece.range, Due { after, until }).await?;
        self.knowledge.found_all(found);
        Ok(())
    }

    /// Reads one page of what should have been done some time ago. Whatever was missed is among it.
    async fn search_left_behind(&mut self, shared: &Shared) -> cosmonaut::Result<()> {
        let now = clock::instant();
        let pause = shared.readers().search_pause(shared.settings.interval);
        let at = *self.next_page_at.get_or_insert(now + pause);
        if now < at {
            return Ok(());
        }
        self.next_page_at = Some(now + pause);
        if self.left_behind.is_none() {
            let until = shared.now_ms().saturating_sub(clock::millis(shared.settings.age));
            let query = Due { after: None, until }.query();
            self.left_behind = Some(shared.container.query_items(query, &self.piece.range).into_pages());
        }
        let Some(pages) = &mut self.left_behind else { return Ok(()) };
        match pages.next().await.transpose() {
            Ok(Some(page)) => {
                shared.traffic.add(&page.diagnostics, page.request_charge);
                shared.found(page.items);
                Ok(())
            }
            Ok(None) => {
                self.left_behind = None;
                Ok(())
            }
            Err(error) => {
                self.left_behind = None;
                Err(error)
            }
        }
    }
}

impl Read {
    /// Leaves the last of some feeds, of which this was a read, if nothing is left in it; says whether. One that has more
    /// than is fair is read on next time.
    fn leave_if_drained<F>(&self, feeds: &mut Vec<F>) -> bool {
        if self.is_drained {
            feeds.pop();
        }
        self.is_drained
    }
}

/// Waits for the end of a reader's pause, or until somebody asks. One that has failed is not asked.
async fn rest_of(reader: u64, asked: &Asked, rest: Duration) {
    let end = clock::instant() + rest;
    loop {
        let mut news = std::pin::pin!(asked.news.notified());
        news.as_mut().enable();
        if asked.rounds().is_asked(reader) || clock::until(end, news).await.is_none() {
            return;
        }
    }
}

/// What becomes due until a time, and after another.
struct Due {
    after: Option<u64>,
    until: u64,
}

impl Due {
    /// Whatever has a time from which on it is visible is something to do: messages, work items, deliveries, staged
    /// turns and records of deletions.
    fn query(&self) -> Query {
        let text = format!("SELECT {COLUMNS} FROM c WHERE c.visibleAt <= @until");
        match self.after {
            None => Query::new(text).with("@until", self.until),
            Some(after) => Query::new(format!("{text} AND c.visibleAt > @after"))
                .with("@until", self.until)
                .with("@after", after),
        }
    }
}

impl Shared {
    /// Asks for the server's time if the machine may have slept: what became due meanwhile is known only then.
    async fn settle_time(&self) {
        if !self.store.clock().is_in_doubt() {
            return;
        }
        match self.store.learn_time().await {
            Ok(()) => self.notify_all(),
            Err(error) => tracing::debug!(%error, "the time cannot be asked for; it is tried again"),
        }
    }

    /// Reads a feed to its end, or as far as is fair.
    async fn read(&self, feed: &Feed) -> cosmonaut::Result<Read> {
        let mut feed = feed.lock().await;
        let mut read = Read { news: false, is_split: false, is_drained: false };
        for _ in 0..PAGES_AT_ONCE {
            // It ends behind the page that says that nothing is left, and can be asked again.
            let Some(page) = feed.next().await.transpose()? else { continue };
            self.traffic.add(&page.diagnostics, page.request_charge);
            // One partition is asked once for each page.
            read.is_split |= page.diagnostics.len() > 1;
            if page.items.is_empty() {
                read.is_drained = true;
                break;
            }
            read.news |= self.seen(&page.items);
        }
        Ok(read)
    }

    async fn search(&self, range: &FeedRange, due: Due) -> cosmonaut::Result<()> {
        let mut pages = self.container.query_items::<Row>(due.query(), range).into_pages();
        while let Some(page) = pages.next().await.transpose()? {
            self.traffic.add(&page.diagnostics, page.request_charge);
            self.found(page.items);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_feed_of_a_predecessor_is_left_only_when_nothing_is_left_in_it() {
        let mut feeds = vec!["first", "second"];
        for (is_drained, left) in [(false, 2), (false, 2), (true, 1), (false, 1), (true, 0)] {
            let read = Read { news: true, is_split: false, is_drained };
            assert_eq!((read.leave_if_drained(&mut feeds), feeds.len()), (is_drained, left));
        }
    }
}
