//! What an application feels when a region fails: three regions in this process, callers over real sockets, and a fault
//! in the middle.
//!
//! The clients take turns, each with an account of its own. A region is some distance away, as an answer's delay: on a
//! bare loopback the processors would be the only thing measured.

mod account;
mod client;
mod identity;
mod ours;
mod peer;
mod plot;
mod relay;
mod report;
mod scenario;
mod summary;
mod workload;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use cosmonaut_plot::{Span, Timeline};

use crate::Result;
use account::Account;
use client::Client;
use identity::Identity;
use scenario::Scenario;
use summary::Summary;
use workload::{Run, WARM_UP, Workload};

/// The account's regions by priority: the first takes the writes.
const REGIONS: [&str; 3] = ["East US", "West US", "North Europe"];
const WRITES: usize = 0;
/// Where the application runs, and so where it reads.
const NEAREST: usize = 1;
/// Where nothing ever goes wrong.
const SPARED: usize = 2;

/// How finely a run is drawn.
const STEP: Duration = Duration::from_millis(100);

/// How much longer than the other phases the last one is: endpoints that were lost are tried every ten seconds.
const AFTER: u32 = 3;

pub struct Settings {
    phase: Duration,
    in_flight: usize,
    svg: Option<PathBuf>,
    scenarios: Vec<Scenario>,
    peer: bool,
}

impl Settings {
    pub fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Self> {
        let mut settings = Self {
            phase: Duration::from_secs(5),
            in_flight: 64,
            svg: None,
            scenarios: Scenario::ALL.to_vec(),
            peer: true,
        };
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or_else(|| format!("{argument} needs a value"));
            match argument.as_str() {
                "--seconds" => settings.phase = Duration::from_secs(value()?.parse()?),
                "--in-flight" => settings.in_flight = value()?.parse()?,
                "--svg" => settings.svg = Some(value()?.into()),
                "--scenario" => settings.scenarios = Scenario::parse(&value()?)?,
                "--no-peer" => settings.peer = false,
                _ => return Err(crate::USAGE.into()),
            }
        }
        if settings.phase.is_zero() || settings.in_flight == 0 {
            return Err("--seconds and --in-flight take numbers from 1".into());
        }
        Ok(settings)
    }
}

/// How a client fared in a scenario.
struct Trial {
    scenario: Scenario,
    client: &'static str,
    /// Or why there is nothing to tell.
    outcome: std::result::Result<(Summary, Timeline), String>,
}

pub async fn run(settings: Settings) -> Result<()> {
    let mut trials = Vec::new();
    for &scenario in &settings.scenarios {
        trials.push(trial::<ours::Ours>(&settings, scenario).await);
        if settings.peer {
            trials.push(trial::<peer::Peer>(&settings, scenario).await);
        }
        report::print_scenario(scenario, trials.iter().filter(|trial| trial.scenario == scenario));
    }
    report::print_recoveries(settings.in_flight, &trials);
    if let Some(file) = &settings.svg {
        std::fs::write(file, plot::draw(&trials)).map_err(|error| format!("{}: {error}", file.display()))?;
    }
    Ok(())
}

async fn trial<C: Client>(settings: &Settings, scenario: Scenario) -> Trial {
    let outcome = try_trial::<C>(settings, scenario).await.map_err(|error| error.to_string());
    Trial { scenario, client: C::NAME, outcome }
}

async fn try_trial<C: Client>(settings: &Settings, scenario: Scenario) -> Result<(Summary, Timeline)> {
    let account = Account::start(scenario.access()).await?;
    // Due for the next one when a fifth of the fault has passed.
    let identity = Arc::new(Identity::new(WARM_UP + settings.phase + settings.phase / 5));
    let shown = scenario.access().open.then(|| Arc::clone(&identity));
    let client = C::connect(&account.url()?, shown).await?;
    let workload =
        Workload { in_flight: settings.in_flight, phase: settings.phase, after: settings.phase * AFTER };
    let run = workload.run(&client, (&account, &identity), scenario).await?;
    let concerned =
        |record: &workload::Record| scenario.concerns(record.kind, account.is_in_partition(record.item));
    let summary = Summary::new(&run, scenario.region(), concerned);
    Ok((summary, timeline(&run)))
}

fn timeline(run: &Run) -> Timeline {
    let samples = run.records.iter().map(|record| record.sample());
    let span = Span { length: run.ended, step: STEP };
    Timeline::new(samples, REGIONS.len(), span, Some(run.outage))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(arguments: &[&str]) -> Result<Settings> {
        Settings::parse(arguments.iter().map(|&argument| argument.to_owned()))
    }

    #[test]
    fn arguments_choose_what_is_run() {
        let settings = parse(&["--scenario", "region-slow", "--in-flight", "8", "--seconds", "2"]).unwrap();
        assert_eq!(settings.scenarios, [Scenario::RegionSlow]);
        assert_eq!((settings.in_flight, settings.phase), (8, Duration::from_secs(2)));
        assert_eq!(parse(&[]).unwrap().scenarios, Scenario::ALL);
    }

    #[test]
    fn arguments_that_make_no_sense_are_refused() {
        for arguments in
            [&["--seconds", "0"][..], &["--in-flight", "0"], &["--svg"], &["--fast"], &["--scenario", "x"]]
        {
            assert!(parse(arguments).is_err(), "{arguments:?}");
        }
    }
}
