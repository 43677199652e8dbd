//! What Strong and Bounded Staleness hold back.

use super::*;
use crate::engine::replication::MOST_WAITING;
use crate::engine::{Consistency, Failover, FeedScope, Hold};

fn promising(consistency: Consistency) -> Account {
    started(AccountConfig { consistency, ..three() })
}

fn is_done(hold: &Hold) -> bool {
    hold.is_done().unwrap()
}

#[test]
fn a_strong_write_is_held_until_most_regions_have_it() {
    let account = promising(Consistency::Strong);
    let engine = &account.engine;
    engine.set_link(A, B, PAUSED);
    assert!(is_done(&account.put(A, "1", 1).unwrap().hold), "C has it");
    engine.set_link(A, C, PAUSED);
    let held = account.put(A, "1", 2).unwrap().hold;
    assert!(!is_done(&held));
    engine.set_link(A, B, OPEN);
    assert!(is_done(&held));

    // A region that is cut off is one of the three all the same.
    engine.set_link(A, C, OPEN);
    engine.isolate(C, true);
    engine.isolate(B, true);
    let held = account.put(A, "1", 3).unwrap().hold;
    assert!(!is_done(&held), "nobody else has it");
    engine.isolate(C, false);
    assert!(is_done(&held));
}

#[test]
fn nobody_waits_for_a_region_that_has_left() {
    let account = promising(Consistency::Strong);
    let engine = &account.engine;
    engine.set_link(A, B, PAUSED);
    engine.set_link(A, C, PAUSED);
    let held = account.put(A, "1", 1).unwrap().hold;
    engine.remove_region(B).unwrap();
    assert!(!is_done(&held), "C is one of two");
    engine.remove_region(C).unwrap();
    assert!(is_done(&held), "A is all there is");
    assert!(is_done(&account.put(A, "1", 2).unwrap().hold));
}

#[test]
fn a_read_that_waits_in_a_region_that_leaves_is_told() {
    let account = promising(Consistency::Strong);
    let engine = &account.engine;
    engine.set_link(A, C, PAUSED);
    assert!(is_done(&account.put(A, "1", 1).unwrap().hold));
    let barrier = account.container.barrier(C, &FeedScope::Container).unwrap();
    assert!(!is_done(&barrier));
    engine.remove_region(C).unwrap();
    assert_eq!(barrier.is_done().unwrap_err().status, CosmosStatus::DATABASE_ACCOUNT_NOT_FOUND);
}

#[test]
fn what_most_regions_have_had_is_shown_by_every_region_whoever_is_cut_off_since() {
    let account = promising(Consistency::Strong);
    let engine = &account.engine;
    engine.set_link(A, C, PAUSED);
    assert!(is_done(&account.put(A, "1", 1).unwrap().hold), "A and B have it");
    engine.isolate(A, true);
    let barrier = |region| account.container.barrier(region, &FeedScope::Container).unwrap();
    assert!(is_done(&barrier(B)));
    assert!(!is_done(&barrier(C)), "C has it not");

    // Nor does C take the writes, until it has what was acknowledged.
    let refused = engine.move_writes(C, Failover::Forced).unwrap_err();
    assert_eq!(refused.status, CosmosStatus::BAD_REQUEST);
    assert!(refused.message.contains("lacks 1 acknowledged commit"), "{refused}");
    assert_eq!(engine.move_writes(B, Failover::Forced).unwrap().lost, 0);
    engine.pump();
    assert!(is_done(&barrier(C)), "B has told it");
    assert!(is_done(&account.put(B, "1", 2).unwrap().hold), "B and C are most without A");
    engine.isolate(A, false);
    assert!(is_done(&barrier(A)));
}

#[test]
fn a_refused_write_is_held_like_a_read_of_what_it_saw() {
    let account = promising(Consistency::Strong);
    account.pause();
    account.put(A, "1", 1).unwrap();
    let mut again = at("k", "1");
    again.body = r#"{"id":"1","pk":"k"}"#.into();
    let refused = account.container.create_item(A, again).unwrap_err();
    assert_eq!(refused.status, CosmosStatus::CONFLICT);
    let held = account.container.settled(&refused.session().expect("it has looked"));
    assert!(!is_done(&held));
    account.open();
    assert!(is_done(&held));
}

#[test]
fn a_strong_read_waits_for_its_region_and_for_what_it_saw() {
    let account = promising(Consistency::Strong);
    let (engine, container) = (&account.engine, &account.container);
    engine.set_link(A, B, PAUSED);
    account.put(A, "1", 1).unwrap();
    let key = FeedScope::Key(PartitionKey::from("k"));
    let barrier = |region| container.barrier(region, &key).unwrap();
    assert!(is_done(&barrier(A)) && is_done(&barrier(C)));
    let late = barrier(B);
    assert!(!is_done(&late), "A and C have what B has not");

    engine.set_link(A, C, PAUSED);
    account.put(A, "1", 2).unwrap();
    let read = container.read_item(A, at("k", "1")).unwrap();
    let settled = container.settled(&read.session());
    assert!(!is_done(&settled), "only A has what it saw");
    engine.set_link(A, B, OPEN);
    assert!(is_done(&late) && is_done(&settled));
}

