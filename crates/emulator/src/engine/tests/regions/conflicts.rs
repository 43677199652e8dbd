//! Regions that write one item at the same time: who wins everywhere, and who is found in the conflict feed.

use cosmonaut_wire::model::ConflictResolutionPolicy;

use super::*;
use crate::engine::FeedScope;

/// One write of an item.
#[derive(Clone, Copy, Debug)]
enum Write {
    Put(i64),
    Delete,
    /// Deleted and made again.
    Anew(i64),
}
use Write::{Anew, Delete, Put};

impl Account {
    fn do_write(&self, region: RegionId, write: Write) {
        if let Delete | Anew(_) = write {
            self.container.delete_item(region, at("k", "x")).unwrap();
        }
        if let Put(n) | Anew(n) = write {
            self.put(region, "x", n).unwrap();
        }
    }

    fn losers(&self) -> Vec<(&'static str, i64)> {
        let found = self.container.conflicts(&FeedScope::Container, 0).unwrap();
        let shown =
            found.iter().map(|one| (one.operation(), json_of(&one.loser().text())["n"].as_i64().unwrap()));
        shown.collect()
    }
}

/// By the time of the write, or by `/n`.
fn with_policy(policy: Option<ConflictResolutionPolicy>) -> Account {
    let mut properties = ContainerProperties::new("c", "/pk");
    properties.conflict_resolution_policy = policy;
    started_with(everywhere(), Journal::memory(), properties)
}

#[test]
fn the_winner_is_the_same_everywhere_and_the_loser_is_found_once() {
    let by_n = || Some(ConflictResolutionPolicy::last_writer_wins("/n"));
    let custom = || Some(ConflictResolutionPolicy::custom(None));
    // The item as it was, then what A and, a second later, B do without knowing of each other.
    for (policy, base, in_a, in_b, winner, losers) in [
        (custom(), None, Put(1), Put(2), Some(2), vec![("create", 1)]),
        (custom(), Some(0), Put(1), Put(2), Some(2), vec![("replace", 1)]),
        (custom(), Some(0), Delete, Put(2), None, vec![("replace", 2)]),
        (custom(), Some(0), Put(1), Delete, None, vec![("replace", 1)]),
        (custom(), Some(0), Delete, Delete, None, vec![]),
        (custom(), Some(0), Anew(1), Put(2), Some(1), vec![("replace", 2)]),
        (custom(), Some(0), Anew(1), Delete, Some(1), vec![]),
        (custom(), Some(0), Anew(1), Anew(2), Some(2), vec![("create", 1)]),
        // Where the last writer wins, who has lost is not listed.
        (None, None, Put(1), Put(2), Some(2), vec![]),
        (None, Some(0), Delete, Put(2), None, vec![]),
        (by_n(), Some(0), Put(9), Put(2), Some(9), vec![]),
        (by_n(), None, Put(9), Put(2), Some(9), vec![]),
        // A later write does not rank below the version it replaced.
        (by_n(), Some(5), Put(1), Put(1), Some(1), vec![]),
        (by_n(), Some(0), Delete, Put(9), None, vec![]),
    ] {
        let what = format!("{policy:?} {base:?} {in_a:?} {in_b:?}");
        for first in [A, B] {
            let account = with_policy(policy.clone());
            if let Some(base) = base {
                account.put(C, "x", base).unwrap();
            }
            account.pause();
            account.do_write(A, in_a);
            account.world.pass_seconds(1);
            account.do_write(B, in_b);
            // In C they arrive in either order.
            account.engine.set_link(first, C, OPEN);
            account.open();
            account.agreed();
            assert_eq!(account.read(C, "x", None).ok(), winner, "{what}");
            assert_eq!(account.losers(), losers, "{what}");
        }
    }
}

#[test]
fn what_follows_a_version_does_not_contradict_it_however_late_that_arrives() {
    let account = with_policy(Some(ConflictResolutionPolicy::custom(None)));
    account.engine.set_link(A, C, PAUSED);
    account.put(A, "x", 1).unwrap();
    account.put(B, "x", 2).unwrap();
    assert_eq!(account.read(C, "x", None), Ok(2), "C has the second version only");
    account.put(C, "x", 3).unwrap();
    account.open();
    account.agreed();
    assert_eq!(account.read(A, "x", None), Ok(3));
    assert!(account.losers().is_empty());
}

