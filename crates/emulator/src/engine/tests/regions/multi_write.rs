//! Accounts that write in every region: what arrives, what sessions have seen, and feeds that change regions.

use super::*;
use crate::engine::{ChangeRequest, FeedMode, FeedScope, FeedStart};

#[test]
fn every_region_writes_and_tokens_name_them_all() {
    let account = started(everywhere());
    let first = account.put(A, "1", 1).unwrap();
    assert_eq!(first.session().to_string(), "0:-1#1#0=1#1=0#2=0");
    let second = account.put(C, "2", 2).unwrap();
    assert_eq!(second.session().to_string(), "0:-1#2#0=1#1=0#2=1");
    assert_eq!(second.standing.committed, 2);
    assert_eq!([A, B, C].map(|region| account.read(region, "2", None)), [Ok(2); 3]);
    assert_eq!(account.agreed().len(), 2);
}

#[test]
fn a_session_is_answered_where_all_that_it_has_seen_has_arrived() {
    let account = started(everywhere());
    account.pause();
    let in_a = account.put(A, "1", 1).unwrap();
    let in_b = account.put(B, "2", 2).unwrap();
    let behind = Err(CosmosStatus::READ_SESSION_NOT_AVAILABLE);
    // Each region has one commit, but not the same.
    for (region, seen, id, expected) in [
        (A, &in_a, "1", Ok(1)),
        (A, &in_b, "2", behind),
        (B, &in_a, "1", behind),
        (B, &in_b, "2", Ok(2)),
        (C, &in_a, "1", behind),
    ] {
        assert_eq!(account.read(region, id, Some(&seen.session())), expected, "{region:?} {id}");
    }
    account.engine.set_link(A, C, OPEN);
    assert_eq!(account.read(C, "1", Some(&in_a.session())), Ok(1));
    assert_eq!(account.read(C, "2", Some(&in_b.session())), behind);
    let mut both = in_a.session();
    both.merge(&in_b.session()).unwrap();
    assert_eq!(account.read(C, "1", Some(&both)), behind);
    account.open();
    assert_eq!(account.read(C, "1", Some(&both)), Ok(1));
}

#[test]
fn all_regions_have_what_the_least_of_them_has_in_each_sequence() {
    let account = started(everywhere());
    account.put(A, "0", 0).unwrap();
    account.engine.set_link(A, C, PAUSED);
    account.engine.set_link(B, A, PAUSED);
    account.put(A, "1", 1).unwrap();
    let written = account.put(B, "2", 2).unwrap();
    // Of A's two commits C has one, and of B's one A has none.
    assert_eq!((written.standing.lsn, written.standing.committed), (3, 1));
    account.open();
    assert_eq!(account.container.layout().ranges()[0].committed(), 3);
}

#[test]
fn a_region_more_or_less_begins_a_new_version_of_tokens() {
    let account = started(everywhere());
    let before = account.put(B, "1", 1).unwrap();
    let new = account.engine.add_region("Japan East".into()).unwrap();
    let after = account.put(new, "2", 2).unwrap();
    assert_eq!(after.session().to_string(), "0:0#2#0=0#1=1#2=0#3=1");
    let mut merged = before.session();
    merged.merge(&after.session()).unwrap();
    assert_eq!(account.read(A, "2", Some(&merged)), Ok(2));
    account.engine.remove_region(B).unwrap();
    let later = account.put(A, "3", 3).unwrap();
    assert_eq!(later.session().to_string(), "0:1#3#0=1#2=0#3=1");
    merged.merge(&later.session()).unwrap();
    assert_eq!(account.read(new, "1", Some(&merged)), Ok(1));
    assert_eq!(account.agreed().len(), 3);
}

#[test]
fn a_region_that_leaves_leaves_what_it_wrote() {
    let account = started(everywhere());
    account.lag(B, A, 50);
    account.lag(B, C, 50);
    account.put(B, "1", 1).unwrap();
    account.engine.set_link(B, C, PAUSED);
    assert!(account.engine.remove_region(B).unwrap_err().message.contains("resume"));
    account.engine.set_link(B, C, OPEN);
    account.engine.isolate(B, true);
    assert!(account.engine.remove_region(B).unwrap_err().message.contains("cut off"));
    account.engine.isolate(B, false);
    account.engine.remove_region(B).unwrap();
    assert_eq!([A, C].map(|region| account.read(region, "1", None)), [Ok(1); 2]);
    let refused = account.put(B, "2", 2).unwrap_err();
    assert_eq!(refused.status, CosmosStatus::DATABASE_ACCOUNT_NOT_FOUND);
}

#[test]
fn a_feed_reader_changes_regions_without_missing_or_repeating() {
    let account = started(everywhere());
    let page = |region, start, most| {
        let request = ChangeRequest {
            scope: FeedScope::Container,
            mode: FeedMode::Incremental,
            start,
            max_items: Some(most),
            session: None,
            pace: Pace::default(),
        };
        let page = account.container.change_feed(region, &request).unwrap();
        let ids = page.items.iter().map(|item| json_of(item)["id"].as_str().unwrap().to_owned());
        (ids.collect::<Vec<_>>(), FeedStart::After(page.next.to_string().parse().unwrap()))
    };
    account.pause();
    for (region, id) in [(A, "a1"), (B, "b1"), (A, "a2"), (C, "c1"), (B, "b2")] {
        account.put(region, id, 1).unwrap();
        account.world.pass_seconds(1);
    }
    let (seen, next) = page(A, FeedStart::Beginning, 10);
    assert_eq!(seen, ["a1", "a2"]);
    let (seen, next) = page(B, next, 10);
    assert_eq!(seen, ["b1", "b2"], "of A's nothing again, though B has none of it");
    account.open();
    let (seen, next) = page(C, next, 10);
    assert_eq!(seen, ["c1"]);
    account.put(B, "a1", 2).unwrap();
    account.put(C, "c2", 2).unwrap();
    let (seen, next) = page(A, next, 1);
    assert_eq!(seen, ["a1"]);
    let (seen, next) = page(B, next, 10);
    assert_eq!(seen, ["c2"]);
    assert!(page(C, next, 10).0.is_empty());
    let (from_start, _) = page(C, FeedStart::Beginning, 10);
    assert_eq!(
        from_start,
        ["b1", "a2", "c1", "b2", "a1", "c2"],
        "by time, and by region where that is the same"
    );
}
