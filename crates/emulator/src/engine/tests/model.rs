//! Random operations against the engine and against a map that cannot be wrong.

use std::collections::BTreeMap;

use cosmonaut_wire::PartitionKey;
use cosmonaut_wire::model::{BatchOperation, ContainerProperties, TimeToLive};
use proptest::prelude::*;
use serde_json::json;
use serde_json::value::to_raw_value;

use super::*;
use crate::engine::Conditions;

#[derive(Clone, Debug)]
enum Step {
    Create(Target),
    Upsert(Target, Condition),
    Replace(Target, Condition),
    Read(Target),
    Delete(Target, Condition),
    Increment(Target, Condition),
    Batch(u8, Vec<(u8, u8)>),
    Wait(u8),
    Sweep,
    Split(u8),
}

/// A key, an id, and a time to live.
type Target = (u8, u8, Option<u8>);

#[derive(Clone, Copy, Debug)]
enum Condition {
    None,
    Current,
    Stale,
    Absent,
}

struct Item {
    n: i64,
    etag: String,
    expires: Option<u64>,
}

#[derive(Default)]
struct Model {
    items: BTreeMap<(u8, u8), Item>,
    now: u64,
}

impl Model {
    fn live(&self, target: Target) -> Option<&Item> {
        let live = |item: &&Item| item.expires.is_none_or(|expires| self.now < expires);
        self.items.get(&(target.0, target.1)).filter(live)
    }

    fn put(&mut self, target: Target, n: i64, reply: &Result<ItemReply, Failure>) {
        let Ok(reply) = reply else { return };
        let etag = reply.etag.as_ref().unwrap().to_string();
        let expires = target.2.map(|ttl| self.now + u64::from(ttl));
        self.items.insert((target.0, target.1), Item { n, etag, expires });
    }
}

