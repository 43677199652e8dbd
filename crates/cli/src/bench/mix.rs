//! What is done, and how often: `read=80,write=15,query=5`.
//!
//! Which operation comes when depends on its number alone, so that two runs do the same things in the same order.

use std::str::FromStr;

/// A kind of operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Read,
    Write,
    Query,
}

impl Kind {
    pub(super) const ALL: [Self; 3] = [Self::Read, Self::Write, Self::Query];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Query => "query",
        }
    }
}

/// Shares of kinds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mix {
    shares: [u32; Kind::ALL.len()],
}

impl Mix {
    /// The kind of an operation, and a number that chooses what it is for.
    pub(super) fn choose(&self, number: u64) -> (Kind, u64) {
        let total: u64 = self.shares.iter().map(|share| u64::from(*share)).sum();
        let (chance, choice) = (scattered(number), scattered(!number));
        let mut left = chance % total.max(1);
        for (kind, share) in Kind::ALL.into_iter().zip(self.shares) {
            match left.checked_sub(share.into()) {
                None => return (kind, choice),
                Some(rest) => left = rest,
            }
        }
        (Kind::Read, choice)
    }
}

/// A number that looks random and is the same for the same number: the finalizer of SplitMix64.
fn scattered(number: u64) -> u64 {
    let mut bits = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}

impl FromStr for Mix {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is no mix (try read=80,write=15,query=5; shares are whole numbers)");
        let mut shares = [0; Kind::ALL.len()];
        for part in text.split(',') {
            let (name, share) = part.split_once('=').ok_or_else(wrong)?;
            let at = Kind::ALL.iter().position(|kind| kind.name() == name.trim()).ok_or_else(wrong)?;
            shares[at] = share.trim().parse().map_err(|_| wrong())?;
        }
        if shares.iter().all(|share| *share == 0) {
            return Err(wrong());
        }
        Ok(Self { shares })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_kept_over_many_operations_and_runs_are_alike() {
        let mix: Mix = "read=80, write=15,query=5".parse().unwrap();
        let chosen: Vec<_> = (0..10_000).map(|number| mix.choose(number)).collect();
        for (kind, expected) in [(Kind::Read, 8000), (Kind::Write, 1500), (Kind::Query, 500)] {
            let count = chosen.iter().filter(|(found, _)| *found == kind).count();
            assert!(count.abs_diff(expected) < 200, "{kind:?}: {count}");
        }
        assert!((0..10_000).all(|number| mix.choose(number) == chosen[usize::try_from(number).unwrap()]));
        let items: std::collections::HashSet<_> = chosen.iter().map(|(_, choice)| choice % 100).collect();
        assert_eq!(items.len(), 100, "every item has its turn");
    }

    #[test]
    fn a_kind_without_a_share_never_comes() {
        let mix: Mix = "query=1".parse().unwrap();
        assert!((0..1000).all(|number| mix.choose(number).0 == Kind::Query));
        for text in ["", "read", "read=x", "read=-1", "read=0", "delete=1", "read=1,,write=1"] {
            assert!(text.parse::<Mix>().unwrap_err().contains("read=80"), "{text}");
        }
    }
}
