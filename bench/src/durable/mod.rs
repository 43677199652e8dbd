//! Orchestrations on this provider, on `duroxide-cdb` and on duroxide's SQLite provider: how many a second, how long a
//! step takes, what one costs, and whether instances that sleep slow down those that do not.
//!
//! Both Cosmos providers talk over sockets to an emulator on threads of its own in this process, so that on the same
//! cores nobody gets more of them than the others. Stores take turns, each new and empty.

mod account;
mod dormant;
mod fan_out;
mod model;
mod peers;
pub mod processes;
mod report;
mod signals;
mod steps;
mod store;

use std::time::Duration;

use crate::{Result, table};
use fan_out::{FanOut, Wait};
use store::{Kind, Store};

/// What is measured, by the name that `--load` takes, in the order of the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Load {
    StressTest,
    Alone,
    Together,
    Steps,
    Dormant,
    Processes,
}

impl Load {
    const ALL: [(&str, Self); 6] = [
        ("stress-test", Self::StressTest),
        ("alone", Self::Alone),
        ("together", Self::Together),
        ("steps", Self::Steps),
        ("dormant", Self::Dormant),
        ("processes", Self::Processes),
    ];

    fn parse(name: &str) -> Result<Self> {
        let known = || Self::ALL.map(|(name, _)| name).join(", ");
        let found = Self::ALL.into_iter().find(|(known, _)| *known == name);
        Ok(found.ok_or_else(|| format!("--load takes one of {}, not {name:?}", known()))?.1)
    }
}

/// What duroxide's own stress test does: activities of 10 ms, of which two dispatchers can run 200 a second, so that no
/// provider completes more than 40 orchestrations a second.
const STRESS_TEST: FanOut = FanOut {
    at_once: 20,
    activities: 5,
    activity: Duration::from_millis(10),
    dispatchers: 2,
    wait: Wait::Polling,
};

/// One after the other, by callers that do not poll: what waiting for the next step costs.
const ALONE: FanOut =
    FanOut { at_once: 1, activities: 5, activity: Duration::ZERO, dispatchers: 2, wait: Wait::Signal };

/// So many that nobody waits: on the same cores, what all that is done for an orchestration costs.
const TOGETHER: FanOut =
    FanOut { at_once: 64, activities: 5, activity: Duration::ZERO, dispatchers: 16, wait: Wait::Signal };

/// How many orchestrations are started a second on several processes: few enough for two cores.
const RATE: u32 = 20;

/// Numbers of processes that only the model is asked about.
const MODELLED: [u32; 2] = [50, 100];

pub struct Settings {
    time: Duration,
    dormant: Vec<u32>,
    processes: Vec<u32>,
    peer: bool,
    only: Option<Kind>,
    load: Option<Load>,
}

impl Settings {
    pub fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Self> {
        let mut settings = Self {
            time: Duration::from_secs(5),
            dormant: vec![10, 1_000, 100_000],
            processes: vec![1, 4, 16],
            peer: true,
            only: None,
            load: None,
        };
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or_else(|| format!("{argument} needs a value"));
            match argument.as_str() {
                "--seconds" => settings.time = Duration::from_secs(value()?.parse()?),
                "--dormant" => settings.dormant = numbers(&value()?)?,
                "--processes" => settings.processes = numbers(&value()?)?,
                "--no-peer" => settings.peer = false,
                "--only" => settings.only = Some(Kind::parse(&value()?)?),
                "--load" => settings.load = Some(Load::parse(&value()?)?),
                _ => return Err(crate::USAGE.into()),
            }
        }
        if settings.time.is_zero() || !settings.dormant.is_sorted() || settings.processes.contains(&0) {
            return Err("--seconds and --processes take numbers from 1, --dormant numbers that grow".into());
        }
        Ok(settings)
    }

    fn kinds(&self) -> Vec<Kind> {
        let wanted = |kind: &Kind| match self.only {
            Some(only) => *kind == only,
            None => self.peer || kind.is_ours(),
        };
        Kind::ALL.into_iter().filter(wanted).collect()
    }
}

