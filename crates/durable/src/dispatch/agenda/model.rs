//! The agenda against a simple model of it, which looks at all things each time; and what the order is.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;

/// A thing as the model has it.
#[derive(Clone, Debug, Default)]
struct Thing {
    due: Option<u64>,
    locked_until: Option<u64>,
    parked: bool,
    failures: u32,
    not_before: u64,
    held: Option<Held>,
}

#[derive(Clone, Debug)]
struct Held {
    ticket: u64,
    news: Vec<(u64, u64)>,
    told: Option<Told>,
    woken: Option<u64>,
    is_unlocked: bool,
}

impl Thing {
    fn wake(&self) -> Option<u64> {
        if self.held.is_some() || self.parked {
            return None;
        }
        self.locked_until.or(self.due).map(|at| at.max(self.not_before))
    }

    fn is(&mut self, told: Told) {
        (self.due, self.locked_until, self.parked) = (Some(told.at), told.locked_until, false);
    }
}

#[derive(Clone, Debug)]
enum Step {
    Pass(u64),
    News(u8, u64),
    Hint(u8, u64),
    Wake(u8),
    Lock(u8, u64),
    Unlock(u8),
    Tell(u8, u64, Option<u64>),
    Remove(u8),
    Claim,
    /// Settles the n-th of what is handed out; `seen` says whether the news was.
    Settle(u8, Said, u64, Option<u64>, bool),
}

#[derive(Clone, Copy, Debug)]
enum Said {
    Taken,
    Held,
    Idle,
    Waits,
    Back,
    Failed,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let key = 0..6_u8;
    let time = 0..400_u64;
    let said = prop_oneof![
        Just(Said::Taken),
        Just(Said::Held),
        Just(Said::Idle),
        Just(Said::Waits),
        Just(Said::Back),
        Just(Said::Failed)
    ];
    let step = prop_oneof![
        2 => (0..300_u64).prop_map(Step::Pass),
        3 => (key.clone(), time.clone()).prop_map(|(key, at)| Step::News(key, at)),
        1 => (key.clone(), time.clone()).prop_map(|(key, at)| Step::Hint(key, at)),
        1 => key.clone().prop_map(Step::Wake),
        1 => (key.clone(), time.clone()).prop_map(|(key, at)| Step::Lock(key, at)),
        1 => key.clone().prop_map(Step::Unlock),
        1 => (key.clone(), time.clone(), prop::option::of(time.clone()))
            .prop_map(|(key, at, until)| Step::Tell(key, at, until)),
        1 => key.prop_map(Step::Remove),
        4 => Just(Step::Claim),
        4 => (any::<u8>(), said, time.clone(), prop::option::of(time), any::<bool>())
            .prop_map(|(n, said, until, later, seen)| Step::Settle(n, said, until, later, seen)),
    ];
    prop::collection::vec(step, 0..120)
}

/// The model: all things by their names.
#[derive(Default)]
struct Model {
    things: BTreeMap<u8, Thing>,
    now: u64,
    marks: u64,
}

impl Model {
    fn claimable(&self) -> BTreeSet<u8> {
        let ready = |thing: &Thing| thing.wake().is_some_and(|wake| wake <= self.now);
        self.things.iter().filter(|(_, thing)| ready(thing)).map(|(key, _)| *key).collect()
    }

    fn held(&self) -> Vec<Handed<u8>> {
        let held = |(key, thing): (&u8, &Thing)| {
            thing.held.as_ref().map(|held| Handed { key: *key, ticket: held.ticket })
        };
        self.things.iter().filter_map(held).collect()
    }

    fn news(&mut self, key: u8, at: u64) {
        let mark = self.marks;
        let thing = self.things.entry(key).or_default();
        match &mut thing.held {
            Some(held) => held.news.push((mark, at)),
            None => {
                thing.due = earlier(thing.due, Some(at));
                thing.parked = false;
            }
        }
    }

