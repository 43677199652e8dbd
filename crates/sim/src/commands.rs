//! The command line.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use cosmonaut_sim::plan::{Plan, Reduction, WorldKind};

/// Client, driver, emulator and durable provider in one thread, under virtual time, from one seed.
#[derive(Parser)]
#[command(name = "cosmonaut-sim")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Run worlds and check what their callers saw
    Run(Run),
    /// Run one world and show what happened
    Replay(Replay),
    /// Plant bugs, one at a time, and see that each is found
    Mutations(Mutations),
    /// Live one world, in this process
    #[command(hide = true)]
    World(World),
}

/// What `run` takes.
#[derive(Args)]
pub(crate) struct Run {
    /// How many seeds
    #[arg(long, default_value_t = 100, value_parser = at_least_one)]
    pub(crate) seeds: u64,
    /// The first seed
    #[arg(long, default_value_t = 1)]
    pub(crate) from: u64,
    /// Only this seed
    #[arg(long, conflicts_with_all = ["seeds", "from"])]
    pub(crate) seed: Option<u64>,
    /// Only worlds of this kind
    #[arg(long, value_enum)]
    pub(crate) world: Option<Kind>,
    /// Begin no world after so many minutes
    #[arg(long, value_parser = minutes)]
    pub(crate) minutes: Option<Duration>,
    /// How many worlds at once; as many as there are processors unless this is given
    #[arg(long)]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// What `mutations` takes.
#[derive(Args)]
pub(crate) struct Mutations {
    /// Only this one
    #[arg(long)]
    pub(crate) only: Option<String>,
    /// Only those that one of the first few seeds shows
    #[arg(long)]
    pub(crate) quick: bool,
    /// How many seeds each has
    #[arg(long, default_value_t = 1000, value_parser = at_least_one)]
    pub(crate) seeds: u64,
    /// How many worlds at once; as many as there are processors unless this is given
    #[arg(long)]
    pub(crate) jobs: Option<NonZeroUsize>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// What `replay` takes.
#[derive(Args)]
pub(crate) struct Replay {
    #[command(flatten)]
    pub(crate) world: World,
    /// Write the timeline as a page
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Print every line of the trace
    #[arg(long)]
    pub(crate) trace: bool,
}

/// One world.
#[derive(Args, Clone)]
pub(crate) struct World {
    /// Its seed
    pub(crate) seed: u64,
    /// Its kind; the seed decides unless this is given
    #[arg(long, value_enum)]
    pub(crate) world: Option<Kind>,
    /// Faults that are left out, by their places
    #[arg(long, value_delimiter = ',', value_name = "PLACES")]
    pub(crate) without_faults: Vec<usize>,
    /// Clients that are left out, by their numbers
    #[arg(long, value_delimiter = ',', value_name = "NUMBERS")]
    pub(crate) without_clients: Vec<u32>,
    /// How many calls a task makes at most
    #[arg(long)]
    pub(crate) calls: Option<u32>,
    /// A bug that is planted
    #[arg(long, value_parser = planted)]
    pub(crate) mutation: Option<String>,
}

/// A kind of world, as the command line has it.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Kind {
    /// Items: read, written, queried
    Items,
    /// Items, and several processes that process their changes
    Processors,
    /// Orchestrations on several processes
    Orchestrations,
}

/// A run of no worlds shows nothing.
fn at_least_one(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(0) => Err("one world is the least that shows anything (try 1)".to_owned()),
        Ok(count) => Ok(count),
        Err(error) => Err(format!("{error}")),
    }
}

fn minutes(text: &str) -> Result<Duration, String> {
    let minutes: f64 = text.parse().map_err(|error| format!("{error}"))?;
    Duration::try_from_secs_f64(minutes * 60.0).map_err(|_| "not a number of minutes (try 1.5)".to_owned())
}

/// Only a build of its own has bugs planted in it.
fn planted(name: &str) -> Result<String, String> {
    if cfg!(cosmonaut_mutations) {
        return Ok(name.to_owned());
    }
    Err("this build has no bugs planted in it (build it with RUSTFLAGS=\"--cfg cosmonaut_mutations\")"
        .to_owned())
}

impl Kind {
    pub(crate) fn world(self) -> WorldKind {
        match self {
            Self::Items => WorldKind::Items,
            Self::Processors => WorldKind::Processors,
            Self::Orchestrations => WorldKind::Orchestrations,
        }
    }
}

impl World {
    /// A whole world.
    pub(crate) fn whole(seed: u64, world: Option<Kind>) -> Self {
        Self {
            seed,
            world,
            without_faults: Vec::new(),
            without_clients: Vec::new(),
            calls: None,
            mutation: None,
        }
    }

    /// What it draws.
    pub(crate) fn plan(&self) -> Plan {
        Plan::draw(self.seed, self.world.map(Kind::world)).reduced(&Reduction {
            faults: self.without_faults.clone(),
            clients: self.without_clients.clone(),
            calls: self.calls,
        })
    }

    /// The arguments that give this world.
    pub(crate) fn arguments(&self) -> Vec<String> {
        let mut arguments = vec![self.seed.to_string()];
        let mut add = |name: &str, value: String| arguments.extend([name.to_owned(), value]);
        if let Some(world) = self.world {
            add("--world", world.world().name().to_owned());
        }
        let list = |numbers: Vec<String>| numbers.join(",");
        if !self.without_faults.is_empty() {
            add("--without-faults", list(self.without_faults.iter().map(ToString::to_string).collect()));
        }
        if !self.without_clients.is_empty() {
            add("--without-clients", list(self.without_clients.iter().map(ToString::to_string).collect()));
        }
        if let Some(calls) = self.calls {
            add("--calls", calls.to_string());
        }
        if let Some(mutation) = &self.mutation {
            add("--mutation", mutation.clone());
        }
        arguments
    }
}
