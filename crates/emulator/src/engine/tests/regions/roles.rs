//! Who takes writes, and when they are seen elsewhere.

use super::*;
use crate::engine::{Failover, FeedScope};

#[test]
fn one_region_takes_writes_and_the_others_say_which() {
    let account = started(three());
    let key = PartitionKey::from("k");
    assert!(account.put(A, "1", 1).is_ok());
    for region in [B, C] {
        let failures = [
            account.put(region, "1", 2).unwrap_err(),
            account.container.delete_item(region, at("k", "1")).unwrap_err(),
            account.container.delete_partition_key(region, &key).unwrap_err(),
            account.engine.check_catalog_write(region).unwrap_err(),
        ];
        for failure in failures {
            assert_eq!(failure.status, CosmosStatus::WRITE_FORBIDDEN);
            assert!(failure.message.contains("East US"), "{failure}");
        }
        assert_eq!(account.read(region, "1", None), Ok(1));
    }
    assert!(account.engine.check_catalog_write(A).is_ok());
    assert_eq!(
        account.engine.check_catalog_write(RegionId(9)).unwrap_err().status,
        CosmosStatus::DATABASE_ACCOUNT_NOT_FOUND
    );
}

#[test]
fn a_lagging_region_shows_a_write_when_it_is_due() {
    let account = started(three());
    account.lag(A, B, 50);
    let seen = account.put(A, "1", 1).unwrap();
    assert_eq!(seen.standing.committed, 0, "not every region has it");
    assert_eq!(account.lsns(), [1, 0, 1]);
    assert_eq!(account.engine.pump(), Some(Duration::from_millis(50)));
    assert_eq!(account.read(B, "1", None), Err(CosmosStatus::NOT_FOUND));
    let token = seen.session();
    assert_eq!(account.read(B, "1", Some(&token)), Err(CosmosStatus::READ_SESSION_NOT_AVAILABLE));
    account.world.pass_millis(49);
    assert_eq!(account.engine.pump(), Some(Duration::from_millis(1)));
    account.world.pass_millis(1);
    assert_eq!(account.engine.pump(), None);
    assert_eq!(account.read(B, "1", Some(&token)), Ok(1));
    assert_eq!(account.container.layout().ranges()[0].committed(), 1);
}

#[test]
fn commits_do_not_overtake_each_other() {
    let account = started(three());
    account.lag(A, B, 50);
    account.put(A, "1", 1).unwrap();
    account.engine.set_link(A, B, OPEN);
    account.put(A, "1", 2).unwrap();
    assert_eq!(account.lsns(), [2, 0, 2]);
    account.world.pass_millis(50);
    account.engine.pump();
    assert_eq!(account.lsns(), [2, 2, 2]);
}

#[test]
fn a_jittered_lag_stays_between_its_bounds() {
    let account = started(three());
    let lag = Lag::Between(Duration::from_millis(80), Duration::from_millis(10));
    account.engine.set_link(A, B, Link { lag, paused: false });
    for n in 0..20 {
        account.put(A, "1", n).unwrap();
        let next = account.engine.pump().unwrap();
        assert!((Duration::from_millis(10)..=Duration::from_millis(80)).contains(&next), "{next:?}");
        account.world.pass_millis(80);
        assert_eq!(account.engine.pump(), None);
    }
}

#[test]
fn what_is_paused_or_cut_off_waits_until_it_is_not() {
    let account = started(three());
    let (engine, lsns) = (&account.engine, || account.lsns());
    engine.set_link(A, B, PAUSED);
    assert_eq!(engine.link(A, B), PAUSED);
    account.put(A, "1", 1).unwrap();
    assert_eq!((engine.pump(), lsns(), engine.backlog(A, B)), (None, [1, 0, 1], 1));
    engine.set_link(A, B, OPEN);
    assert_eq!(lsns(), [1, 1, 1]);

    engine.isolate(C, true);
    account.put(A, "1", 2).unwrap();
    assert_eq!(lsns(), [2, 2, 1]);
    engine.isolate(C, false);
    assert_eq!(lsns(), [2, 2, 2]);

    engine.isolate(A, true);
    account.put(A, "1", 3).unwrap();
    assert_eq!(lsns(), [3, 2, 2]);
    engine.isolate(A, false);
    assert_eq!(lsns(), [3, 3, 3]);
}

