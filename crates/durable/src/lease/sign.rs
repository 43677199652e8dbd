//! Signs of life: what each member says of itself, and who lives by what this process has seen.
//!
//! Pure: whether another member lives is judged by how long its sign has not changed here, by this machine's own
//! clock. Clocks of different machines are never compared.

use std::collections::BTreeMap;
use std::time::Duration;

use cosmonaut::mutation;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::Role;
use super::plan::Table;
use super::slots::Slots;

/// What the members of this version do: each leaves a trace of whatever it takes that may be delivered again. Those of
/// earlier versions do not say which revision they are of.
pub(super) const REVISION: u32 = 1;

/// What a member says of itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Sign {
    pub(super) name: String,
    /// Changes with each sign.
    pub(super) beat: u64,
    /// The version of the table that the member keeps to.
    pub(super) seen: u64,
    pub(super) role: Role,
    /// What the member does beyond what earlier versions do.
    #[serde(default)]
    pub(super) revision: u32,
}

/// What a member knows of the others.
pub(super) struct View {
    name: String,
    lease: Duration,
    beat: u64,
    /// The last sign of each member, and since when it has not changed.
    signs: BTreeMap<String, (Sign, Instant)>,
    table: Table,
    /// The version that this member has said it keeps to.
    said: u64,
    /// Since when the table is not what it should be.
    wrong_since: Option<Instant>,
}

impl View {
    /// Of a member that has seen nothing. `beat` should be another number each time.
    pub(super) fn new(name: String, lease: Duration, beat: u64) -> Self {
        let (signs, table) = (BTreeMap::new(), Table::default());
        Self { name, lease, beat, signs, table, said: 0, wrong_since: None }
    }

    /// The next sign of this member.
    pub(super) fn sign(&mut self, role: Role) -> Sign {
        self.beat = self.beat.wrapping_add(1);
        self.said = self.table.version;
        Sign { name: self.name.clone(), beat: self.beat, seen: self.said, role, revision: REVISION }
    }

    /// What is written down at this moment.
    pub(super) fn read(&mut self, signs: Vec<Sign>, table: Table, now: Instant) {
        self.table = table;
        let before = std::mem::take(&mut self.signs);
        for sign in signs {
            let since = match before.get(&sign.name) {
                Some((known, since)) if known.beat == sign.beat => *since,
                Some(_) | None => now,
            };
            self.signs.insert(sign.name.clone(), (sign, since));
        }
        if self.table.next(&self.living(now)).is_none() {
            self.wrong_since = None;
        } else {
            self.wrong_since.get_or_insert(now);
        }
    }

    /// Whether all members are of this revision or later ones.
    pub(super) fn is_uniform(&self) -> bool {
        self.signs.values().all(|(sign, _)| sign.revision >= REVISION)
    }

    /// The table that this member should write now, if that is up to it: the first that lives begins, and the others
    /// follow after a while each, so that they do not all write at once.
    pub(super) fn change(&self, now: Instant) -> Option<Table> {
        const MOST: u32 = 8;
        let living = self.living(now);
        let rank = living.iter().position(|sign| sign.name == self.name)?;
        let rank = u32::try_from(rank).unwrap_or(MOST).min(MOST);
        let since = self.wrong_since?;
        if now < since + self.pause() * rank {
            return None;
        }
        self.table.next(&living)
    }

    /// This member has written a table.
    pub(super) fn written(&mut self, table: Table) {
        (self.table, self.wrong_since) = (table, None);
    }

    /// The slots that this member may work on.
    pub(super) fn owned(&self, now: Instant) -> Slots {
        self.table.owned_by(&self.name, &self.living(now))
    }

    /// How long this member may wait before its next sign.
    pub(super) fn rest(&self, now: Instant) -> Duration {
        let has_share = self.owned(now) == self.table.share_of(&self.name);
        let has_said = self.said >= self.table.awaited_of(&self.name);
        if has_share && has_said && self.wrong_since.is_none() { self.pause() } else { self.lease / 10 }
    }

    fn pause(&self) -> Duration {
        self.lease / 3
    }

    /// The members that live, by name.
    fn living(&self, now: Instant) -> Vec<Sign> {
        let lives = |sign: &Sign, since: Instant| {
            sign.name == self.name || now < since + self.lease || mutation!("dead-process-keeps-its-share")
        };
        let living = self.signs.values().filter(|(sign, since)| lives(sign, *since));
        living.map(|(sign, _)| sign.clone()).collect()
    }
}
