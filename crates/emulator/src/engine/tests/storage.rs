//! What is on disk: everything acknowledged, nothing halfway, and only for one process of the right version.

use std::fs;
use std::path::{Path, PathBuf};

use cosmonaut_wire::model::{BatchOperation, ChangeFeedPolicy, ContainerProperties, TimeToLive};
use cosmonaut_wire::{CosmosStatus, PartitionKey};
use serde_json::json;
use serde_json::value::to_raw_value;

use super::*;
use crate::engine::{ChangeRequest, Conditions, FeedMode, FeedScope, FeedStart};

/// A directory that goes away with the test.
pub(super) struct Directory(PathBuf);

impl Directory {
    pub(super) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("cosmonaut-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        Self(path)
    }

    /// The files as they are when all that was acknowledged is in them: what a process that is killed leaves.
    pub(super) fn copied(&self, engine: &Engine) -> Self {
        engine.journal.append([]).wait().unwrap();
        let name = self.0.to_str().unwrap();
        let next = Self(name.strip_suffix("-next").map_or(format!("{name}-next"), str::to_owned).into());
        copy_files(self, &next);
        next
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

pub(super) fn open(directory: &Directory) -> Arc<Engine> {
    let journal = Journal::open(directory.path()).unwrap();
    Engine::new(EngineConfig::default(), StillWorld::new(), journal).unwrap()
}

pub(super) fn copy_files(from: &Directory, to: &Directory) {
    let _ = fs::remove_dir_all(to.path());
    fs::create_dir_all(to.path()).unwrap();
    for file in fs::read_dir(from.path()).unwrap() {
        let file = file.unwrap();
        fs::copy(file.path(), to.path().join(file.file_name())).unwrap();
    }
}

/// Everything a client could see, as text.
pub(super) fn picture(engine: &Engine) -> String {
    let mut seen = format!("{:?}\n{:?}\n", engine.list_databases(), engine.offers());
    for feed in ["users", "users/u/permissions", "clientencryptionkeys", "colls/c/udfs", "colls/c/sprocs"] {
        seen += &format!("{:?}\n", engine.resources(&path(&format!("/dbs/d/{feed}"))).ok());
    }
    for container in engine.containers() {
        seen += &format!("{:?}\n", container.properties());
        for range in container.layout().ranges() {
            let state = range.replica(HERE).read(|state| {
                let documents: Vec<_> = state.documents().cloned().collect();
                let log: Vec<_> =
                    state.log_after(state.progress(), usize::MAX).into_iter().flatten().collect();
                format!("{} {documents:?} {log:?}", state.lsn())
            });
            seen += &format!("{} {:?} {:?} {state}\n", range.id, range.range, range.parents);
        }
    }
    seen
}

pub(super) fn fill(engine: &Engine, properties: ContainerProperties) -> Arc<Container> {
    let container = add_container(engine, properties, 12_000);
    for n in 0..40 {
        let key = format!("k{}", n % 9);
        container
            .upsert_item(HERE, with(&key, "", &json!({"id": n.to_string(), "pk": key, "n": n})))
            .unwrap();
    }
    container.delete_item(HERE, at("k0", "0")).unwrap();
    container.patch_item(HERE, with("k1", "1", &json!([{"op": "set", "path": "/n", "value": "x"}]))).unwrap();
    let item =
        |id: u32| BatchOperation::create(to_raw_value(&json!({"id": format!("b{id}"), "pk": "k2"})).unwrap());
    let operations: Vec<_> = (0..5).map(item).collect();
    let _ = container.batch(HERE, &PartitionKey::from("k2"), &BatchRequest::new(&operations)).unwrap();
    let _ = container.split(&"0".into()).unwrap();
    let last =
        container.create_item(HERE, with("after", "", &json!({"id": "split", "pk": "after"}))).unwrap();
    last.commit.wait().unwrap();
    container
}

/// Resources that stay, one that is replaced, one that is deleted, and one whose container is about to be.
fn add_resources(engine: &Engine) {
    let members = |value: serde_json::Value| value.as_object().unwrap().clone();
    let script = json!({"id": "x", "body": "y"});
    let permission = json!({"id": "p", "permissionMode": "All", "resource": "dbs/d/colls/c"});
    for (feed, resource) in [
        ("users", json!({"id": "u"})),
        ("users", json!({"id": "v"})),
        ("users/u/permissions", permission.clone()),
        ("users/v/permissions", permission),
        ("colls/c/udfs", script.clone()),
        ("colls/c/sprocs", script.clone()),
        ("colls/gone/sprocs", script),
    ] {
        let _ = engine.create_resource(HERE, &path(&format!("/dbs/d/{feed}")), members(resource)).unwrap();
    }
    let next = members(json!({"id": "z", "body": "y"}));
    let renaming = engine.replace_resource(HERE, &path("/dbs/d/colls/c/udfs/x"), next, Conditions::default());
    assert!(renaming.is_err());
    let next = members(json!({"id": "x", "body": "z"}));
    let _ =
        engine.replace_resource(HERE, &path("/dbs/d/colls/c/sprocs/x"), next, Conditions::default()).unwrap();
    drop(engine.delete_resource(&path("/dbs/d/users/v"), Conditions::default()).unwrap());
}

#[test]
fn everything_is_there_again_after_a_restart() {
    let directory = Directory::new("restart");
    let engine = open(&directory);
    let _ = engine.create_database(DatabaseProperties::new("d"), None).unwrap();
    let mut properties = ContainerProperties::new("c", "/pk").with_default_ttl(TimeToLive::NoExpiry);
    properties.change_feed_policy = Some(ChangeFeedPolicy::retain_minutes(5));
    let container = fill(&engine, properties);
    let _ = add_container(&engine, ContainerProperties::new("gone", "/pk"), 400);
    add_resources(&engine);
    engine.delete_container(&path("/dbs/d/colls/gone")).unwrap().wait().unwrap();
    let before = picture(&engine);
    drop((container, engine));

    let engine = open(&directory);
    assert_eq!(picture(&engine), before);
    let container = engine.container(&path("/dbs/d/colls/c")).unwrap();
    let made = container.create_item(HERE, with("new", "", &json!({"id": "1", "pk": "new"}))).unwrap();
    made.commit.wait().unwrap();
    let numbers: Vec<_> = container
        .layout()
        .ranges()
        .iter()
        .flat_map(|range| {
            range
                .replica(HERE)
                .read(|state| state.documents().map(|document| document.number).collect::<Vec<_>>())
        })
        .collect();
    let distinct: std::collections::BTreeSet<_> = numbers.iter().collect();
    assert_eq!(distinct.len(), numbers.len(), "no number is given out twice");
}

#[test]
fn the_feed_of_all_versions_goes_on_after_a_restart_and_a_split() {
    let directory = Directory::new("versions");
    let engine = open(&directory);
    let _ = engine.create_database(DatabaseProperties::new("d"), None).unwrap();
    let mut properties = ContainerProperties::new("c", "/pk");
    properties.change_feed_policy = Some(ChangeFeedPolicy::retain_minutes(5));
    let versions = |engine: &Engine| {
        let request = ChangeRequest {
            scope: FeedScope::Container,
            mode: FeedMode::FullFidelity,
            start: FeedStart::After("\"0\"".parse().unwrap()),
            max_items: Some(1000),
            session: None,
            pace: Pace::default(),
        };
        engine.container(&path("/dbs/d/colls/c")).unwrap().change_feed(HERE, &request).unwrap().items
    };
    drop(fill(&engine, properties));
    let before = versions(&engine);
    assert_eq!(before.len(), 48);
    drop(engine);
    assert_eq!(versions(&open(&directory)), before);
}

#[test]
fn whoever_reads_all_versions_without_a_policy_goes_on_after_a_restart() {
    let directory = Directory::new("followed");
    let engine = open(&directory);
    let _ = engine.create_database(DatabaseProperties::new("d"), None).unwrap();
    let properties = ContainerProperties::new("c", "/pk");
    let _ = engine.create_container(&path("/dbs/d"), properties, None).unwrap();
    let read = |engine: &Engine, start: FeedStart| {
        let request = ChangeRequest {
            scope: FeedScope::Container,
            mode: FeedMode::FullFidelity,
            start,
            max_items: Some(1000),
            session: None,
            pace: Pace::default(),
        };
        engine.container(&path("/dbs/d/colls/c")).unwrap().change_feed(HERE, &request).unwrap()
    };
    let now = read(&engine, FeedStart::Now).next;
    let container = engine.container(&path("/dbs/d/colls/c")).unwrap();
    for n in 0..3 {
        container.upsert_item(HERE, with("a", "", &json!({"id": "1", "pk": "a", "n": n}))).unwrap();
    }
    drop((container, engine));
    let page = read(&open(&directory), FeedStart::After(now));
    assert_eq!(page.items.len(), 3);
}

#[test]
fn what_was_acknowledged_survives_a_sudden_end() {
    let (running, copied) = (Directory::new("running"), Directory::new("copied"));
    let engine = open(&running);
    let _ = engine.create_database(DatabaseProperties::new("d"), None).unwrap();
    let container = fill(&engine, ContainerProperties::new("c", "/pk"));
    let before = picture(&engine);
    // A copy of the file while it is open is what a killed process leaves behind.
    copy_files(&running, &copied);
    assert_eq!(picture(&open(&copied)), before);
    drop(container);
}

#[test]
fn properties_and_offers_survive_their_changes() {
    let directory = Directory::new("changes");
    let engine = open(&directory);
    let _ = engine.create_database(DatabaseProperties::new("d"), None).unwrap();
    let container = fill(&engine, ContainerProperties::new("c", "/pk"));
    let new = ContainerProperties::new("c", "/pk").with_default_ttl(TimeToLive::seconds(9).unwrap());
    let _ = engine.replace_container(&path("/dbs/d/colls/c"), new, Conditions::default()).unwrap();
    let mut offer = engine.offer_of(container.rid()).unwrap();
    offer.set_throughput(ThroughputProperties::manual(40_000));
    engine.replace_offer(&offer.rid, &offer, None, Conditions::default()).unwrap().commit.wait().unwrap();
    let before = picture(&engine);
    drop((container, engine));
    let engine = open(&directory);
    assert_eq!(picture(&engine), before);
    assert_eq!(engine.container(&path("/dbs/d/colls/c")).unwrap().layout().ranges().len(), 4);
}

#[test]
fn a_file_of_an_earlier_format_is_taken_over() {
    let directory = Directory::new("earlier");
    let engine = open(&directory);
    let _ = engine.create_database(DatabaseProperties::new("d"), None).unwrap();
    let mut properties = ContainerProperties::new("c", "/pk");
    properties.change_feed_policy = Some(ChangeFeedPolicy::retain_minutes(5));
    drop(fill(&engine, properties));
    let before = picture(&engine);
    drop(engine);
    crate::storage::back_to_format_2(directory.path());
    assert_eq!(picture(&open(&directory)), before);
    assert_eq!(picture(&open(&directory)), before);
    crate::storage::back_to_format_3(directory.path());
    assert_eq!(picture(&open(&directory)), before);
    assert_eq!(picture(&open(&directory)), before);
}

#[test]
fn one_process_at_a_time() {
    let directory = Directory::new("lock");
    let _engine = open(&directory);
    let error = Journal::open(directory.path()).unwrap_err();
    assert!(error.is_in_use(), "{error}");
    assert!(error.to_string().contains(&directory.path().display().to_string()), "{error}");
}

#[test]
fn a_place_that_is_no_directory_is_named() {
    let directory = Directory::new("file");
    fs::write(directory.path(), "x").unwrap();
    let error = Journal::open(directory.path()).unwrap_err().to_string();
    assert!(error.contains(&directory.path().display().to_string()), "{error}");
    fs::remove_file(directory.path()).unwrap();
}

#[test]
fn reads_of_what_is_not_yet_safe_wait_for_it() {
    let directory = Directory::new("reads");
    let engine = open(&directory);
    let _ = engine.create_database(DatabaseProperties::new("d"), None).unwrap();
    let container = add_container(&engine, ContainerProperties::new("c", "/pk"), 400);
    let written = container.create_item(HERE, with("a", "", &json!({"id": "1", "pk": "a"}))).unwrap();
    let read = container.read_item(HERE, at("a", "1")).unwrap();
    read.commit.wait().unwrap();
    assert!(written.commit.is_done());
    let missing = container.read_item(HERE, at("a", "2")).unwrap_err();
    assert_eq!(missing.status, CosmosStatus::NOT_FOUND);
}

#[test]
fn a_file_shrinks_after_most_items_have_expired() {
    let directory = Directory::new("shrinks");
    let (world, engine) = engine_with(EngineConfig::default(), Journal::open(directory.path()).unwrap());
    let properties = ContainerProperties::new("c", "/pk").with_default_ttl(TimeToLive::seconds(5).unwrap());
    let container = add_container(&engine, properties, 400);
    let text = "x".repeat(10_000);
    for n in 0..1_000 {
        let item = json!({"id": n.to_string(), "pk": "k", "text": text});
        container.create_item(HERE, with("k", "", &item)).unwrap();
    }
    let kept = json!({"id": "kept", "pk": "k", "ttl": -1});
    container.create_item(HERE, with("k", "", &kept)).unwrap().commit.wait().unwrap();
    let len = || fs::metadata(directory.path().join("account.redb")).unwrap().len();
    // The storage engine may give back some of it by itself when it closes.
    let before = len();
    world.pass_seconds(6);
    engine.sweep();
    engine.journal.append([]).wait().unwrap();
    drop((container, engine));
    let engine = open(&directory);
    assert!(len() < before / 4, "{before} bytes became {}", len());
    let container = engine.container(&path("/dbs/d/colls/c")).unwrap();
    assert!(container.read_item(HERE, at("k", "kept")).is_ok());
    let item = with("k", "", &json!({"id": "new", "pk": "k"}));
    container.create_item(HERE, item).unwrap().commit.wait().unwrap();
    drop((container, engine));
    assert!(
        open(&directory).container(&path("/dbs/d/colls/c")).unwrap().read_item(HERE, at("k", "new")).is_ok()
    );
}