    fn settle(&mut self, key: u8, said: Said, (until, later): (u64, Option<u64>), seen: bool) {
        let Some(thing) = self.things.get_mut(&key) else { return };
        let Some(held) = thing.held.take() else { return };
        let unseen = |seen: bool| held.news.iter().filter(|_| !seen).map(|(_, at)| *at).min();
        let before = earlier(thing.due, thing.locked_until);
        match said {
            Said::Taken => (thing.due, thing.locked_until) = (earlier(later, unseen(seen)), Some(until)),
            Said::Held => {
                let until = (!held.is_unlocked).then_some(until);
                (thing.due, thing.locked_until) = (earlier(before, unseen(false)), until);
            }
            Said::Idle => (thing.due, thing.locked_until) = (earlier(later, unseen(seen)), None),
            Said::Waits => {
                let due = earlier(earlier(later, unseen(seen)), held.woken);
                (thing.due, thing.locked_until, thing.parked) = (due, None, due.is_none());
            }
            Said::Back | Said::Failed => match held.told {
                Some(told) => thing.is(told),
                None => (thing.due, thing.locked_until) = (earlier(before, unseen(false)), None),
            },
        }
        match said {
            Said::Failed => {
                thing.failures += 1;
                thing.not_before = self.now + pause_ms(thing.failures);
            }
            Said::Back => {}
            Said::Taken | Said::Held | Said::Idle | Said::Waits => {
                (thing.failures, thing.not_before) = (0, 0);
            }
        }
        self.tidy();
    }

    fn tidy(&mut self) {
        self.things.retain(|_, thing| {
            thing.due.is_some() || thing.locked_until.is_some() || thing.parked || thing.held.is_some()
        });
    }

    /// Does a step to both.
    fn apply(&mut self, agenda: &mut Agenda<u8, u8>, step: &Step) -> Result<(), TestCaseError> {
        let lane = |key: u8| key % 2;
        let now = self.now;
        match *step {
            Step::Pass(time) => self.now += time,
            Step::News(key, at) => {
                self.marks += 1;
                agenda.news(key, lane(key), News { at: now + at, mark: self.marks }, now);
                self.news(key, now + at);
            }
            Step::Hint(key, at) => {
                agenda.hint(key, lane(key), now + at, now);
                let thing = self.things.entry(key).or_default();
                if thing.held.is_none() && thing.locked_until.is_none() && !thing.parked {
                    thing.due = earlier(thing.due, Some(now + at));
                }
            }
            Step::Wake(key) => {
                agenda.wake(&key, now);
                if let Some(thing) = self.things.get_mut(&key) {
                    if thing.parked {
                        (thing.parked, thing.due) = (false, Some(now));
                    }
                    thing.held.iter_mut().for_each(|held| held.woken = Some(now));
                }
            }
            Step::Lock(key, until) => {
                agenda.lock(key, lane(key), now + until, now);
                let thing = self.things.entry(key).or_default();
                if thing.held.is_none() {
                    (thing.locked_until, thing.parked) = (Some(now + until), false);
                }
            }
            Step::Unlock(key) => {
                agenda.unlock(&key, now);
                if let Some(thing) = self.things.get_mut(&key) {
                    match &mut thing.held {
                        Some(held) => held.is_unlocked = true,
                        None => thing.locked_until = None,
                    }
                }
                self.tidy();
            }
            Step::Tell(key, at, until) => {
                let told = Told { at: now + at, locked_until: until.map(|until| now + until) };
                agenda.tell(key, (lane(key), ()), told, now);
                let thing = self.things.entry(key).or_default();
                match &mut thing.held {
                    Some(held) => held.told = Some(told),
                    None => thing.is(told),
                }
            }
            Step::Remove(key) => {
                agenda.remove(&key);
                self.things.remove(&key);
            }
            Step::Claim => {
                let claimable = self.claimable();
                match agenda.claim(now, |_| true, |_| true) {
                    None => prop_assert!(claimable.is_empty(), "forgotten: {claimable:?}"),
                    Some(handed) => {
                        prop_assert!(claimable.contains(&handed.key), "{handed:?} is not to be had");
                        let thing = self.things.entry(handed.key).or_default();
                        thing.held = Some(Held {
                            ticket: handed.ticket,
                            news: Vec::new(),
                            told: None,
                            woken: None,
                            is_unlocked: false,
                        });
                    }
                }
            }
            Step::Settle(n, said, until, later, seen) => {
                let held = self.held();
                let Some(handed) = held.get(usize::from(n) % held.len().max(1)) else { return Ok(()) };
                let marks: Vec<u64> = (0..=self.marks).filter(|_| seen).collect();
                let (until, later) = (now + until, later.map(|later| now + later));
                let outcome = match said {
                    Said::Taken => Outcome::Taken { until, seen: &marks, later },
                    Said::Held => Outcome::Held { until },
                    Said::Idle => Outcome::Idle { seen: &marks, later },
                    Said::Waits => Outcome::Waits { seen: &marks, later },
                    Said::Back => Outcome::Back,
                    Said::Failed => Outcome::Failed,
                };
                agenda.settle(handed, outcome, now);
                self.settle(handed.key, said, (until, later), seen);
            }
        }
        Ok(())
    }
}

