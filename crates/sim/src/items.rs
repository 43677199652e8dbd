//! A task that reads and writes items, and notes what it asked and what it was told. Queries are in `queries`, and what is
//! written in bulk is in `bulk`.

use std::collections::BTreeMap;
use std::time::Duration;

use cosmonaut::{
    AttemptDiagnostics, ContainerClient, DiagnosticsContext, Error, ErrorKind, Etag, Patch, RegionName,
};
use cosmonaut_driver::NextStep;
use serde::{Deserialize, Serialize};

use crate::history::{CallId, Key, Operation, Outcome, Refusal, Trail, Write, WriteKind};
use crate::random::Random;
use crate::recorder::{HowAnswered, Recorder};

/// An item as it is stored.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Item {
    pub(crate) id: String,
    pub(crate) pk: String,
    /// What queries sort by: a number of its own, and one that it shares.
    place: u32,
    tie: u32,
    pub(crate) trail: Trail,
}

/// A task of a client.
pub(crate) struct ItemTask {
    /// The container.
    pub(crate) container: ContainerClient,
    /// What it notes things in.
    pub(crate) recorder: Recorder,
    /// Its chance.
    pub(crate) random: Random,
    /// Whose session it belongs to.
    pub(crate) session: u32,
    /// Whether the session's token goes with its calls.
    pub(crate) has_token: bool,
    /// How many logical partitions there are.
    pub(crate) partitions: u32,
    /// How many items each has.
    pub(crate) items: u32,
    /// After how long a call is given up.
    pub(crate) timeout: Duration,
    /// The versions that it knows.
    pub(crate) known: BTreeMap<Key, (CallId, Etag)>,
    /// Whether it writes nothing.
    pub(crate) only_reads: bool,
}

impl ItemTask {
    /// Makes one call.
    pub(crate) async fn step(&mut self) {
        let kind = match self.only_reads {
            true => *self.random.pick(&[0, 83, 89]),
            false => self.random.below(100),
        };
        match kind {
            0..30 => self.read().await,
            30..70 => self.write().await,
            70..80 => self.batch().await,
            80..83 => self.bulk().await,
            83..89 => self.read_many().await,
            _ => self.query().await,
        }
    }

    pub(crate) fn key(&self) -> Key {
        let partition = self.random.below(u64::from(self.partitions)) as u32;
        Key { partition, item: self.random.below(u64::from(self.items)) as u32 }
    }

    pub(crate) fn item(key: Key, id: CallId) -> Item {
        Item {
            id: id_of(key),
            pk: partition_of(key),
            place: key.item * 1000 + key.partition,
            tie: key.tie(),
            trail: vec![id],
        }
    }

    async fn read(&mut self) {
        let key = self.key();
        let call = self.recorder.begin(self.session, self.has_token, |_| Operation::Read(key));
        let answer =
            self.container.read_item::<Item>(partition_of(key), &id_of(key)).timeout(self.timeout).await;
        match answer {
            Ok(answer) => {
                let answered = how_answered(answer.region(), answer.diagnostics());
                if let (Some(etag), Some(version)) = (answer.etag(), answer.value().trail.last()) {
                    self.known.insert(key, (*version, etag));
                }
                self.recorder.end(
                    call,
                    Outcome::Read(vec![(key, Some(answer.into_value().trail))]),
                    answered,
                );
            }
            Err(error) if error.is_not_found() => {
                self.known.remove(&key);
                self.recorder.end(call, Outcome::Read(vec![(key, None)]), how_refused(&error));
            }
            Err(error) => self.recorder.end(call, of_read(&error), how_refused(&error)),
        }
    }

    /// Notes that a write begins.
    pub(crate) fn begin_write(&self, operation: Operation) -> CallId {
        self.recorder.begin(self.session, self.has_token, |_| operation)
    }

    pub(crate) fn draw_write(&self, key: Key) -> Write {
        let kind = *self.random.pick(&[
            WriteKind::Create,
            WriteKind::Create,
            WriteKind::Upsert,
            WriteKind::Upsert,
            WriteKind::Replace,
            WriteKind::Patch,
            WriteKind::Patch,
            WriteKind::Delete,
        ]);
        let known = self.known.get(&key).map(|(version, _)| *version);
        // An upsert has no condition in a batch.
        let is_conditional =
            !matches!(kind, WriteKind::Create | WriteKind::Upsert) && self.random.percent(40);
        Write { key, kind, if_match: known.filter(|_| is_conditional) }
    }

