//! Random writes in all regions, with links that break, partitions that split and processes that die: in the end all
//! regions agree, and no session ever sees a version again that it had seen give way to another. After a restart
//! every region has what all of them would have agreed on without it.

use std::collections::{BTreeMap, BTreeSet};

use cosmonaut_wire::model::{BatchOperation, ChangeFeedPolicy, ConflictResolutionPolicy};
use proptest::prelude::*;
use serde_json::value::to_raw_value;

use super::super::storage::Directory;
use super::*;
use crate::engine::{ChangeRequest, FeedMode, FeedScope, FeedStart};

#[derive(Clone, Debug)]
enum Step {
    Put { session: u8, region: u8, item: u8, n: i64 },
    Batch { region: u8, item: u8, n: i64 },
    Delete { session: u8, region: u8, item: u8 },
    Read { session: u8, region: u8, item: u8 },
    Link(u8, u8, Option<u8>),
    Isolate(u8, bool),
    Wait(u8),
    Split(u8),
    Sweep,
    Add,
    Remove(u8),
    Kill,
}

fn step() -> impl Strategy<Value = Step> {
    let (region, item, session) = (|| 0u8..3, || 0u8..4, || 0u8..3);
    prop_oneof![
        8 => (session(), region(), item(), -3i64..3).prop_map(|(session, region, item, n)| Step::Put { session, region, item, n }),
        3 => (region(), item(), -3i64..3).prop_map(|(region, item, n)| Step::Batch { region, item, n }),
        3 => (session(), region(), item()).prop_map(|(session, region, item)| Step::Delete { session, region, item }),
        8 => (session(), region(), item()).prop_map(|(session, region, item)| Step::Read { session, region, item }),
        5 => (region(), region(), prop::option::of(0u8..40)).prop_map(|(from, to, lag)| Step::Link(from, to, lag)),
        1 => (region(), any::<bool>()).prop_map(|(region, cut)| Step::Isolate(region, cut)),
        3 => (1u8..40).prop_map(Step::Wait),
        1 => any::<u8>().prop_map(Step::Split),
        2 => Just(Step::Sweep),
        1 => Just(Step::Add),
        1 => region().prop_map(Step::Remove),
    ]
}

fn step_or_kill() -> impl Strategy<Value = Step> {
    prop_oneof![30 => step(), 1 => Just(Step::Kill)]
}

/// What a session has seen.
#[derive(Default)]
struct Session {
    token: SessionToken,
    /// Of each item, the version seen last, and those seen before.
    items: BTreeMap<u8, (Option<String>, BTreeSet<String>)>,
}

impl Session {
    fn see(&mut self, item: u8, etag: Option<String>) -> Result<(), TestCaseError> {
        let (last, before) = self.items.entry(item).or_default();
        if *last != etag {
            before.extend(last.take());
            if let Some(etag) = &etag {
                prop_assert!(!before.contains(etag), "{etag} of item {item} is the past");
            }
            *last = etag;
        }
        Ok(())
    }
}

struct Run {
    account: Account,
    sessions: [Session; 3],
    /// Where the account is kept, and how often it has been killed.
    directory: Option<(Directory, usize)>,
}

impl Run {
    fn region(&self, nth: u8) -> RegionId {
        let topology = self.account.engine.topology();
        topology.regions[usize::from(nth) % topology.regions.len()].id
    }

    fn step(&mut self, step: &Step) -> Result<(), TestCaseError> {
        let engine = Arc::clone(&self.account.engine);
        match *step {
            Step::Put { session, region, item, n } => {
                let body = json!({"id": "i", "pk": key(item), "n": n});
                self.write(session, self.region(region), item, |container, region| {
                    container.upsert_item(region, with(&key(item), "", &body))
                })?;
            }
            Step::Batch { region, item, n } => {
                // Beside the item that sessions look at, so that those two alone are always written together.
                let put = |id| to_raw_value(&json!({"id": id, "pk": key(item), "n": n})).unwrap();
                let both = ["x", "y"].map(|id| BatchOperation::upsert(put(id)));
                let _ = self
                    .account
                    .container
                    .batch(self.region(region), &key(item).into(), &BatchRequest::new(&both))
                    .unwrap();
            }
            Step::Delete { session, region, item } => {
                self.write(session, self.region(region), item, |container, region| {
                    container.delete_item(region, at(&key(item), "i"))
                })?;
            }
            Step::Read { session, region, item } => {
                self.read(session, self.region(region), item)?;
            }
            Step::Link(from, to, lag) => {
                let lag_of = |millis| Lag::Fixed(Duration::from_millis(u64::from(millis)));
                let link = lag.map_or(PAUSED, |millis| Link { lag: lag_of(millis), paused: false });
                engine.set_link(self.region(from), self.region(to), link);
            }
            Step::Isolate(region, cut) => engine.isolate(self.region(region), cut),
            Step::Wait(millis) => {
                self.account.world.pass_millis(u64::from(millis));
                engine.pump();
            }
            Step::Split(which) => {
                let layout = self.account.container.layout();
                if layout.ranges().len() < 5 {
                    let range = &layout.ranges()[usize::from(which) % layout.ranges().len()];
                    let _ = self.account.container.split(&range.id).unwrap();
                }
            }
            Step::Sweep => engine.sweep(),
            Step::Add => {
                if engine.topology().regions.len() < 4 {
                    let name = format!("new {}", self.account.world.random());
                    engine.add_region(name.as_str().into()).unwrap();
                }
            }
            Step::Remove(region) => engine.remove_region(self.region(region)).unwrap_or_default(),
            Step::Kill => self.kill(),
        }
        Ok(())
    }

