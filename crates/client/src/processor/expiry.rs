//! When a lease has expired: its owner has not been heard of for too long. No clock is read here.
//!
//! The format has the time of the last renewal by the clock of the owner, and .NET compares that with its own clock.
//! So does this, but a clock that runs ahead must not take leases from owners that are alive: a lease is taken only
//! after it was also seen unchanged for a while. A clock that runs behind makes others take leases too early; the
//! clocks of all instances have to agree to within the expiry less the renewal interval.

use std::collections::HashMap;
use std::time::Duration;

use super::lease::Lease;

/// Which leases were seen, at which version, and since when.
#[derive(Debug, Default)]
pub(super) struct Sightings {
    since: HashMap<String, (Option<String>, Duration)>,
}

/// What time it is: of day since 1970, and by a clock that never goes back.
#[derive(Clone, Copy, Debug)]
pub(super) struct Now {
    pub(super) of_day: Duration,
    pub(super) steady: Duration,
}

impl Sightings {
    /// Remembers what was seen, and forgets leases that are gone.
    pub(super) fn note(&mut self, leases: &[Lease], now: Now) {
        let mut before = std::mem::take(&mut self.since);
        let note = |lease: &Lease| {
            let version = lease.etag().map(|etag| etag.as_str().to_owned());
            let since = match before.remove(&lease.id) {
                Some((known, since)) if known == version => since,
                Some(_) | None => now.steady,
            };
            (lease.id.clone(), (version, since))
        };
        self.since = leases.iter().map(note).collect();
    }

    /// Whether a lease has not been renewed for longer than `expiry` by the clocks, and was seen unchanged for `watch`.
    pub(super) fn is_expired(&self, lease: &Lease, now: Now, expiry: Duration, watch: Duration) -> bool {
        let is_old = lease.renewed_at().saturating_add(expiry) < now.of_day;
        let seen = self.since.get(&lease.id).map_or(now.steady, |(_, since)| *since);
        is_old && now.steady.saturating_sub(seen) >= watch
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn lease(etag: &str, renewed: u64) -> Lease {
        serde_json::from_value(json!({"id": "P..0", "Owner": "a", "_etag": etag, "_ts": renewed})).unwrap()
    }

    #[test]
    fn a_lease_has_expired_by_the_clocks_and_by_what_was_seen() {
        const SECOND: Duration = Duration::from_secs(1);
        let at = |second: u32| Now { of_day: 1000 * SECOND + second * SECOND, steady: second * SECOND };
        // When it was seen first and at which version, how old it is then, when it is judged, and how.
        for (case, seen, renewed, judged, expected) in [
            ("renewed lately", ("1", 0), 995, ("1", 20), false),
            ("old, but only just seen", ("1", 0), 900, ("1", 0), false),
            ("old and seen for as long as a renewal takes", ("1", 0), 900, ("1", 17), true),
            ("changed meanwhile, with a clock that is behind", ("1", 0), 900, ("2", 17), false),
            ("as old as it may be", ("1", 0), 960, ("1", 20), false),
            ("a moment older", ("1", 0), 959, ("1", 20), true),
        ] {
            let mut sightings = Sightings::default();
            sightings.note(&[lease(seen.0, renewed)], at(seen.1));
            sightings.note(&[lease(judged.0, renewed)], at(judged.1));
            let judged_lease = lease(judged.0, renewed);
            let is_expired = sightings.is_expired(&judged_lease, at(judged.1), 60 * SECOND, 17 * SECOND);
            assert_eq!(is_expired, expected, "{case}");
        }
    }
}