fn numbers(list: &str) -> Result<Vec<u32>> {
    Ok(list.split(',').map(str::parse).collect::<std::result::Result<_, _>>()?)
}

pub async fn run(settings: Settings) -> Result<()> {
    silence();
    for (_, load) in Load::ALL {
        if settings.load.is_some_and(|only| only != load) {
            continue;
        }
        match load {
            Load::StressTest => fan_out(&settings, STRESS_TEST, "duroxide's stress test").await,
            Load::Alone => fan_out(&settings, ALONE, "each alone").await,
            Load::Together => fan_out(&settings, TOGETHER, "many together").await,
            Load::Steps => steps(&settings).await,
            Load::Dormant => dormant(&settings).await?,
            Load::Processes => processes(&settings).await?,
        }
    }
    Ok(())
}

async fn fan_out(settings: &Settings, load: FanOut, name: &str) {
    let mut outcomes = Vec::new();
    for kind in settings.kinds() {
        let measured = async {
            let store = Store::open(kind, load.dispatchers).await?;
            load.measure(&store, "fan-out", settings.time).await
        };
        outcomes.push((kind, measured.await.map_err(|error| error.to_string())));
    }
    table::print(&format!("Orchestrations, {name}: {load}"), &report::fan_out(&outcomes));
}

async fn steps(settings: &Settings) {
    let mut outcomes = Vec::new();
    for kind in settings.kinds() {
        let measured = async {
            let store = Store::open(kind, steps::DISPATCHERS).await?;
            steps::measure(&store, settings.time).await
        };
        outcomes.push((kind, measured.await.map_err(|error| error.to_string())));
    }
    table::print("One step: activities that take no time, one after the other", &report::steps(&outcomes));
}

async fn dormant(settings: &Settings) -> Result<()> {
    let measured = dormant::measure(&settings.dormant, TOGETHER, settings.time).await?;
    table::print("Many together beside instances that wait for an event", &report::dormant(&measured));
    Ok(())
}

async fn processes(settings: &Settings) -> Result<()> {
    let measured = processes::measure(&settings.processes, RATE, TOGETHER, settings.time).await?;
    let title = format!("{RATE} orchestrations a second, on processes that share a container");
    table::print(&title, &report::processes(&measured, RATE, &MODELLED));
    Ok(())
}

/// Keeps the runtimes from setting up logging, which would write between the tables, unless that is asked for.
fn silence() {
    if std::env::var_os("RUST_LOG").is_some() {
        return;
    }
    // If somebody else was first, that is who decides.
    let _ = tracing::subscriber::set_global_default(tracing::subscriber::NoSubscriber::default());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(arguments: &[&str]) -> Result<Settings> {
        Settings::parse(arguments.iter().map(|&argument| argument.to_owned()))
    }

    #[test]
    fn arguments_choose_what_is_run() {
        let settings = parse(&["--seconds", "2", "--dormant", "5,50", "--no-peer"]).unwrap();
        assert_eq!((settings.time, &*settings.dormant), (Duration::from_secs(2), &[5, 50][..]));
        assert!(settings.kinds().into_iter().all(Kind::is_ours));
        assert_eq!(parse(&["--only", "sqlite"]).unwrap().kinds(), [Kind::Sqlite]);
        assert_eq!(parse(&[]).unwrap().kinds(), Kind::ALL);
        for (name, load) in Load::ALL {
            assert_eq!(parse(&["--load", name]).unwrap().load, Some(load));
        }
    }

    #[test]
    fn arguments_that_make_no_sense_are_refused() {
        for arguments in [
            &["--seconds", "0"][..],
            &["--dormant", "50,5"],
            &["--dormant", "x"],
            &["--only", "x"],
            &["--load", "x"],
            &["--processes", "0"],
            &["--fast"],
        ] {
            assert!(parse(arguments).is_err(), "{arguments:?}");
        }
    }
}