    /// The version tag that belongs to a condition.
    pub(crate) fn etag(&self, write: &Write) -> Option<Etag> {
        write.if_match.and_then(|_| self.known.get(&write.key)).map(|(_, etag)| etag.clone())
    }

    async fn write(&mut self) {
        let key = self.key();
        let write = self.draw_write(key);
        let etag = self.etag(&write);
        let call = self.begin_write(Operation::Write(write));
        let (partition, id) = (partition_of(key), id_of(key));
        let item = Self::item(key, call);
        let (container, limit) = (&self.container, self.timeout);
        let request = match write.kind {
            WriteKind::Create => container.create_item(partition, &item),
            WriteKind::Upsert => container.upsert_item(partition, &item),
            WriteKind::Replace => container.replace_item(partition, &id, &item),
            WriteKind::Patch => container.patch_item(partition, &id, appending(call)),
            WriteKind::Delete => return self.delete(call, key, etag).await,
        };
        let request = request.timeout(limit);
        let answer = match etag {
            Some(etag) => request.if_match(etag).await,
            None => request.await,
        };
        match answer {
            Ok(answer) => {
                if let Some(etag) = answer.etag() {
                    self.known.insert(key, (call, etag));
                }
                let answered = how_answered(answer.region(), answer.diagnostics());
                self.recorder.end(call, Outcome::Written, answered);
            }
            Err(error) => self.recorder.end(call, of_write(&error), how_refused(&error)),
        }
    }

    async fn delete(&mut self, call: CallId, key: Key, etag: Option<Etag>) {
        let request = self.container.delete_item(partition_of(key), &id_of(key)).timeout(self.timeout);
        let answer = match etag {
            Some(etag) => request.if_match(etag).await,
            None => request.await,
        };
        match answer {
            Ok(answer) => {
                self.known.remove(&key);
                let answered = how_answered(answer.region(), answer.diagnostics());
                self.recorder.end(call, Outcome::Written, answered);
            }
            Err(error) => self.recorder.end(call, of_write(&error), how_refused(&error)),
        }
    }

    async fn batch(&mut self) {
        let partition = self.key().partition;
        let mut writes: Vec<Write> = Vec::new();
        for item in 0..self.items {
            if self.random.percent(60) {
                writes.push(self.draw_write(Key { partition, item }));
            }
        }
        if writes.is_empty() {
            return;
        }
        let etags: Vec<_> = writes.iter().map(|write| self.etag(write)).collect();
        let call = self.begin_write(Operation::Batch(writes.clone()));
        let mut batch = self.container.batch(format!("p{partition}"));
        for (write, etag) in writes.iter().zip(etags) {
            let (id, item) = (id_of(write.key), Self::item(write.key, call));
            batch = match (write.kind, etag) {
                (WriteKind::Create, _) => batch.create(&item),
                // A batch has no conditional upsert.
                (WriteKind::Upsert, _) => batch.upsert(&item),
                (WriteKind::Replace, None) => batch.replace(id, &item),
                (WriteKind::Replace, Some(etag)) => batch.replace_if_match(id, &item, etag),
                (WriteKind::Patch, None) => batch.patch(id, appending(call)),
                (WriteKind::Patch, Some(etag)) => batch.patch_if_match(id, appending(call), etag),
                (WriteKind::Delete, None) => batch.delete(id),
                (WriteKind::Delete, Some(etag)) => batch.delete_if_match(id, etag),
            };
        }
        match batch.execute().timeout(self.timeout).await {
            Ok(answer) => {
                for (write, result) in writes.iter().zip(answer.results()) {
                    match result.etag().filter(|_| write.kind != WriteKind::Delete) {
                        Some(etag) => self.known.insert(write.key, (call, etag.clone())),
                        None => self.known.remove(&write.key),
                    };
                }
                let answered = how_answered(answer.response().region(), answer.response().diagnostics());
                self.recorder.end(call, Outcome::Written, answered);
            }
            Err(error) => self.recorder.end(call, of_write(&error), how_refused(&error)),
        }
    }

