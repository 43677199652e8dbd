//! Regions that are away for long: what is kept for them is bounded, and they catch up with everything.

use cosmonaut_wire::model::ChangeFeedPolicy;

use super::*;
use crate::engine::replication::MOST_WAITING;
use crate::engine::{ChangeRequest, Failover, FeedMode, FeedScope, FeedStart};

const ROUNDS: i64 = 40;
const ITEMS: i64 = 10;
const COMMITS: u64 = (ROUNDS * ITEMS) as u64;

/// Rewrites the same few items again and again, and makes and deletes others.
fn rewrite(account: &Account, region: RegionId) {
    for n in 0..ROUNDS * ITEMS {
        account.world.pass_millis(1);
        match n % 5 {
            0 => drop(account.put(region, "passing", n).unwrap()),
            1 => drop(account.container.delete_item(region, at("k", "passing")).unwrap()),
            _ => drop(account.put(region, &format!("{}", n % ITEMS), n).unwrap()),
        }
    }
}

impl Account {
    /// How many commits are kept for other regions, and how many bytes.
    fn waiting(&self) -> (usize, usize) {
        let waiting = |range: &Arc<PartitionRange>| range.group().queues().waiting();
        let layout = self.container.layout();
        layout.ranges().iter().map(waiting).fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1))
    }
}

#[test]
fn a_region_that_is_cut_off_costs_no_more_than_a_bound_and_catches_up() {
    for config in [three(), everywhere()] {
        let account = started(config);
        account.put(A, "before", 0).unwrap();
        account.put(A, "deleted", 0).unwrap();
        account.engine.isolate(C, true);
        account.container.delete_item(A, at("k", "deleted")).unwrap();
        rewrite(&account, A);
        assert_eq!(account.engine.backlog(A, C), COMMITS + 1);
        assert!(account.waiting().0 <= MOST_WAITING, "{:?}", account.waiting());
        assert_eq!(account.read(C, "deleted", None), Ok(0), "nothing has arrived");

        account.engine.isolate(C, false);
        assert_eq!((account.waiting(), account.engine.backlog(A, C)), ((0, 0), 0));
        account.agreed();
        let [a, _, c] = account.lsns();
        assert_eq!(a, c);
        assert_eq!(account.read(C, "deleted", None), Err(CosmosStatus::NOT_FOUND));
        account.put(A, "after", 1).unwrap();
        assert_eq!(account.read(C, "after", None), Ok(1));
    }
}

#[test]
fn large_items_count_by_their_size() {
    let account = started(three());
    account.engine.isolate(C, true);
    let text = "x".repeat(1024 * 1024);
    for n in 0..8 {
        let item = with("k", "", &json!({"id": "large", "pk": "k", "n": n, "text": text}));
        account.container.upsert_item(A, item).unwrap();
    }
    let (_, bytes) = account.waiting();
    assert!(bytes <= 4 * 1024 * 1024, "{bytes}");
    account.engine.isolate(C, false);
    assert_eq!(account.agreed().len(), 1);
}

#[test]
fn two_regions_that_wrote_apart_for_long_agree() {
    let account = started(everywhere());
    account.put(A, "shared", 0).unwrap();
    account.engine.isolate(C, true);
    rewrite(&account, A);
    rewrite(&account, C);
    account.put(C, "shared", 1).unwrap();
    account.world.pass_seconds(1);
    account.put(B, "shared", 2).unwrap();
    account.world.pass_seconds(1);
    let seen = account.put(C, "only", 3).unwrap().session();
    account.engine.isolate(C, false);
    account.agreed();
    assert_eq!([A, B, C].map(|region| account.read(region, "shared", None)), [Ok(2); 3]);
    assert_eq!([A, B, C].map(|region| account.read(region, "only", Some(&seen))), [Ok(3); 3]);
}

#[test]
fn the_feed_of_all_versions_misses_nothing_after_a_long_absence() {
    for (config, writer) in [(three(), A), (everywhere(), B)] {
        let mut properties = ContainerProperties::new("c", "/pk");
        properties.change_feed_policy = Some(ChangeFeedPolicy::retain_minutes(5));
        let account = started_with(config, Journal::memory(), properties);
        account.put(writer, "0", -1).unwrap();
        let versions = |region| {
            let request = ChangeRequest {
                scope: FeedScope::Container,
                mode: FeedMode::FullFidelity,
                start: FeedStart::After("\"0\"".parse().unwrap()),
                max_items: Some(10_000),
                session: None,
                pace: Pace::default(),
            };
            account.container.change_feed(region, &request).unwrap().items.len() as u64
        };
        account.engine.isolate(C, true);
        rewrite(&account, writer);
        assert_eq!(versions(C), 1);
        account.engine.isolate(C, false);
        assert_eq!((versions(writer), versions(C)), (COMMITS + 1, COMMITS + 1));
    }
}

#[test]
fn a_forced_move_counts_what_was_lost_and_the_third_region_gets_what_survives() {
    let account = started(three());
    account.engine.isolate(C, true);
    rewrite(&account, A);
    account.engine.set_link(A, B, PAUSED);
    let lost = account.put(A, "lost", 1).unwrap().session();
    rewrite(&account, A);
    let before = account.engine.backlog(A, B);
    assert_eq!(account.engine.move_writes(B, Failover::Forced).unwrap().lost, before);
    assert_eq!(before, COMMITS + 1);
    account.put(B, "new", 2).unwrap();
    account.engine.isolate(C, false);
    account.open();
    account.agreed();
    assert_eq!(account.read(C, "new", None), Ok(2));
    assert_eq!(account.read(C, "lost", None), Err(CosmosStatus::NOT_FOUND));
    assert_eq!(account.read(C, "lost", Some(&lost)), Err(CosmosStatus::READ_SESSION_NOT_AVAILABLE));
}

#[test]
fn splits_moves_and_new_regions_pass_on_what_is_missing() {
    let account = started(three());
    account.engine.isolate(C, true);
    rewrite(&account, A);
    let _ = account.container.split(&"0".into()).unwrap();
    account.engine.move_writes(B, Failover::Graceful).unwrap();
    account.engine.add_region("Japan East".into()).unwrap();
    rewrite(&account, B);
    account.engine.isolate(C, false);
    account.agreed();

    let account = started(everywhere());
    account.engine.isolate(C, true);
    rewrite(&account, A);
    let _ = account.container.split(&"0".into()).unwrap();
    account.engine.add_region("Japan East".into()).unwrap();
    account.engine.remove_region(A).unwrap();
    account.engine.isolate(C, false);
    assert!(account.agreed().len() > 1);
}
