//! Changing parts of an item.
//!
//! The operations work on the item's own text (`patch_tree`); here is what they mean and what they may not touch.
//!
//! What may take long is decided about a copy, with no lock held. It counts if the item is still as it was when it is
//! committed, and is decided anew if not.

use std::sync::Arc;

use cosmonaut_query::ast::PathSegment;
use cosmonaut_query::eval::{Environment, EvalError, Limits, Program};
use cosmonaut_query::raw::validate;
use cosmonaut_query::{Parameters, Setting};
use cosmonaut_wire::model::{PatchDocument, PatchOperation, PatchPath, from_json};
use cosmonaut_wire::{CosmosStatus, PartitionKey};

use super::incoming::{Incoming, check_size};
use super::patch_tree::{Edit, Node};
use super::put::write;
use super::{Conditions, ItemReply, ItemRequest, Outcome, Site, find_live, not_found, required_key};
use crate::engine::document::SYSTEM_MEMBERS;
use crate::engine::key::KeyReader;
use crate::engine::replica::Transaction;
use crate::engine::{Container, Document, RegionId, charge};
use crate::pace::Next;
use crate::{Failure, Pace, Timestamp};

/// A patch, ready to be applied.
pub(super) struct Patch<'a> {
    key: PartitionKey,
    id: &'a str,
    conditions: Conditions<'a>,
    condition: Option<Program>,
    operations: Vec<PatchOperation>,
    /// What has to be judged before the patch can be applied.
    wanted: Option<Arc<Document>>,
    judged: Option<Judged>,
}

/// What a patch makes of a version of an item.
struct Judged {
    version: Arc<Document>,
    patched: Result<Incoming, Failure>,
}

/// Items of so many bytes are patched while their partition waits; larger ones before.
const SMALL: usize = 64 * 1024;

impl Container {
    /// Changes parts of an item.
    pub fn patch_item(&self, region: RegionId, request: ItemRequest<'_>) -> Result<ItemReply, Failure> {
        let key = required_key(self, request.key.as_ref())?.clone();
        let epk = self.keys().place(&key)?;
        let mut patch = self.prepare_patch(key, &request)?;
        loop {
            let done = self.transact_one(region, &epk, request.session, |site, tx| patch.apply(site, tx));
            if !patch.judge_wanted(self.keys(), &request.pace) {
                return done;
            }
        }
    }

    pub(super) fn prepare_patch<'a>(
        &self,
        key: PartitionKey,
        request: &ItemRequest<'a>,
    ) -> Result<Patch<'a>, Failure> {
        let document: PatchDocument =
            from_json("patch", &request.body).map_err(|error| Failure::bad_request(error.to_string()))?;
        document.validate().map_err(|error| Failure::bad_request(error.to_string()))?;
        for (nth, operation) in document.operations.iter().enumerate() {
            check_paths(operation, self.keys()).map_err(|why| refuse(nth, operation, &why))?;
        }
        let compiled = |text| compile(text, &Setting::of(&self.properties()), self.now());
        let condition = document.condition.as_deref().map(compiled).transpose()?;
        let (id, conditions, operations) = (request.id, request.conditions, document.operations);
        Ok(Patch { key, id, conditions, condition, operations, wanted: None, judged: None })
    }
}

