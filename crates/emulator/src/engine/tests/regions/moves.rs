//! Moving writes: gracefully without loss, or by force with what that costs.

use super::*;
use crate::engine::{Failover, Moved};

fn token(reply: &ItemReply) -> SessionToken {
    reply.session()
}

#[test]
fn a_graceful_move_loses_nothing_and_goes_on_in_the_same_sequence() {
    let account = started(three());
    account.lag(A, B, 50);
    account.lag(A, C, 80);
    account.put(A, "1", 1).unwrap();
    account.put(A, "1", 2).unwrap();
    assert_eq!(account.lsns(), [2, 0, 0]);
    assert_eq!(account.engine.move_writes(B, Failover::Graceful).unwrap(), Moved { lost: 0 });
    assert_eq!(account.lsns(), [2, 2, 0]);
    assert_eq!(account.engine.topology().write_region().id, B);
    assert_eq!(account.put(A, "1", 3).unwrap_err().status, CosmosStatus::WRITE_FORBIDDEN);
    let third = account.put(B, "1", 3).unwrap();
    assert_eq!(token(&third).to_string(), "0:-1#3");
    assert_eq!(account.lsns(), [3, 3, 0], "what was on the way to the third comes first");
    account.world.pass_millis(80);
    account.engine.pump();
    assert_eq!(account.lsns(), [3, 3, 3]);
}

#[test]
fn a_graceful_move_is_refused_if_the_new_region_cannot_catch_up() {
    let account = started(three());
    let engine = &account.engine;
    engine.set_link(A, B, PAUSED);
    assert!(engine.move_writes(B, Failover::Graceful).is_ok(), "it has everything");
    engine.move_writes(A, Failover::Graceful).unwrap();
    account.put(A, "1", 1).unwrap();
    let refused = |to| engine.move_writes(to, Failover::Graceful).unwrap_err().message;
    assert!(refused(B).contains("1 commit cannot be delivered"), "{}", refused(B));
    assert!(refused(B).contains("force it"), "{}", refused(B));
    account.world.pass_millis(80);
    engine.pump();
    engine.isolate(A, true);
    let why = refused(C);
    assert!(why.contains("cannot catch up") && why.contains("cut off"), "{why}");
    assert!(!why.contains(" 0 commits"), "C has everything: {why}");
    engine.isolate(A, false);
    engine.isolate(C, true);
    assert!(refused(C).contains("cut off"));
    assert!(refused(RegionId(7)).contains('7'));
    assert_eq!(engine.topology().write_region().id, A);
    assert!(account.put(A, "1", 2).is_ok());
}

#[test]
fn a_forced_move_loses_what_only_others_had_and_says_so() {
    let account = started(three());
    let engine = &account.engine;
    let kept = account.put(A, "1", 1).unwrap();
    engine.set_link(A, B, PAUSED);
    let lost = account.put(A, "1", 2).unwrap();
    account.put(A, "2", 2).unwrap();
    let committed_in_c = account.read(C, "2", None);
    assert_eq!(committed_in_c, Ok(2));

    assert_eq!(engine.move_writes(B, Failover::Forced).unwrap(), Moved { lost: 2 });
    assert_eq!(account.lsns(), [1, 1, 1], "whoever was ahead was taken back");
    for region in [A, B, C] {
        assert_eq!(account.read(region, "1", Some(&token(&kept))), Ok(1));
        assert_eq!(
            account.read(region, "1", Some(&token(&lost))),
            Err(CosmosStatus::READ_SESSION_NOT_AVAILABLE)
        );
        assert_eq!(account.read(region, "2", None), Err(CosmosStatus::NOT_FOUND));
    }
    let request = |seen| ItemRequest { session: Some(seen), ..at("k", "1") };
    let failure = account.container.read_item(B, request(&token(&lost))).unwrap_err();
    assert!(failure.message.contains("forced failover"), "{failure}");

    let next = account.put(B, "1", 3).unwrap();
    assert_eq!(token(&next).to_string(), "0:0#4", "no number is used twice");
    assert_eq!(account.lsns(), [4, 4, 4]);
    assert_eq!(account.read(C, "1", Some(&token(&next))), Ok(3));
    assert_eq!(account.read(C, "1", Some(&token(&lost))), Err(CosmosStatus::READ_SESSION_NOT_AVAILABLE));
    assert_eq!(
        account.read(C, "1", Some(&"0:1#1".parse().unwrap())),
        Err(CosmosStatus::READ_SESSION_NOT_AVAILABLE)
    );
}

#[test]
fn a_third_region_gets_from_the_new_writer_what_survives() {
    let account = started(three());
    let engine = &account.engine;
    account.lag(A, C, 50);
    account.put(A, "1", 1).unwrap();
    account.put(A, "1", 2).unwrap();
    engine.set_link(A, B, PAUSED);
    account.put(A, "1", 3).unwrap();
    assert_eq!(account.lsns(), [3, 2, 0]);
    engine.isolate(A, true);
    assert_eq!(engine.move_writes(B, Failover::Forced).unwrap().lost, 1);
    assert_eq!(account.lsns(), [2, 2, 0]);
    account.put(B, "1", 4).unwrap();
    account.world.pass_millis(50);
    engine.pump();
    assert_eq!(account.lsns(), [2, 4, 4]);
    engine.isolate(A, false);
    assert_eq!(account.lsns(), [4, 4, 4]);
    assert_eq!([A, B, C].map(|region| account.read(region, "1", None)), [Ok(4); 3]);
}