#[test]
fn a_lagging_region_lags_on_after_a_split() {
    let account = started(three());
    account.engine.set_link(A, B, PAUSED);
    let keys: Vec<String> = (0..20).map(|key| format!("key {key}")).collect();
    for key in &keys {
        account.container.create_item(A, with(key, "", &json!({"id": "1", "pk": key}))).unwrap();
    }
    let _ = account.container.split(&"0".into()).unwrap();
    let documents = |region: RegionId| account.container.usage(region).documents;
    assert_eq!((documents(A), documents(B), documents(C)), (20, 0, 20));
    let token: SessionToken = "0:-1#20".parse().unwrap();
    let read = |region: RegionId, key: &str| {
        let request = ItemRequest { session: Some(&token), ..at(key, "1") };
        account.container.read_item(region, request).map(drop).map_err(|failure| failure.status)
    };
    assert!(keys.iter().all(|key| read(B, key) == Err(CosmosStatus::READ_SESSION_NOT_AVAILABLE)));
    account.engine.set_link(A, B, OPEN);
    assert!(keys.iter().all(|key| read(B, key) == Ok(())));
    for range in account.container.layout().ranges() {
        for region in [A, B, C] {
            assert_eq!(range.replica(region).read(|state| state.lsn()), 20, "{region:?}");
        }
    }
}

#[test]
fn a_feed_reader_that_moves_to_a_region_behind_sees_nothing_twice() {
    use crate::engine::{ChangeRequest, FeedMode, FeedStart};
    let account = started(three());
    account.put(A, "1", 1).unwrap();
    account.engine.set_link(A, B, PAUSED);
    account.put(A, "2", 2).unwrap();
    let page = |region, start| {
        let scope = FeedScope::Container;
        let request = ChangeRequest {
            scope,
            mode: FeedMode::Incremental,
            start,
            max_items: None,
            session: None,
            pace: Pace::default(),
        };
        account.container.change_feed(region, &request).unwrap()
    };
    let first = page(A, FeedStart::Beginning);
    assert_eq!((first.items.len(), first.lsn, first.committed), (2, 2, 1));
    let behind = page(B, FeedStart::After(first.next));
    assert!(behind.items.is_empty());
    account.engine.set_link(A, B, OPEN);
    account.put(A, "3", 3).unwrap();
    assert_eq!(page(B, FeedStart::After(behind.next)).items.len(), 1);
}

#[test]
fn a_region_comes_with_everything_and_goes_with_nothing() {
    let account = started(three());
    let engine = &account.engine;
    account.put(A, "1", 1).unwrap();
    let new = engine.add_region("Japan East".into()).unwrap();
    assert_eq!(new, RegionId(3));
    assert_eq!(account.read(new, "1", None), Ok(1));
    account.put(A, "1", 2).unwrap();
    assert_eq!(account.read(new, "1", None), Ok(2));
    assert_eq!(engine.topology().regions.last().unwrap().name, "japaneast".into());
    let refused = |region: RegionId| engine.remove_region(region).unwrap_err().message;
    assert!(refused(A).contains("move the writes first"));
    assert!(refused(RegionId(9)).contains('9'));
    assert!(engine.add_region("West  US".into()).is_err());

    engine.remove_region(B).unwrap();
    account.put(A, "1", 3).unwrap();
    assert_eq!(account.read(new, "1", None), Ok(3));
    assert_eq!(engine.topology().region(&"West US".into()), None);
    engine.move_writes(new, Failover::Graceful).unwrap();
    engine.remove_region(A).unwrap();
    engine.remove_region(C).unwrap();
    account.put(new, "1", 4).unwrap();
    assert!(refused(new).contains("only region"));
    assert_eq!(engine.add_region("East US".into()).unwrap(), RegionId(4), "ids are not used again");
}

#[test]
fn expired_items_are_deleted_by_the_writer_and_followed() {
    let properties = ContainerProperties::new("c", "/pk")
        .with_default_ttl(cosmonaut_wire::model::TimeToLive::seconds(5).unwrap());
    let account = started_with(three(), Journal::memory(), properties);
    account.put(A, "1", 1).unwrap();
    account.engine.move_writes(B, Failover::Graceful).unwrap();
    account.world.pass_seconds(6);
    account.engine.sweep();
    assert_eq!(account.lsns(), [2, 2, 2]);
    assert_eq!(account.container.usage(C).documents, 0);
}
