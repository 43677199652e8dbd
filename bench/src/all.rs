//! Every benchmark with its defaults, one after the other.
//!
//! One that cannot run does not keep the others from it; what went wrong is said in the end.

use crate::{Result, bulk, durable, emulator, point_read, query, regions, search, spatial, weight};

pub struct Settings {
    peer: bool,
}

impl Settings {
    pub fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Self> {
        let mut settings = Self { peer: true };
        match arguments.next().as_deref() {
            None => {}
            Some("--no-peer") => settings.peer = false,
            Some(_) => return Err(crate::USAGE.into()),
        }
        Ok(settings)
    }

    /// The arguments of a benchmark that measures its peers unless told not to.
    fn no_peer(&self) -> impl Iterator<Item = String> + use<> {
        (!self.peer).then(|| "--no-peer".to_owned()).into_iter()
    }

    /// Those of one that weighs its peer only when told to.
    fn peer(&self) -> impl Iterator<Item = String> + use<> {
        self.peer.then(|| "--peer".to_owned()).into_iter()
    }
}

pub async fn run(settings: &Settings) -> Result<()> {
    let outcomes = [
        ("emulator", emulator::run(emulator::Settings::parse(settings.no_peer())?).await),
        ("point-read", point_read::run(point_read::Settings::parse(std::iter::empty())?).await),
        ("query", query::run(query::Settings::parse(settings.no_peer())?).await),
        ("spatial", spatial::run(spatial::Settings::parse(std::iter::empty())?).await),
        ("bulk", bulk::run(bulk::Settings::parse(settings.no_peer())?).await),
        ("regions", regions::run(regions::Settings::parse(settings.no_peer())?).await),
        ("durable", durable::run(durable::Settings::parse(settings.no_peer())?).await),
        ("search", search::run(search::Settings::parse(std::iter::empty())?).await),
        ("weight", weight::run(&weight::Settings::parse(settings.peer())?)),
    ];
    let failed: Vec<String> = outcomes
        .into_iter()
        .filter_map(|(name, outcome)| Some(format!("{name}: {}", outcome.err()?)))
        .collect();
    if failed.is_empty() { Ok(()) } else { Err(failed.join("\n").into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_passed_on_makes_sense_to_each() {
        for arguments in [&[][..], &["--no-peer"]] {
            let settings = Settings::parse(arguments.iter().map(|&argument| argument.to_owned())).unwrap();
            assert!(emulator::Settings::parse(settings.no_peer()).is_ok());
            assert!(query::Settings::parse(settings.no_peer()).is_ok());
            assert!(bulk::Settings::parse(settings.no_peer()).is_ok());
            assert!(regions::Settings::parse(settings.no_peer()).is_ok());
            assert!(durable::Settings::parse(settings.no_peer()).is_ok());
            assert!(weight::Settings::parse(settings.peer()).is_ok());
        }
        assert!(Settings::parse(["--fast".to_owned()].into_iter()).is_err());
    }
}