fn condition() -> impl Strategy<Value = Condition> {
    prop_oneof![
        Just(Condition::None),
        Just(Condition::Current),
        Just(Condition::Stale),
        Just(Condition::Absent)
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let target = || (0u8..3, 0u8..4, prop::option::weighted(0.3, 1u8..6));
    prop_oneof![
        4 => target().prop_map(Step::Create),
        4 => (target(), condition()).prop_map(|(target, condition)| Step::Upsert(target, condition)),
        3 => (target(), condition()).prop_map(|(target, condition)| Step::Replace(target, condition)),
        3 => target().prop_map(Step::Read),
        3 => (target(), condition()).prop_map(|(target, condition)| Step::Delete(target, condition)),
        3 => (target(), condition()).prop_map(|(target, condition)| Step::Increment(target, condition)),
        2 => (0u8..3, prop::collection::vec((0u8..4, 0u8..4), 1..6)).prop_map(|(key, kinds)| Step::Batch(key, kinds)),
        2 => (1u8..4).prop_map(Step::Wait),
        1 => Just(Step::Sweep),
        1 => any::<u8>().prop_map(Step::Split),
    ]
}

struct Run {
    world: Arc<StillWorld>,
    engine: Arc<Engine>,
    container: Arc<Container>,
    model: Model,
}

impl Run {
    fn new() -> Self {
        let (world, engine) = engine();
        let properties = ContainerProperties::new("c", "/pk").with_default_ttl(TimeToLive::NoExpiry);
        let container = add_container(&engine, properties, 400);
        Self { world, engine, container, model: Model::default() }
    }

    fn body(target: Target, n: i64) -> Value {
        let (key, id, ttl) = target;
        let mut item = json!({"id": id.to_string(), "pk": format!("k{key}"), "n": n});
        if let Some(ttl) = ttl {
            item["ttl"] = json!(ttl);
        }
        item
    }

    /// The tag to send as `If-Match`, or in the last case as `If-None-Match`; and whether the condition would hold.
    fn tag(&self, target: Target, condition: Condition) -> (Option<String>, bool) {
        let current = self.model.live(target).map(|item| item.etag.clone());
        match condition {
            Condition::None => (None, true),
            Condition::Current => (current.or(Some("\"none\"".to_owned())), true),
            Condition::Stale => (Some("\"stale\"".to_owned()), false),
            Condition::Absent => (Some("*".to_owned()), false),
        }
    }

    fn step(&mut self, step: &Step, n: i64) -> Result<(), TestCaseError> {
        match step {
            Step::Create(target) => {
                let expected = if self.model.live(*target).is_some() { 409 } else { 201 };
                let reply =
                    self.container.create_item(HERE, with(&key(*target), "", &Self::body(*target, n)));
                self.model.put(*target, n, &reply);
                prop_assert_eq!(status(&reply), expected);
            }
            Step::Upsert(target, condition) => {
                let (tag, holds) = self.tag(*target, *condition);
                let expected = match (self.model.live(*target), holds) {
                    (None, _) => 201,
                    (Some(_), true) => 200,
                    (Some(_), false) => 412,
                };
                let request = with(&key(*target), "", &Self::body(*target, n));
                let reply =
                    self.container.upsert_item(HERE, conditional(request, *condition, tag.as_deref()));
                self.model.put(*target, n, &reply);
                prop_assert_eq!(status(&reply), expected);
            }
            Step::Replace(target, condition) => {
                let (tag, holds) = self.tag(*target, *condition);
                let expected = self.expected(*target, holds, 200);
                let id = target.1.to_string();
                let request = with(&key(*target), &id, &Self::body(*target, n));
                let reply =
                    self.container.replace_item(HERE, conditional(request, *condition, tag.as_deref()));
                self.model.put(*target, n, &reply);
                prop_assert_eq!(status(&reply), expected);
            }
            Step::Read(target) => {
                let id = target.1.to_string();
                let reply = self.container.read_item(HERE, at(&key(*target), &id));
                let found = reply.ok().map(|reply| json_of(&reply.body)["n"].as_i64().unwrap());
                prop_assert_eq!(found, self.model.live(*target).map(|item| item.n));
            }
            Step::Delete(target, condition) => {
                let (tag, holds) = self.tag(*target, *condition);
                let expected = self.expected(*target, holds, 204);
                let id = target.1.to_string();
                let request = conditional(at(&key(*target), &id), *condition, tag.as_deref());
                prop_assert_eq!(status(&self.container.delete_item(HERE, request)), expected);
                if expected == 204 {
                    self.model.items.remove(&(target.0, target.1));
                }
            }
            Step::Increment(target, condition) => self.increment(*target, *condition)?,
            Step::Batch(of, kinds) => self.batch(*of, kinds, n)?,
            Step::Wait(seconds) => {
                self.world.pass_seconds(u64::from(*seconds));
                self.model.now += u64::from(*seconds);
            }
            Step::Sweep => self.engine.sweep(),
            Step::Split(which) => {
                let layout = self.container.layout();
                let range = &layout.ranges()[usize::from(*which) % layout.ranges().len()];
                let _ = self.container.split(&range.id).unwrap();
            }
        }
        Ok(())
    }

    fn expected(&self, target: Target, holds: bool, done: u16) -> u16 {
        match (self.model.live(target), holds) {
            (None, _) => 404,
            (Some(_), true) => done,
            (Some(_), false) => 412,
        }
    }

    fn increment(&mut self, target: Target, condition: Condition) -> Result<(), TestCaseError> {
        let (tag, holds) = self.tag(target, condition);
        let expected = self.expected(target, holds, 200);
        let id = target.1.to_string();
        let request = with(&key(target), &id, &json!([{"op": "incr", "path": "/n", "value": 1}]));
        let reply = self.container.patch_item(HERE, conditional(request, condition, tag.as_deref()));
        prop_assert_eq!(status(&reply), expected);
        if let Ok(reply) = reply {
            let now = self.model.now;
            let item = self.model.items.get_mut(&(target.0, target.1)).unwrap();
            item.n += 1;
            item.etag = reply.etag.unwrap().to_string();
            // The time to live runs from the last write.
            let ttl = json_of(&reply.body)["ttl"].as_u64();
            item.expires = ttl.map(|ttl| now + ttl);
        }
        Ok(())
    }

    /// Runs a batch of create (0), upsert (1), delete (2) and read (3); the model follows only if all would succeed.
    fn batch(&mut self, of: u8, kinds: &[(u8, u8)], n: i64) -> Result<(), TestCaseError> {
        let raw = |id: u8| to_raw_value(&Self::body((of, id, None), n)).unwrap();
        let operation = |(kind, id): &(u8, u8)| match kind {
            0 => BatchOperation::create(raw(*id)),
            1 => BatchOperation::upsert(raw(*id)),
            2 => BatchOperation::delete(id.to_string()),
            _ => BatchOperation::read(id.to_string()),
        };
        let operations: Vec<_> = kinds.iter().map(operation).collect();
        let mut there: Vec<u8> = (0..4).filter(|id| self.model.live((of, *id, None)).is_some()).collect();
        let mut succeeds = true;
        for (kind, id) in kinds {
            let found = there.contains(id);
            succeeds &= match kind {
                0 => !found,
                1 => true,
                _ => found,
            };
            match kind {
                0 | 1 if !found => there.push(*id),
                2 => there.retain(|other| other != id),
                _ => {}
            }
        }
        let reply = self
            .container
            .batch(HERE, &PartitionKey::from(format!("k{of}")), &BatchRequest::new(&operations))
            .unwrap();
        prop_assert_eq!(reply.status.code().as_u16() == 200, succeeds);
        if succeeds {
            for ((kind, id), result) in kinds.iter().zip(&reply.results) {
                match kind {
                    0 | 1 => {
                        let etag = result.e_tag.clone().unwrap();
                        self.model.items.insert((of, *id), Item { n, etag, expires: None });
                    }
                    2 => drop(self.model.items.remove(&(of, *id))),
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// All that the engine shows is all that the model holds.
    fn compare(&self) -> Result<(), TestCaseError> {
        for (of, id) in (0..3).flat_map(|of| (0..4).map(move |id| (of, id))) {
            let name = id.to_string();
            let reply = self.container.read_item(HERE, at(&format!("k{of}"), &name)).ok();
            let found = reply
                .map(|reply| (json_of(&reply.body)["n"].as_i64().unwrap(), reply.etag.unwrap().to_string()));
            let expected = self.model.live((of, id, None)).map(|item| (item.n, item.etag.clone()));
            prop_assert_eq!(found, expected, "k{}/{}", of, id);
        }
        Ok(())
    }
}

fn key(target: Target) -> String {
    format!("k{}", target.0)
}

fn conditional<'a>(request: ItemRequest<'a>, condition: Condition, tag: Option<&'a str>) -> ItemRequest<'a> {
    let conditions = match condition {
        Condition::Absent => Conditions { if_match: None, if_none_match: tag },
        Condition::None | Condition::Current | Condition::Stale => {
            Conditions { if_match: tag, if_none_match: None }
        }
    };
    ItemRequest { conditions, ..request }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn the_engine_does_what_a_map_would(steps in prop::collection::vec(step(), 1..60)) {
        let mut run = Run::new();
        for (n, step) in steps.iter().enumerate() {
            run.step(step, n as i64)?;
        }
        run.compare()?;
        run.engine.sweep();
        run.compare()?;
        let live = run.model.items.keys().filter(|(of, id)| run.model.live((*of, *id, None)).is_some()).count();
        prop_assert_eq!(run.container.usage(HERE).documents, live as u64);
    }
}