    async fn read_many(&mut self) {
        let mut keys: Vec<Key> = (0..self.random.between(1, 6)).map(|_| self.key()).collect();
        keys.sort_unstable();
        keys.dedup();
        let call = self.recorder.begin(self.session, self.has_token, |_| Operation::ReadMany(keys.clone()));
        let pairs = keys.iter().map(|key| (partition_of(*key), id_of(*key)));
        match self.container.read_many::<Item>(pairs).timeout(self.timeout).await {
            Ok(answer) => {
                let trails = answer.into_items().into_iter().map(|item| item.map(|item| item.trail));
                self.recorder.end(
                    call,
                    Outcome::Read(keys.into_iter().zip(trails).collect()),
                    HowAnswered::default(),
                );
            }
            Err(error) => self.recorder.end(call, of_read(&error), how_refused(&error)),
        }
    }
}

pub(crate) fn appending(call: CallId) -> Patch {
    Patch::new().add("/trail/-", call)
}

/// The partition key of an item.
pub(crate) fn partition_of(key: Key) -> String {
    format!("p{}", key.partition)
}

/// The id of an item.
pub(crate) fn id_of(key: Key) -> String {
    format!("i{}", key.item)
}

/// The item that a partition key and an id name.
pub(crate) fn key_of(partition: &str, id: &str) -> Key {
    let number = |text: &str| text.get(1..).and_then(|digits| digits.parse().ok()).unwrap_or(u32::MAX);
    Key { partition: number(partition), item: number(id) }
}

pub(crate) fn how_refused(error: &Error) -> HowAnswered {
    let Some(diagnostics) = error.diagnostics() else { return HowAnswered::default() };
    let region = diagnostics.attempts().last().and_then(|attempt| attempt.endpoint.region());
    how_answered(region, diagnostics)
}

fn how_answered(region: Option<&RegionName>, diagnostics: &DiagnosticsContext) -> HowAnswered {
    HowAnswered {
        region: region.map(|region| region.as_str().to_owned()),
        sent_once: diagnostics.attempts().len() == 1,
        was_hedged: diagnostics.attempts().iter().any(is_of_a_hedge),
    }
}

fn is_of_a_hedge(attempt: &AttemptDiagnostics) -> bool {
    matches!(attempt.next, NextStep::HedgeTaken | NextStep::HedgeDropped)
}

pub(crate) fn of_read(error: &Error) -> Outcome {
    match error.kind() {
        ErrorKind::SessionNotAvailable => Outcome::Refused(Refusal::Session),
        ErrorKind::Throttled => Outcome::Refused(Refusal::Throttled),
        ErrorKind::Unauthorized => Outcome::Refused(Refusal::Other(401)),
        _ => Outcome::Failed(said(error)),
    }
}

pub(crate) fn of_write(error: &Error) -> Outcome {
    match error.kind() {
        ErrorKind::NotFound => Outcome::Refused(Refusal::NotFound),
        ErrorKind::Conflict => Outcome::Refused(Refusal::Conflict),
        ErrorKind::PreconditionFailed => Outcome::Refused(Refusal::Precondition),
        ErrorKind::Throttled => Outcome::Refused(Refusal::Throttled),
        ErrorKind::SessionNotAvailable => Outcome::Refused(Refusal::Session),
        ErrorKind::BadRequest | ErrorKind::Forbidden | ErrorKind::Unauthorized | ErrorKind::TooLarge => {
            Outcome::Refused(Refusal::Other(error.status().map_or(0, |status| status.code().as_u16())))
        }
        // Whoever cannot say what came of a write says just that. Other errors are certain.
        ErrorKind::Configuration
        | ErrorKind::Credential
        | ErrorKind::Serialization
        | ErrorKind::Unavailable
        | ErrorKind::Status
        | ErrorKind::DeadlineExceeded
        | ErrorKind::Transport => Outcome::Failed(said(error)),
        _ => Outcome::Unknown(said(error)),
    }
}

/// The first line of what an error says.
fn said(error: &Error) -> String {
    let text = error.to_string();
    text.lines().next().unwrap_or_default().chars().take(160).collect()
}
