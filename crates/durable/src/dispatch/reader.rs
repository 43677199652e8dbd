//! The one reader of the change feed in a process, and the scans for what the feed does not show.
//!
//! It fills the queues with what other processes write. It decides nothing about documents.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use cosmonaut::{
    ChangeFeed, ChangeFeedStart, ContainerClient, DiagnosticsContext, ErrorKind, FeedScope, Query,
};
use serde_json::value::RawValue;
use tokio::time::Instant;

use super::pace::{self, Pace};
use super::row::{COLUMNS, Row, Sighting};
use super::{Dispatch, Shared};
use crate::clock::{self, Task};
use crate::lease::{Slots, slot_of};

/// The longest time between two reads of a container of one partition.
pub(super) const LONGEST_PAUSE: Duration = pace::LONGEST;
/// What should have been done this long ago was left behind.
const LEFT_BEHIND: Duration = Duration::from_secs(15);
/// Later than any time that a document may have.
const EVER: u64 = u64::MAX >> 12;
/// How many pages are read before others get their turn.
const PAGES_AT_ONCE: usize = 64;
/// Each partition lengthens the time between two scans by this, so that idle processes stay cheap.
const SCAN_PER_PARTITION: Duration = Duration::from_secs(4);

/// The feed and the scans of a container.
pub(super) struct Reader {
    container: ContainerClient,
    /// Begun with the first read.
    feed: Option<ChangeFeed<Box<RawValue>>>,
    rescan: Duration,
    scanned: Option<Instant>,
    /// How many requests an idle round takes: one for each partition.
    partitions: usize,
}

/// What reading has cost.
#[derive(Debug, Default)]
pub(crate) struct Traffic {
    requests: AtomicU64,
    /// In thousandths of a request unit.
    charge: AtomicU64,
}

/// What a read of the feed has brought.
pub(super) struct Read {
    news: bool,
    requests: usize,
}

impl Traffic {
    /// How many requests were sent.
    pub(crate) fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    /// What they cost, in request units.
    pub(crate) fn charge(&self) -> f64 {
        self.charge.load(Ordering::Relaxed) as f64 / 1000.0
    }

    fn add(&self, diagnostics: &[DiagnosticsContext], charge: f64) -> usize {
        let requests: usize = diagnostics.iter().map(|context| context.attempts().len()).sum();
        self.requests.fetch_add(requests as u64, Ordering::Relaxed);
        self.charge.fetch_add((charge * 1000.0) as u64, Ordering::Relaxed);
        requests
    }
}

/// Makes the queues complete, once, and keeps them so in the background from then on.
pub(super) async fn start(dispatch: &Dispatch) -> cosmonaut::Result<()> {
    let shared = &dispatch.0;
    shared.background.get_or_try_init(|| begin(shared)).await.map(|_| ())
}

/// As [`start`], and takes the slots that are this process's.
pub(super) async fn lead(dispatch: &Dispatch) -> cosmonaut::Result<()> {
    start(dispatch).await?;
    let shared = &dispatch.0;
    let take = || async {
        let renew_at = clock::instant() + shared.renew_leases().await;
        shared.mind_slots().await?;
        Ok(renew_at)
    };
    shared.leading.get_or_try_init(take).await.map(|_| ())
}

async fn begin(shared: &Arc<Shared>) -> cosmonaut::Result<Task> {
    shared.state().wanted = true;
    // Whatever is written after this read of the feed is in it; the scan finds what was there before.
    shared.read_feed().await?;
    shared.mind_slots().await?;
    let slots = shared.state().slots;
    if slots.is_empty() {
        shared.scan(&slots, EVER).await?;
    }
    Ok(Task::spawn(keep_reading(Arc::downgrade(shared))))
}

async fn keep_reading(shared: Weak<Shared>) {
    let mut pace = Pace::new();
    let (mut renewed, mut unmet_since) = (None, None);
    loop {
        let Some(shared) = shared.upgrade() else { return };
        let renew_at = || shared.leading.get().copied();
        if renewed.or_else(renew_at).is_some_and(|at| clock::instant() >= at) {
            renewed = Some(clock::instant() + shared.renew_leases().await);
        }
        let pause = match shared.round().await {
            Ok(read) => {
                unmet_since = None;
                pace.after(read.news, read.requests)
            }
            Err(error) => {
                if error.kind() == ErrorKind::SessionNotAvailable
                    && shared.losses.is_certain(*unmet_since.get_or_insert_with(clock::instant))
                {
                    shared.losses.forget_session().await;
                }
                tracing::warn!(%error, "the change feed cannot be read; it is tried again");
                LONGEST_PAUSE
            }
        };
        let next = clock::instant() + pause;
        let next = renewed.or_else(renew_at).map_or(next, |at| next.min(at));
        drop(shared);
        clock::until(next, std::future::pending::<()>()).await;
    }
}

impl Shared {
    async fn round(&self) -> cosmonaut::Result<Read> {
        let read = self.read_feed().await?;
        self.mind_slots().await?;
        self.scan_for_left_behind().await?;
        Ok(read)
    }

    async fn renew_leases(&self) -> Duration {
        self.leases.renew().await.unwrap_or_else(|error| {
            tracing::warn!(%error, "leases cannot be renewed; it is tried again");
            LONGEST_PAUSE
        })
    }

