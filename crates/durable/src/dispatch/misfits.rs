//! Instances that wait for a newer or an older runtime than those of this process: they are looked at seldom, and offered
//! to other processes. Pure.
//!
//! A pause holds only for dispatchers that cannot run the instance. One that can need not wait for it.

use std::collections::HashMap;
use std::sync::Arc;

use duroxide::providers::DispatcherCapabilityFilter;
use semver::Version;

use super::pause::pause_ms;
use crate::lease::{Slots, slot_of};

/// After what time an instance that nobody has taken is offered again.
const OFFER_AGAIN_MS: u64 = 30_000;
/// How often that time doubles: to a quarter of an hour.
const LONGEST_OFFER_PAUSE: u32 = 5;
/// How many are remembered. Any other waits as what fails does.
const MOST: usize = 10_000;

/// The instances that were found to be such.
#[derive(Default)]
pub(super) struct Misfits {
    known: HashMap<Arc<str>, Misfit>,
}

struct Misfit {
    pinned: String,
    /// The version, if it can be read.
    version: Option<Version>,
    /// How often in a row it was found to be one.
    looks: u32,
    not_before: u64,
    offered_at: Option<u64>,
    /// How often in a row it was offered in vain.
    offers: u32,
}

impl Misfits {
    /// A dispatcher could not run an instance because of the version that it is pinned to. False if there is no room to
    /// remember that.
    pub(super) fn note(&mut self, instance: Arc<str>, pinned: &str, now: u64) -> bool {
        if self.known.len() >= MOST && !self.known.contains_key(&instance) {
            return false;
        }
        let misfit = self.known.entry(instance).or_insert_with(|| Misfit {
            pinned: String::new(),
            version: None,
            looks: 0,
            not_before: 0,
            offered_at: None,
            offers: 0,
        });
        if misfit.pinned != pinned {
            (misfit.pinned, misfit.version) = (pinned.to_owned(), Version::parse(pinned).ok());
        }
        misfit.looks = misfit.looks.saturating_add(1);
        misfit.not_before = now.saturating_add(pause_ms(misfit.looks));
        true
    }

    /// Something else was found out about an instance.
    pub(super) fn forget(&mut self, instance: &str) {
        self.known.remove(instance);
    }

    /// Whether a dispatcher may look at an instance now.
    pub(super) fn lets(&self, instance: &str, filter: Option<&DispatcherCapabilityFilter>, now: u64) -> bool {
        self.known.get(instance).is_none_or(|misfit| misfit.not_before <= now || misfit.fits(filter))
    }

    /// When a dispatcher may look at the next one.
    pub(super) fn next_after(&self, now: u64) -> Option<u64> {
        self.known.values().map(|misfit| misfit.not_before).filter(|at| *at > now).min()
    }

    /// Something has happened to an instance: whoever has taken it may be ready for more.
    pub(super) fn stir(&mut self, instance: &str) {
        if let Some(misfit) = self.known.get_mut(instance) {
            (misfit.offered_at, misfit.offers) = (None, 0);
        }
    }

    /// Which instances are to be offered to other processes now, and the versions that they need.
    pub(super) fn choose_offers(&mut self, most: usize, now: u64) -> Vec<(Arc<str>, String)> {
        let mut due: Vec<_> = self.known.iter_mut().filter(|(_, misfit)| misfit.is_due(now)).collect();
        // Those that were not offered for longest: nobody keeps the others from their turn.
        due.sort_by_key(|(_, misfit)| misfit.offered_at);
        let offer = |(instance, misfit): (&Arc<str>, &mut Misfit)| {
            misfit.offered_at = Some(now);
            misfit.offers = misfit.offers.saturating_add(1);
            (Arc::clone(instance), misfit.pinned.clone())
        };
        due.into_iter().take(most).map(offer).collect()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// Forgets instances of slots that are another process's business now.
    pub(super) fn keep_only(&mut self, slots: &Slots) {
        self.known.retain(|instance, _| slots.contains(slot_of(instance)));
    }
}

impl Misfit {
    /// Whether it is to be offered. What nobody takes is offered ever more seldom.
    fn is_due(&self, now: u64) -> bool {
        let pause = OFFER_AGAIN_MS << self.offers.saturating_sub(1).min(LONGEST_OFFER_PAUSE);
        self.offered_at.is_none_or(|at| at.saturating_add(pause) <= now)
    }

    fn fits(&self, filter: Option<&DispatcherCapabilityFilter>) -> bool {
        filter.is_none_or(|filter| self.version.as_ref().is_some_and(|version| filter.is_compatible(version)))
    }
}

/// The runtimes for which this process has asked for instances lately.
#[derive(Default)]
pub(super) struct Runtimes {
    known: Vec<Runtime>,
}

struct Runtime {
    filter: Option<DispatcherCapabilityFilter>,
    waiting: usize,
}

impl Runtimes {
    /// A dispatcher begins to wait.
    pub(super) fn begin(&mut self, filter: Option<&DispatcherCapabilityFilter>) {
        self.known.retain(|runtime| runtime.waiting > 0 || is_same(runtime.filter.as_ref(), filter));
        match self.find(filter) {
            Some(runtime) => runtime.waiting += 1,
            None => self.known.push(Runtime { filter: filter.cloned(), waiting: 1 }),
        }
    }

