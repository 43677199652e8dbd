//! The way between a process and a port: how long bytes take, and what becomes of them.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::Notify;

use super::pipe::Connection;
use crate::random::Random;

/// How many pieces a process has sent, to all ports.
#[derive(Default)]
pub(super) struct Sent {
    pieces: AtomicU64,
    more: Notify,
}

impl Sent {
    pub(super) fn one(&self) {
        self.pieces.fetch_add(1, Ordering::Relaxed);
        self.more.notify_waiters();
    }

    /// Waits until so many more are sent.
    pub(super) async fn more(&self, pieces: u64) {
        let end = self.pieces.load(Ordering::Relaxed) + pieces;
        loop {
            let more = self.more.notified();
            if self.pieces.load(Ordering::Relaxed) >= end {
                return;
            }
            more.await;
        }
    }
}

/// The way between a process and a port.
pub struct Route {
    random: Random,
    pub(super) sent: Arc<Sent>,
    /// The least and the greatest delay, in milliseconds.
    least: AtomicU64,
    most: AtomicU64,
    /// How much longer what the process sends takes, in milliseconds.
    lateness: AtomicU64,
    /// Whether bytes wait at the sender's side.
    is_stalled: AtomicBool,
    pub(super) resumed: Notify,
    /// Of ten thousand pieces, how many are cut.
    cuts: AtomicU64,
    connections: Mutex<Vec<Weak<Connection>>>,
    /// How many connections were cut, for coverage.
    pub(super) cut_count: AtomicU64,
}

impl Route {
    pub(super) fn new(random: Random, sent: Arc<Sent>) -> Self {
        Self {
            random,
            sent,
            least: AtomicU64::new(0),
            most: AtomicU64::new(2),
            lateness: AtomicU64::new(0),
            is_stalled: AtomicBool::new(false),
            resumed: Notify::new(),
            cuts: AtomicU64::new(0),
            connections: Mutex::default(),
            cut_count: AtomicU64::new(0),
        }
    }

    /// Bytes take so many milliseconds from now on.
    pub fn set_delay(&self, least: u64, most: u64) {
        self.least.store(least, Ordering::Relaxed);
        self.most.store(most.max(least), Ordering::Relaxed);
    }

    /// What the process sends takes so many milliseconds longer from now on; what it is sent does not.
    pub fn set_lateness(&self, ms: u64) {
        self.lateness.store(ms, Ordering::Relaxed);
    }

    /// So many of ten thousand pieces that are sent lose their end, and the connection with it.
    pub fn set_cuts(&self, of_ten_thousand: u64) {
        self.cuts.store(of_ten_thousand, Ordering::Relaxed);
    }

    /// Nothing comes through until [`Route::resume`]; then everything does.
    pub fn stall(&self) {
        self.is_stalled.store(true, Ordering::Relaxed);
    }

    /// Ends [`Route::stall`].
    pub fn resume(&self) {
        self.is_stalled.store(false, Ordering::Relaxed);
        self.resumed.notify_waiters();
        self.each_connection(Connection::wake);
    }

    /// Resets all connections.
    pub fn cut_all(&self) {
        self.each_connection(Connection::cut);
    }

    /// Kills all connections without a word: what is sent on them from now on never comes, and nobody is told.
    pub fn silence_all(&self) {
        self.each_connection(Connection::silence);
    }

    /// Resets the connections that were silenced.
    pub fn end_silence(&self) {
        self.each_connection(Connection::end_silence);
    }

    /// How many connections were cut.
    pub fn cuts(&self) -> u64 {
        self.cut_count.load(Ordering::Relaxed)
    }

    pub(super) fn is_stalled(&self) -> bool {
        self.is_stalled.load(Ordering::Relaxed)
    }

    /// How long the next piece takes.
    pub(super) fn delay(&self) -> Duration {
        let (least, most) = (self.least.load(Ordering::Relaxed), self.most.load(Ordering::Relaxed));
        Duration::from_millis(self.random.between(least, most.max(least)))
    }

    /// How much longer the next piece takes if the process sends it.
    pub(super) fn lateness(&self) -> Duration {
        Duration::from_millis(self.lateness.load(Ordering::Relaxed))
    }

    /// After how many bytes of a piece the connection breaks, if it does.
    pub(super) fn breaks_at(&self, len: usize) -> Option<usize> {
        let cuts = self.cuts.load(Ordering::Relaxed);
        (cuts > 0 && self.random.below(10_000) < cuts).then(|| self.random.below(len as u64 + 1) as usize)
    }

    pub(super) fn add(&self, connection: Weak<Connection>) {
        let mut connections = self.connections.lock().unwrap_or_else(PoisonError::into_inner);
        connections.retain(|connection| connection.strong_count() > 0);
        connections.push(connection);
    }

    /// One way of something that is no connection yet.
    #[expect(clippy::disallowed_methods, reason = "time is the world's")]
    pub(super) async fn cross(&self) {
        loop {
            let resumed = self.resumed.notified();
            if !self.is_stalled() {
                break;
            }
            resumed.await;
        }
        tokio::time::sleep(self.delay()).await;
    }

    fn each_connection(&self, act: impl Fn(&Connection)) {
        let connections = self.connections.lock().unwrap_or_else(PoisonError::into_inner).clone();
        connections.iter().filter_map(Weak::upgrade).for_each(|connection| act(&connection));
    }
}