    /// Reads the feed to its end, or as far as is fair.
    pub(super) async fn read_feed(&self) -> cosmonaut::Result<Read> {
        let mut reader = self.reader.lock().await;
        let Reader { container, feed, partitions, .. } = &mut *reader;
        let feed = feed
            .get_or_insert_with(|| container.change_feed(ChangeFeedStart::Now, FeedScope::Container, None));
        let mut read = Read { news: false, requests: 0 };
        for _ in 0..PAGES_AT_ONCE {
            let page = feed.next_page().await?;
            read.requests += self.traffic.add(&page.diagnostics, page.request_charge);
            if page.items.is_empty() {
                *partitions = page.diagnostics.len().max(1);
                break;
            }
            for item in &page.items {
                // Documents of somebody else's making may be in the container, too.
                let row = serde_json::from_str::<Row>(item.get()).ok();
                read.news |= row.and_then(Row::read).is_some_and(|sighting| self.sighted(sighting));
            }
        }
        Ok(read)
    }

    /// Puts what the feed shows into the queues; false if it was known.
    fn sighted(&self, sighting: Sighting) -> bool {
        match sighting {
            Sighting::Message { instance, id, visible_at_ms } => {
                self.message_at(&instance, &id, visible_at_ms)
            }
            Sighting::Work(item) => {
                let mut state = self.state();
                let news = state.wanted && state.work.seen(self.arrived(item), self.clock.now_ms());
                if news {
                    self.work_changed.notify_waiters();
                }
                news
            }
            Sighting::Cancelled { instance, id } => {
                self.state().work.remove(&instance, &id);
                false
            }
            Sighting::Session { session, owner, until_ms } => {
                self.state().work.session_seen(&session, &owner, until_ms);
                false
            }
            // Most are finished at once by whoever began them; a scan finds the others.
            Sighting::Unfinished { .. } => false,
        }
    }

    /// Follows the leases: forgets what is not this process's business any more, and finds what is now.
    async fn mind_slots(&self) -> cosmonaut::Result<()> {
        let owned = self.leases.owned();
        let gained = {
            let mut state = self.state();
            if state.slots == owned {
                return Ok(());
            }
            let gained = owned.without(&state.slots);
            state.slots = owned;
            state.instances.keep_only(&owned);
            state.work.own(&owned, self.clock.now_ms());
            gained
        };
        if gained.is_empty() {
            return Ok(());
        }
        let mut gained = Gained { shared: self, slots: gained, known: false };
        let scanned = self.scan(&gained.slots, EVER).await;
        gained.known = scanned.is_ok();
        scanned
    }

    async fn scan_for_left_behind(&self) -> cosmonaut::Result<()> {
        let now = clock::instant();
        let due = {
            let reader = self.reader.lock().await;
            let partitions = u32::try_from(reader.partitions).unwrap_or(u32::MAX).min(1000);
            let pause = reader.rescan.max(SCAN_PER_PARTITION * partitions);
            reader.scanned.is_none_or(|scanned| now >= scanned + pause)
        };
        if !due {
            return Ok(());
        }
        let slots = self.state().slots;
        let old = self.clock.now_ms().saturating_sub(clock::millis(LEFT_BEHIND));
        self.scan(&slots, old).await
    }

    /// Finds all that is or was to be done up to `until_ms`: in some slots, and work in all.
    async fn scan(&self, slots: &Slots, until_ms: u64) -> cosmonaut::Result<()> {
        let container = {
            let mut reader = self.reader.lock().await;
            reader.scanned = Some(clock::instant());
            reader.container.clone()
        };
        let query = todo_in(slots, until_ms)?;
        let mut pages = container.query_items::<Row>(query, FeedScope::Container, None).into_pages();
        while let Some(page) = pages.next().await.transpose()? {
            self.traffic.add(&page.diagnostics, page.request_charge);
            page.items.into_iter().filter_map(Row::read).for_each(|sighting| self.found(slots, sighting));
        }
        self.instances_changed.notify_waiters();
        self.work_changed.notify_waiters();
        self.unfinished_changed.notify_waiters();
        Ok(())
    }

    /// Puts what a scan finds into the queues, whatever was known of it.
    fn found(&self, slots: &Slots, sighting: Sighting) {
        let mut state = self.state();
        match sighting {
            Sighting::Message { instance, visible_at_ms, .. } if slots.contains(slot_of(&instance)) => {
                state.instances.look(&instance, self.or_now(visible_at_ms));
            }
            Sighting::Work(item) => state.work.found(self.arrived(item), self.clock.now_ms()),
            Sighting::Unfinished { instance, from_ms } if slots.contains(slot_of(&instance)) => {
                state.unfinished.add(instance, from_ms);
            }
            Sighting::Message { .. }
            | Sighting::Unfinished { .. }
            | Sighting::Cancelled { .. }
            | Sighting::Session { .. } => {}
        }
    }
}

/// Whatever has a time from which on it is visible is something to do, and so is a turn that is only staged.
fn todo_in(slots: &Slots, until_ms: u64) -> cosmonaut::Result<Query> {
    let text = format!("SELECT {COLUMNS} FROM c WHERE (c.visibleAt <= @until OR IS_DEFINED(c.stage.token))");
    if *slots == Slots::all() {
        return Query::new(text).with("@until", until_ms);
    }
    let slots: Vec<u8> = slots.iter().collect();
    Query::new(format!("{text} AND (c.type = 'work' OR ARRAY_CONTAINS(@slots, c.slot))"))
        .with("@until", until_ms)?
        .with("@slots", slots)
}

/// Slots that are being searched. If that fails, or is dropped on the way, they are not known completely, and the
/// next round tries again.
struct Gained<'a> {
    shared: &'a Shared,
    slots: Slots,
    known: bool,
}

impl Drop for Gained<'_> {
    fn drop(&mut self) {
        if !self.known {
            let mut state = self.shared.state();
            state.slots = state.slots.without(&self.slots);
        }
    }
}

impl Reader {
    pub(super) fn new(container: ContainerClient, rescan: Duration) -> Self {
        Self { container, feed: None, rescan, scanned: None, partitions: 1 }
    }
}
