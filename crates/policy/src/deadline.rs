//! The end-to-end deadline of an operation: what is left of it, and what still fits.
//!
//! Only arithmetic: cancelling what runs past the deadline is the driver's business.

use std::time::Duration;

use cosmonaut_wire::ResourceType;

use crate::{CosmosOperation, Moment, OperationType};

/// An attempt is never given less time than this: a zero timeout would mean "no timeout" to some transports.
pub const MIN_ATTEMPT_TIMEOUT: Duration = Duration::from_millis(1);

/// When an operation must be over, every retry included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Deadline(Moment);

impl Deadline {
    /// The deadline `timeout` from now.
    pub fn after(now: Moment, timeout: Duration) -> Self {
        Self(now + timeout)
    }

    /// The deadline itself.
    pub const fn at(self) -> Moment {
        self.0
    }

    /// The time that is left; zero once the deadline has passed.
    pub const fn remaining(self, now: Moment) -> Duration {
        self.0.since(now)
    }

    /// Whether no time is left.
    pub const fn has_passed(self, now: Moment) -> bool {
        self.remaining(now).is_zero()
    }

    /// Whether a wait of `delay` ends before the deadline, with time left for an attempt.
    pub fn leaves_room_after(self, delay: Duration, now: Moment) -> bool {
        self.remaining(now) >= delay.saturating_add(MIN_ATTEMPT_TIMEOUT)
    }
}

/// How long single tries may take, by what is asked and by how many tries of the operation got no answer at the
/// endpoint so far.
///
/// | what is asked | limits in seconds, one try after the other |
/// | --- | --- |
/// | the account | 5, 10, 20, then the most |
/// | containers, partitions, other metadata, query plans | 1, 5, then the most |
/// | reads, queries and feeds of items | 6, 6, 10, 20, then the most |
/// | writes, whose repeats may do harm | the most |
/// | writes by a Gateway 2.0 | 6 |
///
/// A short first limit leaves a silent server early; a longer one later gives a slow one its chance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttemptLimits {
    /// The most that any try may take.
    pub most: Duration,
}

impl AttemptLimits {
    /// How long a try may take after so many tries of its operation got no answer.
    pub fn limit(&self, operation: &CosmosOperation, lost_tries: u32, is_framed: bool) -> Duration {
        let ladder: &[u64] = match operation.operation_type() {
            _ if !operation.is_read_only() && is_framed => return FRAMED_WRITE_LIMIT.min(self.most),
            _ if !operation.is_read_only() => &[],
            OperationType::QueryPlan => &[1, 5],
            _ if operation.resource_type() == ResourceType::DatabaseAccount => &[5, 10, 20],
            _ if operation.is_partitioned() => &[6, 6, 10, 20],
            _ => &[1, 5],
        };
        let step = usize::try_from(lost_tries).ok().and_then(|lost| ladder.get(lost));
        step.map_or(self.most, |seconds| Duration::from_secs(*seconds).min(self.most))
    }
}

/// How long a Gateway 2.0 has for a write. It answers such requests within seconds, or not at all.
const FRAMED_WRITE_LIMIT: Duration = Duration::from_secs(6);

/// How long one attempt may take: what one attempt is given, or what is left of the deadline if that is less.
///
/// `None` once the deadline has passed, in which case the attempt must not start.
pub fn attempt_timeout(
    deadline: Option<Deadline>,
    request_timeout: Duration,
    now: Moment,
) -> Option<Duration> {
    match deadline {
        Some(deadline) if deadline.has_passed(now) => None,
        Some(deadline) => Some(deadline.remaining(now).min(request_timeout).max(MIN_ATTEMPT_TIMEOUT)),
        None => Some(request_timeout.max(MIN_ATTEMPT_TIMEOUT)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn an_attempt_gets_what_is_left_but_never_nothing() {
        for (case, deadline, elapsed, request, expected) in [
            ("no deadline", None, ms(0), ms(500), Some(ms(500))),
            ("deadline far off", Some(ms(1000)), ms(0), ms(500), Some(ms(500))),
            ("deadline near", Some(ms(1000)), ms(800), ms(500), Some(ms(200))),
            (
                "less than a millisecond left",
                Some(ms(1000)),
                Duration::from_micros(999_900),
                ms(500),
                Some(ms(1)),
            ),
            ("deadline just passed", Some(ms(1000)), ms(1000), ms(500), None),
            ("deadline long passed", Some(ms(1000)), ms(5000), ms(500), None),
            ("no time per request", None, ms(0), ms(0), Some(ms(1))),
        ] {
            let deadline = deadline.map(|timeout| Deadline::after(Moment::START, timeout));
            assert_eq!(attempt_timeout(deadline, request, Moment::START + elapsed), expected, "{case}");
        }
    }

    #[test]
    fn limits_grow_with_every_try_that_gets_no_answer() {
        use crate::testing::operation;
        use cosmonaut_wire::ResourcePath;
        let limits = AttemptLimits { most: Duration::from_secs(65) };
        let at = |kind, path: &str| CosmosOperation::new(kind, ResourcePath::parse(path).unwrap());
        let account = CosmosOperation::new(OperationType::Read, ResourcePath::account());
        for (case, operation, expected) in [
            ("item", operation(OperationType::Read), [6, 6, 10, 20, 65, 65]),
            ("query", operation(OperationType::Query), [6, 6, 10, 20, 65, 65]),
            ("write", operation(OperationType::Upsert), [65; 6]),
            ("plan", operation(OperationType::QueryPlan), [1, 5, 65, 65, 65, 65]),
            ("container", at(OperationType::Read, "/dbs/d/colls/c"), [1, 5, 65, 65, 65, 65]),
            ("ranges", at(OperationType::ChangeFeed, "/dbs/d/colls/c/pkranges"), [1, 5, 65, 65, 65, 65]),
            ("new container", at(OperationType::Create, "/dbs/d/colls"), [65; 6]),
            ("account", account, [5, 10, 20, 65, 65, 65]),
        ] {
            let limit = |lost| limits.limit(&operation, lost, false).as_secs();
            assert_eq!((0..6).map(limit).collect::<Vec<_>>(), expected, "{case}");
        }
        for (kind, expected) in
            [(OperationType::Read, [6, 6, 10, 20, 65, 65]), (OperationType::Upsert, [6; 6])]
        {
            let limit = |lost| limits.limit(&operation(kind), lost, true).as_secs();
            assert_eq!((0..6).map(limit).collect::<Vec<_>>(), expected, "{kind:?} by Gateway 2.0");
        }
        let short = AttemptLimits { most: Duration::from_secs(2) };
        for (kind, framed) in [(OperationType::Read, false), (OperationType::Upsert, true)] {
            assert_eq!(short.limit(&operation(kind), 0, framed), Duration::from_secs(2));
        }
    }

    #[test]
    fn a_delay_fits_if_an_attempt_still_does() {
        let deadline = Deadline::after(Moment::START, ms(100));
        for (delay, fits) in [(ms(0), true), (ms(99), true), (ms(100), false), (Duration::MAX, false)] {
            assert_eq!(deadline.leaves_room_after(delay, Moment::START), fits, "{delay:?}");
        }
    }
}
