//! How an orchestration tells who waits for it that it is about to end, without anybody asking the store.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

/// Who waits, by instance.
#[derive(Default)]
pub struct Signals(Mutex<HashMap<String, oneshot::Sender<()>>>);

impl Signals {
    /// What resolves once an instance is about to end.
    pub fn expect(&self, instance: &str) -> oneshot::Receiver<()> {
        let (sender, receiver) = oneshot::channel();
        self.waiting().insert(instance.to_owned(), sender);
        receiver
    }

    /// The instance is about to end. A turn may run more than once; only the first time is told.
    pub fn raise(&self, instance: &str) {
        if let Some(sender) = self.waiting().remove(instance) {
            // Whoever waited may have given up.
            let _ = sender.send(());
        }
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<String, oneshot::Sender<()>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_signal_reaches_who_expects_it_once() {
        let signals = Signals::default();
        let expected = signals.expect("a");
        signals.raise("b");
        signals.raise("a");
        signals.raise("a");
        assert!(expected.await.is_ok());
    }
}
