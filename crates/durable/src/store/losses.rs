//! Writes that a forced failover has lost: how that is noticed, of which time they are, and who hears of it.
//!
//! There are three signs. A session that has seen a lost write is answered by no region any more, neither now nor
//! later. The driver asks all regions for a while. What is then still not answered is lost: the session is forgotten, and
//! read anew. That is safe, because every write of the provider is conditional. A read that is too old makes a write that
//! is refused. The second sign is such an answer that comes once: the partition may have grown past what was lost. The
//! third is a partition whose session tokens have a higher version than before. Both say only that writes may be lost.
//!
//! An outage may last for hours before a failover ends it. So what counts is when a partition was last seen in its version
//! before, and not when the loss was noticed.
//!
//! What is not at its target may be lost, or was taken by a process of an earlier version that leaves no trace of what it
//! takes. So it is also known here whether there are such processes.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use cosmonaut::{ContainerClient, mutation};
use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use tokio::time::Instant;

use super::versions::Versions;
use crate::clock::{self, Clock};
use crate::model::DELIVERED_TTL;

/// How long no region may have what the session has seen before that is taken for lost. A region that only lags is
/// not asked alone: the one that takes the writes has everything.
const CERTAIN: Duration = Duration::from_secs(2);

/// By how much a region may lag behind that then takes over: four times what the service allows.
const LAG_MS: u64 = 60 * 60 * 1000;

/// How long signs of one failover may come.
const SAME_MS: u64 = 10 * 60 * 1000;

/// A time whose writes may be lost, in milliseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Span {
    pub(crate) from: u64,
    pub(crate) to: u64,
}

impl Span {
    pub(crate) fn with(self, other: Option<Self>) -> Self {
        let other = other.unwrap_or(self);
        Self { from: self.from.min(other.from), to: self.to.max(other.to) }
    }

    /// Whether another time is no news to who knows this one. Signs of one failover come for a while, to one process after
    /// the other; a partition that fails over later has a version that tells of it.
    pub(crate) fn covers(self, other: Self) -> bool {
        self.from <= other.from && other.to <= self.to.saturating_add(SAME_MS)
    }

    /// Whether deliveries of the time are kept at `now`.
    fn is_kept(self, now: u64) -> bool {
        self.to >= kept_since(now)
    }

    /// The part of the time whose deliveries are not kept any more at `now`.
    fn forgotten(self, now: u64) -> Option<Self> {
        let since = kept_since(now);
        (self.from < since).then(|| Self { from: self.from, to: self.to.min(since) })
    }
}

/// Deliveries that were made before are not kept any more.
fn kept_since(now: u64) -> u64 {
    now.saturating_sub(u64::from(DELIVERED_TTL.unsigned_abs()) * 1000)
}

/// When a partition may have been last seen at the earliest for all that it may have lost to be kept.
fn all_kept_since(now: u64) -> u64 {
    kept_since(now).saturating_add(LAG_MS)
}

/// What processes write down of failovers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Failovers {
    /// The highest version of each partition range that any process has seen.
    pub(crate) versions: BTreeMap<String, i64>,
    /// When it was last seen.
    #[serde(default)]
    pub(crate) seen: BTreeMap<String, u64>,
    /// The time whose writes may be lost, if there is one.
    #[serde(default)]
    pub(crate) lost: Option<Span>,
}

/// The losses of a container. Clones are one.
#[derive(Clone)]
pub(crate) struct Losses {
    container: ContainerClient,
    clock: Clock,
    count: Arc<watch::Sender<u64>>,
    known: Arc<Mutex<Known>>,
}

#[derive(Default)]
struct Known {
    versions: Versions,
    lost: Option<Span>,
    /// A time of which deliveries are not kept any more, and that nobody has looked at.
    forgotten: Option<Span>,
    /// When this process has begun to work, if it has.
    began: Option<u64>,
    /// Since when there are processes that leave no traces, if there are.
    mixed_since: Option<u64>,
}

impl Known {
    /// Writes of one more time may be lost. What was lost so long ago that nothing of it is kept does not count any more.
    fn add(&mut self, lost: Span, now: u64) {
        self.lost = Some(lost.with(self.lost.filter(|before| before.is_kept(now))));
    }
}

impl Losses {
    pub(super) fn new(container: ContainerClient, clock: Clock) -> Self {
        Self { container, clock, count: Arc::new(watch::Sender::new(0)), known: Arc::default() }
    }

    /// An answer has come with this session token.
    pub(crate) fn answered(&self, token: &str) {
        let raised = self.known().versions.note(token, self.clock.now_ms());
        raised.iter().for_each(|since| self.suspect(*since));
    }

    /// This process begins to work; gives when it did.
    pub(crate) fn begin(&self) -> u64 {
        *self.known().began.get_or_insert_with(|| self.clock.now_ms())
    }

    /// Takes in the versions of partitions that only queries and feeds have been to.
    pub(crate) async fn look_at_session(&self) -> cosmonaut::Result<()> {
        let token = self.container.session_token().await?.to_string();
        let began = self.begin();
        // It is not known when that was answered.
        let raised = self.known().versions.note(&token, began);
        raised.iter().for_each(|since| self.suspect(*since));
        Ok(())
    }

    /// Processes have written this down.
    pub(crate) fn heard(&self, written: &Failovers) {
        let now = self.clock.now_ms();
        let mut known = self.known();
        let raised = known.versions.note_all(&written.versions, &written.seen, all_kept_since(now));
        let is_news = |lost: &Span| lost.is_kept(now) && !known.lost.is_some_and(|own| own.covers(*lost));
        let news = written.lost.filter(is_news);
        if let Some(news) = news {
            known.add(news, now);
        }
        drop(known);
        raised.iter().for_each(|since| self.suspect(*since));
        if news.is_some() {
            self.tell();
        }
    }

