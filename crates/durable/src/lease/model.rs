//! Members that share slots over a slow network, in a time of their own: they come, pause and go as chance will have
//! it, and no slot ever has two owners.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::time::Duration;

use proptest::prelude::*;
use tokio::time::Instant;

use super::Role;
use super::plan::Table;
use super::sign::{Sign, View};
use super::slots::{SLOT_COUNT, Slots};
use crate::clock;

const LEASE: Duration = Duration::from_secs(15);
/// How long a request takes.
const ROUND_TRIP: Duration = Duration::from_millis(150);

/// What a member does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    Sign,
    Read,
    Write,
}

struct Node {
    view: View,
    is_there: bool,
    paused_until: Instant,
    signed_at: Instant,
    owned: (Slots, Instant),
    to_write: Option<(u64, Table)>,
}

struct Sim {
    now: Instant,
    nodes: BTreeMap<String, Node>,
    signs: BTreeMap<String, Sign>,
    table: Table,
    writes: usize,
    lost_races: usize,
    queue: BinaryHeap<Reverse<(Instant, String, Step)>>,
}

impl Sim {
    fn new() -> Self {
        Self {
            now: clock::instant(),
            nodes: BTreeMap::new(),
            signs: BTreeMap::new(),
            table: Table::default(),
            writes: 0,
            lost_races: 0,
            queue: BinaryHeap::new(),
        }
    }

    fn join(&mut self, name: &str) {
        if self.nodes.get(name).is_some_and(|node| node.is_there) {
            return;
        }
        let node = Node {
            view: View::new(name.to_owned(), LEASE, clock::random()),
            is_there: true,
            paused_until: self.now,
            signed_at: self.now,
            owned: (Slots::none(), self.now),
            to_write: None,
        };
        self.nodes.insert(name.to_owned(), node);
        self.queue.push(Reverse((self.now, name.to_owned(), Step::Sign)));
    }

    /// Ends a member: with a word, or without.
    fn leave(&mut self, name: &str, says_so: bool) {
        if let Some(node) = self.nodes.get_mut(name) {
            node.is_there = false;
            if says_so {
                self.signs.remove(name);
            }
        }
    }

    /// Lets time pass.
    fn run(&mut self, time: Duration) {
        let end = self.now + time;
        while let Some(Reverse((at, name, step))) = self.queue.peek().cloned()
            && at <= end
        {
            self.queue.pop();
            self.now = self.now.max(at);
            self.step(&name, step);
            self.check();
        }
        self.now = end;
    }

    fn step(&mut self, name: &str, step: Step) {
        let now = self.now;
        let Some(node) = self.nodes.get_mut(name).filter(|node| node.is_there) else { return };
        if now < node.paused_until {
            self.queue.push(Reverse((node.paused_until, name.to_owned(), step)));
            return;
        }
        let (next, rest) = match step {
            Step::Sign => {
                node.signed_at = now;
                self.signs.insert(name.to_owned(), node.view.sign(Role::Leader));
                (Step::Read, ROUND_TRIP)
            }
            Step::Read => {
                node.view.read(self.signs.values().cloned().collect(), self.table.clone(), now);
                // What was lost is not worked on from here on.
                let until = node.signed_at + LEASE.mul_f64(0.9);
                node.owned = (node.view.owned(now), until);
                node.to_write = node.view.change(now).map(|table| (self.table.version, table));
                match node.to_write {
                    Some(_) => (Step::Write, ROUND_TRIP),
                    None => (Step::Sign, node.view.rest(now)),
                }
            }
            Step::Write => {
                if let Some((version, table)) = node.to_write.take() {
                    if version == self.table.version {
                        self.writes += 1;
                        self.table = table.clone();
                        node.view.written(table);
                        node.owned.0 = node.view.owned(now);
                    } else {
                        self.lost_races += 1;
                    }
                }
                (Step::Sign, node.view.rest(now))
            }
        };
        self.queue.push(Reverse((now + rest, name.to_owned(), next)));
    }

    fn owned(&self) -> Vec<Slots> {
        let nodes = self.nodes.values().filter(|node| node.is_there && self.now < node.owned.1);
        nodes.map(|node| node.owned.0).collect()
    }

    fn check(&self) {
        let mut taken = Slots::none();
        for owned in self.owned() {
            assert!(owned.within(&taken).is_empty(), "two owners of {:?}", owned.within(&taken));
            taken = taken.iter().chain(owned.iter()).collect();
        }
    }

    /// All slots are owned, and each member has one run of them.
    fn is_settled(&self) -> bool {
        let owned = self.owned();
        owned.iter().map(Slots::len).sum::<usize>() == SLOT_COUNT
            && owned.iter().all(|slots| slots.runs().len() == 1)
            && owned.len() == self.nodes.values().filter(|node| node.is_there).count()
    }
}

#[test]
fn a_hundred_members_settle_in_few_writes() {
    let mut sim = Sim::new();
    for n in 0..100 {
        sim.join(&format!("m{n:03}"));
        sim.run(Duration::from_millis(37));
    }
    sim.run(4 * LEASE);
    assert!(sim.is_settled());
    assert!(sim.writes <= 20 && sim.lost_races <= 20, "{} writes, {} lost", sim.writes, sim.lost_races);
    let before = sim.writes;
    sim.run(6 * LEASE);
    assert_eq!(sim.writes, before, "nothing is written while nothing changes");
    for n in 0..10 {
        sim.leave(&format!("m{:03}", n * 7), n % 2 == 0);
    }
    sim.run(4 * LEASE);
    assert!(sim.is_settled());
    assert!(sim.writes <= before + 10, "{} writes", sim.writes - before);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn no_slot_ever_has_two_owners_and_all_have_one_in_the_end(
        events in prop::collection::vec((0..7_u8, 0..5_u8, 0..9000_u64), 0..40)
    ) {
        let mut sim = Sim::new();
        for (member, what, pause) in events {
            let name = format!("m{member}");
            match what {
                0 => sim.leave(&name, true),
                1 => sim.leave(&name, false),
                2 => if let Some(node) = sim.nodes.get_mut(&name) {
                    node.paused_until = sim.now + 2 * LEASE;
                },
                _ => sim.join(&name),
            }
            sim.run(Duration::from_millis(pause));
        }
        sim.join("m0");
        sim.run(8 * LEASE);
        prop_assert!(sim.is_settled());
    }
}