impl Patch<'_> {
    /// Applies the patch, unless it has to be judged before: then it wants that, and fails.
    pub(super) fn apply(&mut self, site: Site<'_>, tx: &mut Transaction<'_>) -> Result<Outcome, Failure> {
        let current = self.find(site, tx).ok_or_else(|| not_found(self.id))?;
        self.conditions.check_item(current.etag)?;
        let (number, indexed) = (current.number, current.indexed);
        let judged = match self.judged.take() {
            Some(judged) if judged.is_about(&current, tx) => judged,
            _ if self.is_judged_apart(&current, tx) => {
                self.wanted = Some(current);
                return Err(Failure::conflict("the patch is not judged yet").with_charge(0.0));
            }
            _ => self.judge(current, site.container.keys(), &Pace::default()),
        };
        let incoming = self.judged.insert(judged).patched.as_ref().map_err(Clone::clone)?;
        Ok(write(site, tx, Some(number), incoming, indexed)?.outcome(CosmosStatus::OK))
    }

    /// Looks what is to be judged, for a patch whose turn has not come yet.
    pub(super) fn look(&mut self, site: Site<'_>, tx: &Transaction<'_>) {
        let current = self.find(site, tx).filter(|current| self.is_judged_apart(current, tx));
        let is_judged =
            |current: &Arc<Document>| self.judged.as_ref().is_some_and(|judged| judged.is_about(current, tx));
        self.wanted = current.filter(|current| !is_judged(current));
    }

    /// Whether it has failed only because it has to be judged.
    pub(super) fn wants_judging(&self) -> bool {
        self.wanted.is_some()
    }

    /// Judges what has to be; false if nothing has. No lock may be held.
    pub(super) fn judge_wanted(&mut self, keys: &KeyReader, pace: &Pace) -> bool {
        let Some(version) = self.wanted.take() else { return false };
        self.judged = Some(self.judge(version, keys, pace));
        true
    }

    fn find(&self, site: Site<'_>, tx: &Transaction<'_>) -> Option<Arc<Document>> {
        find_live(tx.state(), site.container.rid(), &self.key, self.id, tx.now()).cloned()
    }

    /// Whether it takes too long for the lock. What a batch has written itself is there only within its transaction:
    /// without a condition it is judged there, not in one more attempt.
    fn is_judged_apart(&self, current: &Document, tx: &Transaction<'_>) -> bool {
        let is_own = (current.origin, current.lsn) == (tx.origin(), tx.lsn());
        self.condition.is_some() || (current.text_len() > SMALL && !is_own)
    }

    pub(super) fn id(&self) -> &str {
        self.id
    }

    fn judge(&self, version: Arc<Document>, keys: &KeyReader, pace: &Pace) -> Judged {
        Judged { patched: self.patched(&version, keys, pace), version }
    }

    fn patched(&self, version: &Document, keys: &KeyReader, pace: &Pace) -> Result<Incoming, Failure> {
        let text = version.text();
        self.check_condition(&text, pace)?;
        let body = apply(&text, &self.operations)?;
        let incoming = Incoming::read(&body, keys, Some(&self.key))?;
        if *incoming.id != *version.id() {
            return Err(Failure::bad_request("a patch cannot change the id of an item"));
        }
        Ok(incoming)
    }

    fn check_condition(&self, text: &[u8], pace: &Pace) -> Result<(), Failure> {
        let Some(condition) = &self.condition else { return Ok(()) };
        // An item that others change all the time is judged again and again.
        if pace.next() == Next::Stop {
            return Err(timed_out());
        }
        match condition.interrupted_by(pace.interrupt()).matches(text) {
            Ok(true) => Ok(()),
            Ok(false) => Err(Failure::precondition_failed(
                "One of the specified pre-condition is not met: the patch's condition does not hold for the item",
            )
            .with_charge(charge::NOTHING)),
            Err(EvalError::Interrupted) => Err(timed_out()),
            Err(error) => Err(Failure::bad_request(format!("the patch's condition cannot be evaluated: {error}"))),
        }
    }
}

impl Judged {
    /// Whether it is about the version that there is now. A version of this transaction may have had another tag, and a
    /// new item another number, when that was tried before.
    fn is_about(&self, current: &Document, tx: &Transaction<'_>) -> bool {
        let is_own = (current.origin, current.lsn) == (tx.origin(), tx.lsn());
        let is_same = is_own || (self.version.number, self.version.etag) == (current.number, current.etag);
        is_same && self.version.open() == current.open()
    }
}

fn timed_out() -> Failure {
    Failure::new(
        CosmosStatus::REQUEST_TIMEOUT,
        "Request timed out. The patch's condition takes longer to evaluate than clients wait (narrow its JOINs)",
    )
}