    /// What this process can write down.
    pub(crate) fn failovers(&self) -> Failovers {
        let known = self.known();
        Failovers { versions: known.versions.versions(), seen: known.versions.times(), lost: known.lost }
    }

    /// Whether there are processes that leave no traces of what they take. When the last of them is gone, what could not be
    /// delivered again meanwhile is looked at.
    pub(crate) fn set_mixed(&self, is_mixed: bool) {
        let now = self.clock.now_ms();
        let mut known = self.known();
        let since = if is_mixed { known.mixed_since.or(Some(now)) } else { None };
        let before = std::mem::replace(&mut known.mixed_since, since);
        drop(known);
        before.filter(|_| !is_mixed).iter().for_each(|since| self.lose(*since));
    }

    /// Whether there are processes that leave no traces of what they take.
    pub(crate) fn is_mixed(&self) -> bool {
        self.known().mixed_since.is_some()
    }

    /// The time whose writes may be lost, if deliveries of it are still kept.
    pub(crate) fn lost(&self) -> Option<Span> {
        let now = self.clock.now_ms();
        self.known().lost.filter(|lost| lost.is_kept(now))
    }

    /// A time of which deliveries may be lost and are not kept any more, once.
    pub(crate) fn take_forgotten(&self) -> Option<Span> {
        self.known().forgotten.take()
    }

    /// No region has what the session has seen, for the first time since something was answered.
    pub(crate) fn unmet(&self) {
        self.suspect(self.last_seen());
    }

    /// Whether what the session has seen is lost, if no region has had it since then.
    pub(crate) fn is_certain(&self, unmet_since: Instant) -> bool {
        !mutation!("session-of-what-was-lost-is-kept")
            && clock::instant().duration_since(unmet_since) >= CERTAIN
    }

    /// Forgets what the session has seen, and tells those who mend what was lost.
    pub(crate) async fn forget_session(&self) {
        match self.container.forget_session().await {
            Ok(()) => {
                tracing::error!(
                    container = self.container.id(),
                    "a failover has lost writes that this process has seen; it goes on from what is there"
                );
                self.lose(self.last_seen());
            }
            Err(error) => tracing::warn!(%error, "the session cannot be forgotten; it is tried again"),
        }
    }

    /// Hears of losses from now on.
    pub(crate) fn subscribe(&self) -> watch::Receiver<u64> {
        self.count.subscribe()
    }

    fn suspect(&self, since: u64) {
        tracing::warn!(
            container = self.container.id(),
            "a failover may have lost writes; what was delivered lately is checked"
        );
        self.lose(since);
    }

    /// Writes may be lost of partitions that were last seen then.
    fn lose(&self, since: u64) {
        let now = self.clock.now_ms();
        let lost = Span { from: since.saturating_sub(LAG_MS), to: now };
        let mut known = self.known();
        known.add(lost, now);
        if let Some(forgotten) = lost.forgotten(now) {
            known.forgotten = Some(forgotten.with(known.forgotten));
        }
        drop(known);
        self.tell();
    }

    fn tell(&self) {
        self.count.send_modify(|count| *count += 1);
    }

    /// Since when every partition was seen. One that has split is not seen any more: so this is no sign that something is
    /// forgotten, as the version of a partition is.
    fn last_seen(&self) -> u64 {
        let now = self.clock.now_ms();
        self.known().versions.earliest().unwrap_or(0).max(all_kept_since(now)).min(now)
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_forgotten_when_its_deliveries_are_gone() {
        const DAY: u64 = 24 * 60 * 60 * 1000;
        let span = Span { from: 5 * DAY, to: 6 * DAY };
        for (now, forgotten_until, is_kept) in [
            (6 * DAY, None, true),
            (6 * DAY + 1, Some(5 * DAY + 1), true),
            (7 * DAY, Some(6 * DAY), true),
            (7 * DAY + 1, Some(6 * DAY), false),
        ] {
            let forgotten = forgotten_until.map(|to| Span { from: 5 * DAY, to });
            assert_eq!((span.forgotten(now), span.is_kept(now)), (forgotten, is_kept), "{now}");
        }
        let mut known = Known { lost: Some(span), ..Known::default() };
        known.add(Span { from: 7 * DAY - 5, to: 7 * DAY }, 7 * DAY);
        assert_eq!(known.lost, Some(Span { from: 5 * DAY, to: 7 * DAY }));
        known.add(Span { from: 30 * DAY, to: 31 * DAY }, 31 * DAY);
        assert_eq!(
            known.lost,
            Some(Span { from: 30 * DAY, to: 31 * DAY }),
            "what is long over does not count"
        );
        assert!(span.with(Some(Span { from: 1, to: 2 })).covers(Span { from: 2, to: 5 * DAY }));
        for (from, to, is_news) in [
            (5 * DAY, 6 * DAY, false),
            (5 * DAY + 1, 6 * DAY + SAME_MS, false),
            (5 * DAY - 1, 6 * DAY, true),
            (5 * DAY, 6 * DAY + SAME_MS + 1, true),
        ] {
            assert_eq!(span.covers(Span { from, to }), !is_news, "{from} {to}");
        }
        let kept = Span { from: all_kept_since(9 * DAY) - LAG_MS, to: 9 * DAY };
        assert_eq!(kept.forgotten(9 * DAY), None);
    }
}
