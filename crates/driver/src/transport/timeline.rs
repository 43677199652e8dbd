//! When the parts of one try were over: address found, connected, encrypted, sent, first byte, all of it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use cosmonaut_policy::Moment;

/// When the parts of one try were over, each as the time since the try began.
///
/// A part that did not happen is `None`. So are the parts of connecting if the request went over a connection
/// that was there already, and the parts that were over before the try began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timeline {
    /// The host's addresses were known.
    pub resolved: Option<Duration>,
    /// The connection was made.
    pub connected: Option<Duration>,
    /// The connection was encrypted.
    pub secured: Option<Duration>,
    /// The request was given to the connection.
    pub sent: Option<Duration>,
    /// The head of the answer had come.
    pub first_byte: Option<Duration>,
    /// The whole answer had come.
    pub done: Option<Duration>,
}

/// A moment that is noted once it is known.
#[derive(Debug, Default)]
pub(super) struct Mark(AtomicU64);

impl Mark {
    pub(super) const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    pub(super) fn set(&self, moment: Moment) {
        // 0 is never.
        self.0.store(moment.as_nanos().max(1), Ordering::Relaxed);
    }

    pub(super) fn get(&self) -> Option<Moment> {
        match self.0.load(Ordering::Relaxed) {
            0 => None,
            nanos => Some(Moment::from_nanos(nanos)),
        }
    }

    /// How long after the start of a try this was.
    pub(super) fn after(&self, started: Moment) -> Option<Duration> {
        self.get().filter(|moment| *moment >= started).map(|moment| moment.since(started))
    }

    fn copy(&self, from: &Self) {
        self.0.store(from.0.load(Ordering::Relaxed), Ordering::Relaxed);
    }
}

/// How far an attempt to connect has come. Shared by the attempt and all who wait for it.
#[derive(Debug, Default)]
pub(super) struct ConnectMarks {
    pub(super) resolved: Mark,
    pub(super) connected: Mark,
    pub(super) secured: Mark,
}

impl ConnectMarks {
    pub(super) const fn new() -> Self {
        Self { resolved: Mark::new(), connected: Mark::new(), secured: Mark::new() }
    }

    pub(super) fn copy(&self, from: &Self) {
        self.resolved.copy(&from.resolved);
        self.connected.copy(&from.connected);
        self.secured.copy(&from.secured);
    }
}
