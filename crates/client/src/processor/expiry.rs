//! When a lease has expired: its owner has not been heard of for too long. No clock is read here.
//!
//! An instance goes by what it sees: an owner that is alive renews its lease, so that one which was seen unchanged for
//! the whole expiry has expired, whatever time it names. That takes no clock of another machine.
//!
//! The format also has the time of the last renewal by the clock of the owner, and .NET compares that with its own clock.
//! Here it only saves waiting: a lease that has expired by the clocks has expired when it was seen unchanged for as long
//! as a renewal takes. Clocks that do not agree take no lease from an owner that renews it in time.

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

    /// Whether a lease was seen unchanged for `expiry`; or for `watch`, if by the clocks it was not renewed for `expiry`.
    pub(super) fn is_expired(&self, lease: &Lease, now: Now, expiry: Duration, watch: Duration) -> bool {
        let is_old = lease.renewed_at().saturating_add(expiry) < now.of_day;
        let seen = self.since.get(&lease.id).map_or(now.steady, |(_, since)| *since);
        let unchanged = now.steady.saturating_sub(seen);
        unchanged >= expiry || is_old && unchanged >= watch
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
            ("of a clock that runs ahead, and not seen for long", ("1", 0), 99_999, ("1", 59), false),
            ("of a clock that runs ahead, and seen for long", ("1", 0), 99_999, ("1", 60), true),
            ("of a clock that runs ahead, and renewed", ("1", 0), 99_999, ("2", 60), false),
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
