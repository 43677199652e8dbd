//! The store of a script while others write: all that a script sees was so at one moment, or it is run again.

use std::sync::Arc;
use std::time::Duration;

use cosmonaut_wire::model::{ContainerProperties, DatabaseProperties, UniqueKeyPolicy};
use cosmonaut_wire::{PartitionKey, ResourcePath};
use serde_json::{Value, json};

use super::host::Host;
use super::*;
use crate::engine::query::Callable;
use crate::engine::{Container, Draft, Engine, EngineConfig, ItemRequest, RegionId};
use crate::storage::Journal;
use crate::{Pace, SystemWorld, World};

const HERE: RegionId = RegionId(0);

/// A container of the key `/pk` whose items have unique `u`, with some items of the key `a`.
struct Kept {
    _engine: Arc<Engine>,
    container: Arc<Container>,
    world: Arc<dyn World>,
}

impl Kept {
    fn new() -> Self {
        let world: Arc<dyn World> = Arc::new(SystemWorld::new());
        let engine = Engine::new(EngineConfig::default(), Arc::clone(&world), Journal::memory()).unwrap();
        engine.create_database(DatabaseProperties::new("d"), None).unwrap();
        let properties = ContainerProperties {
            unique_key_policy: Some(UniqueKeyPolicy::default().with_key(["/u"])),
            ..ContainerProperties::new("c", "/pk")
        };
        let database = ResourcePath::database("d").unwrap();
        let container = engine.create_container(&database, properties, None).unwrap().value;
        let kept = Self { _engine: engine, container, world };
        for id in ["x", "y", "z"] {
            kept.put("a", id, 100);
        }
        kept
    }

    fn put(&self, key: &str, id: &str, n: u32) {
        let item = json!({"id": id, "pk": key, "n": n, "u": id}).to_string();
        drop(self.container.upsert_item(HERE, ItemRequest::new(None, "", item)).unwrap());
    }

    fn delete(&self, id: &str) {
        let key = Some(PartitionKey::from("a"));
        drop(self.container.delete_item(HERE, ItemRequest::new(key, id, "")).unwrap());
    }

    fn script(&self, time: Duration) -> Script<'_> {
        let draft = Draft::begin(&self.container, HERE, Some(&PartitionKey::from("a")), None).unwrap();
        let (world, pace) = (Arc::clone(&self.world), Pace::default());
        let watch = Watch::new(Budget { world, pace, time, heavy: Duration::ZERO });
        Script { store: Store::new(draft, Callable::default()), watch, kept: self }
    }
}

/// What a script does, call by call.
struct Script<'k> {
    store: Store,
    watch: Watch,
    kept: &'k Kept,
}

impl Script<'_> {
    fn call(&mut self, operation: &str, payload: &Value) -> Value {
        serde_json::from_str(&self.store.call(operation, &payload.to_string(), &self.watch)).unwrap()
    }

    /// The item of an id, by a query.
    fn query(&mut self, id: &str) -> Value {
        let spec = json!({"query": format!("SELECT * FROM c WHERE c.id = '{id}'")});
        self.call("query", &json!({"spec": spec, "pageSize": -1}))["body"][0].clone()
    }

    fn read(&mut self, id: &str) {
        self.call("read", &json!({"name": id}));
    }

    fn upsert(&mut self, id: &str) {
        let document = json!({"id": id, "pk": "a", "u": id}).to_string();
        self.call("upsert", &json!({"document": document, "indexed": true}));
    }

    fn delete(&mut self, link: &Value) {
        self.call("delete", &json!({"name": link}));
    }

    /// Whether the script has to run again: it was stopped for that, or cannot be committed.
    fn runs_again(&mut self) -> bool {
        self.store.draft.is_stale() || self.store.draft.commit(None).unwrap().is_none()
    }
}

