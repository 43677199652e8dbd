//! What goes wrong when: decided by the seed alone, before anything runs.

use std::time::Duration;

use crate::dice::Dice;
use crate::world::REGIONS;

/// Something that goes wrong for a while. Regions are places in [`REGIONS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// A region refuses connections, and cuts those that there are.
    RegionRefuses(usize),
    RegionHangs(usize),
    /// A region answers everything with 503.
    RegionUnavailable(usize),
    RegionSlow(usize),
    /// One partition answers 503 in a region.
    PartitionUnavailable(usize),
    /// Connections to a region are cut; new ones work.
    ConnectionsCut(usize),
    /// Connections to a region fall silent; new ones work.
    ConnectionsSilent(usize),
    /// The proxy answers 502, for a region or for all.
    ProxyRefuses(Option<usize>),
    /// The proxy does not answer, for a region or for all.
    ProxyHangs(Option<usize>),
    IdentityHangs,
    IdentityFails,
    /// All connections are cut, and look-ups of names hang until the name service answers again.
    NamesHang,
    /// All connections are cut, and look-ups of names fail.
    NamesFail,
    /// The writes of the account move to a region, and nothing is lost.
    Failover(usize),
}

impl Fault {
    fn roll(dice: &mut Dice) -> Self {
        let region = dice.below(REGIONS.len());
        match dice.below(16) {
            0 => Self::RegionRefuses(region),
            1 => Self::RegionHangs(region),
            2 => Self::RegionUnavailable(region),
            3 => Self::RegionSlow(region),
            4 => Self::PartitionUnavailable(region),
            5 => Self::ConnectionsCut(region),
            6 => Self::ConnectionsSilent(region),
            7 => Self::ProxyRefuses(Some(region)),
            8 => Self::ProxyHangs(Some(region)),
            9 => Self::ProxyRefuses(None),
            10 => Self::ProxyHangs(None),
            11 => Self::IdentityHangs,
            12 => Self::IdentityFails,
            13 => Self::NamesHang,
            14 => Self::NamesFail,
            _ => Self::Failover(region),
        }
    }

    /// The region that is not as usual meanwhile.
    pub(crate) fn region(self) -> Option<usize> {
        match self {
            Self::RegionRefuses(region)
            | Self::RegionHangs(region)
            | Self::RegionUnavailable(region)
            | Self::RegionSlow(region)
            | Self::PartitionUnavailable(region)
            | Self::ConnectionsCut(region)
            | Self::ConnectionsSilent(region)
            | Self::ProxyRefuses(Some(region))
            | Self::ProxyHangs(Some(region)) => Some(region),
            Self::ProxyRefuses(None)
            | Self::ProxyHangs(None)
            | Self::IdentityHangs
            | Self::IdentityFails
            | Self::NamesHang
            | Self::NamesFail
            | Self::Failover(_) => None,
        }
    }

    /// What can be broken in one way at a time.
    fn part(self) -> Part {
        match self {
            Self::RegionRefuses(region)
            | Self::RegionHangs(region)
            | Self::RegionUnavailable(region)
            | Self::RegionSlow(region)
            | Self::PartitionUnavailable(region)
            | Self::ConnectionsCut(region)
            | Self::ConnectionsSilent(region) => Part::Region(region),
            Self::ProxyRefuses(_) | Self::ProxyHangs(_) => Part::Proxy,
            Self::IdentityHangs | Self::IdentityFails => Part::Identity,
            Self::NamesHang | Self::NamesFail => Part::Names,
            Self::Failover(_) => Part::Writes,
        }
    }

    /// Whether no region can be reached through the proxy meanwhile.
    pub(crate) fn bars_the_proxy(self) -> bool {
        matches!(self, Self::ProxyRefuses(None) | Self::ProxyHangs(None))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Region(usize),
    Proxy,
    Identity,
    Names,
    Writes,
}

/// A fault and its time, from the beginning of the storm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Planned {
    pub(crate) from: Duration,
    pub(crate) to: Duration,
    pub(crate) fault: Fault,
}

const LEAST: Duration = Duration::from_millis(300);
const MOST: Duration = Duration::from_secs(3);
const PAUSE: (Duration, Duration) = (Duration::from_millis(100), Duration::from_millis(1_200));

/// The storm of a seed. A region that is as usual remains at every moment.
pub(crate) fn plan(seed: u64, length: Duration) -> Vec<Planned> {
    let mut dice = Dice::new(seed);
    let mut plan: Vec<Planned> = Vec::new();
    let mut from = Duration::ZERO;
    loop {
        from += dice.between(PAUSE.0, PAUSE.1);
        let to = from + dice.between(LEAST, MOST);
        if to > length {
            return plan;
        }
        let planned = Planned { from, to, fault: Fault::roll(&mut dice) };
        if fits(&plan, planned) {
            plan.push(planned);
        }
    }
}

fn fits(plan: &[Planned], new: Planned) -> bool {
    let meanwhile = plan.iter().filter(|other| other.to + LEAST > new.from).map(|other| other.fault);
    let mut struck: Vec<_> = meanwhile.clone().chain([new.fault]).filter_map(Fault::region).collect();
    struck.sort_unstable();
    struck.dedup();
    struck.len() < REGIONS.len() && meanwhile.clone().all(|other| other.part() != new.fault.part())
}

#[test]
fn a_region_is_spared_at_every_moment_and_equal_seeds_give_equal_storms() {
    let length = Duration::from_secs(600);
    for seed in 0..50 {
        let storm = plan(seed, length);
        assert_eq!(storm, plan(seed, length));
        assert!(storm.len() > 100, "{} faults", storm.len());
        for fault in &storm {
            let meanwhile = storm.iter().filter(|other| other.from <= fault.from && fault.from < other.to);
            let mut struck: Vec<_> = meanwhile.filter_map(|other| other.fault.region()).collect();
            struck.sort_unstable();
            struck.dedup();
            assert!(struck.len() < REGIONS.len(), "{fault:?}: {struck:?}");
        }
    }
}
