//! Unique keys where several regions write: two items that took the same value without knowing of each other cannot
//! both stay, and the one that goes is found in the conflict feed.

use cosmonaut_wire::model::{ConflictResolutionPolicy, UniqueKeyPolicy};
use proptest::prelude::*;

use super::super::storage::Directory;
use super::*;
use crate::engine::FeedScope;

fn properties(policy: Option<ConflictResolutionPolicy>) -> ContainerProperties {
    let mut properties = ContainerProperties::new("c", "/pk");
    properties.unique_key_policy = Some(UniqueKeyPolicy::default().with_key(vec!["/u"]));
    properties.conflict_resolution_policy = policy;
    properties
}

impl Account {
    fn claim(&self, region: RegionId, id: &str, value: u8, n: i64) -> Result<ItemReply, Failure> {
        let item = json!({"id": id, "pk": "k", "u": value, "n": n});
        self.container.upsert_item(region, with("k", id, &item))
    }

    fn items(&self) -> Vec<String> {
        let id =
            |(_, _, body): (u64, String, String)| json_of(body.as_bytes())["id"].as_str().unwrap().to_owned();
        let mut items: Vec<_> = self.agreed().into_iter().map(id).collect();
        items.sort();
        items
    }

    fn refused(&self) -> Vec<(&'static str, String)> {
        let found = self.container.conflicts(&FeedScope::Container, 0).unwrap();
        found.iter().map(|one| (one.operation(), one.loser().id().to_owned())).collect()
    }
}

#[test]
fn of_two_items_with_the_same_value_one_stays_and_one_is_a_conflict() {
    let by_n = || Some(ConflictResolutionPolicy::last_writer_wins("/n"));
    for (policy, n, stays, goes) in
        [(None, [1, 2], "b", "a"), (None, [2, 1], "b", "a"), (by_n(), [2, 1], "a", "b")]
    {
        for first in [A, B] {
            let account = started_with(everywhere(), Journal::memory(), properties(policy.clone()));
            account.pause();
            account.claim(A, "a", 7, n[0]).unwrap();
            account.world.pass_seconds(1);
            account.claim(B, "b", 7, n[1]).unwrap();
            account.claim(B, "other", 8, 0).unwrap();
            account.engine.set_link(first, C, OPEN);
            account.open();
            assert_eq!(account.engine.pump(), None);
            assert_eq!(account.items(), [stays, "other"]);
            assert_eq!(account.refused(), [("create", goes.to_owned())]);
            for region in [A, B, C] {
                let taken = account.claim(region, "c", 7, 9).unwrap_err();
                assert_eq!(taken.status, CosmosStatus::CONFLICT, "{region:?}");
            }
            account.container.delete_item(C, at("k", stays)).unwrap();
            account.claim(A, "c", 7, 9).unwrap();
        }
    }
}

#[test]
fn a_value_that_was_given_up_meanwhile_is_no_conflict() {
    let account = started_with(everywhere(), Journal::memory(), properties(None));
    account.pause();
    account.claim(A, "a", 7, 1).unwrap();
    account.claim(A, "a", 8, 1).unwrap();
    account.world.pass_seconds(1);
    account.claim(B, "b", 7, 1).unwrap();
    account.open();
    assert_eq!(account.items(), ["a", "b"]);
    assert_eq!(account.refused(), []);
}

#[test]
fn a_restart_finds_what_had_not_arrived() {
    let directory = Directory::new("unique");
    let journal = Journal::open(directory.path()).unwrap();
    let account = started_with(everywhere(), journal, properties(None));
    account.pause();
    account.claim(A, "a", 7, 1).unwrap();
    account.world.pass_seconds(1);
    account.claim(B, "b", 7, 1).unwrap().commit.wait().unwrap();
    drop(account);
    for _ in 0..2 {
        let account = restart::open_at(StillWorld::new(), &directory, everywhere());
        assert_eq!(account.items(), ["b"]);
        assert_eq!(account.refused(), [("create", "a".to_owned())]);
    }
}