#[test]
fn a_script_sees_one_moment_or_runs_again() {
    type Steps = fn(&mut Script<'_>);
    let cases: [(&str, Steps, bool); 16] = [
        ("nothing happens", |s| drop((s.query("x"), s.query("y"), s.upsert("x"))), false),
        (
            "written before the first query",
            |s| (s.kept.put("a", "x", 1), s.query("x"), s.upsert("x")).2,
            false,
        ),
        (
            "deleted before the first query",
            |s| (s.kept.delete("y"), drop(s.query("x")), s.upsert("x")).2,
            false,
        ),
        ("another key is written", |s| drop((s.query("x"), s.kept.put("b", "x", 1), s.query("y"))), false),
        (
            "nothing was seen of what others delete",
            |s| (s.kept.delete("y"), s.read("y"), s.upsert("x")).2,
            false,
        ),
        (
            "queried, and deleted by others",
            |s| (drop(s.query("x")), s.kept.delete("x"), s.upsert("x")).2,
            true,
        ),
        (
            "queried, deleted by others, and deleted by its link",
            |s| {
                let rid = s.query("x")["_rid"].clone();
                s.kept.delete("x");
                s.delete(&rid);
            },
            true,
        ),
        (
            "queried, and written by others",
            |s| (drop(s.query("x")), s.kept.put("a", "x", 1), s.upsert("x")).2,
            true,
        ),
        (
            "others move something between two queries",
            |s| drop((s.query("x"), s.kept.put("a", "x", 0), s.kept.put("a", "y", 200), s.query("y"))),
            true,
        ),
        (
            "others delete between two queries",
            |s| drop((s.query("x"), s.kept.delete("y"), s.query("y"))),
            true,
        ),
        (
            "others create between two queries",
            |s| drop((s.query("x"), s.kept.put("a", "new", 1), s.query("new"))),
            true,
        ),
        (
            "others put one in the place of another between two queries",
            |s| drop((s.query("x"), s.kept.delete("y"), s.kept.put("a", "y", 1), s.query("z"))),
            true,
        ),
        (
            "others write between a read and a query",
            |s| drop((s.read("x"), s.kept.put("a", "y", 1), s.query("y"))),
            true,
        ),
        (
            "others write before a query of what the script has written",
            |s| drop((s.upsert("x"), s.kept.put("a", "y", 1), s.query("y"))),
            true,
        ),
        (
            "many writes of others",
            |s| {
                s.query("x");
                (0..20).for_each(|n| s.kept.put("b", "x", n));
                s.kept.put("a", "y", 1);
                s.query("y");
            },
            true,
        ),
        (
            "others take a unique value",
            |s| {
                let document = json!({"id": "mine", "pk": "a", "u": "theirs"}).to_string();
                s.call("create", &json!({"document": document, "indexed": true}));
                s.kept.put("a", "theirs", 1);
            },
            true,
        ),
    ];
    for (name, steps, again) in cases {
        let kept = Kept::new();
        let mut script = kept.script(Duration::from_secs(3600));
        steps(&mut script);
        assert_eq!(script.runs_again(), again, "{name}");
    }
}

/// A call of the store takes no longer than its script, and neither does a function of space.
#[test]
fn the_time_of_a_script_is_that_of_its_calls() {
    let kept = Kept::new();
    let begun = kept.world.now();
    // Each line crosses no other, which is only known when each was compared with all the others.
    let ring = |nth: u32| {
        let turn = f64::from(nth % 60_000) / 60_000.0 * std::f64::consts::TAU;
        let far = if nth.is_multiple_of(2) { 10.0 } else { 9.0 };
        json!([turn.cos() * far, turn.sin() * far])
    };
    let shape = json!({"type": "Polygon", "coordinates": [(0..=60_000).map(ring).collect::<Vec<_>>()]});
    let mut script = kept.script(Duration::from_millis(50));
    let answer = script.store.spatial("isValid", &json!([shape]).to_string(), &script.watch);
    assert!(answer.contains("\"error\":408"), "{}", &answer[..answer.len().min(300)]);
    // Nothing is left for a query.
    assert_eq!(
        script.call("query", &json!({"spec": {"query": "SELECT * FROM c"}, "pageSize": -1}))["error"],
        408
    );
    assert!(script.watch.must_stop_here());
    let took = Duration::from_micros(kept.world.now().micros_since(begun));
    assert!(took < Duration::from_secs(20), "{took:?}");
}
