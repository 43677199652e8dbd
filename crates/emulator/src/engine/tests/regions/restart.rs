//! Regions and disk: what a restart brings back, and what it must not.

use cosmonaut_wire::PartitionKey;
use cosmonaut_wire::model::{BatchOperation, ChangeFeedPolicy, ConflictResolutionPolicy};
use serde_json::value::to_raw_value;

use super::super::storage::Directory;
use super::*;
use crate::engine::{ChangeRequest, Failover, FeedMode, FeedScope, FeedStart, ReplicaState};

fn open(directory: &Directory, account: AccountConfig) -> Account {
    open_at(StillWorld::new(), directory, account)
}

/// An account as it is on disk, in a world that has gone on.
pub(super) fn open_at(world: Arc<StillWorld>, directory: &Directory, account: AccountConfig) -> Account {
    let config = EngineConfig { account, ..EngineConfig::default() };
    let journal = Journal::open(directory.path()).unwrap();
    let engine = Engine::new(config, Arc::<StillWorld>::clone(&world), journal).unwrap();
    let container = engine.container(&path("/dbs/d/colls/c")).unwrap();
    Account { world, engine, container }
}

fn create(directory: &Directory, account: AccountConfig) -> Account {
    let mut properties = ContainerProperties::new("c", "/pk");
    properties.change_feed_policy = Some(ChangeFeedPolicy::retain_minutes(5));
    started_with(account, Journal::open(directory.path()).unwrap(), properties)
}

fn versions(account: &Account, region: RegionId) -> Vec<i64> {
    let request = ChangeRequest {
        scope: FeedScope::Container,
        mode: FeedMode::FullFidelity,
        start: FeedStart::After("\"0\"".parse().unwrap()),
        max_items: Some(100),
        session: None,
        pace: Pace::default(),
    };
    let page = account.container.change_feed(region, &request).unwrap();
    page.items.iter().filter_map(|item| json_of(item)["current"]["n"].as_i64()).collect()
}

#[test]
fn what_a_forced_move_has_lost_stays_lost() {
    let directory = Directory::new("forced");
    let account = create(&directory, three());
    for id in ["kept", "changed", "deleted"] {
        account.put(A, id, 1).unwrap();
    }
    account.pause();
    let lost = account.put(A, "changed", 2).unwrap().session();
    account.put(A, "new", 2).unwrap();
    account.container.delete_item(A, at("k", "deleted")).unwrap();
    assert_eq!(account.engine.move_writes(B, Failover::Forced).unwrap().lost, 3);
    let before = account.agreed();
    drop(account);

    let account = open(&directory, three());
    assert_eq!(account.agreed(), before);
    assert_eq!(before.len(), 3);
    assert_eq!(versions(&account, C), [1, 1, 1]);
    assert_eq!(account.read(C, "changed", Some(&lost)), Err(CosmosStatus::READ_SESSION_NOT_AVAILABLE));
    let next = account.put(A, "changed", 3).unwrap();
    assert_eq!(next.session().to_string(), "0:0#7");
    next.commit.wait().unwrap();
    drop(account);
    let account = open(&directory, three());
    assert_eq!(account.read(B, "changed", Some(&next.session())), Ok(3));
    assert_eq!(account.read(B, "changed", Some(&lost)), Err(CosmosStatus::READ_SESSION_NOT_AVAILABLE));
}

#[test]
fn a_lagging_region_has_everything_after_a_restart() {
    let directory = Directory::new("lagging");
    let account = create(&directory, three());
    account.pause();
    let seen = account.put(A, "1", 1).unwrap();
    let _ = account.container.split(&"0".into()).unwrap();
    seen.commit.wait().unwrap();
    drop(account);
    let account = open(&directory, three());
    assert_eq!(account.agreed().len(), 1);
    assert_eq!(account.read(C, "1", Some(&seen.session())), Ok(1));
}

#[test]
fn regions_that_all_write_agree_after_a_restart() {
    let directory = Directory::new("everywhere");
    let account = create(&directory, everywhere());
    account.put(C, "x", 0).unwrap();
    account.pause();
    // A is the later in the journal, and B the later by the path that no policy names: A wins by its time.
    account.put(B, "x", 1).unwrap();
    account.world.pass_seconds(1);
    account.put(A, "x", 2).unwrap();
    account.put(C, "c", 3).unwrap();
    account.container.delete_item(C, at("k", "c")).unwrap();
    account.open();
    let before = account.agreed();
    let seen = account.put(B, "y", 4).unwrap();
    seen.commit.wait().unwrap();
    let (feed, token) = (versions(&account, A), seen.session());
    drop(account);

    let account = open(&directory, everywhere());
    assert_eq!(account.agreed().len(), before.len() + 1);
    assert_eq!(account.read(C, "x", None), Ok(2));
    assert_eq!(account.read(C, "y", Some(&token)), Ok(4), "old tokens are met");
    let mut again = versions(&account, B);
    again.sort_unstable();
    let mut feed = feed;
    feed.sort_unstable();
    assert_eq!(again, feed);
    let next = account.put(B, "y", 5).unwrap();
    let mut merged = token;
    merged.merge(&next.session()).unwrap();
    assert_eq!(next.session().to_string(), "0:0#7#0=1#1=3#2=3");
    assert_eq!(account.read(A, "y", Some(&merged)), Ok(5));
}