#[derive(Clone, Debug)]
enum Step {
    Claim { region: u8, item: u8, value: u8 },
    Delete { region: u8, item: u8 },
    Link(u8, u8, Option<u8>),
    Isolate(u8, bool),
    Wait(u8),
    Remove(u8),
    Add,
    Split(u8),
    Sweep,
    Kill,
}

fn step() -> impl Strategy<Value = Step> {
    let (region, item) = (|| 0u8..3, || 0u8..4);
    prop_oneof![
        10 => (region(), item(), 0u8..3).prop_map(|(region, item, value)| Step::Claim { region, item, value }),
        3 => (region(), item()).prop_map(|(region, item)| Step::Delete { region, item }),
        4 => (region(), region(), prop::option::of(0u8..40)).prop_map(|(from, to, lag)| Step::Link(from, to, lag)),
        1 => (region(), any::<bool>()).prop_map(|(region, cut)| Step::Isolate(region, cut)),
        3 => (1u8..40).prop_map(Step::Wait),
        1 => region().prop_map(Step::Remove),
        1 => Just(Step::Add),
        1 => any::<u8>().prop_map(Step::Split),
        1 => Just(Step::Sweep),
        1 => Just(Step::Kill),
    ]
}

fn take(mut account: Account, directory: &mut Directory, step: &Step) -> Account {
    let topology = account.engine.topology();
    let nth = |region: u8| topology.regions[usize::from(region) % topology.regions.len()].id;
    let engine = Arc::clone(&account.engine);
    match *step {
        Step::Claim { region, item, value } => {
            // Taken already, if anything.
            let _ = account.claim(nth(region), &item.to_string(), value, 0);
        }
        Step::Delete { region, item } => {
            let _ = account.container.delete_item(nth(region), at("k", &item.to_string()));
        }
        Step::Link(from, to, lag) => {
            let lag_of = |millis| Lag::Fixed(Duration::from_millis(u64::from(millis)));
            let link = lag.map_or(PAUSED, |millis| Link { lag: lag_of(millis), paused: false });
            engine.set_link(nth(from), nth(to), link);
        }
        Step::Isolate(region, cut) => engine.isolate(nth(region), cut),
        Step::Wait(millis) => {
            account.world.pass_millis(u64::from(millis));
            engine.pump();
        }
        Step::Remove(region) => engine.remove_region(nth(region)).unwrap_or_default(),
        Step::Add => {
            if topology.regions.len() < 4 {
                engine.add_region(format!("new {}", account.world.random()).as_str().into()).unwrap();
            }
        }
        Step::Split(which) => {
            let layout = account.container.layout();
            if layout.ranges().len() < 4 {
                let range = &layout.ranges()[usize::from(which) % layout.ranges().len()];
                let _ = account.container.split(&range.id).unwrap();
            }
        }
        Step::Sweep => engine.sweep(),
        Step::Kill => {
            let next = directory.copied(&engine);
            account = restart::open_at(Arc::clone(&account.world), &next, everywhere());
            *directory = next;
            check(&account);
        }
    }
    account
}

/// All regions agree, and no value is taken twice.
fn check(account: &Account) {
    let value = |(_, _, body): (u64, String, String)| json_of(body.as_bytes())["u"].as_u64().unwrap();
    let mut values: Vec<_> = account.agreed().into_iter().map(value).collect();
    let all = values.len();
    values.sort_unstable();
    values.dedup();
    assert_eq!(values.len(), all, "a value is taken twice");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn no_value_is_taken_twice_in_the_end(steps in prop::collection::vec(step(), 1..50)) {
        let mut directory = Directory::new("unique-model");
        let journal = Journal::open(directory.path()).unwrap();
        let mut account = started_with(everywhere(), journal, properties(None));
        for step in &steps {
            account = take(account, &mut directory, step);
        }
        account.heal();
        check(&account);
    }
}