#[test]
fn a_held_write_that_is_lost_fails() {
    let account = promising(Consistency::Strong);
    account.pause();
    let held = account.put(A, "1", 1).unwrap().hold;
    let barrier = account.container.barrier(A, &FeedScope::Container).unwrap();
    assert_eq!(account.engine.move_writes(B, Failover::Forced).unwrap().lost, 1);
    account.open();
    account.put(B, "1", 2).unwrap();
    let failure = held.is_done().unwrap_err();
    assert_eq!(failure.status, CosmosStatus::SERVICE_UNAVAILABLE);
    assert!(is_done(&barrier));
}

#[test]
fn what_waits_for_a_partition_waits_for_its_children() {
    let account = promising(Consistency::Strong);
    account.pause();
    let held = account.put(A, "1", 1).unwrap().hold;
    let _ = account.container.split(&"0".into()).unwrap();
    assert!(!is_done(&held));
    account.open();
    assert!(is_done(&held));
}

#[test]
fn a_write_is_held_while_a_region_is_too_far_behind() {
    let bounds = Consistency::BoundedStaleness { max_prefix: 2, max_interval: Duration::from_secs(5) };
    let account = promising(bounds);
    let engine = &account.engine;
    engine.set_link(A, C, PAUSED);
    let mut held = Vec::new();
    for n in 0..3 {
        held.push(account.put(A, "1", n).unwrap().hold);
    }
    assert!(!is_done(&held[2]), "three commits behind");
    engine.isolate(C, true);
    assert!(is_done(&held[2]), "a region that is cut off does not count");
    engine.isolate(C, false);
    engine.set_link(A, C, OPEN);
    assert!(is_done(&held[2]));

    engine.set_link(A, B, PAUSED);
    let early = account.put(A, "1", 4).unwrap().hold;
    assert!(is_done(&early));
    account.world.pass_seconds(6);
    let late = account.put(A, "1", 5).unwrap().hold;
    assert!(!is_done(&late), "six seconds behind");
    engine.set_link(A, B, OPEN);
    assert!(is_done(&late));
}

#[test]
fn weaker_promises_hold_nothing() {
    for consistency in [Consistency::Session, Consistency::ConsistentPrefix, Consistency::Eventual] {
        let account = promising(consistency);
        account.pause();
        assert!(is_done(&account.put(A, "1", 1).unwrap().hold));
    }
}

#[test]
fn whoever_waits_is_woken_by_what_arrives() {
    let account = promising(Consistency::Strong);
    account.pause();
    let held = account.put(A, "1", 1).unwrap().hold;
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let (held, ()) = runtime.block_on(async { tokio::join!(held.wait(), async { account.open() }) });
    held.unwrap();
}

#[test]
fn what_is_acknowledged_while_writes_are_being_moved_goes_along() {
    for commits in [1, 1 + MOST_WAITING as i64] {
        let account = promising(Consistency::Strong);
        let (engine, container) = (&account.engine, &account.container);
        engine.set_link(A, C, PAUSED);
        let mut holds: Vec<Hold> = (1..=commits).map(|n| account.put(A, "1", n).unwrap().hold).collect();
        assert!(is_done(&holds.pop().unwrap()), "A and B have it");
        // As if that had come after the move to C was allowed.
        let lost = container.take_over(container.layout().range(&"0".into()).unwrap(), C).unwrap();
        assert_eq!(lost, 0);
        assert_eq!(account.read(C, "1", None), Ok(commits));
    }
}

#[test]
fn a_partition_that_moves_gives_regions_up_for_itself_alone() {
    let account = promising(Consistency::Strong);
    let (engine, container) = (&account.engine, &account.container);
    let [low, high] = container.split(&"0".into()).unwrap().value;
    let put = |region, range: &PartitionKeyRangeId| {
        let key = key_in(container, range);
        container.upsert_item(region, with(&key, "", &json!({"id": "1", "pk": key}))).unwrap().hold
    };
    engine.isolate(A, true);
    engine.isolate(B, true);
    engine.move_partition(container, &low, C, Failover::Forced).unwrap();
    assert!(is_done(&put(C, &low)), "it goes on without A and B");
    let held = put(A, &high);
    assert!(!is_done(&held), "of the three only A has it");
    engine.isolate(A, false);
    assert!(is_done(&held), "C has heard of it");
    // Cut off once more, it is one that counts until the writes are moved again.
    engine.isolate(A, true);
    assert!(!is_done(&put(C, &low)));
}