    /// A dispatcher waits no longer.
    pub(super) fn end(&mut self, filter: Option<&DispatcherCapabilityFilter>) {
        if let Some(runtime) = self.find(filter) {
            runtime.waiting = runtime.waiting.saturating_sub(1);
        }
    }

    /// Whether a dispatcher has nothing to do.
    pub(super) fn is_hungry(&self) -> bool {
        self.known.iter().any(|runtime| runtime.waiting > 0)
    }

    /// Whether a dispatcher of this process runs instances that are pinned to a version.
    pub(super) fn run(&self, pinned: &str) -> bool {
        let Ok(version) = Version::parse(pinned) else { return false };
        let fits = |filter: &Option<DispatcherCapabilityFilter>| {
            filter.as_ref().is_none_or(|filter| filter.is_compatible(&version))
        };
        self.known.iter().any(|runtime| fits(&runtime.filter))
    }

    fn find(&mut self, filter: Option<&DispatcherCapabilityFilter>) -> Option<&mut Runtime> {
        self.known.iter_mut().find(|runtime| is_same(runtime.filter.as_ref(), filter))
    }
}

fn is_same(one: Option<&DispatcherCapabilityFilter>, other: Option<&DispatcherCapabilityFilter>) -> bool {
    one.map(|filter| &filter.supported_duroxide_versions)
        == other.map(|filter| &filter.supported_duroxide_versions)
}

#[cfg(test)]
mod tests {
    use duroxide::providers::SemverRange;

    use super::*;

    fn up_to(major: u64) -> DispatcherCapabilityFilter {
        let range = SemverRange::new(Version::new(0, 0, 0), Version::new(major, 0, 0));
        DispatcherCapabilityFilter { supported_duroxide_versions: vec![range] }
    }

    #[test]
    fn only_dispatchers_that_cannot_run_an_instance_wait_and_longer_each_time() {
        let mut misfits = Misfits::default();
        misfits.note("a".into(), "9.0.0", 0);
        for (filter, now, lets) in [
            (Some(up_to(1)), 99, false),
            (Some(up_to(1)), 100, true),
            (Some(up_to(9)), 0, true),
            (None, 0, true),
        ] {
            assert_eq!(misfits.lets("a", filter.as_ref(), now), lets, "{filter:?} {now}");
        }
        assert!(misfits.lets("b", Some(&up_to(1)), 0));
        misfits.note("a".into(), "9.0.0", 100);
        assert_eq!((misfits.next_after(100), misfits.next_after(300)), (Some(300), None));
        misfits.forget("a");
        assert!(misfits.lets("a", Some(&up_to(1)), 100));
        misfits.note("c".into(), "no version", 0);
        assert!(!misfits.lets("c", Some(&up_to(9)), 0), "nobody can be sure to run it");
    }

    #[test]
    fn an_instance_is_offered_at_once_again_when_something_happens_and_else_after_a_while() {
        let mut misfits = Misfits::default();
        misfits.note("a".into(), "9.0.0", 0);
        assert_eq!(misfits.choose_offers(5, 0), [("a".into(), "9.0.0".to_owned())]);
        assert!(misfits.choose_offers(5, 1).is_empty());
        misfits.stir("a");
        assert_eq!(misfits.choose_offers(5, 2).len(), 1);
        assert_eq!(misfits.choose_offers(5, 2 + OFFER_AGAIN_MS).len(), 1);
        assert_eq!(misfits.choose_offers(5, 2 + 2 * OFFER_AGAIN_MS).len(), 0, "the next pause is longer");
        assert_eq!(misfits.choose_offers(5, 2 + 3 * OFFER_AGAIN_MS).len(), 1);
        misfits.stir("a");
        assert!(misfits.choose_offers(0, 3).is_empty());
        misfits.keep_only(&Slots::none());
        assert!(misfits.is_empty());
    }

    #[test]
    fn every_instance_is_offered_before_one_is_again_and_what_has_no_room_is_said() {
        let mut misfits = Misfits::default();
        for n in 0..MOST {
            assert!(misfits.note(n.to_string().into(), "9.0.0", 0));
        }
        assert!(!misfits.note("one more".into(), "9.0.0", 0));
        assert!(misfits.note("7".into(), "9.0.0", 0), "what is known stays so");
        let mut offered = std::collections::HashSet::new();
        for round in 0..MOST / 100 {
            // However long each round takes.
            let some = misfits.choose_offers(100, round as u64 * OFFER_AGAIN_MS);
            assert!(some.into_iter().all(|(instance, _)| offered.insert(instance)), "round {round}");
        }
        assert_eq!(offered.len(), MOST);
    }

    #[test]
    fn a_process_takes_what_one_of_its_dispatchers_can_run() {
        let mut runtimes = Runtimes::default();
        assert!(!runtimes.is_hungry() && !runtimes.run("1.0.0"));
        runtimes.begin(Some(&up_to(3)));
        assert!(runtimes.is_hungry() && runtimes.run("2.0.0") && !runtimes.run("4.0.0"));
        runtimes.end(Some(&up_to(3)));
        assert!(!runtimes.is_hungry() && runtimes.run("2.0.0"), "it will ask again");
        runtimes.begin(Some(&up_to(5)));
        assert!(runtimes.run("4.0.0") && !runtimes.run("what?"));
        assert_eq!(runtimes.known.len(), 1, "who does not wait any more makes room");
    }
}
