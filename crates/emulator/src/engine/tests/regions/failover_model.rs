//! Random writes, moves, splits and broken links on accounts with one write region: nothing acknowledged is lost but
//! what a forced move counts, and no token is met by a region that lacks what it saw.

use proptest::prelude::*;

use super::*;
use crate::engine::{Failover, FeedPosition};

#[derive(Clone, Debug)]
enum Step {
    Write(u8),
    Move(u8, bool),
    MovePartition(u8, u8, bool),
    Link(u8, u8, Option<u8>),
    Isolate(u8, bool),
    Wait(u8),
    Split(u8),
    Add,
    Remove(u8),
}

fn step() -> impl Strategy<Value = Step> {
    let region = || 0u8..3;
    prop_oneof![
        10 => (0u8..6).prop_map(Step::Write),
        2 => (region(), any::<bool>()).prop_map(|(to, forced)| Step::Move(to, forced)),
        2 => (any::<u8>(), region(), any::<bool>()).prop_map(|(range, to, forced)| Step::MovePartition(range, to, forced)),
        4 => (region(), region(), prop::option::of(0u8..40)).prop_map(|(from, to, lag)| Step::Link(from, to, lag)),
        2 => (region(), any::<bool>()).prop_map(|(region, cut)| Step::Isolate(region, cut)),
        3 => (1u8..40).prop_map(Step::Wait),
        1 => any::<u8>().prop_map(Step::Split),
        1 => Just(Step::Add),
        1 => region().prop_map(Step::Remove),
    ]
}

/// A write that was acknowledged: every one is another item.
struct Written {
    key: String,
    id: String,
    seen: SessionToken,
}

struct Run {
    account: Account,
    written: Vec<Written>,
    lost: u64,
    /// Whether a partition was split while commits were on the way: once those are only counted, which half has lost
    /// how many is not known.
    halved: bool,
}

impl Run {
    fn region(&self, nth: u8) -> RegionId {
        let topology = self.account.engine.topology();
        topology.regions[usize::from(nth) % topology.regions.len()].id
    }

    fn step(&mut self, step: &Step) -> Result<(), TestCaseError> {
        let engine = Arc::clone(&self.account.engine);
        let how = |forced: bool| if forced { Failover::Forced } else { Failover::Graceful };
        match *step {
            Step::Write(key) => self.write(key)?,
            Step::Move(to, forced) => {
                let moved = engine.move_writes(self.region(to), how(forced));
                self.lost += moved.map_or(0, |moved| moved.lost);
            }
            Step::MovePartition(range, to, forced) => {
                let layout = self.account.container.layout();
                let range = &layout.ranges()[usize::from(range) % layout.ranges().len()];
                let moved =
                    engine.move_partition(&self.account.container, &range.id, self.region(to), how(forced));
                self.lost += moved.map_or(0, |moved| moved.lost);
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
                if layout.ranges().len() < 6 {
                    let range = &layout.ranges()[usize::from(which) % layout.ranges().len()];
                    self.halved |= range.group().queues().any_waits();
                    let _ = self.account.container.split(&range.id).unwrap();
                }
            }
            Step::Add => {
                if engine.topology().regions.len() < 4 {
                    let name = format!("new {}", self.account.world.random());
                    engine.add_region(name.as_str().into()).unwrap();
                }
            }
            Step::Remove(region) => engine.remove_region(self.region(region)).unwrap_or_default(),
        }
        self.check_tokens()
    }

    fn write(&mut self, key: u8) -> Result<(), TestCaseError> {
        let (key, id) = (format!("k{key}"), self.written.len().to_string());
        let mut done = Vec::new();
        for region in self.account.engine.topology().regions.iter().map(|region| region.id) {
            match self.account.container.create_item(region, with(&key, "", &json!({"id": id, "pk": key}))) {
                Ok(reply) => done.push(reply.session()),
                Err(failure) => prop_assert_eq!(failure.status, CosmosStatus::WRITE_FORBIDDEN),
            }
        }
        prop_assert_eq!(done.len(), 1, "one region takes each write");
        self.written.extend(done.pop().map(|seen| Written { key, id, seen }));
        Ok(())
    }

    /// With the token of its write, an item is found or the region says that it cannot tell.
    fn check_tokens(&self) -> Result<(), TestCaseError> {
        for Written { key, id, seen } in &self.written {
            for region in self.account.engine.topology().regions.iter().map(|region| region.id) {
                let request = ItemRequest { session: Some(seen), ..at(key, id) };
                if let Err(failure) = self.account.container.read_item(region, request) {
                    prop_assert_eq!(
                        failure.status,
                        CosmosStatus::READ_SESSION_NOT_AVAILABLE,
                        "{} {} {:?}",
                        id,
                        seen,
                        region
                    );
                }
            }
        }
        Ok(())
    }

    fn finish(self) -> Result<(), TestCaseError> {
        let engine = &self.account.engine;
        engine.topology().regions.iter().for_each(|region| engine.isolate(region.id, false));
        self.account.open();
        self.account.world.pass_seconds(1);
        prop_assert_eq!(engine.pump(), None);
        let kept = self.account.agreed().len() as u64;
        let known = kept + self.lost;
        prop_assert!(known == self.written.len() as u64 || self.halved && known > self.written.len() as u64);
        self.check_tokens()?;
        let found = |one: &&Written| {
            let request = ItemRequest { session: Some(&one.seen), ..at(&one.key, &one.id) };
            self.account.container.read_item(engine.topology().write_region().id, request).is_ok()
        };
        prop_assert_eq!(
            self.written.iter().filter(found).count() as u64,
            kept,
            "what is left is found by its token"
        );
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn nothing_is_lost_but_by_force_and_no_token_is_met_without_what_it_saw(
        steps in prop::collection::vec(step(), 1..50)
    ) {
        let mut run = Run { account: started(three()), written: Vec::new(), lost: 0, halved: false };
        for step in &steps {
            run.step(step)?;
        }
        run.finish()?;
    }

    #[test]
    fn positions_of_any_kind_are_read_back(text in "\"?[0-9=;:,]{0,12}\"?") {
        if let Ok(position) = text.parse::<FeedPosition>() {
            prop_assert_eq!(position.to_string().parse::<FeedPosition>().unwrap(), position);
        }
    }
}
