//! How slots are shared: who gets which, and who has to let go before.
//!
//! Each member gets one run of neighbouring slots, all of the same length but for one. A member that gets a slot of
//! another one which lives waits until that one has said that it knows: so no slot has two owners on its way.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::slots::{SLOT_COUNT, Slots};
use super::{Role, sign::Sign};

/// Who has which slots.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Table {
    /// Grows by one with each change.
    pub(super) version: u64,
    pub(super) shares: Vec<Share>,
    /// Who may still have slots that are not theirs any more.
    pub(super) leaving: Vec<Leaving>,
}

/// The slots of a member.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Share {
    pub(super) name: String,
    #[serde(serialize_with = "write_slots", deserialize_with = "read_slots")]
    pub(super) slots: Slots,
}

/// Slots that a member works on until it has seen a version of the table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Leaving {
    pub(super) name: String,
    #[serde(serialize_with = "write_slots", deserialize_with = "read_slots")]
    pub(super) slots: Slots,
    pub(super) until_seen: u64,
}

impl Table {
    /// The slots that a member should have.
    pub(super) fn share_of(&self, name: &str) -> Slots {
        self.shares.iter().find(|share| share.name == name).map_or(Slots::none(), |share| share.slots)
    }

    /// The slots that a member may work on now, if these are all that live.
    pub(super) fn owned_by(&self, name: &str, living: &[Sign]) -> Slots {
        let others = self.leaving.iter().filter(|leaving| leaving.name != name && leaving.holds(living));
        others.fold(self.share_of(name), |owned, leaving| owned.without(&leaving.slots))
    }

    /// Which version a member has to say that it has seen, because others wait for that.
    pub(super) fn awaited_of(&self, name: &str) -> u64 {
        let own = self.leaving.iter().filter(|leaving| leaving.name == name);
        own.map(|leaving| leaving.until_seen).max().unwrap_or(0)
    }

    /// The table that these members should have; `None` if this one is it.
    pub(super) fn next(&self, living: &[Sign]) -> Option<Self> {
        let shares = self.shares_for(living);
        if shares == self.shares {
            return None;
        }
        let version = self.version + 1;
        let next = Self { version, shares, leaving: Vec::new() };
        let lives = |name: &str| living.iter().any(|sign| sign.name == name);
        let lost = self.shares.iter().filter(|share| lives(&share.name)).map(|share| Leaving {
            name: share.name.clone(),
            slots: share.slots.without(&next.share_of(&share.name)),
            until_seen: version,
        });
        let lost = lost.filter(|leaving| !leaving.slots.is_empty());
        let still = self.leaving.iter().filter(|leaving| leaving.holds(living)).cloned();
        let leaving = still.chain(lost).collect();
        Some(Self { leaving, ..next })
    }

    /// Equal runs for all leaders, or for all workers if there is no leader. They stay in the order that they are in.
    fn shares_for(&self, living: &[Sign]) -> Vec<Share> {
        let of_role = |role: Role| living.iter().filter(move |sign| sign.role == role);
        let role = if of_role(Role::Leader).next().is_some() { Role::Leader } else { Role::Worker };
        let place = |name: &str| self.share_of(name).iter().next().map_or(SLOT_COUNT, usize::from);
        let mut names: Vec<&str> = of_role(role).map(|sign| &*sign.name).collect();
        names.sort_by_key(|name| (place(name), *name));
        names.truncate(SLOT_COUNT);
        let count = names.len();
        let share = |(index, name): (usize, &str)| {
            let (first, end) = (index * SLOT_COUNT / count, (index + 1) * SLOT_COUNT / count);
            Share { name: name.to_owned(), slots: (first..end).map(|slot| slot as u8).collect() }
        };
        names.into_iter().enumerate().map(share).collect()
    }
}

impl Leaving {
    /// Whether the member may still work on the slots.
    fn holds(&self, living: &[Sign]) -> bool {
        living.iter().any(|sign| sign.name == self.name && sign.seen < self.until_seen)
    }
}

fn write_slots<S: Serializer>(slots: &Slots, serializer: S) -> Result<S::Ok, S::Error> {
    slots.runs().into_iter().map(|run| (run.start, run.end)).collect::<Vec<_>>().serialize(serializer)
}

fn read_slots<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Slots, D::Error> {
    let runs = Vec::<(usize, usize)>::deserialize(deserializer)?;
    Ok(runs.into_iter().flat_map(|(start, end)| start..end.min(SLOT_COUNT)).map(|slot| slot as u8).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sign(name: &str, role: Role, seen: u64) -> Sign {
        Sign { name: name.into(), beat: 0, seen, role, revision: 1 }
    }

    fn leaders(names: &[&str], seen: u64) -> Vec<Sign> {
        names.iter().map(|name| sign(name, Role::Leader, seen)).collect()
    }

    fn run(first: u8, last: u8) -> Slots {
        (first..=last).collect()
    }

    #[test]
    fn slots_move_when_their_owner_has_seen_that_they_are_gone() {
        let alone = Table::default().next(&leaders(&["b"], 0)).unwrap();
        assert_eq!(alone.owned_by("b", &leaders(&["b"], 0)).len(), 256);
        let joined = alone.next(&leaders(&["a", "b"], 1)).unwrap();
        assert_eq!(joined.share_of("b"), run(0, 127), "who was there stays where it was");
        assert!(joined.owned_by("a", &leaders(&["a", "b"], 1)).is_empty(), "b may not know yet");
        assert_eq!(joined.awaited_of("b"), 2);
        assert_eq!(joined.owned_by("a", &leaders(&["a", "b"], 2)), run(128, 255));
        assert_eq!(joined.owned_by("a", &leaders(&["a"], 1)), run(128, 255), "b is dead");
        assert_eq!(joined.next(&leaders(&["a", "b"], 1)), None);
    }

    #[test]
    fn a_slot_that_moves_twice_is_not_had_before_its_first_owner_has_let_go() {
        let one = Table::default().next(&leaders(&["a"], 0)).unwrap();
        let two = one.next(&leaders(&["a", "b"], 1)).unwrap();
        // b goes before a has seen that it came, and c comes.
        let three = two.next(&leaders(&["a", "c"], 1)).unwrap();
        assert!(three.owned_by("c", &leaders(&["a", "c"], 1)).is_empty());
        assert_eq!(three.owned_by("c", &leaders(&["a", "c"], 3)).len(), 128);
    }

    #[test]
    fn workers_get_slots_only_if_nobody_leads() {
        let workers = [sign("w", Role::Worker, 0)];
        let table = Table::default().next(&workers).unwrap();
        assert_eq!(table.share_of("w").len(), 256);
        let both = [sign("w", Role::Worker, 1), sign("l", Role::Leader, 1)];
        let table = table.next(&both).unwrap();
        assert_eq!((table.share_of("w").len(), table.share_of("l").len()), (0, 256));
        assert!(table.next(&[]).unwrap().shares.is_empty());
    }

    #[test]
    fn a_table_is_read_as_it_is_written() {
        let one = Table::default().next(&leaders(&["a"], 0)).unwrap();
        let table = one.next(&leaders(&["a", "b"], 1)).unwrap();
        let text = serde_json::to_string(&table).unwrap();
        assert_eq!(serde_json::from_str::<Table>(&text).unwrap(), table);
    }
}
