//! A session under watch: what it has seen and written, and the proof that no answer takes it back.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use cosmonaut_driver::{AttemptOutcome, CosmosResponse, DiagnosticsContext, PartitionInfo};
use cosmonaut_wire::{PartitionToken, SessionToken, headers};

use super::account::token;
use crate::harness::json_of;

/// What all sessions know together. Each key is written by one session, with ever higher values.
#[derive(Default)]
pub(crate) struct History {
    keys: Mutex<BTreeMap<String, Known>>,
}

#[derive(Default)]
struct Known {
    acknowledged: Vec<Write>,
    /// Values of writes that may be applied late, or once more: nobody was told about one of their attempts.
    restless: BTreeSet<u64>,
}

/// An acknowledged write, and its place in its partition's log.
struct Write {
    place: Place,
    value: u64,
}

/// A place in a partition's log. After a forced failover the log goes on under a higher version.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Place {
    version: i64,
    lsn: i64,
}

impl History {
    pub(crate) fn may_come_late(&self, key: &str, value: u64) {
        self.keys.lock().unwrap().entry(key.to_owned()).or_default().restless.insert(value);
    }

    fn acknowledge(&self, key: &str, write: Write) {
        self.keys.lock().unwrap().entry(key.to_owned()).or_default().acknowledged.push(write);
    }

    fn is_restless(&self, key: &str, value: u64) -> bool {
        self.keys.lock().unwrap().get(key).is_some_and(|known| known.restless.contains(&value))
    }

    /// The highest value of a key that somebody who has come this far must see.
    fn least_at(&self, key: &str, seen: Place) -> Option<u64> {
        let keys = self.keys.lock().unwrap();
        let writes = keys.get(key)?.acknowledged.iter();
        let is_before = |write: &&Write| write.place.version == seen.version && write.place.lsn <= seen.lsn;
        writes.filter(is_before).map(|write| write.value).max()
    }
}

/// A session that passes its token on from answer to answer.
#[derive(Default)]
pub(crate) struct Session {
    pub(crate) token: SessionToken,
    /// The highest value of each key that it has read or written.
    seen: BTreeMap<String, u64>,
}

impl Session {
    /// A write was acknowledged.
    pub(crate) fn wrote(&mut self, history: &History, key: &str, value: u64, answer: &CosmosResponse) {
        let told = token(answer);
        let place = place(answer);
        // The log goes on under a new version: it was moved by force, and what it has lost the answer to a write does
        // not say. Whoever sees that begins anew.
        let before = told.iter().find_map(|(range, _)| self.token.get(range).map(version));
        if before.is_some_and(|before| before < place.version) {
            *self = Self::default();
        }
        if may_be_applied_again(answer.diagnostics()) {
            history.may_come_late(key, value);
        }
        history.acknowledge(key, Write { place, value });
        self.take_in(&told, key, value);
    }

    /// A read was answered: checks that it is not the past.
    pub(crate) fn read(
        &mut self,
        history: &History,
        key: &str,
        partitions: &[PartitionInfo],
        answer: &CosmosResponse,
    ) {
        let (value, told) = (json_of(answer)["value"].as_u64().unwrap(), token(answer));
        let shown = || format!("{key} is {value}, session {}: {}", self.token, answer.diagnostics());
        let had_seen = told.iter().find_map(|(range, progress)| {
            let partition = partitions.iter().find(|one| one.id.range() == range);
            let parents = partition.map_or(&[][..], |one| &one.parents);
            let mine = self.token.for_range(range, parents).unwrap()?;
            assert!(progress.is_at_least(&mine), "the region has only seen {progress}: {}", shown());
            Some(mine)
        });
        let is_restless = history.is_restless(key, value);
        let own = self.seen.get(key).copied().unwrap_or_default();
        assert!(value >= own || is_restless, "it has seen {own} before: {}", shown());
        // Sequence numbers are comparable where one region at a time gives them out.
        if let Some(PartitionToken::Vector(mine)) = had_seen.filter(|mine| !lists_regions(mine)) {
            let least = history.least_at(key, Place { version: mine.version(), lsn: mine.global().0 });
            assert!(
                least.is_none_or(|least| value >= least) || is_restless,
                "others wrote {least:?}: {}",
                shown()
            );
        }
        self.take_in(&told, key, value);
    }

    /// What it had seen was lost: it begins anew.
    pub(crate) fn restart(&mut self) {
        *self = Self::default();
    }

    fn take_in(&mut self, told: &SessionToken, key: &str, value: u64) {
        self.token.merge(told).unwrap();
        let seen = self.seen.entry(key.to_owned()).or_default();
        *seen = value.max(*seen);
    }
}

/// Whether an attempt was made that nobody heard of again.
fn may_be_applied_again(diagnostics: &DiagnosticsContext) -> bool {
    let is_unheard = |outcome: AttemptOutcome| match outcome {
        AttemptOutcome::Answered(_) => false,
        AttemptOutcome::Failed { sent, .. } => sent.may_have_arrived(),
        AttemptOutcome::DeadlineExceeded | AttemptOutcome::Cancelled | AttemptOutcome::LeftRunning => true,
    };
    diagnostics.attempts().iter().any(|attempt| is_unheard(attempt.outcome))
}

fn place(answer: &CosmosResponse) -> Place {
    let version = token(answer).iter().map(|(_, progress)| version(progress)).max().unwrap();
    let lsn = answer.headers()[headers::ITEM_LSN].to_str().unwrap().parse().unwrap();
    Place { version, lsn }
}

fn version(progress: &PartitionToken) -> i64 {
    match progress {
        PartitionToken::Simple(_) => panic!("{progress} has no version"),
        PartitionToken::Vector(vector) => vector.version(),
    }
}

fn lists_regions(progress: &PartitionToken) -> bool {
    match progress {
        PartitionToken::Simple(_) => false,
        PartitionToken::Vector(vector) => vector.regions().next().is_some(),
    }
}
