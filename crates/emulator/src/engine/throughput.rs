//! Provisioned throughput: how much is allowed, and a bucket per partition that enforces it.
//!
//! Offers, which users see and change, are the catalog's; what a request costs is [`charge`](super::charge)'s.

use std::sync::Mutex;

use cosmonaut_wire::CosmosStatus;
use cosmonaut_wire::model::ThroughputProperties;

use super::locks::lock;
use crate::{Failure, Timestamp};

/// The least manual throughput of a container or database.
pub(crate) const MIN_MANUAL: u32 = 400;
/// The least autoscale maximum.
pub(crate) const MIN_AUTOSCALE: u32 = 1000;
/// The most that the emulator takes, as the service does without a support request.
pub(crate) const MAX: u32 = 1_000_000;
/// What a partition may be asked for when a container is made.
const PARTITION_SHARE: u32 = 6_000;
/// What a partition can deliver at most: beyond it the container splits.
pub(crate) const PARTITION_MOST: u32 = 10_000;

/// The most request units per second that may be used.
pub(crate) fn ceiling(throughput: ThroughputProperties) -> u32 {
    match throughput {
        ThroughputProperties::Manual { throughput } => throughput,
        ThroughputProperties::Autoscale { max_throughput, .. } => max_throughput,
    }
}

/// How many physical partitions a new container of this throughput has.
pub(crate) fn partitions(throughput: ThroughputProperties) -> u32 {
    ceiling(throughput).div_ceil(PARTITION_SHARE).max(1)
}

/// Checks an amount as the service does. `least` and `most` are the bounds of this resource.
pub(crate) fn check(throughput: ThroughputProperties, least: u32, most: u32) -> Result<(), Failure> {
    let refuse = |what: &str, amount: u32, least: u32, step: u32| {
        if amount < least {
            return Err(too_low(amount.into(), least));
        }
        Err(Failure::bad_request(format!(
            "The offer should have valid throughput values between {least} and {most} inclusive in increments of \
             {step}: {amount} is no {what} throughput"
        )))
    };
    match throughput {
        ThroughputProperties::Manual { throughput } => {
            let least = least.max(MIN_MANUAL);
            let fits = (least..=most).contains(&throughput) && throughput % 100 == 0;
            if fits { Ok(()) } else { refuse("manual", throughput, least, 100) }
        }
        ThroughputProperties::Autoscale { max_throughput, .. } => {
            let least = MIN_AUTOSCALE.max(least);
            let fits = (least..=most).contains(&max_throughput) && max_throughput % 1000 == 0;
            if fits { Ok(()) } else { refuse("autoscale", max_throughput, least, 1000) }
        }
    }
}

/// The most that a resource may have; `is_fixed` if it is a container of one partition.
pub(crate) fn most(is_fixed: bool) -> u32 {
    if is_fixed { PARTITION_MOST } else { MAX }
}

/// The least that any resource has.
pub(crate) fn least(is_autoscale: bool) -> u32 {
    if is_autoscale { MIN_AUTOSCALE } else { MIN_MANUAL }
}

/// 400 for less than a resource must have.
pub(crate) fn too_low(amount: i64, least: u32) -> Failure {
    Failure::bad_request(format!(
        "Requested throughput {amount} is less than required minimum throughput {least}"
    ))
}

/// Request units that come in at a steady rate and go out with requests.
///
/// A request is let in while anything is left and may overdraw; the debt is paid before the next one. At most
/// one second's worth is saved up.
#[derive(Debug, Default)]
pub(crate) struct Bucket {
    level: Mutex<Level>,
}

#[derive(Debug, Default)]
struct Level {
    /// Request units per second; `None` if throughput is not enforced.
    rate: Option<f64>,
    left: f64,
    filled: Timestamp,
}

impl Bucket {
    /// Sets the rate from now on; `None` lets everything in.
    pub(crate) fn set_rate(&self, rate: Option<f64>) {
        let mut level = lock(&self.level);
        if level.rate.is_none() {
            level.left = rate.unwrap_or(0.0);
        }
        level.rate = rate;
    }

    /// 429/3200 with the time to wait, if nothing is left.
    pub(crate) fn admit(&self, now: Timestamp) -> Result<(), Failure> {
        let mut level = lock(&self.level);
        let Some(rate) = level.rate else { return Ok(()) };
        let elapsed = now.micros_since(level.filled) as f64 / 1e6;
        level.left = (level.left + elapsed * rate).min(rate);
        level.filled = level.filled.max(now);
        if level.left > 0.0 {
            return Ok(());
        }
        let wait = (-level.left / rate * 1000.0).ceil() as u64 + 1;
        let mut failure = Failure::new(
            CosmosStatus::REQUEST_RATE_TOO_LARGE,
            format!(
                "Request rate is large. The partition's {rate:.0} request units per second are used up (wait \
                 {wait} ms, or raise the throughput)"
            ),
        );
        failure.retry_after_ms = Some(wait);
        Err(failure)
    }

    /// Takes out what a request cost.
    pub(crate) fn spend(&self, charge: f64) {
        let mut level = lock(&self.level);
        if level.rate.is_some() {
            level.left -= charge;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_follow_the_throughput() {
        for (throughput, count) in [(400, 1), (6_000, 1), (12_000, 2), (30_000, 5), (30_100, 6)] {
            assert_eq!(partitions(ThroughputProperties::manual(throughput)), count, "{throughput}");
        }
        assert_eq!(partitions(ThroughputProperties::autoscale(12_000, None)), 2);
    }

    #[test]
    fn amounts_are_checked_as_the_service_does() {
        use ThroughputProperties as T;
        for (throughput, least, fits) in [
            (T::manual(400), 400, true),
            (T::manual(300), 400, false),
            (T::manual(450), 400, false),
            (T::manual(500), 1_000, false),
            (T::manual(1_000_100), 400, false),
            (T::autoscale(1_000, None), 400, true),
            (T::autoscale(1_500, None), 400, false),
            (T::autoscale(0, None), 400, false),
        ] {
            assert_eq!(check(throughput, least, MAX).is_ok(), fits, "{throughput:?} {least}");
        }
    }

    #[test]
    fn a_bucket_overdraws_once_then_waits_until_the_debt_is_paid() {
        let bucket = Bucket::default();
        let at = |ms: u64| Timestamp(1_000_000_000 + ms * 1000);
        assert!(bucket.admit(at(0)).is_ok(), "not enforced");
        bucket.spend(1e9);
        bucket.set_rate(Some(100.0));
        assert!(bucket.admit(at(0)).is_ok());
        bucket.spend(150.0);
        let failure = bucket.admit(at(0)).unwrap_err();
        assert_eq!(
            (failure.status, failure.retry_after_ms),
            (CosmosStatus::REQUEST_RATE_TOO_LARGE, Some(501))
        );
        assert!(bucket.admit(at(400)).is_err());
        assert!(bucket.admit(at(501)).is_ok());
        // However long nothing happens, no more than a second's worth is saved.
        assert!(bucket.admit(at(60_000)).is_ok());
        bucket.spend(101.0);
        assert!(bucket.admit(at(60_000)).is_err());
    }
}