#[test]
fn what_regions_had_not_agreed_on_is_settled_by_a_restart_for_good() {
    let directory = Directory::new("unsettled");
    let account = create(&directory, everywhere());
    account.pause();
    account.put(B, "x", 1).unwrap();
    account.world.pass_seconds(1);
    account.put(A, "x", 2).unwrap().commit.wait().unwrap();
    drop(account);

    let account = open(&directory, everywhere());
    assert_eq!(account.agreed().len(), 1);
    assert_eq!(account.read(C, "x", None), Ok(2));
    account.container.delete_item(C, at("k", "x")).unwrap().commit.wait().unwrap();
    drop(account);
    let account = open(&directory, everywhere());
    assert_eq!(account.agreed().len(), 0, "what has lost does not come back");
}

/// Three regions that all write, whose commits take a second from B to A.
fn lagging(directory: &Directory) -> Account {
    let account = create(directory, everywhere());
    account.lag(B, A, 1_000);
    account
}

/// Lets what was written before arrive in A, but not what was written just now.
fn let_the_first_arrive(account: &Account) {
    account.world.pass_millis(500);
    account.engine.pump();
}

#[test]
fn a_version_survives_the_arrival_of_the_one_before() {
    let directory = Directory::new("later-version");
    let account = lagging(&directory);
    account.put(B, "a", 1).unwrap();
    account.world.pass_millis(800);
    let last = account.put(B, "a", 2).unwrap();
    let_the_first_arrive(&account);
    assert_eq!(account.read(A, "a", None), Ok(1));
    last.commit.wait().unwrap();
    drop(account);
    let account = open(&directory, everywhere());
    let read = |region| account.read(region, "a", Some(&last.session()));
    assert_eq!([A, B, C].map(read), [Ok(2); 3]);
}

#[test]
fn a_deleted_item_does_not_come_back_when_its_version_arrives() {
    let directory = Directory::new("later-delete");
    let account = lagging(&directory);
    account.put(B, "a", 1).unwrap();
    account.world.pass_millis(800);
    let deleted = account.container.delete_item(B, at("k", "a")).unwrap();
    let_the_first_arrive(&account);
    assert_eq!(account.read(A, "a", None), Ok(1));
    deleted.commit.wait().unwrap();
    drop(account);
    let account = open(&directory, everywhere());
    assert_eq!(account.agreed(), []);
}

#[test]
fn a_batch_comes_back_whole() {
    let directory = Directory::new("later-batch");
    let account = lagging(&directory);
    account.put(B, "a", 1).unwrap();
    account.world.pass_millis(800);
    let put = |id: &str| BatchOperation::upsert(to_raw_value(&json!({"id": id, "pk": "k", "n": 2})).unwrap());
    let batch = account
        .container
        .batch(B, &PartitionKey::from("k"), &BatchRequest::new(&[put("a"), put("b")]))
        .unwrap();
    let_the_first_arrive(&account);
    batch.commit.wait().unwrap();
    drop(account);
    let account = open(&directory, everywhere());
    for region in [A, B, C] {
        assert_eq!(["a", "b"].map(|id| account.read(region, id, None)), [Ok(2); 2], "{region:?}");
    }
}

#[test]
fn a_version_that_has_lost_does_not_come_back_whoever_was_told_last() {
    let directory = Directory::new("lost-version");
    let account = create(&directory, everywhere());
    account.put(C, "x", 0).unwrap();
    account.pause();
    account.world.pass_seconds(1);
    // B knows of no delete, and a delete wins.
    account.container.delete_item(A, at("k", "x")).unwrap();
    account.world.pass_seconds(1);
    let lost = account.put(B, "x", 1).unwrap();
    lost.commit.wait().unwrap();
    drop(account);
    let account = open(&directory, everywhere());
    assert_eq!(account.agreed(), []);
}

#[test]
fn conflicts_survive_a_restart_found_or_not() {
    let directory = Directory::new("conflicts");
    let mut properties = ContainerProperties::new("c", "/pk");
    properties.conflict_resolution_policy = Some(ConflictResolutionPolicy::custom(None));
    let account = started_with(everywhere(), Journal::open(directory.path()).unwrap(), properties);
    let conflict = |id: &str, n: i64| {
        account.pause();
        account.put(A, id, n).unwrap();
        account.world.pass_seconds(1);
        account.put(B, id, n + 1).unwrap()
    };
    conflict("dealt with", 1);
    account.open();
    conflict("found", 2);
    account.open();
    let listed = |account: &Account| account.container.conflicts(&FeedScope::Container, 0).unwrap();
    account.container.delete_conflict(&listed(&account)[0].id()).unwrap().wait().unwrap();
    let before = listed(&account)[0].to_json().unwrap();
    conflict("on the way", 3).commit.wait().unwrap();
    assert_eq!(listed(&account).len(), 1);
    drop(account);

    let account = open(&directory, everywhere());
    let after = listed(&account);
    let shown: Vec<_> = after.iter().map(|one| (one.operation(), one.loser().id().to_owned())).collect();
    assert_eq!(shown, [("create", "found".to_owned()), ("create", "on the way".to_owned())]);
    assert_eq!(after[0].to_json().unwrap(), before);
    assert_eq!(account.container.conflict(&after[1].id()).unwrap().number(), after[1].number());
}

