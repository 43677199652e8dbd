//! Which keys no lease is for, and the leases that those keys need. Nothing is sent here.
//!
//! Leases can go though their partitions are there: somebody deletes them, or a forced failover loses them while other
//! documents stay. Partitions that split leave no such gap: the leases of the children are made before that of the
//! parent goes. But leases are listed partition by partition, so that a list can miss both. Keys count as uncovered when
//! two lists in a row had no lease for them.

use cosmonaut_wire::{EpkRange, ResourceId, mutation};

use super::lease::{Lease, LeaseRange};
use super::split_plan::{Partition, pieces, range_of};

/// The keys that the last list had no lease for.
#[derive(Debug, Default)]
pub(super) struct Uncovered {
    container: Option<ResourceId>,
    keys: Vec<EpkRange>,
}

impl Uncovered {
    /// Notes the keys that a list has no lease for. Returns those that the list before had no lease for either.
    pub(super) fn note(&mut self, container: ResourceId, keys: Vec<EpkRange>) -> Vec<EpkRange> {
        let before =
            if self.container == Some(container) { std::mem::take(&mut self.keys) } else { Vec::new() };
        let lasting =
            before.iter().flat_map(|old| keys.iter().filter_map(|new| old.intersection(new))).collect();
        *self = Self { container: Some(container), keys };
        if mutation!("processor-forgets-a-child-lease") { Vec::new() } else { lasting }
    }
}

/// The keys that no lease is for, in their order. A lease that cannot be placed covers nothing.
pub(super) fn uncovered(leases: &[Lease], partitions: &[Partition]) -> Vec<EpkRange> {
    let mut ranges: Vec<EpkRange> = leases.iter().filter_map(|lease| range_of(lease, partitions)).collect();
    ranges.sort_by(|one, other| one.min.cmp(&other.min));
    let (mut found, mut at) = (Vec::new(), EpkRange::FULL.min);
    for range in ranges {
        found.push(EpkRange { min: at.clone(), max: range.min });
        at = at.max(range.max);
    }
    found.push(EpkRange { min: at, max: EpkRange::FULL.max });
    found.iter().filter_map(|gap| gap.intersection(&EpkRange::FULL)).collect()
}

/// The leases that keys need: one for each partition that has some of them.
pub(super) fn leases_for(keys: &[EpkRange], partitions: &[Partition]) -> Vec<LeaseRange> {
    keys.iter().flat_map(|range| pieces(0, range, partitions)).collect()
}

/// The second behind which a lease is read that is made though the processor has run before: the earliest that anything
/// says it has started at. `own` is when this instance was started; `None` if a start does not depend on that.
pub(super) fn earliest_start(own: Option<u64>, marker: Option<u64>, leases: &[Lease]) -> Option<u64> {
    let known = leases.iter().filter_map(Lease::start).chain(marker);
    own.map(|own| known.fold(own, u64::min))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn range(text: &str) -> EpkRange {
        let (min, max) = text.split_once('-').unwrap();
        EpkRange { min: min.parse().unwrap(), max: max.parse().unwrap() }
    }

    fn ranges(texts: &[&str]) -> Vec<EpkRange> {
        texts.iter().map(|text| range(text)).collect()
    }

    fn partition(id: &str, keys: &str, parents: &[&str]) -> Partition {
        let parents = parents.iter().map(|parent| (*parent).into()).collect();
        Partition { id: id.into(), range: range(keys), parents }
    }

    fn leases(documents: &[Value]) -> Vec<Lease> {
        documents.iter().map(|lease| serde_json::from_value(lease.clone()).unwrap()).collect()
    }

    fn lease(token: &str, keys: &str) -> Value {
        let (min, max) = keys.split_once('-').unwrap();
        json!({"id": format!("P..{token}"), "LeaseToken": token, "FeedRange": {"Range": {"min": min, "max": max}}})
    }

    /// As old versions write it.
    fn old(token: &str) -> Value {
        json!({"id": format!("P..{token}"), "PartitionId": token})
    }

    #[test]
    fn keys_without_a_lease_are_found_and_get_leases_of_their_partitions() {
        let partitions =
            [partition("0", "-10", &[]), partition("3", "10-20", &["1"]), partition("4", "20-FF", &["1"])];
        for (case, there, gaps, tokens) in [
            ("none is there", &[][..], &["-FF"][..], &["0", "3", "4"][..]),
            ("all are there", &[lease("0", "-10"), lease("3", "10-20"), lease("4", "20-FF")], &[], &[]),
            ("in another order", &[lease("4", "20-FF"), lease("0", "-10"), lease("3", "10-20")], &[], &[]),
            ("the first is gone", &[lease("3", "10-20"), lease("4", "20-FF")], &["-10"], &["0"]),
            ("the last is gone", &[lease("0", "-10"), lease("3", "10-20")], &["20-FF"], &["4"]),
            ("one in between is gone", &[lease("0", "-10"), lease("4", "20-FF")], &["10-20"], &["3"]),
            ("a split under way", &[lease("0", "-10"), lease("1", "10-FF")], &[], &[]),
            (
                "the parent and a child",
                &[lease("0", "-10"), lease("1", "10-FF"), lease("3", "10-20")],
                &[],
                &[],
            ),
            ("old leases", &[old("0"), old("3")], &["20-FF"], &["4"]),
            ("the old lease of a parent", &[old("0"), old("1")], &[], &[]),
            ("part of a partition", &[lease("-30", "-30")], &["30-FF"], &["30-FF"]),
            (
                "parts of two",
                &[lease("-18", "-18"), lease("28-FF", "28-FF")],
                &["18-28"],
                &["18-20", "20-28"],
            ),
            ("behind the end", &[lease("FFFF-FFFFFF", "FFFF-FFFFFF")], &["-FF"], &["0", "3", "4"]),
        ] {
            let found = uncovered(&leases(there), &partitions);
            assert_eq!(found, ranges(gaps), "{case}");
            let made: Vec<String> =
                leases_for(&found, &partitions).into_iter().map(|lease| lease.token).collect();
            assert_eq!(made, tokens, "{case}");
        }
    }

    #[test]
    fn keys_are_uncovered_when_two_lists_in_a_row_had_no_lease_for_them() {
        let (one, other) = (ResourceId::container(1, 2), ResourceId::container(1, 3));
        let mut seen = Uncovered::default();
        for (case, container, found, lasting) in [
            ("seen once", one, &["-10", "20-FF"][..], &[][..]),
            ("part of it again", one, &["08-30"], &["08-10", "20-30"]),
            ("the same", one, &["08-30"], &["08-30"]),
            ("covered", one, &[], &[]),
            ("seen anew", one, &["-FF"], &[]),
            ("of another container", other, &["-FF"], &[]),
            ("of that again", other, &["-FF"], &["-FF"]),
        ] {
            assert_eq!(seen.note(container, ranges(found)), ranges(lasting), "{case}");
        }
    }

    #[test]
    fn a_lease_that_is_made_again_starts_at_the_earliest_start() {
        let started = |second: &str| json!({"id": "P..0", "properties": {"cosmonaut.start": second}});
        let there = leases(&[started("70"), old("1"), started("60")]);
        for (own, marker, leases, expected) in [
            (Some(90), None, &[][..], Some(90)),
            (Some(90), Some(80), &[], Some(80)),
            (Some(90), Some(99), &[], Some(90)),
            (Some(90), Some(80), &there, Some(60)),
            (Some(50), Some(80), &there, Some(50)),
            (None, Some(80), &there, None),
        ] {
            assert_eq!(earliest_start(own, marker, leases), expected, "{own:?} {marker:?}");
        }
    }
}
