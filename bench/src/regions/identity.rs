//! An identity service whose tokens are due for the next one while it hangs.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::sync::watch;

/// Both clients ask for the next token this long before the one that they have expires.
pub const AHEAD: Duration = Duration::from_secs(5 * 60);

pub struct Identity {
    hangs: watch::Sender<bool>,
    /// How soon a token is due for the next one.
    due_after: Duration,
}

impl Identity {
    pub fn new(due_after: Duration) -> Self {
        Self { hangs: watch::Sender::new(false), due_after }
    }

    pub fn hang(&self, hangs: bool) {
        self.hangs.send_replace(hangs);
    }

    /// When a token that is issued now expires, since the start of 1970; not before the service answers.
    pub async fn token(&self) -> Duration {
        // Whoever holds the service holds the sender.
        let _ = self.hangs.subscribe().wait_for(|hangs| !hangs).await;
        SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default() + AHEAD + self.due_after
    }
}
