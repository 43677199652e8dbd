//! Whether a connection is used, and how long it may stay when it is not.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::Notify;

/// How often an unused connection is looked at.
const TICK: Duration = Duration::from_secs(10);

/// How many looks a connection has until its first request has come.
const FIRST_REQUEST: u32 = 3;

/// How many looks a connection may be without a request afterwards.
const IDLE: u32 = 30;

/// What a connection does.
#[derive(Default)]
pub(super) struct Activity {
    requests: AtomicU64,
    in_flight: AtomicUsize,
    /// Told when others need the place of this connection.
    wanted: Notify,
}

/// A request under way.
pub(super) struct InFlight(Arc<Activity>);

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Activity {
    pub(super) fn begin(self: &Arc<Self>) -> InFlight {
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        InFlight(Arc::clone(self))
    }

    /// Asks the connection to end if it is not used.
    pub(super) fn make_room(&self) {
        if self.in_flight.load(Ordering::Relaxed) == 0 {
            self.wanted.notify_one();
        }
    }

    /// Returns when the connection has not been used for too long; says whether it ever was.
    pub(super) async fn unused(&self) -> bool {
        let (mut seen, mut quiet) = (self.requests.load(Ordering::Relaxed), 0);
        loop {
            tokio::select! {
                () = crate::world::sleep(TICK) => {}
                () = self.wanted.notified() => quiet = IDLE,
            }
            let requests = self.requests.load(Ordering::Relaxed);
            let is_used = self.in_flight.load(Ordering::Relaxed) > 0 || requests != seen;
            quiet = if is_used { 0 } else { quiet + 1 };
            seen = requests;
            if quiet >= if requests == 0 { FIRST_REQUEST } else { IDLE } {
                return requests > 0;
            }
        }
    }
}
