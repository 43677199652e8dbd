//! What becomes of a lease whose partition has split or merged: the leases that replace it.

use std::collections::BTreeSet;

use cosmonaut_wire::{EpkRange, PartitionKeyRangeId};

use super::lease::{Lease, LeaseRange};
use super::naming::range_token;

/// A physical partition as it is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Partition {
    pub(super) id: PartitionKeyRangeId,
    pub(super) range: EpkRange,
    /// The partitions that it was split from.
    pub(super) parents: Vec<PartitionKeyRangeId>,
}

/// What is done with a lease whose partition was not found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SplitPlan {
    /// The lease stays, and is read where its range is now.
    Keep,
    /// The lease is replaced by these.
    Replace(Vec<LeaseRange>),
}

/// What is done with a lease of this version, token and range, with these partitions.
pub(super) fn plan(version: u32, token: &str, range: &EpkRange, partitions: &[Partition]) -> SplitPlan {
    let found: Vec<&Partition> = partitions.iter().filter(|at| at.range.overlaps(range)).collect();
    match &found[..] {
        [] => SplitPlan::Keep,
        // The map was not out of date after all, or the lease names a stretch of the key space already.
        [only] if version > 0 || only.id.as_str() == token => SplitPlan::Keep,
        [_] => SplitPlan::Replace(vec![stretch(range)]),
        _ => SplitPlan::Replace(pieces(version, range, partitions)),
    }
}

/// The leases for what each partition holds of a range. A partition that also holds other keys is read by its stretch.
pub(super) fn pieces(version: u32, range: &EpkRange, partitions: &[Partition]) -> Vec<LeaseRange> {
    let piece = |at: &Partition| {
        let part = at.range.intersection(range)?;
        Some(if version == 0 && part == at.range { whole(at) } else { stretch(&part) })
    };
    partitions.iter().filter_map(piece).collect()
}

fn whole(partition: &Partition) -> LeaseRange {
    LeaseRange { version: 0, token: partition.id.as_str().to_owned(), range: partition.range.clone() }
}

fn stretch(range: &EpkRange) -> LeaseRange {
    LeaseRange { version: 1, token: range_token(range), range: range.clone() }
}

/// The range of a lease: its own or, in an old lease that has none, that of its partition or of the partitions that
/// it was split into. `None` if no partition is or was called so.
pub(super) fn range_of(lease: &Lease, partitions: &[Partition]) -> Option<EpkRange> {
    lease.range().or_else(|| {
        let token = lease.token();
        let is_of = |at: &&Partition| {
            at.id.as_str() == token || at.parents.iter().any(|parent| parent.as_str() == token)
        };
        let mut of_token = partitions.iter().filter(is_of).map(|at| &at.range);
        let first = of_token.next()?.clone();
        Some(of_token.fold(first, |whole, range| EpkRange {
            min: whole.min.min(range.min.clone()),
            max: whole.max.max(range.max.clone()),
        }))
    })
}

/// The leases that a container lacks: one for each partition that neither has one nor lies in the range of another.
pub(super) fn missing(leases: &[Lease], partitions: &[Partition]) -> Vec<LeaseRange> {
    let tokens: BTreeSet<&str> = leases.iter().map(Lease::token).collect();
    let is_covered = |at: &Partition| {
        let stretches = leases.iter().filter(|lease| lease.version > 0).filter_map(Lease::range);
        tokens.contains(at.id.as_str())
            || at.parents.iter().any(|parent| tokens.contains(parent.as_str()))
            || stretches.into_iter().any(|stretch| stretch.overlaps(&at.range))
    };
    partitions.iter().filter(|at| !is_covered(at)).map(whole).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn range(text: &str) -> EpkRange {
        let (min, max) = text.split_once('-').unwrap();
        EpkRange { min: min.parse().unwrap(), max: max.parse().unwrap() }
    }

    fn partition(id: &str, keys: &str, parents: &[&str]) -> Partition {
        let parents = parents.iter().map(|parent| PartitionKeyRangeId::from(*parent)).collect();
        Partition { id: id.into(), range: range(keys), parents }
    }

    #[test]
    fn leases_are_replaced_as_partitions_split_and_merge() {
        let three =
            [partition("0", "-10", &[]), partition("3", "10-20", &["1"]), partition("4", "20-FF", &["1"])];
        let merged = [partition("5", "-FF", &["0", "1"])];
        for (case, version, lease, partitions, expected) in [
            ("a split", 0, ("1", "10-FF"), &three[..], Some(&[(0, "3", "10-20"), (0, "4", "20-FF")][..])),
            ("a merge", 0, ("1", "10-FF"), &merged, Some(&[(1, "10-FF", "10-FF")])),
            (
                "a stretch of several",
                1,
                ("08-18", "08-18"),
                &three,
                Some(&[(1, "08-10", "08-10"), (1, "10-18", "10-18")]),
            ),
            ("a stretch of one", 1, ("12-18", "12-18"), &three, None),
            ("nothing has changed", 0, ("0", "-10"), &three, None),
            (
                "a split and a merge",
                0,
                ("7", "08-20"),
                &three,
                Some(&[(1, "08-10", "08-10"), (0, "3", "10-20")]),
            ),
        ] {
            let plan = plan(version, lease.0, &range(lease.1), partitions);
            let expected = expected.map_or(SplitPlan::Keep, |leases| {
                let new = |(version, token, keys): &(u32, &str, &str)| LeaseRange {
                    version: *version,
                    token: (*token).to_owned(),
                    range: range(keys),
                };
                SplitPlan::Replace(leases.iter().map(new).collect())
            });
            assert_eq!(plan, expected, "{case}");
        }
    }

    #[test]
    fn only_partitions_without_a_lease_get_one() {
        let partitions =
            [partition("0", "-10", &[]), partition("3", "10-20", &["1"]), partition("4", "20-FF", &["1"])];
        let tokens = |leases: &[Value]| -> Vec<String> {
            let leases: Vec<Lease> =
                leases.iter().map(|lease| serde_json::from_value(lease.clone()).unwrap()).collect();
            missing(&leases, &partitions).into_iter().map(|lease| lease.token).collect()
        };
        let stretch =
            json!({"id": "P..18-28", "version": 1, "FeedRange": {"Range": {"min": "18", "max": "28"}}});
        assert_eq!(tokens(&[]), ["0", "3", "4"]);
        assert_eq!(tokens(&[json!({"id": "P..3", "LeaseToken": "3"})]), ["0", "4"]);
        assert_eq!(
            tokens(&[json!({"id": "P..1", "LeaseToken": "1"})]),
            ["0"],
            "its children come of the split"
        );
        assert_eq!(tokens(&[stretch]), ["0"]);
    }

    #[test]
    fn an_old_lease_is_placed_by_its_partition_or_its_children() {
        let partitions =
            [partition("0", "-10", &[]), partition("3", "10-20", &["1"]), partition("4", "20-FF", &["1"])];
        let of = |token: &str| {
            let lease: Lease = serde_json::from_value(json!({"id": "P..x", "PartitionId": token})).unwrap();
            range_of(&lease, &partitions)
        };
        assert_eq!(of("0"), Some(range("-10")));
        assert_eq!(of("1"), Some(range("10-FF")));
        assert_eq!(of("9"), None);
    }
}
