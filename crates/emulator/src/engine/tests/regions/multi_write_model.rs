//! Random writes in all regions, with links that break and partitions that split: in the end all regions agree, and
//! no session ever sees a version again that it had seen give way to another.

use std::collections::{BTreeMap, BTreeSet};

use cosmonaut_wire::model::ConflictResolutionPolicy;
use proptest::prelude::*;

use super::*;

#[derive(Clone, Debug)]
enum Step {
    Put { session: u8, region: u8, item: u8, n: i64 },
    Delete { session: u8, region: u8, item: u8 },
    Read { session: u8, region: u8, item: u8 },
    Link(u8, u8, Option<u8>),
    Isolate(u8, bool),
    Wait(u8),
    Split(u8),
    Sweep,
    Add,
    Remove(u8),
}

fn step() -> impl Strategy<Value = Step> {
    let (region, item, session) = (|| 0u8..3, || 0u8..4, || 0u8..3);
    prop_oneof![
        8 => (session(), region(), item(), -3i64..3).prop_map(|(session, region, item, n)| Step::Put { session, region, item, n }),
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

    fn finish(mut self) -> Result<(), TestCaseError> {
        let engine = Arc::clone(&self.account.engine);
        engine.topology().regions.iter().for_each(|region| engine.isolate(region.id, false));
        self.account.open();
        self.account.world.pass_seconds(1);
        prop_assert_eq!(engine.pump(), None);
        self.account.agreed();
        for (session, item) in (0..3).flat_map(|session| (0..4).map(move |item| (session, item))) {
            for region in engine.topology().regions.iter().map(|region| region.id) {
                prop_assert!(self.read(session, region, item)?, "all has arrived");
            }
        }
        Ok(())
    }
}

fn key(item: u8) -> String {
    format!("k{item}")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn all_regions_agree_in_the_end_and_no_session_sees_the_past(
        steps in prop::collection::vec(step(), 1..60),
        by_path: bool,
    ) {
        let mut properties = ContainerProperties::new("c", "/pk");
        properties.conflict_resolution_policy = by_path.then(|| ConflictResolutionPolicy::last_writer_wins("/n"));
        let account = started_with(everywhere(), Journal::memory(), properties);
        let mut run = Run { account, sessions: Default::default() };
        for step in &steps {
            run.step(step)?;
        }
        run.finish()?;
    }
}