proptest! {
    #[test]
    fn what_is_handed_out_is_what_the_model_says(steps in steps()) {
        let mut agenda = Agenda::new(Limits { things: 100, horizon_ms: 1_000_000 });
        let mut model = Model::default();
        for step in &steps {
            model.apply(&mut agenda, step)?;
            let next = model.things.values().filter_map(Thing::wake).filter(|wake| *wake > model.now).min();
            prop_assert_eq!(agenda.has_claims(), !model.held().is_empty());
            if model.claimable().is_empty() {
                prop_assert_eq!(agenda.next_after(model.now), next);
            }
        }
        // In the end everything that is due comes, each once.
        model.now += 100_000;
        let claimable = model.claimable();
        let handed = std::iter::from_fn(|| agenda.claim(model.now, |_| true, |_| true));
        prop_assert_eq!(handed.map(|handed| handed.key).collect::<Vec<_>>().len(), claimable.len());
    }

    #[test]
    fn memory_is_bounded_and_what_there_was_no_room_for_is_announced(
        things in prop::collection::vec((0..60_u8, 0..3000_u64), 0..120)
    ) {
        let limits = Limits { things: 20, horizon_ms: 2000 };
        let mut agenda: Agenda<u8, u8> = Agenda::new(limits);
        let mut due: BTreeMap<u8, u64> = BTreeMap::new();
        for (mark, (key, at)) in (0..).zip(things) {
            agenda.news(key, 0, News { at, mark }, 0);
            let first = due.entry(key).or_insert(at);
            *first = at.min(*first);
            prop_assert!(agenda.entries.len() <= limits.things);
        }
        let handed: BTreeSet<u8> =
            std::iter::from_fn(|| agenda.claim(5000, |_| true, |_| true)).map(|handed| handed.key).collect();
        for (key, at) in due {
            let announced = agenda.forgotten_from().is_some_and(|from| from <= at);
            prop_assert!(handed.contains(&key) || announced, "{} at {}", key, at);
        }
    }
}

