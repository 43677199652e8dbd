//! A model of one lease and several instances which take it, read, are paused, crash and come back, in any order.
//!
//! Each change of a lease is one request on condition of a version, repeated with what is there if that is another: as
//! `store` does it. What is shown: only who has the lease moves it, it never goes back, and nothing is left out.

use proptest::prelude::*;
use serde_json::json;

use super::*;

const INSTANCES: [&str; 3] = ["a", "b", "c"];
const CHANGES: usize = 12;

/// What an instance has of the lease: the version that it knows, and the next change to handle.
struct Holding {
    known: Lease,
    next: usize,
}

struct World {
    lease: Lease,
    version: u32,
    holdings: [Option<Holding>; 3],
    /// Which changes were handled.
    handled: [bool; CHANGES],
}

#[derive(Clone, Copy, Debug)]
enum Step {
    /// Takes the lease, as one that is free, has expired or is stolen, if the lease was seen at some earlier version.
    Take {
        instance: usize,
        is_stale: bool,
    },
    Handle {
        instance: usize,
    },
    Renew {
        instance: usize,
    },
    Release {
        instance: usize,
    },
    Crash {
        instance: usize,
    },
}

impl World {
    fn new() -> Self {
        let lease: Lease =
            serde_json::from_value(json!({"id": "P..0", "LeaseToken": "0", "_etag": "0"})).unwrap();
        Self { lease, version: 0, holdings: [None, None, None], handled: [false; CHANGES] }
    }

    /// Changes the lease as the store does.
    fn update(&mut self, known: &Lease, update: &LeaseUpdate<'_>) -> Option<Lease> {
        let mut current = known.clone();
        for _ in 0..2 {
            let next = update.apply(&current, Duration::from_secs(u64::from(self.version)))?;
            if current.etag() == self.lease.etag() {
                self.version += 1;
                self.lease = next.at(Some(Etag::from(self.version.to_string())));
                return Some(self.lease.clone());
            }
            current = self.lease.clone();
        }
        None
    }

    fn position(lease: &Lease) -> usize {
        lease.continuation.as_deref().map_or(0, |at| at.parse().unwrap())
    }

    fn take(&mut self, instance: usize, seen: &Lease) {
        let is_expired = seen.owner.is_some();
        let by = INSTANCES[instance];
        let update = LeaseUpdate::Acquire { by, seen, is_expired, range: &EpkRange::FULL, start: None };
        if self.holdings[instance].is_none()
            && let Some(known) = self.update(seen, &update)
        {
            let next = Self::position(&known);
            self.holdings[instance] = Some(Holding { known, next });
        }
    }

    /// Changes the lease by an instance that believes to have it; one that is wrong notices.
    fn change(&mut self, instance: usize, update: &LeaseUpdate<'_>) {
        let Some(mut holding) = self.holdings[instance].take() else { return };
        let owner = self.lease.owner.clone();
        if let Some(known) = self.update(&holding.known, update) {
            assert_eq!(owner.as_deref(), Some(INSTANCES[instance]), "nobody else moves it");
            holding.known = known;
            self.holdings[instance] = Some(holding);
        }
    }

    fn run(&mut self, step: Step, earlier: &Lease) {
        let before = Self::position(&self.lease);
        match step {
            Step::Take { instance, is_stale } => {
                let seen = if is_stale { earlier.clone() } else { self.lease.clone() };
                self.take(instance, &seen);
            }
            Step::Handle { instance } => {
                let Some(holding) = &mut self.holdings[instance] else { return };
                if holding.next == CHANGES {
                    return;
                }
                self.handled[holding.next] = true;
                holding.next += 1;
                let continuation = holding.next.to_string();
                let update = LeaseUpdate::Checkpoint { by: INSTANCES[instance], continuation: &continuation };
                self.change(instance, &update);
            }
            Step::Renew { instance } => {
                self.change(instance, &LeaseUpdate::Renew { by: INSTANCES[instance] })
            }
            Step::Release { instance } => {
                self.change(instance, &LeaseUpdate::Release { by: INSTANCES[instance] });
                self.holdings[instance] = None;
            }
            Step::Crash { instance } => self.holdings[instance] = None,
        }
        assert!(Self::position(&self.lease) >= before, "it went back after {step:?}");
        assert!(self.handled[..Self::position(&self.lease)].iter().all(|handled| *handled), "{step:?}");
    }
}

fn step() -> impl Strategy<Value = Step> {
    let instance = || 0..INSTANCES.len();
    prop_oneof![
        3 => (instance(), any::<bool>()).prop_map(|(instance, is_stale)| Step::Take { instance, is_stale }),
        5 => instance().prop_map(|instance| Step::Handle { instance }),
        2 => instance().prop_map(|instance| Step::Renew { instance }),
        1 => instance().prop_map(|instance| Step::Release { instance }),
        1 => instance().prop_map(|instance| Step::Crash { instance }),
    ]
}

proptest! {
    #[test]
    fn a_lease_is_moved_by_its_owner_only_never_back_and_past_nothing(
        steps in prop::collection::vec(step(), 0..80)
    ) {
        let mut world = World::new();
        let mut earlier = world.lease.clone();
        for (at, step) in steps.into_iter().enumerate() {
            world.run(step, &earlier);
            if at % 5 == 0 {
                earlier = world.lease.clone();
            }
        }
        // Whoever is left alone finishes.
        world.holdings = [None, None, None];
        let lease = world.lease.clone();
        world.run(Step::Take { instance: 0, is_stale: false }, &lease);
        for _ in 0..CHANGES {
            world.run(Step::Handle { instance: 0 }, &lease);
        }
        prop_assert!(world.handled.iter().all(|handled| *handled));
        prop_assert_eq!(World::position(&world.lease), CHANGES);
    }
}
