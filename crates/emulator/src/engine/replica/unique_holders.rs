//! Which documents of a replica share a unique key.

use std::sync::Arc;

use cosmonaut_wire::PartitionKey;

use super::ReplicaState;
use crate::engine::Document;

impl ReplicaState {
    /// The document that a new version would share a unique key with, other than itself.
    pub(crate) fn unique_holder(&self, key: &PartitionKey, number: u64, body: &[u8]) -> Option<u64> {
        self.unique_holders(key, number, body).next()
    }

    /// All documents that share a unique key with a version, other than itself.
    pub(crate) fn unique_holders<'s>(
        &'s self,
        key: &PartitionKey,
        number: u64,
        body: &[u8],
    ) -> impl Iterator<Item = u64> + use<'s> {
        let names = self.unique_keys.names(key, body).into_iter();
        let holders = |name: Box<[u8]>| {
            let all = (name.clone(), 0)..=(name, u64::MAX);
            self.unique.range(all).map(|(_, holder)| *holder)
        };
        names.flat_map(holders).filter(move |holder| *holder != number)
    }

    /// All other documents that share a unique key with one.
    pub(crate) fn holders_beside(&self, document: &Document) -> impl Iterator<Item = u64> {
        self.unique_holders(&document.key, document.number, &document.text())
    }

    /// Documents of which another shares a unique key.
    pub(crate) fn shared_unique(&self) -> impl Iterator<Item = &Arc<Document>> {
        let pairs = self.unique.iter().zip(self.unique.iter().skip(1));
        let shared = pairs.filter(|(a, b)| a.0 == b.0).flat_map(|(a, b)| [a.1, b.1]);
        shared.filter_map(|number| self.share(number))
    }

    pub(crate) fn has_unique_keys(&self) -> bool {
        !self.unique.is_empty()
    }
}