/// The item after all operations, each seeing what those before it did.
pub(super) fn apply(body: &[u8], operations: &[PatchOperation]) -> Result<Vec<u8>, Failure> {
    let mut item = Node::new(body);
    for (nth, operation) in operations.iter().enumerate() {
        step(&mut item, operation).map_err(|why| refuse(nth, operation, &why))?;
    }
    let mut text = Vec::with_capacity(body.len() + 64);
    item.write(&mut text);
    check_size(text.len())?;
    validate(&text)
        .map_err(|error| Failure::bad_request(format!("the patched item is not acceptable: {error}")))?;
    Ok(text)
}

fn step(item: &mut Node, operation: &PatchOperation) -> Result<(), String> {
    let names = |path: &PatchPath| path.names().map(String::from).collect::<Vec<_>>();
    let node = |value: &serde_json::Value| Node::Text(value.to_string().into_bytes());
    let done = match operation {
        PatchOperation::Add { path, value } => item.edit(&names(path), Edit::Insert(node(value))),
        PatchOperation::Set { path, value } => item.edit(&names(path), Edit::Set(node(value))),
        PatchOperation::Replace { path, value } => item.edit(&names(path), Edit::Replace(node(value))),
        PatchOperation::Remove { path } => item.edit(&names(path), Edit::Remove),
        PatchOperation::Increment { path, value } => item.edit(&names(path), Edit::Increment(value.clone())),
        PatchOperation::Move { from, path } => {
            let (from, path) = (names(from), names(path));
            if path.starts_with(&from) && path != from {
                return Err("an item cannot be moved into itself".to_owned());
            }
            match item.edit(&from, Edit::Remove)? {
                Some(moved) => item.edit(&path, Edit::Insert(moved)),
                None => Ok(None),
            }
        }
    };
    done.map(drop)
}

/// Refuses what no patch may touch: the id, the partition key and the system members.
fn check_paths(operation: &PatchOperation, keys: &KeyReader) -> Result<(), String> {
    let from = if let PatchOperation::Move { from, .. } = operation { Some(from) } else { None };
    for path in from.into_iter().chain([operation.path()]) {
        let names: Vec<_> = path.names().collect();
        let first = names.first().map_or("", |name| &**name);
        if first == "id" || SYSTEM_MEMBERS.contains(&first) {
            return Err(format!("{path} is the id or a system member, which a patch cannot change"));
        }
        let is_on_the_way = |key: &Vec<PathSegment>| {
            let is_same = |(segment, name): (&PathSegment, &std::borrow::Cow<'_, str>)| match segment {
                PathSegment::Member(member) => *member == **name,
                PathSegment::Index(_) => false,
            };
            key.iter().zip(&names).all(is_same)
        };
        if keys.paths().iter().any(is_on_the_way) {
            return Err(format!("{path} is the partition key or holds it, which a patch cannot change"));
        }
    }
    Ok(())
}

fn refuse(nth: usize, operation: &PatchOperation, why: &str) -> Failure {
    Failure::bad_request(format!("For Operation({}): {why} (at {})", nth + 1, operation.path()))
}

/// A condition is a query without its `SELECT`: `FROM c WHERE …`.
fn compile(condition: &str, setting: &Setting, now: Timestamp) -> Result<Program, Failure> {
    let invalid = |error: &dyn std::fmt::Display| {
        Failure::bad_request(format!("the patch's condition {condition:?} is not acceptable: {error}"))
    };
    let query = cosmonaut_query::parse(&format!("SELECT * {condition}")).map_err(|error| invalid(&error))?;
    let environment = Environment {
        now_ticks: now.0 as i64 * 10,
        random: &|| 0.0,
        limits: Limits::default(),
        computed: &[],
        setting,
    };
    Program::compile(&query, &Parameters::new(), &environment).map_err(|error| invalid(&error))
}

#[cfg(test)]
mod tests;
