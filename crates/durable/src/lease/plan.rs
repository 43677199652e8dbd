//! How slots are shared: what one member makes of the table when it shows that it lives.
//!
//! Each member takes what is free and gives up what is above its share; nobody takes from a living member, so
//! that no slot has two owners on its way from one to another.

use std::collections::HashSet;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::slots::{SLOT_COUNT, Slots};

/// All members and their slots.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Table {
    /// Ordered by name, so that all members see the same shares.
    pub(super) members: Vec<Member>,
}

/// A process that shares the slots.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Member {
    pub(super) name: String,
    /// How often the member has shown that it lives.
    pub(super) beat: u64,
    #[serde(serialize_with = "write_slots", deserialize_with = "read_slots")]
    pub(super) slots: Slots,
}

impl Table {
    pub(super) fn slots_of(&self, name: &str) -> Slots {
        self.members.iter().find(|member| member.name == name).map_or(Slots::none(), |member| member.slots)
    }

    /// Whether a member has its share.
    pub(super) fn is_settled_for(&self, name: &str) -> bool {
        let index = self.members.iter().position(|member| member.name == name);
        index.is_some_and(|index| self.members[index].slots.len() == share(index, self.members.len()))
    }

    /// The table after a sign of life of `me`, without the members that have given none for too long.
    pub(super) fn after_beat(&self, me: &str, dead: &HashSet<String>) -> Self {
        let mut members: Vec<Member> = self
            .members
            .iter()
            .filter(|member| member.name == me || !dead.contains(&member.name))
            .cloned()
            .collect();
        if members.iter().all(|member| member.name != me) {
            members.push(Member { name: me.to_owned(), beat: 0, slots: Slots::none() });
        }
        members.sort_by(|a, b| a.name.cmp(&b.name));
        let taken: Slots = members.iter().flat_map(|member| member.slots.iter()).collect();
        let count = members.len();
        for (index, member) in members.iter_mut().enumerate().filter(|(_, member)| member.name == me) {
            member.beat += 1;
            let share = share(index, count);
            let free = Slots::all().without(&taken);
            member.slots = member.slots.iter().chain(free.iter()).take(share).collect();
        }
        Self { members }
    }

    /// The table without a member that leaves.
    pub(super) fn without(&self, me: &str) -> Self {
        Self { members: self.members.iter().filter(|member| member.name != me).cloned().collect() }
    }
}

/// How many slots the member at `index` of `count` should have; all shares together are all slots.
fn share(index: usize, count: usize) -> usize {
    SLOT_COUNT / count + usize::from(index < SLOT_COUNT % count)
}

fn write_slots<S: Serializer>(slots: &Slots, serializer: S) -> Result<S::Ok, S::Error> {
    slots.iter().collect::<Vec<u8>>().serialize(serializer)
}

fn read_slots<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Slots, D::Error> {
    Ok(Vec::<u8>::deserialize(deserializer)?.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn nobody() -> HashSet<String> {
        HashSet::new()
    }

    fn owners(table: &Table) -> Vec<usize> {
        (0..=u8::MAX)
            .map(|slot| table.members.iter().filter(|member| member.slots.contains(slot)).count())
            .collect()
    }

    #[test]
    fn a_member_that_joins_gets_its_share_when_the_others_have_given_it_up() {
        let alone = Table::default().after_beat("a", &nobody());
        assert_eq!(alone.slots_of("a").len(), 256);
        let joined = alone.after_beat("b", &nobody());
        assert_eq!((joined.slots_of("a").len(), joined.slots_of("b").len()), (256, 0));
        let given = joined.after_beat("a", &nobody());
        let settled = given.after_beat("b", &nobody());
        assert_eq!((settled.slots_of("a").len(), settled.slots_of("b").len()), (128, 128));
        assert!(settled.is_settled_for("a") && settled.is_settled_for("b"));
        let left = settled.without("a").after_beat("b", &nobody());
        assert_eq!(left.slots_of("b").len(), 256);
        let taken = settled.after_beat("b", &HashSet::from(["a".to_owned()]));
        assert_eq!(taken.slots_of("b").len(), 256);
    }

    #[test]
    fn a_table_is_read_as_it_is_written() {
        let table = Table::default().after_beat("a", &nobody()).after_beat("b", &nobody());
        let text = serde_json::to_string(&table).unwrap();
        assert_eq!(serde_json::from_str::<Table>(&text).unwrap(), table);
    }

    proptest! {
        #[test]
        fn no_slot_ever_has_two_owners_and_all_have_one_in_the_end(
            steps in prop::collection::vec((0..7_u8, 0..4_u8), 0..60)
        ) {
            let mut table = Table::default();
            for (member, what) in steps {
                let name = format!("m{member}");
                table = match what {
                    0 => table.without(&name),
                    1 => {
                        let dead: HashSet<_> = table.members.iter().take(1).map(|dead| dead.name.clone()).collect();
                        table.after_beat(&name, &dead)
                    }
                    _ => table.after_beat(&name, &nobody()),
                };
                prop_assert!(owners(&table).iter().all(|owners| *owners <= 1));
            }
            table = table.after_beat("m0", &nobody());
            for _ in 0..2 {
                for member in table.clone().members {
                    table = table.after_beat(&member.name, &nobody());
                }
            }
            prop_assert!(owners(&table).iter().all(|owners| *owners == 1));
            prop_assert!(table.members.iter().all(|member| table.is_settled_for(&member.name)));
        }
    }
}
