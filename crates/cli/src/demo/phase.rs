//! The parts of a run: it goes well, something is broken, it is mended.

use std::time::Duration;

use cosmonaut_plot::Outage;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Healthy,
    Fault,
    Mended,
}

impl Phase {
    pub(crate) const ALL: [Self; 3] = [Self::Healthy, Self::Fault, Self::Mended];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Healthy => "healthy",
            Self::Fault => "fault",
            Self::Mended => "mended",
        }
    }

    /// The phase of an operation. What is due or under way while a fault begins or ends is felt as a part of it.
    pub(crate) fn of(due: Duration, ended: Duration, outage: Option<Outage>) -> Self {
        match outage {
            Some(outage) if due > outage.to => Self::Mended,
            Some(outage) if ended >= outage.from => Self::Fault,
            Some(_) | None => Self::Healthy,
        }
    }

    /// From when to when it lasted in a run of this length.
    pub(crate) fn span(self, outage: Option<Outage>, length: Duration) -> (Duration, Duration) {
        match (self, outage) {
            (Self::Healthy, Some(outage)) => (Duration::ZERO, outage.from),
            (Self::Healthy, None) => (Duration::ZERO, length),
            (Self::Fault, Some(outage)) => (outage.from, outage.to),
            (Self::Mended, Some(outage)) => (outage.to, length.max(outage.to)),
            (Self::Fault | Self::Mended, None) => (length, length),
        }
    }
}

/// How long each part lasts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Plan {
    pub(crate) healthy: Duration,
    pub(crate) fault: Duration,
    pub(crate) mended: Duration,
}

impl Plan {
    /// A fifth to see what is usual, a quarter for the fault, and the rest to come back: a lost endpoint is tried
    /// again only every ten seconds.
    pub(crate) fn new(seconds: u32) -> Self {
        let whole = Duration::from_secs(seconds.into());
        let (healthy, fault) = (whole / 5, whole / 4);
        Self { healthy, fault, mended: whole - healthy - fault }
    }

    pub(crate) fn whole(&self) -> Duration {
        self.healthy + self.fault + self.mended
    }

    /// The phase that is planned for a moment.
    pub(crate) fn phase_at(&self, moment: Duration) -> Phase {
        if moment < self.healthy {
            Phase::Healthy
        } else if moment < self.healthy + self.fault {
            Phase::Fault
        } else {
            Phase::Mended
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn what_overlaps_the_fault_is_a_part_of_it() {
        let outage = Some(Outage { from: ms(100), to: ms(200) });
        for (started, ended, outage, expected) in [
            (0, 99, outage, Phase::Healthy),
            (0, 100, outage, Phase::Fault),
            (120, 130, outage, Phase::Fault),
            (0, 300, outage, Phase::Fault),
            (200, 210, outage, Phase::Fault),
            (201, 210, outage, Phase::Mended),
            (500, 510, None, Phase::Healthy),
        ] {
            assert_eq!(Phase::of(ms(started), ms(ended), outage), expected, "{started}..{ended}");
        }
    }

    #[test]
    fn the_phases_follow_each_other_to_the_end_of_the_run() {
        let outage = Some(Outage { from: ms(100), to: ms(200) });
        for (outage, expected) in
            [(outage, [(0, 100), (100, 200), (200, 900)]), (None, [(0, 900), (900, 900), (900, 900)])]
        {
            let spans = Phase::ALL.map(|phase| phase.span(outage, ms(900)));
            assert_eq!(spans, expected.map(|(from, to)| (ms(from), ms(to))), "{outage:?}");
        }
    }

    #[test]
    fn a_plan_is_as_long_as_asked_and_most_of_it_is_for_coming_back() {
        for seconds in [3, 20, 30, 3_600] {
            let plan = Plan::new(seconds);
            assert_eq!(plan.whole(), Duration::from_secs(seconds.into()));
            assert!(plan.mended > plan.fault && plan.fault > plan.healthy);
        }
        let plan = Plan::new(20);
        for (moment, phase) in
            [(0, Phase::Healthy), (4, Phase::Fault), (9, Phase::Mended), (99, Phase::Mended)]
        {
            assert_eq!(plan.phase_at(Duration::from_secs(moment)), phase);
        }
    }
}
