//! What the driver has seen of each partition, shared by all its operations.

use std::sync::Arc;

use arc_swap::ArcSwap;
use cosmonaut_policy::{PartitionId, SessionContainer};
use cosmonaut_wire::{ResourceId, SessionToken, headers};
use http::HeaderMap;

/// The session of a driver.
#[derive(Default)]
pub(crate) struct SessionStore {
    current: ArcSwap<SessionContainer>,
}

impl SessionStore {
    /// What has been seen so far.
    pub(crate) fn load(&self) -> arc_swap::Guard<Arc<SessionContainer>> {
        self.current.load()
    }

    /// Takes in what an answer says. An answer that says nothing new, as most do, changes nothing.
    pub(crate) fn capture(
        &self,
        container: ResourceId,
        partition: Option<&PartitionId>,
        response: &HeaderMap,
    ) {
        if let Some(partition) = partition {
            return self.update(|current| current.after_response(partition, response));
        }
        let token = response.get(headers::SESSION_TOKEN).and_then(|token| token.to_str().ok()?.parse().ok());
        if let Some(token) = token {
            self.adopt(container, &token);
        }
    }

    /// Takes in a token from elsewhere.
    pub(crate) fn adopt(&self, container: ResourceId, token: &SessionToken) {
        self.update(|current| current.after_token(container, token));
    }

    /// Forgets a container that is gone.
    pub(crate) fn forget(&self, container: ResourceId) {
        self.update(|current| Some(current.without(container)));
    }

    fn update(&self, change: impl Fn(&SessionContainer) -> Option<SessionContainer>) {
        let mut current = self.current.load();
        while let Some(next) = change(&current) {
            let previous = self.current.compare_and_swap(&*current, Arc::new(next));
            if Arc::ptr_eq(&previous, &current) {
                return;
            }
            current = previous;
        }
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn concurrent_answers_lose_nothing() {
        const THREADS: u64 = 4;
        const WRITES: u64 = 500;
        let (store, container) = (SessionStore::default(), ResourceId::container(1, 1));
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                let store = &store;
                scope.spawn(move || {
                    for lsn in 1..=WRITES {
                        let token = HeaderValue::try_from(format!("{thread}:0#{lsn}")).unwrap();
                        let response = HeaderMap::from_iter([(headers::SESSION_TOKEN, token)]);
                        // Half of them know their partition, as cross-partition queries do not.
                        let partition = PartitionId::new(container, thread.to_string().as_str());
                        store.capture(container, (lsn % 2 == 0).then_some(&partition), &response);
                    }
                });
            }
        });
        for thread in 0..THREADS {
            let partition = PartitionId::new(container, thread.to_string().as_str());
            let token = store.load().for_partition(&partition, &[]).unwrap();
            assert_eq!(token, format!("{thread}:0#{WRITES}"));
        }
        store.forget(container);
        assert!(store.load().for_container(container).is_empty());
    }
}
