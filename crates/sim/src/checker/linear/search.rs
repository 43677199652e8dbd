//! Linearisability by trying all orders, with a memory of the states that were reached.
//!
//! Time goes by from one beginning or end of a call to the next. At each end, what may be the case is the set of all states
//! that some order of the open calls leads to, and the call that ends must have had its turn in each of them. A call whose
//! outcome is unknown stays open for ever and owes nothing.

use crate::checker::Violation;
use crate::checker::facts::{Facts, writes_of};
use crate::checker::quick::{Map, Set};
use crate::checker::words::{call_and_time, name_of_outcome};
use crate::history::{Call, CallId, Key, Micros, Outcome, Refusal, Write, WriteKind};

/// More states than this at one moment are not looked into.
const MOST_STATES: usize = 4_000;
/// And not more than this many steps for one item.
const MOST_STEPS: usize = 60_000;

pub(super) enum Answer {
    Linearisable,
    Impossible(Violation),
    Undecided,
}

/// What a call does when it has its turn.
#[derive(Clone, Copy)]
enum Turn {
    /// It finds this version.
    See(Value),
    /// It writes.
    Apply(Write, CallId),
    /// It finds that there is an item.
    Present,
    /// It finds that there is none.
    Absent,
    /// It finds another version.
    Not(CallId),
}

/// The state of an item: absent, one of the versions that somebody saw, or one that nobody saw.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Value {
    Absent,
    Seen(usize),
    Unseen(CallId),
}

struct Op<'h> {
    call: &'h Call,
    turn: Turn,
    invoked: Micros,
    returned: Option<Micros>,
}

/// Which of the open calls have had their turn, and what the item is.
type State = (u64, Value);

pub(super) fn check(facts: &Facts<'_>, key: Key) -> Answer {
    let mut versions = Versions::default();
    let ops = gather(facts, key, &mut versions);
    let mut moments: Vec<(Micros, bool, usize)> = Vec::new();
    for (place, op) in ops.iter().enumerate() {
        moments.push((op.invoked, false, place));
        moments.extend(op.returned.map(|returned| (returned, true, place)));
    }
    moments.sort_unstable();
    let mut search =
        Search { ops: &ops, versions: &versions, slots: [None; 64], open_for_ever: Vec::new(), steps: 0 };
    let mut states: Set<State> = Set::from_iter([(0, Value::Absent)]);
    for (_, ends, place) in moments {
        if !ends {
            if !search.begin(place) {
                return Answer::Undecided;
            }
            continue;
        }
        let Some(next) = search.end(place, &states) else { return Answer::Undecided };
        if next.is_empty() {
            return Answer::Impossible(complain(key, &ops, place));
        }
        states = next;
    }
    Answer::Linearisable
}

fn gather<'h>(facts: &Facts<'h>, key: Key, versions: &mut Versions) -> Vec<Op<'h>> {
    let mut ops: Vec<Op<'h>> = Vec::new();
    for sighting in facts.sightings_of(key) {
        let turn = Turn::See(versions.value(sighting.trail));
        let (call, invoked) = (sighting.call, sighting.invoked);
        ops.push(Op { call, turn, invoked, returned: Some(sighting.returned) });
    }
    for effect in facts.effects(key) {
        let (call, invoked) = (effect.call, effect.earliest());
        // What was sent once and seen must have had its turn by then.
        let returned = Some(effect.latest()).filter(|latest| *latest < Micros::MAX);
        ops.push(Op { call, turn: Turn::Apply(effect.write, call.id), invoked, returned });
    }
    for call in &facts.history.calls {
        let (Outcome::Refused(refusal), [write]) = (&call.outcome, writes_of(call)) else { continue };
        if write.key == key
            && let Some(turn) = refused(*write, *refusal)
        {
            ops.push(Op { call, turn, invoked: call.invoked, returned: call.returned });
        }
    }
    ops
}

/// What a refusal says about the item.
fn refused(write: Write, refusal: Refusal) -> Option<Turn> {
    match (refusal, write.kind, write.if_match) {
        (Refusal::Conflict, WriteKind::Create, _) => Some(Turn::Present),
        (Refusal::NotFound, WriteKind::Replace | WriteKind::Patch | WriteKind::Delete, _) => {
            Some(Turn::Absent)
        }
        (Refusal::Precondition, _, Some(version)) => Some(Turn::Not(version)),
        _ => None,
    }
}

struct Search<'a, 'h> {
    ops: &'a [Op<'h>],
    versions: &'a Versions,
    slots: [Option<usize>; 64],
    open_for_ever: Vec<usize>,
    steps: usize,
}

impl Search<'_, '_> {
    /// Whether there is room for it.
    fn begin(&mut self, place: usize) -> bool {
        if self.ops[place].returned.is_none() {
            self.open_for_ever.push(place);
            return true;
        }
        match self.slots.iter_mut().find(|slot| slot.is_none()) {
            Some(slot) => {
                *slot = Some(place);
                true
            }
            None => false,
        }
    }