#[test]
fn the_number_of_a_conflict_that_was_dealt_with_is_not_given_again() {
    let directory = Directory::new("conflict-numbers");
    let mut properties = ContainerProperties::new("c", "/pk");
    properties.conflict_resolution_policy = Some(ConflictResolutionPolicy::custom(None));
    let account = started_with(everywhere(), Journal::open(directory.path()).unwrap(), properties);
    account.pause();
    account.put(A, "x", 1).unwrap();
    account.world.pass_seconds(1);
    account.put(B, "x", 2).unwrap();
    account.open();
    let conflict = account.container.conflicts(&FeedScope::Container, 0).unwrap().remove(0);
    account.container.delete_conflict(&conflict.id()).unwrap().wait().unwrap();
    drop(account);

    let account = open(&directory, everywhere());
    account.put(A, "y", 1).unwrap();
    let number = |state: &ReplicaState| state.documents().map(|document| document.number).max();
    let layout = account.container.layout();
    let made = layout.ranges()[0].replica(A).read(number).unwrap();
    assert!(made > conflict.number(), "{made} was a conflict's");
}

#[test]
fn an_account_may_write_everywhere_one_day_and_in_one_region_the_next() {
    let directory = Directory::new("modes");
    let account = create(&directory, three());
    let mut seen = account.put(A, "1", 1).unwrap().session();
    drop(account);
    let account = open(&directory, everywhere());
    seen.merge(&account.put(B, "1", 2).unwrap().session()).unwrap();
    assert_eq!(account.read(C, "1", Some(&seen)), Ok(2));
    drop(account);
    let account = open(&directory, three());
    let last = account.put(A, "1", 3).unwrap();
    last.commit.wait().unwrap();
    seen.merge(&last.session()).unwrap();
    assert_eq!(account.read(C, "1", Some(&seen)), Ok(3));
    assert_eq!(account.put(B, "1", 4).unwrap_err().status, CosmosStatus::WRITE_FORBIDDEN);
    let mut kept = versions(&account, B);
    kept.sort_unstable();
    assert_eq!(kept, [1, 2, 3]);

    account.pause();
    let lost = account.put(A, "1", 5).unwrap().session();
    assert_eq!(account.engine.move_writes(B, Failover::Forced).unwrap().lost, 1);
    account.open();
    assert_eq!(account.read(C, "1", Some(&seen)), Ok(3));
    assert_eq!(account.read(C, "1", Some(&lost)), Err(CosmosStatus::READ_SESSION_NOT_AVAILABLE));
    let next = account.put(B, "1", 6).unwrap();
    next.commit.wait().unwrap();
    drop(account);
    let account = open(&directory, three());
    assert_eq!(account.read(C, "1", Some(&next.session())), Ok(6));
    assert_eq!(account.read(C, "1", Some(&lost)), Err(CosmosStatus::READ_SESSION_NOT_AVAILABLE));
}

#[test]
fn a_clock_that_was_set_back_between_two_runs_leaves_the_feed_of_all_versions_whole() {
    for config in [three(), everywhere()] {
        let directory = Directory::new("clock");
        let account = create(&directory, config.clone());
        let put = |account: &Account, numbers: std::ops::Range<i64>| {
            numbers.for_each(|n| account.put(A, "1", n).unwrap().commit.wait().unwrap());
        };
        put(&account, 0..4);
        let world = Arc::clone(&account.world);
        drop(account);
        world.now.fetch_sub(60_000_000, Ordering::Relaxed);
        let account = open_at(Arc::clone(&world), &directory, config.clone());
        put(&account, 4..8);
        drop(account);
        let account = open_at(world, &directory, config);
        assert_eq!(versions(&account, A), (0..8).collect::<Vec<_>>());
    }
}

#[test]
fn a_container_that_was_deleted_does_not_come_back_by_a_move_of_its_partition() {
    let directory = Directory::new("moved-away");
    let account = create(&directory, three());
    account.pause();
    account.put(A, "lost", 1).unwrap();
    account.engine.delete_container(&path("/dbs/d/colls/c")).unwrap().wait().unwrap();
    let moved = account.engine.move_partition(&account.container, &"0".into(), B, Failover::Forced);
    assert_eq!(moved.unwrap_err().status, CosmosStatus::OWNER_RESOURCE_NOT_FOUND);
    let next = directory.copied(&account.engine);
    let engine = Engine::new(
        EngineConfig { account: three(), ..EngineConfig::default() },
        StillWorld::new(),
        Journal::open(next.path()).unwrap(),
    )
    .unwrap();
    assert!(engine.container(&path("/dbs/d/colls/c")).is_err());
}
