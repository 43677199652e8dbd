//! Changing parts of an item.
//!
//! The operations work on the item's own text (`patch_tree`); here is what they mean and what they may not touch.

use cosmonaut_query::ast::PathSegment;
use cosmonaut_query::eval::{Environment, Limits, Program};
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
use crate::engine::{Container, RegionId, charge};
use crate::{Failure, Timestamp};

/// A patch, ready to be applied.
pub(super) struct Patch<'a> {
    key: PartitionKey,
    id: &'a str,
    conditions: Conditions<'a>,
    condition: Option<Program>,
    operations: Vec<PatchOperation>,
}

impl Container {
    /// Changes parts of an item.
    pub fn patch_item(&self, region: RegionId, request: ItemRequest<'_>) -> Result<ItemReply, Failure> {
        let key = required_key(self, request.key.as_ref())?.clone();
        let epk = self.keys().place(&key)?;
        let patch = self.prepare_patch(key, &request)?;
        self.transact_one(region, &epk, request.session, |site, tx| patch.apply(site, tx))
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
        Ok(Patch { key, id, conditions, condition, operations })
    }
}

impl Patch<'_> {
    pub(super) fn apply(&self, site: Site<'_>, tx: &mut Transaction<'_>) -> Result<Outcome, Failure> {
        let keys = site.container.keys();
        let current = find_live(tx.state(), site.container.rid(), &self.key, self.id, tx.now())
            .ok_or_else(|| not_found(self.id))?;
        self.conditions.check_item(current.etag)?;
        let text = current.text();
        self.check_condition(&text)?;
        let body = apply(&text, &self.operations)?;
        let (number, indexed) = (current.number, current.indexed);
        let incoming = Incoming::read(&body, keys, Some(&self.key))?;
        if *incoming.id != *current.id() {
            return Err(Failure::bad_request("a patch cannot change the id of an item"));
        }
        Ok(write(site, tx, Some(number), &incoming, indexed)?.outcome(CosmosStatus::OK))
    }

    fn check_condition(&self, text: &[u8]) -> Result<(), Failure> {
        let Some(condition) = &self.condition else { return Ok(()) };
        match condition.matches(text) {
            Ok(true) => Ok(()),
            Ok(false) => Err(Failure::precondition_failed(
                "One of the specified pre-condition is not met: the patch's condition does not hold for the item",
            )
            .with_charge(charge::NOTHING)),
            Err(error) => Err(Failure::bad_request(format!("the patch's condition cannot be evaluated: {error}"))),
        }
    }
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
