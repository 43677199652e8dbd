//! The conflict feed: versions that have lost against another region's, kept for the application to look at.
//!
//! Who wins is decided by the replicas. Where the last writer wins, nothing is listed: the service has decided. It is
//! listed where the application wants to decide, and where a unique key was taken twice.

use std::collections::BTreeMap;
use std::sync::Arc;

use cosmonaut_wire::{EpkRange, ResourceId, ResourceType};
use serde::Serialize;
use serde_json::value::RawValue;

use super::container::Container;
use super::replication::{CommitId, Loser};
use super::{Document, FeedScope, PartitionRange, Replica, locks};
use crate::storage::{Commit, Record, SavedConflict};
use crate::{Failure, Timestamp};

/// The conflicts of a container, by number.
pub(crate) type Conflicts = BTreeMap<u64, Arc<Conflict>>;

/// A version that has lost.
#[derive(Clone, Debug)]
pub struct Conflict {
    container: ResourceId,
    number: u64,
    loser: Arc<Document>,
    created: bool,
    /// It is found once a region has both of these commits. None if one has: since a restart, every region.
    between: Option<[CommitId; 2]>,
    made: Timestamp,
}

/// A conflict as the feed shows it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Shown<'a> {
    id: &'a str,
    #[serde(rename = "_rid")]
    rid: &'a str,
    #[serde(rename = "_self")]
    self_link: String,
    #[serde(rename = "_etag")]
    etag: String,
    #[serde(rename = "_ts")]
    timestamp: u64,
    operation_type: &'static str,
    resource_type: &'static str,
    /// The resource id of the item.
    resource_id: String,
    /// The version that has lost, as text.
    content: &'a str,
    #[serde(rename = "conflict_lsn")]
    lsn: i64,
}

impl Conflict {
    fn new(container: ResourceId, number: u64, loser: Loser, made: Timestamp) -> Self {
        let Loser { document, created, between } = loser;
        Self { container, number, loser: document, created, between, made }
    }

    /// A conflict as it was written to disk.
    pub(crate) fn restore(container: ResourceId, saved: SavedConflict) -> Self {
        let SavedConflict { number, loser, created, made } = saved;
        Self { container, number, loser, created, between: None, made }
    }

    /// Its number, in the order in which the later of the two commits were made.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Its id, which is its resource id.
    pub fn id(&self) -> String {
        self.container.child(ResourceType::Conflict, self.number).unwrap_or(self.container).to_string()
    }

    /// Whether a region has both versions: before, nobody can know.
    fn is_found_in(&self, range: &PartitionRange) -> bool {
        let has_both = |replica: &Arc<Replica>| {
            let progress = replica.progress();
            self.between.iter().flatten().all(|(origin, lsn)| progress.get(*origin) >= *lsn)
        };
        range.replicas().iter().any(has_both)
    }

    /// The version that has lost.
    pub fn loser(&self) -> &Document {
        &self.loser
    }

    /// When the later of the two versions was written.
    pub(crate) fn made(&self) -> Timestamp {
        self.made
    }

    pub(crate) fn is_created(&self) -> bool {
        self.created
    }

    /// What had been done: `create` or `replace`.
    pub fn operation(&self) -> &'static str {
        if self.created { "create" } else { "replace" }
    }

    /// The conflict as JSON.
    pub fn to_json(&self) -> Result<Vec<u8>, Failure> {
        let id = self.id();
        let database = self.container.parent().unwrap_or(self.container);
        let item = self.container.child(ResourceType::Document, self.loser.number).unwrap_or(self.container);
        let unreadable = |error: &dyn std::fmt::Display| {
            Failure::new(
                cosmonaut_wire::CosmosStatus::INTERNAL_SERVER_ERROR,
                format!("a stored conflict is not readable: {error}"),
            )
        };
        let text = self.loser.text();
        let content: &RawValue = serde_json::from_slice(&text).map_err(|error| unreadable(&error))?;
        let shown = Shown {
            id: &id,
            rid: &id,
            self_link: format!("dbs/{database}/colls/{}/conflicts/{id}/", self.container),
            etag: format!("\"{:08x}-0000-0000-0000-{:08x}0000\"", self.number, self.made.seconds()),
            timestamp: self.made.seconds(),
            operation_type: self.operation(),
            resource_type: "document",
            resource_id: item.to_string(),
            content: content.get(),
            lsn: self.loser.lsn,
        };
        serde_json::to_vec(&shown).map_err(|error| unreadable(&error))
    }
}

impl Container {
    /// Lists a version that has lost; returns what the journal is to be told of it.
    pub(crate) fn add_conflict(&self, loser: Loser) -> Record {
        let conflict = Arc::new(Conflict::new(self.rid(), self.next_number(), loser, self.now()));
        locks::lock(self.conflict_list()).insert(conflict.number, Arc::clone(&conflict));
        Record::Conflict(self.rid(), conflict)
    }

    /// The conflicts of a part of the container after a number, oldest first.
    pub fn conflicts(&self, scope: &FeedScope, after: u64) -> Result<Vec<Arc<Conflict>>, Failure> {
        let parts = scope.resolve(&self.layout(), self.definition())?;
        let covers = |keys: &EpkRange, document: &Document| match scope {
            FeedScope::Key(key) => keys.contains(&document.epk) && self.keys().covers(key, &document.key),
            FeedScope::Container | FeedScope::Range(_) | FeedScope::RangePart { .. } | FeedScope::Epk(_) => {
                keys.contains(&document.epk)
            }
        };
        let shown = |conflict: &&Arc<Conflict>| {
            let mut parts = parts.iter();
            parts.any(|(range, keys)| covers(keys, &conflict.loser) && conflict.is_found_in(range))
        };
        let conflicts = locks::lock(self.conflict_list());
        Ok(conflicts
            .range(after.saturating_add(1)..)
            .map(|(_, conflict)| conflict)
            .filter(shown)
            .cloned()
            .collect())
    }

    /// A conflict by its id; 404 if there is none.
    pub fn conflict(&self, id: &str) -> Result<Arc<Conflict>, Failure> {
        let conflicts = locks::lock(self.conflict_list());
        let conflict = conflicts.get(&self.conflict_number(id)?);
        conflict.filter(|conflict| self.has_found(conflict)).cloned().ok_or_else(|| no_conflict(id))
    }

    /// Takes a conflict out of the feed, once it is dealt with; 404 if there is none.
    pub fn delete_conflict(&self, id: &str) -> Result<Commit, Failure> {
        let number = self.conflict_number(id)?;
        let _admin = self.administer();
        self.check_not_deleted()?;
        let mut conflicts = locks::lock(self.conflict_list());
        let found = conflicts.get(&number).is_some_and(|conflict| self.has_found(conflict));
        found.then(|| conflicts.remove(&number)).ok_or_else(|| no_conflict(id))?;
        Ok(self.journal().append([Record::DropConflict(self.rid(), number)]))
    }

    fn has_found(&self, conflict: &Conflict) -> bool {
        conflict.is_found_in(self.layout().range_of(&conflict.loser.epk))
    }

    fn conflict_number(&self, id: &str) -> Result<u64, Failure> {
        let rid = id.parse::<ResourceId>().ok();
        let here = rid.filter(|rid| rid.kind() == ResourceType::Conflict && rid.is_in(&self.rid()));
        here.and_then(|rid| rid.number()).ok_or_else(|| no_conflict(id))
    }
}

fn no_conflict(id: &str) -> Failure {
    let shown: String = id.chars().take(200).collect();
    Failure::not_found(format!("Resource Not Found: there is no conflict {shown:?}"))
}
