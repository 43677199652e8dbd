//! How leases are shared between instances: which of them an instance takes in a round. It is .NET's rule, so that
//! instances of both come to the same shares.

/// A lease, as balancing looks at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LeaseView<'a> {
    pub(super) owner: Option<&'a str>,
    /// Whether its owner has not been heard of for too long.
    pub(super) is_expired: bool,
}

/// How many leases an instance wants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LeaseLimits {
    /// At least so many, if there are.
    pub(super) min: usize,
    /// At most so many; 0 is no limit.
    pub(super) max: usize,
}

impl LeaseView<'_> {
    fn is_free(&self) -> bool {
        self.owner.is_none() || self.is_expired
    }
}

/// The leases, by their places in the list, that the instance `me` takes now: free ones as far as it needs them, or
/// else one of whoever has the most.
pub(super) fn leases_to_take(leases: &[LeaseView<'_>], me: &str, limits: LeaseLimits) -> Vec<usize> {
    let counts = owner_counts(leases, me);
    let mine = counts.iter().find(|(owner, _)| owner.eq_ignore_ascii_case(me)).map_or(0, |(_, count)| *count);
    let target = target(leases.len(), counts.len(), limits);
    let Some(needed) = target.checked_sub(mine).filter(|needed| *needed > 0) else { return Vec::new() };
    let free: Vec<usize> = (0..leases.len()).filter(|at| leases[*at].is_free()).collect();
    if !free.is_empty() {
        return free.into_iter().take(needed).collect();
    }
    let Some((richest, count)) = counts.iter().max_by_key(|(_, count)| *count) else { return Vec::new() };
    if *count <= target - usize::from(needed > 1) {
        return Vec::new();
    }
    let is_theirs =
        |lease: &LeaseView<'_>| lease.owner.is_some_and(|owner| owner.eq_ignore_ascii_case(richest));
    leases.iter().position(is_theirs).into_iter().collect()
}

/// How many leases each live owner has, in the order in which the owners are first met; `me` is one of them.
fn owner_counts<'a>(leases: &[LeaseView<'a>], me: &'a str) -> Vec<(&'a str, usize)> {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for owner in leases.iter().filter(|lease| !lease.is_free()).filter_map(|lease| lease.owner) {
        match counts.iter_mut().find(|(known, _)| known.eq_ignore_ascii_case(owner)) {
            Some((_, count)) => *count += 1,
            None => counts.push((owner, 1)),
        }
    }
    if !counts.iter().any(|(known, _)| known.eq_ignore_ascii_case(me)) {
        counts.push((me, 0));
    }
    counts
}

/// How many leases an instance should have.
fn target(leases: usize, owners: usize, limits: LeaseLimits) -> usize {
    let share = if leases <= owners { 1 } else { leases.div_ceil(owners) };
    let capped = if limits.max > 0 { share.min(limits.max) } else { share };
    capped.max(limits.min)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Leases by the names of their owners: `-` is nobody, and a `!` behind a name says that the lease has expired.
    fn taken(leases: &str, limits: (usize, usize)) -> Vec<usize> {
        let view = |text| match text {
            "-" => LeaseView { owner: None, is_expired: false },
            text => LeaseView { owner: Some(text.trim_end_matches('!')), is_expired: text.ends_with('!') },
        };
        let leases: Vec<LeaseView<'_>> = leases.split_whitespace().map(view).collect();
        leases_to_take(&leases, "me", LeaseLimits { min: limits.0, max: limits.1 })
    }

    #[test]
    fn leases_are_taken_as_net_takes_them() {
        for (case, leases, limits, expected) in [
            ("no leases", "", (0, 0), &[][..]),
            ("alone, everything is taken", "- - -", (0, 0), &[0, 1, 2]),
            ("a share of what is free", "a a - - -", (0, 0), &[2, 3, 4]),
            ("a share of what is free, and no more", "a - - -", (0, 0), &[1, 2]),
            ("expired ones are free", "a a! b! b", (0, 0), &[1, 2]),
            ("enough", "me me a a", (0, 0), &[]),
            ("own leases are counted without case", "ME Me a a", (0, 0), &[]),
            ("one is stolen of the richest", "a a b b b", (0, 0), &[2]),
            ("the last of equally rich ones", "a a b b", (0, 0), &[2]),
            ("none is stolen for one more", "me a a", (0, 0), &[]),
            ("one is stolen for two more", "a a a", (0, 0), &[0]),
            ("more owners than leases", "a b", (0, 0), &[]),
            ("fewer leases than owners, of one who has two", "a a", (0, 0), &[0]),
            ("free ones come before stealing", "a a a a - a", (0, 0), &[4]),
            ("at most", "- - - -", (0, 2), &[0, 1]),
            ("at least", "me a b c", (2, 0), &[]),
            ("at least, with free ones", "me a b - -", (3, 0), &[3, 4]),
            ("at least, of one who has more", "me a a a b", (3, 0), &[1]),
        ] {
            assert_eq!(taken(leases, limits), expected, "{case}: {leases}");
        }
    }

    /// Instances that take leases in turn, each seeing what there is.
    fn rounds(leases: &mut [Option<usize>], instances: usize, order: &[usize]) {
        let names: Vec<String> = (0..instances).map(|instance| format!("i{instance}")).collect();
        for instance in order {
            let view =
                |owner: &Option<usize>| LeaseView { owner: owner.map(|at| &*names[at]), is_expired: false };
            let seen: Vec<_> = leases.iter().map(view).collect();
            for at in leases_to_take(&seen, &names[*instance], LeaseLimits::default()) {
                leases[at] = Some(*instance);
            }
        }
    }

    proptest! {
        /// From any state, whoever comes first: all leases come to have an owner, nobody has two more than another,
        /// and then nothing moves any more.
        #[test]
        fn shares_become_equal_and_stay(
            (instances, owners, order) in (1..7_usize).prop_flat_map(|instances| (
                Just(instances),
                prop::collection::vec(prop::option::of(0..instances), 0..30),
                Just((0..instances).collect::<Vec<_>>()).prop_shuffle(),
            ))
        ) {
            let mut leases = owners;
            for _ in 0..leases.len() + 2 {
                rounds(&mut leases, instances, &order);
            }
            let settled = leases.clone();
            rounds(&mut leases, instances, &order);
            prop_assert_eq!(&leases, &settled);
            prop_assert!(leases.iter().all(Option::is_some));
            let count = |instance| leases.iter().filter(|owner| **owner == Some(instance)).count();
            let counts: Vec<usize> = (0..instances).map(count).collect();
            let (least, most) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
            prop_assert!(most - least <= 1, "{:?}", counts);
        }
    }
}