#[test]
fn an_item_that_expired_in_one_region_lives_on_if_another_has_written_it() {
    let properties = ContainerProperties::new("c", "/pk")
        .with_default_ttl(cosmonaut_wire::model::TimeToLive::seconds(5).unwrap());
    let account = started_with(everywhere(), Journal::memory(), properties);
    account.put(A, "x", 1).unwrap();
    account.world.pass_seconds(4);
    account.pause();
    account.put(B, "x", 2).unwrap();
    account.world.pass_seconds(2);
    account.engine.sweep();
    assert_eq!(account.read(A, "x", None), Err(CosmosStatus::NOT_FOUND));
    account.open();
    account.agreed();
    assert_eq!([A, B, C].map(|region| account.read(region, "x", None)), [Ok(2); 3]);
}

#[test]
fn deletes_are_forgotten_only_when_nothing_older_can_arrive() {
    let account = with_policy(None);
    account.put(A, "x", 1).unwrap();
    account.engine.set_link(B, C, PAUSED);
    account.put(B, "x", 2).unwrap();
    account.container.delete_item(A, at("k", "x")).unwrap();
    for _ in 0..5 {
        account.engine.sweep();
    }
    account.open();
    account.agreed();
    assert_eq!(account.read(C, "x", None), Err(CosmosStatus::NOT_FOUND), "what B wrote before stays deleted");
    let kept = || {
        let layout = account.container.layout();
        [A, B, C].map(|region| layout.ranges()[0].replica(region).read(|state| state.has_tombstones()))
    };
    assert_eq!(kept(), [true; 3]);
    for _ in 0..3 {
        account.engine.sweep();
    }
    assert_eq!(kept(), [false; 3]);
}

#[test]
fn conflicts_are_listed_by_their_keys_read_and_deleted() {
    let account = with_policy(Some(ConflictResolutionPolicy::custom(None)));
    account.pause();
    for key in ["k", "l", "m"] {
        for (region, n) in [(A, 1), (B, 2)] {
            let item = with(key, "", &json!({"id": "x", "pk": key, "n": n}));
            account.container.create_item(region, item).unwrap();
        }
    }
    account.open();
    let container = &account.container;
    let all = container.conflicts(&FeedScope::Container, 0).unwrap();
    assert_eq!(all.len(), 3);
    let of = |key: &str| container.conflicts(&FeedScope::Key(PartitionKey::from(key)), 0).unwrap();
    assert_eq!((of("l").len(), of("n").len()), (1, 0));
    assert_eq!(container.conflicts(&FeedScope::Container, all[1].number()).unwrap().len(), 1);

    let found = &of("l")[0];
    let shown = json_of(&container.conflict(&found.id()).unwrap().to_json().unwrap());
    let content: Value = serde_json::from_str(shown["content"].as_str().unwrap()).unwrap();
    assert_eq!((&content["pk"], &content["id"]), (&json!("l"), &json!("x")));
    for (member, expected) in
        [("id", json!(found.id())), ("operationType", json!("create")), ("resourceType", json!("document"))]
    {
        assert_eq!(shown[member], expected, "{member}");
    }
    assert_eq!(shown["resourceId"], content["_rid"]);
    container.delete_conflict(&found.id()).unwrap().wait().unwrap();
    for gone in [found.id(), "nonsense".to_owned(), container.rid().to_string()] {
        assert_eq!(container.delete_conflict(&gone).unwrap_err().status, CosmosStatus::NOT_FOUND, "{gone}");
    }
    assert_eq!(container.conflicts(&FeedScope::Container, 0).unwrap().len(), 2);
}

#[test]
fn a_conflict_is_found_when_a_region_has_both_versions() {
    let account = with_policy(Some(ConflictResolutionPolicy::custom(None)));
    account.pause();
    account.put(A, "x", 1).unwrap();
    account.world.pass_seconds(1);
    account.put(B, "x", 2).unwrap();
    account.engine.set_link(A, C, OPEN);
    assert_eq!(account.losers(), []);
    account.engine.set_link(B, C, OPEN);
    assert_eq!(account.losers(), [("create", 1)]);
}

#[test]
fn how_conflicts_are_decided_is_decided_once() {
    let account = with_policy(Some(ConflictResolutionPolicy::last_writer_wins("/n")));
    let replace = |policy: Option<ConflictResolutionPolicy>| {
        let mut new = ContainerProperties::new("c", "/pk");
        new.conflict_resolution_policy = policy;
        account.engine.replace_container(&path("/dbs/d/colls/c"), new, Default::default())
    };
    let kept = replace(None).unwrap().value.conflict_resolution_policy.clone().unwrap();
    assert_eq!(kept.conflict_resolution_path.as_deref(), Some("/n"));
    assert!(replace(Some(kept)).is_ok());
    let refused = replace(Some(ConflictResolutionPolicy::custom(None))).unwrap_err();
    assert!(refused.message.contains("conflict resolution"), "{refused}");
}