    /// A write where all that the session has seen has arrived outranks it. One that is made elsewhere may lose even
    /// against what its own session has written before.
    fn write(
        &mut self,
        session: u8,
        region: RegionId,
        item: u8,
        write: impl FnOnce(&Container, RegionId) -> Result<ItemReply, Failure>,
    ) -> Result<(), TestCaseError> {
        let knows = self.read(session, region, item)?;
        let Ok(reply) = write(&self.account.container, region) else { return Ok(()) };
        let session = &mut self.sessions[usize::from(session)];
        session.token.merge(&reply.session()).unwrap();
        match knows {
            true => session.see(item, reply.etag.map(|etag| etag.to_string())),
            false => Ok(()),
        }
    }

    /// Whether the region had all that the session has seen.
    fn read(&mut self, session: u8, region: RegionId, item: u8) -> Result<bool, TestCaseError> {
        let session = &mut self.sessions[usize::from(session)];
        let request = ItemRequest { session: Some(&session.token), ..at(&key(item), "i") };
        match self.account.container.read_item(region, request) {
            Ok(reply) => {
                session.token.merge(&reply.session()).unwrap();
                session.see(item, reply.etag.map(|etag| etag.to_string()))?;
                Ok(true)
            }
            Err(failure) if failure.status == CosmosStatus::NOT_FOUND => {
                session.token.merge(&failure.session().unwrap()).unwrap();
                session.see(item, None)?;
                Ok(true)
            }
            Err(failure) => {
                prop_assert_eq!(failure.status, CosmosStatus::READ_SESSION_NOT_AVAILABLE);
                Ok(false)
            }
        }
    }

    /// Goes on with the file as it is when all that was acknowledged is in it.
    fn kill(&mut self) {
        let Some((directory, killed)) = &mut self.directory else { return };
        *killed += 1;
        let next = directory.copied(&self.account.engine);
        self.account.heal();
        let (agreed, all) = (self.account.agreed(), versions(&self.account));
        self.account = restart::open_at(Arc::clone(&self.account.world), &next, everywhere());
        assert_eq!(self.account.agreed(), agreed, "after {killed} kills");
        *directory = next;
        assert_eq!(versions(&self.account), all, "the feed of all versions");
        self.check_batches();
    }

    /// The items of a batch that is never contradicted in part are of one batch.
    fn check_batches(&self) {
        for item in 0..4 {
            let read = |id| self.account.container.read_item(A, at(&key(item), id)).ok();
            let [x, y] = ["x", "y"]
                .map(|id| read(id).map(|reply| (reply.item_lsn, json_of(&reply.body)["n"].clone())));
            assert_eq!(x, y, "half of a batch");
        }
    }

    fn finish(mut self) -> Result<(), TestCaseError> {
        let engine = Arc::clone(&self.account.engine);
        self.account.heal();
        self.account.agreed();
        for (session, item) in (0..3).flat_map(|session| (0..4).map(move |item| (session, item))) {
            for region in engine.topology().regions.iter().map(|region| region.id) {
                prop_assert!(self.read(session, region, item)?, "all has arrived");
            }
        }
        Ok(())
    }
}

/// All that the feed of all versions has, in any order: regions have heard of it in orders of their own.
fn versions(account: &Account) -> Vec<String> {
    let region = account.engine.topology().regions[0].id;
    let request = ChangeRequest {
        scope: FeedScope::Container,
        mode: FeedMode::FullFidelity,
        start: FeedStart::After("\"0\"".parse().unwrap()),
        max_items: Some(10_000),
        session: None,
        pace: Pace::default(),
    };
    let page = account.container.change_feed(region, &request).unwrap();
    let mut versions: Vec<_> =
        page.items.iter().map(|item| String::from_utf8(item.to_vec()).unwrap()).collect();
    versions.sort();
    versions
}

fn key(item: u8) -> String {
    format!("k{item}")
}

fn run(steps: &[Step], by_path: bool, directory: Option<Directory>) -> Result<(), TestCaseError> {
    let mut properties = ContainerProperties::new("c", "/pk");
    properties.change_feed_policy = Some(ChangeFeedPolicy::retain_minutes(5));
    properties.conflict_resolution_policy = by_path.then(|| ConflictResolutionPolicy::last_writer_wins("/n"));
    let journal =
        directory.as_ref().map_or(Journal::memory(), |directory| Journal::open(directory.path()).unwrap());
    let account = started_with(everywhere(), journal, properties);
    let directory = directory.map(|directory| (directory, 0));
    let mut run = Run { account, sessions: Default::default(), directory };
    for step in steps {
        run.step(step)?;
    }
    run.kill();
    run.finish()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn all_regions_agree_in_the_end_and_no_session_sees_the_past(
        steps in prop::collection::vec(step(), 1..60),
        by_path: bool,
    ) {
        run(&steps, by_path, None)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_kill_at_any_moment_loses_nothing(
        steps in prop::collection::vec(step_or_kill(), 1..60),
        by_path: bool,
    ) {
        run(&steps, by_path, Some(Directory::new("kill-model")))?;
    }
}