fn claim(agenda: &mut Agenda<&'static str, u8>, now: u64) -> Option<Handed<&'static str>> {
    agenda.claim(now, |_| true, |_| true)
}

#[test]
fn things_come_in_the_order_in_which_they_became_ready_and_a_failed_one_behind_the_others() {
    let mut agenda: Agenda<&str, u8> = Agenda::new(Limits::USUAL);
    for (key, at) in [("later", 50), ("first", 5), ("second", 0)] {
        agenda.news(key, 0, News { at, mark: 0 }, 10);
    }
    agenda.news("third", 1, News { at: 0, mark: 0 }, 60);
    let first = claim(&mut agenda, 60).unwrap();
    assert_eq!(first.key, "first");
    agenda.settle(&first, Outcome::Back, 60);
    let first = claim(&mut agenda, 60).unwrap();
    assert_eq!(first.key, "first", "a claim that was dropped comes back to its place");
    agenda.settle(&first, Outcome::Failed, 60);
    for expected in ["second", "third", "later"] {
        assert_eq!(claim(&mut agenda, 60).unwrap().key, expected);
    }
    agenda.news("first", 0, News { at: 61, mark: 1 }, 61);
    assert_eq!((claim(&mut agenda, 159), agenda.next_after(159)), (None, Some(160)));
    let first = claim(&mut agenda, 160).unwrap();
    agenda.settle(&first, Outcome::Failed, 160);
    assert_eq!(agenda.next_after(160), Some(360), "the next pause is longer");
    let first = claim(&mut agenda, 360).unwrap();
    agenda.settle(&first, Outcome::Taken { until: 400, seen: &[], later: None }, 360);
    assert_eq!(agenda.failures(&"first"), 0);
}

#[test]
fn what_a_search_finds_has_waited_since_it_was_due() {
    let mut agenda: Agenda<&str, u8> = Agenda::new(Limits::USUAL);
    agenda.news("new", 0, News { at: 50, mark: 0 }, 50);
    agenda.hint("old", 0, 20, 60);
    agenda.hint("new", 0, 50, 60);
    agenda.hint("older", 1, 10, 60);
    for expected in ["older", "old", "new"] {
        assert_eq!(claim(&mut agenda, 60).unwrap().key, expected);
    }
}

#[test]
fn what_a_holder_says_of_a_thing_that_was_removed_changes_nothing() {
    let mut agenda: Agenda<&str, u8> = Agenda::new(Limits::USUAL);
    agenda.news("a", 0, News { at: 0, mark: 0 }, 0);
    let old = claim(&mut agenda, 0).unwrap();
    agenda.remove(&"a");
    agenda.news("a", 0, News { at: 0, mark: 1 }, 0);
    let new = claim(&mut agenda, 0).unwrap();
    agenda.settle(&old, Outcome::Back, 0);
    assert_eq!(claim(&mut agenda, 0), None, "it is handed out");
    agenda.settle(&new, Outcome::Idle { seen: &[], later: None }, 0);
    assert!(!agenda.has_claims() && agenda.entries.is_empty());
}

#[test]
fn a_lane_that_is_not_wanted_does_not_hide_the_others() {
    let mut agenda: Agenda<&str, u8> = Agenda::new(Limits::USUAL);
    for key in ["a", "b", "c"] {
        agenda.news(key, u8::from(key == "c"), News { at: 0, mark: 0 }, 0);
    }
    assert_eq!(agenda.claim(0, |lane| *lane == 1, |_| true).unwrap().key, "c");
    agenda.change_lane(&"b", 1);
    assert_eq!(agenda.claim(0, |lane| *lane == 1, |_| true).unwrap().key, "b");
    assert_eq!(agenda.claim(0, |_| true, |_| true).unwrap().key, "a");
}

#[test]
fn a_lock_that_is_longer_than_what_is_remembered_asks_for_no_search() {
    let mut agenda: Agenda<&str, u8> = Agenda::new(Limits::USUAL);
    let until = 3 * Limits::USUAL.horizon_ms;
    agenda.tell("long", (0, ()), Told { at: 0, locked_until: Some(until) }, 5);
    agenda.lock("longer", 0, until + 1, 5);
    assert_eq!((agenda.forgotten_from(), agenda.next_after(5)), (None, Some(until)));
    agenda.news("late", 0, News { at: until, mark: 0 }, 5);
    assert_eq!(agenda.forgotten_from(), Some(until), "it is found when its time comes");
    assert_eq!(claim(&mut agenda, until).unwrap().key, "long");
}