    /// All states in which the call has had its turn; `None` if they are too many.
    fn end(&mut self, place: usize, states: &Set<State>) -> Option<Set<State>> {
        let slot = self.slots.iter().position(|slot| *slot == Some(place)).unwrap_or(0);
        let bit = 1_u64 << slot;
        // A write can be applied again until it ends: all that it can still lead to counts. Others can wait for their own end.
        let again = repeats(&self.ops[place]);
        let mut reached = states.clone();
        let mut waiting: Vec<State> = reached.iter().copied().collect();
        let mut done = Set::default();
        while let Some((had, value)) = waiting.pop() {
            if had & bit != 0 {
                done.insert((had & !bit, value));
                if !again {
                    continue;
                }
            }
            for (slot, open) in self.slots.iter().enumerate() {
                let Some(open) = *open else { continue };
                let own = 1_u64 << slot;
                if had & own != 0 && !repeats(&self.ops[open]) {
                    continue;
                }
                let Some(value) = self.versions.after(value, self.ops[open].turn) else { continue };
                if reached.insert((had | own, value)) {
                    waiting.push((had | own, value));
                }
            }
            for open in &self.open_for_ever {
                let Some(value) = self.versions.after(value, self.ops[*open].turn) else { continue };
                if reached.insert((had, value)) {
                    waiting.push((had, value));
                }
            }
            self.steps += 1;
            if reached.len() > MOST_STATES || self.steps > MOST_STEPS {
                return None;
            }
        }
        self.slots[slot] = None;
        Some(done)
    }
}

/// Whether it is a write that can be applied again after it was applied.
fn repeats(op: &Op<'_>) -> bool {
    match op.turn {
        Turn::Apply(write, _) => {
            !op.call.sent_once && write.if_match.is_none() && write.kind != WriteKind::Patch
        }
        Turn::See(_) | Turn::Present | Turn::Absent | Turn::Not(_) => false,
    }
}

/// The versions that somebody saw, as a tree of their trails.
#[derive(Default)]
struct Versions {
    /// Of each version, the one before it in its trail, and its number.
    nodes: Vec<(Option<usize>, CallId)>,
    children: Map<(Option<usize>, CallId), usize>,
}

impl Versions {
    fn value(&mut self, trail: Option<&[CallId]>) -> Value {
        let mut node = None;
        for number in trail.unwrap_or(&[]) {
            let next = *self.children.entry((node, *number)).or_insert_with(|| {
                self.nodes.push((node, *number));
                self.nodes.len() - 1
            });
            node = Some(next);
        }
        node.map_or(Value::Absent, Value::Seen)
    }

    /// What the item is after the turn; `None` if the call cannot have its turn now.
    fn after(&self, value: Value, turn: Turn) -> Option<Value> {
        let present = value != Value::Absent;
        let last = match value {
            Value::Absent => None,
            Value::Seen(node) => Some(self.nodes[node].1),
            Value::Unseen(number) => Some(number),
        };
        match turn {
            Turn::See(seen) => (seen == value).then_some(value),
            Turn::Present => present.then_some(value),
            Turn::Absent => (!present).then_some(value),
            Turn::Not(version) => (last != Some(version)).then_some(value),
            Turn::Apply(write, number) => {
                // An upsert with a condition makes the item if it is not there.
                let matches = match write.if_match {
                    None => true,
                    Some(version) => last == Some(version) || (!present && write.kind == WriteKind::Upsert),
                };
                let fits = match write.kind {
                    WriteKind::Create => !present,
                    WriteKind::Upsert => true,
                    WriteKind::Replace | WriteKind::Patch | WriteKind::Delete => present,
                };
                (matches && fits).then(|| self.written(value, write.kind, number)).flatten()
            }
        }
    }

    fn written(&self, value: Value, kind: WriteKind, number: CallId) -> Option<Value> {
        let base = match (kind, value) {
            (WriteKind::Delete, _) => return Some(Value::Absent),
            (WriteKind::Patch, Value::Unseen(last)) => {
                return (last != number).then_some(Value::Unseen(number));
            }
            (WriteKind::Patch, Value::Seen(node)) => {
                let mut at = Some(node);
                while let Some(node) = at {
                    let (before, own) = self.nodes[node];
                    if own == number {
                        return None;
                    }
                    at = before;
                }
                Some(node)
            }
            (WriteKind::Create | WriteKind::Upsert | WriteKind::Replace, _)
            | (WriteKind::Patch, Value::Absent) => None,
        };
        Some(self.children.get(&(base, number)).map_or(Value::Unseen(number), |node| Value::Seen(*node)))
    }
}

fn complain(key: Key, ops: &[Op<'_>], place: usize) -> Violation {
    let Op { call, invoked, returned, .. } = &ops[place];
    let near = |other: &&Op<'_>| {
        other.invoked <= returned.unwrap_or(Micros::MAX) && other.returned.is_none_or(|at| at >= *invoked)
    };
    let mut calls: Vec<_> = ops.iter().filter(near).map(|op| op.call.id).collect();
    // Of what went before, the last few calls: one of them is at odds with those that overlap.
    let mut before: Vec<_> = ops.iter().filter(|op| op.returned.is_some_and(|at| at < *invoked)).collect();
    before.sort_by_key(|op| std::cmp::Reverse(op.returned));
    calls.extend(before.iter().take(3).map(|op| op.call.id));
    calls.sort_unstable_by_key(|id| (*id != call.id, *id));
    calls.dedup();
    Violation {
        rule: "not-linearisable",
        message: format!(
            "{}: {} ({}) cannot be put into any order with the calls on {key} before and beside it",
            key,
            call_and_time(call),
            name_of_outcome(&call.outcome)
        ),
        calls,
        at: returned.unwrap_or(*invoked),
    }
}
