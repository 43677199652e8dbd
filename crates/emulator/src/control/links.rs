//! The links between regions: how far replication lags on each, and whether it is paused.
//!
//! A lag is written `none`, `50ms` or `10ms..80ms`.

use std::fmt;
use std::str::FromStr;

use cosmonaut_wire::RegionName;

use super::Control;
use crate::Failure;
use crate::engine::{Lag, Link, Region, RegionId, locks};
use crate::faults::{Delay, Written};

/// A link from one region to another.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkStatus {
    /// Where commits come from.
    pub from: RegionName,
    /// Where they go.
    pub to: RegionName,
    /// How late, and whether at all.
    pub link: Link,
}

impl Control {
    /// The links from every region to every other.
    pub fn links(&self) -> Vec<LinkStatus> {
        let topology = self.engine.topology();
        let status = |(from, to): (&Region, &Region)| LinkStatus {
            from: from.name.clone(),
            to: to.name.clone(),
            link: self.engine.link(from.id, to.id),
        };
        let from_each = |from| topology.regions.iter().map(move |to| (from, to));
        let pairs = topology.regions.iter().flat_map(from_each);
        pairs.filter(|(from, to)| from.id != to.id).map(status).collect()
    }

    /// Sets how late commits come from one region to another; where no region is named, from or to all. If none is
    /// named at all, links to regions that are added later lag as much.
    pub fn set_lag(&self, from: Option<&str>, to: Option<&str>, lag: Lag) -> Result<(), Failure> {
        if from.is_none() && to.is_none() {
            *locks::lock(&self.lag) = lag;
        }
        self.change_links(from, to, |link| link.lag = lag)
    }

    /// Holds commits back; see [`Control::set_lag`] for which.
    pub fn pause(&self, from: Option<&str>, to: Option<&str>) -> Result<(), Failure> {
        self.change_links(from, to, |link| link.paused = true)
    }

    /// Lets commits go on that were held back.
    pub fn resume(&self, from: Option<&str>, to: Option<&str>) -> Result<(), Failure> {
        self.change_links(from, to, |link| link.paused = false)
    }

    fn change_links(
        &self,
        from: Option<&str>,
        to: Option<&str>,
        change: impl Fn(&mut Link),
    ) -> Result<(), Failure> {
        let from = from.map(|name| self.region(name)).transpose()?;
        let to = to.map(|name| self.region(name)).transpose()?;
        if let (Some(from), Some(to)) = (from, to)
            && from == to
        {
            return Err(Failure::bad_request("a link is from one region to another, not to itself"));
        }
        let is_meant = |(a, b): &(RegionId, RegionId)| {
            a != b && from.is_none_or(|from| from == *a) && to.is_none_or(|to| to == *b)
        };
        for (from, to) in self.pairs().into_iter().filter(is_meant) {
            let mut link = self.engine.link(from, to);
            change(&mut link);
            self.engine.set_link(from, to, link);
        }
        Ok(())
    }

    fn pairs(&self) -> Vec<(RegionId, RegionId)> {
        let topology = self.engine.topology();
        let from_each = |from: &Region| {
            let from = from.id;
            topology.regions.iter().map(move |to| (from, to.id)).collect::<Vec<_>>()
        };
        topology.regions.iter().flat_map(from_each).collect()
    }

    /// Gives the links from and to a new region the lag that all have.
    pub(super) fn set_default_links(&self, region: RegionId) {
        let lag = *locks::lock(&self.lag);
        let is_new = |(from, to): &(RegionId, RegionId)| from != to && (*from == region || *to == region);
        for (from, to) in self.pairs().into_iter().filter(is_new) {
            self.engine.set_link(from, to, Link { lag, ..Link::default() });
        }
    }
}

/// A text that is no lag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotALag(String);

impl fmt::Display for NotALag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is not a lag (try \"50ms\", \"10ms..80ms\" or \"none\")", self.0)
    }
}

impl std::error::Error for NotALag {}

impl FromStr for Lag {
    type Err = NotALag;

    fn from_str(text: &str) -> Result<Self, NotALag> {
        if text.trim().eq_ignore_ascii_case("none") {
            return Ok(Self::None);
        }
        match text.parse() {
            Ok(Delay::Fixed(lag)) if lag.is_zero() => Ok(Self::None),
            Ok(Delay::Fixed(lag)) => Ok(Self::Fixed(lag)),
            Ok(Delay::Between(least, most)) => Ok(Self::Between(least, most)),
            Ok(Delay::Spread { .. }) | Err(_) => Err(NotALag(text.to_owned())),
        }
    }
}

impl fmt::Display for Lag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::None => f.write_str("none"),
            Self::Fixed(lag) => Written(lag).fmt(f),
            Self::Between(least, most) => write!(f, "{}..{}", Written(least), Written(most)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn lags_are_read_as_they_are_written() {
        let ms = Duration::from_millis;
        for (text, lag) in
            [("none", Lag::None), ("50ms", Lag::Fixed(ms(50))), ("10ms..80ms", Lag::Between(ms(10), ms(80)))]
        {
            assert_eq!(text.parse(), Ok(lag), "{text}");
            assert_eq!(lag.to_string(), text);
        }
        assert_eq!("0".parse(), Ok(Lag::None));
        for text in ["soon", "p50=1ms,p99=2ms", "80ms..10ms", ""] {
            let error = text.parse::<Lag>().unwrap_err().to_string();
            assert!(error.contains("10ms..80ms"), "{error}");
        }
    }
}
