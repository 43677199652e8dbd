//! What this process has lately seen, so that an echo in the change feed is not taken for news.
//!
//! It forgets: the oldest entries make room. A forgotten entry costs one needless request, never a message.

use std::collections::{HashSet, VecDeque};
use std::hash::{BuildHasher, Hash, RandomState};

/// How many entries are remembered.
const CAPACITY: usize = 1 << 16;

/// A bounded set of hashes.
pub(super) struct Recent {
    hasher: RandomState,
    known: HashSet<u64>,
    order: VecDeque<u64>,
}

impl Recent {
    pub(super) fn new() -> Self {
        Self { hasher: RandomState::new(), known: HashSet::new(), order: VecDeque::new() }
    }

    /// The mark by which something is remembered.
    pub(super) fn mark(&self, what: impl Hash) -> u64 {
        self.hasher.hash_one(what)
    }

    /// Remembers something; false if it was known already.
    pub(super) fn insert(&mut self, what: impl Hash) -> bool {
        let hash = self.mark(what);
        if !self.known.insert(hash) {
            return false;
        }
        self.order.push_back(hash);
        if self.order.len() > CAPACITY
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
        true
    }

    #[cfg(test)]
    fn contains(&self, what: impl Hash) -> bool {
        self.known.contains(&self.mark(what))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_is_forgotten_first() {
        let mut recent = Recent::new();
        assert!(recent.insert(("a", 1)));
        assert!(!recent.insert(("a", 1)));
        for n in 0..CAPACITY {
            recent.insert(n);
        }
        assert!(!recent.contains(("a", 1)));
        assert!(recent.contains(0_usize) && recent.contains(CAPACITY - 1));
        assert_eq!(recent.known.len(), recent.order.len());
    }
}