#[test]
fn forced_moves_to_ever_older_regions_forget_what_came_between() {
    let account = started(three());
    let engine = &account.engine;
    engine.set_link(A, C, PAUSED);
    engine.set_link(B, C, PAUSED);
    let first = account.put(A, "1", 1).unwrap();
    engine.set_link(A, B, PAUSED);
    account.put(A, "1", 2).unwrap();
    assert_eq!(engine.move_writes(B, Failover::Forced).unwrap().lost, 1);
    let between = account.put(B, "1", 3).unwrap();
    assert_eq!(token(&between).to_string(), "0:0#3");
    assert_eq!(engine.move_writes(C, Failover::Forced).unwrap().lost, 2, "1 and 3; 2 was lost before");
    for seen in [&first, &between] {
        assert_eq!(account.read(C, "1", Some(&token(seen))), Err(CosmosStatus::READ_SESSION_NOT_AVAILABLE));
    }
    assert_eq!(token(&account.put(C, "1", 4).unwrap()).to_string(), "0:1#4");
    assert_eq!(account.lsns(), [4, 4, 4]);
}

#[test]
fn no_number_is_used_twice_though_nothing_was_written_between_two_forced_moves() {
    let account = started(three());
    let engine = &account.engine;
    engine.set_link(A, C, PAUSED);
    engine.set_link(B, C, PAUSED);
    account.put(A, "1", 1).unwrap();
    engine.set_link(A, B, PAUSED);
    let lost = account.put(A, "1", 2).unwrap();
    engine.move_writes(B, Failover::Forced).unwrap();
    engine.move_writes(C, Failover::Forced).unwrap();
    assert_eq!(token(&account.put(C, "1", 3).unwrap()).to_string(), "0:1#3");
    assert_eq!(account.read(C, "1", Some(&token(&lost))), Err(CosmosStatus::READ_SESSION_NOT_AVAILABLE));
}

#[test]
fn a_session_that_saw_nothing_does_not_see_the_past() {
    let account = started(three());
    account.put(A, "1", 1).unwrap();
    account.pause();
    account.container.delete_item(A, at("k", "1")).unwrap();
    let missing = account.container.read_item(A, at("k", "1")).unwrap_err();
    let seen = missing.session().unwrap();
    assert_eq!(account.read(B, "1", Some(&seen)), Err(CosmosStatus::READ_SESSION_NOT_AVAILABLE));
}

#[test]
fn one_partition_moves_alone() {
    let account = started(three());
    let (engine, container) = (&account.engine, &account.container);
    let [low, high] = container.split(&"0".into()).unwrap().value;
    let writes = |region, range: &PartitionKeyRangeId| {
        let key = key_in(container, range);
        container.upsert_item(region, with(&key, "", &json!({"id": "1", "pk": key}))).is_ok()
    };
    engine.move_partition(container, &low, C, Failover::Graceful).unwrap();
    assert!(writes(C, &low) && !writes(A, &low));
    assert!(writes(A, &high) && !writes(C, &high));
    assert_eq!(engine.topology().write_region().id, A, "the account's write region stays");
    assert!(engine.remove_region(C).unwrap_err().message.contains("partition 1"));
    assert_eq!(
        engine.move_partition(container, &"0".into(), C, Failover::Graceful).unwrap_err().status,
        CosmosStatus::PARTITION_KEY_RANGE_GONE
    );
    let children = container.split(&low).unwrap().value;
    assert!(children.iter().all(|child| writes(C, child) && !writes(A, child)), "children stay where it was");
    engine.move_writes(B, Failover::Graceful).unwrap();
    assert!(writes(B, &high) && children.iter().all(|child| writes(B, child)), "the account takes all along");
}

#[test]
fn partitions_move_only_where_the_account_allows_it() {
    for config in [
        AccountConfig { partition_failover: false, ..three() },
        AccountConfig { multi_write: true, ..three() },
    ] {
        let account = started(config);
        let moved = account.engine.move_partition(&account.container, &"0".into(), B, Failover::Forced);
        assert_eq!(moved.unwrap_err().status, CosmosStatus::BAD_REQUEST);
    }
}

#[test]
fn on_an_account_that_writes_everywhere_only_the_order_changes() {
    let account = started(AccountConfig { multi_write: true, ..three() });
    assert_eq!(account.engine.move_writes(C, Failover::Forced).unwrap(), Moved::default());
    assert_eq!(account.engine.topology().write_region().id, C);
    assert!([A, B, C].iter().all(|region| account.put(*region, "1", 1).is_ok()));
    assert!(account.engine.topology().takes_writes(A));
}

#[test]
fn containers_made_after_a_move_are_written_at_the_new_region() {
    let account = started(three());
    account.engine.move_writes(C, Failover::Graceful).unwrap();
    let new = add_container(&account.engine, ContainerProperties::new("new", "/pk"), 400);
    let item = || with("k", "", &json!({"id": "1", "pk": "k"}));
    assert_eq!(new.create_item(A, item()).unwrap_err().status, CosmosStatus::WRITE_FORBIDDEN);
    assert!(new.create_item(C, item()).is_ok());
}

#[test]
fn a_region_that_comes_while_a_container_goes_takes_no_writes_of_it() {
    let account = started(everywhere());
    account.container.retire();
    let new = account.engine.add_region("West Europe".into()).unwrap();
    for region in [A, new] {
        let refused = account.put(region, "1", 1).unwrap_err();
        assert_eq!(refused.status, CosmosStatus::OWNER_RESOURCE_NOT_FOUND, "{region:?}");
    }
}
