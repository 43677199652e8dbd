//! What was seen of one partition: `<version>#<global lsn>[#<region>=<local lsn>…]`, or just `<lsn>`.

use std::fmt;
use std::str::FromStr;

use super::{Problem, SessionTokenError};

/// A log sequence number: the place of a committed write in its partition's log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Lsn(pub i64);

impl fmt::Display for Lsn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Progress in one partition's log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PartitionToken {
    /// The older form: one sequence number.
    Simple(Lsn),
    /// The form with a topology version and, on accounts with several write regions, each region's progress.
    Vector(VectorToken),
}

/// A vector token. The version changes with the account's topology, and with it the set of regions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VectorToken {
    version: i64,
    global: Lsn,
    /// Sorted by region. Regions that the current version no longer lists stay behind unprinted, so that a
    /// region which leaves and comes back cannot make a session forget what it has seen there.
    regions: Vec<Progress>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Progress {
    region: u64,
    lsn: Lsn,
    listed: bool,
}

impl VectorToken {
    /// The topology version.
    pub fn version(&self) -> i64 {
        self.version
    }

    /// The progress over all regions.
    pub fn global(&self) -> Lsn {
        self.global
    }

    /// Each listed region's progress, by region id.
    pub fn regions(&self) -> impl Iterator<Item = (u64, Lsn)> + '_ {
        self.regions.iter().filter(|progress| progress.listed).map(|progress| (progress.region, progress.lsn))
    }

    fn lsn_of(&self, region: u64) -> Option<Lsn> {
        self.regions.iter().find(|progress| progress.region == region).map(|progress| progress.lsn)
    }

    fn merge(&self, other: &VectorToken) -> Result<VectorToken, RegionMismatch> {
        let (newer, older) = if self.version >= other.version { (self, other) } else { (other, self) };
        if newer.version == older.version && !newer.regions().map(|r| r.0).eq(older.regions().map(|r| r.0)) {
            return Err(RegionMismatch { left: self.to_string(), right: other.to_string() });
        }
        let mut regions = newer.regions.clone();
        for progress in &older.regions {
            add(&mut regions, Progress { listed: false, ..*progress });
        }
        Ok(VectorToken { version: newer.version, global: newer.global.max(older.global), regions })
    }

    fn is_at_least(&self, other: &VectorToken) -> bool {
        self.version >= other.version
            && self.global >= other.global
            && other.regions().all(|(region, lsn)| match self.lsn_of(region) {
                Some(seen) => seen >= lsn,
                // A newer topology without that region carries its writes in the global progress.
                None => self.version > other.version,
            })
    }
}

/// Adds what was seen of a region. A region that is there stays as it is listed, with the higher number.
fn add(sorted: &mut Vec<Progress>, progress: Progress) {
    match sorted.binary_search_by_key(&progress.region, |known| known.region) {
        Ok(place) => sorted[place].lsn = sorted[place].lsn.max(progress.lsn),
        Err(place) => sorted.insert(place, progress),
    }
}

impl PartitionToken {
    /// A vector token. Regions may come in any order; a region given twice counts with its highest number.
    pub fn vector(version: i64, global: Lsn, regions: impl IntoIterator<Item = (u64, Lsn)>) -> Self {
        let mut sorted: Vec<Progress> = Vec::new();
        for (region, lsn) in regions {
            add(&mut sorted, Progress { region, lsn, listed: true });
        }
        Self::Vector(VectorToken { version, global, regions: sorted })
    }

    /// The progress over all regions.
    pub fn global(&self) -> Lsn {
        match self {
            Self::Simple(lsn) => *lsn,
            Self::Vector(vector) => vector.global,
        }
    }

    /// The least progress that includes both. Commutative, associative and idempotent.
    ///
    /// Two tokens of one topology version must list the same regions; if they do not, one of them is not from
    /// this partition, and nothing is guessed.
    pub fn merge(&self, other: &PartitionToken) -> Result<PartitionToken, RegionMismatch> {
        Ok(match (self, other) {
            (Self::Simple(a), Self::Simple(b)) => Self::Simple(*a.max(b)),
            (Self::Simple(lsn), Self::Vector(vector)) | (Self::Vector(vector), Self::Simple(lsn)) => {
                Self::Vector(VectorToken { global: vector.global.max(*lsn), ..vector.clone() })
            }
            (Self::Vector(a), Self::Vector(b)) => Self::Vector(a.merge(b)?),
        })
    }

    /// Whether this progress includes all of the other's: a reader at this point may answer that session.
    pub fn is_at_least(&self, other: &PartitionToken) -> bool {
        match (self, other) {
            (Self::Vector(a), Self::Vector(b)) => a.is_at_least(b),
            _ => self.global() >= other.global(),
        }
    }
}

impl fmt::Display for VectorToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.version, self.global)?;
        self.regions().try_for_each(|(region, lsn)| write!(f, "#{region}={lsn}"))
    }
}

impl fmt::Display for PartitionToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Simple(lsn) => lsn.fmt(f),
            Self::Vector(vector) => vector.fmt(f),
        }
    }
}

impl FromStr for PartitionToken {
    type Err = SessionTokenError;

    fn from_str(text: &str) -> Result<Self, SessionTokenError> {
        Self::read(text).map_err(|problem| SessionTokenError::new(text, text, problem))
    }
}

impl PartitionToken {
    pub(super) fn read(text: &str) -> Result<Self, Problem> {
        let number = |text: &str| text.parse::<i64>().map_err(|_| Problem::BadNumber);
        let mut fields = text.split('#');
        let first = number(fields.next().unwrap_or_default())?;
        let Some(global) = fields.next() else {
            return Ok(Self::Simple(Lsn(first)));
        };
        let global = Lsn(number(global)?);
        let mut regions: Vec<(u64, Lsn)> = Vec::new();
        for field in fields {
            let (region, lsn) = field.split_once('=').ok_or(Problem::BadRegion)?;
            let region = region.parse().map_err(|_| Problem::BadRegion)?;
            if regions.iter().any(|(known, _)| *known == region) {
                return Err(Problem::RegionTwice);
            }
            regions.push((region, Lsn(number(lsn)?)));
        }
        Ok(Self::vector(first, global, regions))
    }
}

/// Two tokens of one topology version that list different regions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegionMismatch {
    left: String,
    right: String,
}

impl fmt::Display for RegionMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "session tokens {:?} and {:?} have one version but different regions, so they are not from the same \
             partition (start a new session, without a token)",
            self.left, self.right
        )
    }
}

impl std::error::Error for RegionMismatch {}
