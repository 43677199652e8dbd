//! Names of containers that were deleted, for those that are made again under them.
//!
//! Session tokens of the new container begin with a version that the old one's never had, so that nobody takes what was
//! seen of one for what is to be seen of the other. After a restart the names of those that are gone are forgotten.

use std::collections::VecDeque;

use crate::engine::container::Container;
use crate::engine::replication::Lineage;

/// How many names are kept: those of the containers that were deleted last.
const MOST: usize = 1_000;

#[derive(Default)]
pub(super) struct Retired {
    /// The database's name, the container's, and the highest version that a token of the container had.
    last: VecDeque<(String, String, i64)>,
}

impl Retired {
    /// The version with which session tokens of a new container begin.
    pub(super) fn first_version(&self, database: &str, container: &str) -> i64 {
        let is_it = |(of, name, _): &&(String, String, i64)| of == database && name == container;
        self.last.iter().rev().find(is_it).map_or(Lineage::FIRST_VERSION, |(_, _, version)| version + 1)
    }

    /// Remembers a container that was retired and is no longer in the catalog.
    pub(super) fn add(&mut self, database: &str, container: &Container) {
        let name = container.properties().id.clone();
        self.last.retain(|(of, known, _)| of != database || *known != name);
        self.last.push_back((database.to_owned(), name, container.last_token_version()));
        if self.last.len() > MOST {
            self.last.pop_front();
        }
    }
}
