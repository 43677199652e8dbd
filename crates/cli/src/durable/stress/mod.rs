//! `cosmonaut durable stress`: runs orchestrations as fast as an account lets them, and measures what they take.
//!
//! They run in a container of their own, which is made before and deleted after: a runtime that knows only these
//! orchestrations would hold up all others.

mod load;
mod report;

use std::sync::Arc;
use std::time::Duration;

use cosmonaut::DatabaseClient;
use duroxide_cosmonaut::{CosmosProvider, CosmosProviderConfig, Throughput};

use super::Answer;
use super::connect::{DATABASE, named};
use crate::account::failed;
use crate::container::ContainerName;
use crate::failure::Failure;
use crate::signal::StopSignal;
use load::{Load, Shape};
use report::Report;

/// The container, if none is named. Never the one that real orchestrations are in.
const CONTAINER: &str = "cosmonaut-stress";

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// Stop after so many orchestrations [default: when the time is up]
    #[arg(long, short, value_name = "NUMBER", value_parser = clap::value_parser!(u64).range(1..))]
    instances: Option<u64>,

    /// How many activities each orchestration runs side by side
    #[arg(long, short, default_value_t = 5)]
    activities: u32,

    /// How long an activity takes, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 10)]
    activity_time: u64,

    /// How many orchestrations are under way at once
    #[arg(long, short, value_name = "NUMBER", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..))]
    concurrency: u16,

    /// How long new ones are started
    #[arg(long, short, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    seconds: u32,

    /// How many turns the runtime works on at once
    #[arg(long, value_name = "NUMBER", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..))]
    dispatchers: u16,

    /// How many activities the runtime works on at once
    #[arg(long, value_name = "NUMBER", default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..))]
    workers: u16,

    /// Up to how many request units a second the container scales [default: 4000]
    #[arg(long, value_name = "RU")]
    throughput: Option<u32>,

    /// Leave the container, to look at it
    #[arg(long)]
    keep: bool,
}

/// Where the load goes.
struct Target {
    config: CosmosProviderConfig,
    name: ContainerName,
    database: DatabaseClient,
    /// Whether the database is made, and so deleted, with the container.
    makes_database: bool,
}

/// The result, and a failure if an orchestration did not end as it should.
pub(super) async fn run(
    all: &super::Arguments,
    arguments: &Arguments,
) -> Result<(Answer, Result<(), Failure>), Failure> {
    let mut stop = StopSignal::listen()?;
    let target = Target::of(all, arguments).await?;
    let shape = Shape {
        activities: arguments.activities,
        activity_time: Duration::from_millis(arguments.activity_time),
        dispatchers: arguments.dispatchers.into(),
        workers: arguments.workers.into(),
    };
    let measured = measure(&target, arguments, shape, &mut stop).await;
    let removed = if arguments.keep { Ok(()) } else { target.remove().await };
    let report = measured?;
    removed?;
    Ok((Answer { text: report.text(), json: report.json() }, report.verdict()))
}

async fn measure(
    target: &Target,
    arguments: &Arguments,
    shape: Shape,
    stop: &mut StopSignal,
) -> Result<Report, Failure> {
    let connect = || async {
        let connected = CosmosProvider::connect(target.config.clone()).await;
        connected.map(Arc::new).map_err(|error| Failure::Work(error.to_string()))
    };
    // Who waits for an end asks again and again. That is no cost of the orchestration, so it is counted apart.
    let (store, caller) = (connect().await?, connect().await?);
    let load = Arc::new(Load::start(store, caller, shape).await);
    let time = Duration::from_secs(arguments.seconds.into());
    let limit = arguments.instances.unwrap_or(u64::MAX);
    let outcome = load.run(arguments.concurrency.into(), time, limit, stop).await;
    load.end().await;
    Ok(Report {
        container: target.name.to_string(),
        concurrency: arguments.concurrency,
        activities: arguments.activities,
        outcome,
    })
}

impl Target {
    async fn of(all: &super::Arguments, arguments: &Arguments) -> Result<Self, Failure> {
        let client = all.account.client()?;
        let usual = CosmosProviderConfig::with_client(client.clone());
        let config = CosmosProviderConfig {
            database: named(&all.database, DATABASE).unwrap_or(usual.database.clone()),
            // The variables name the container of real orchestrations, so that only the flag counts here.
            container: all.container.clone().unwrap_or_else(|| CONTAINER.to_owned()),
            write_region: all.write_region.as_deref().map(Into::into),
            throughput: arguments.throughput.map_or(Throughput::default(), Throughput::Autoscale),
            ..usual
        };
        let name = ContainerName::new(&*config.database, &*config.container);
        let database = client.database(&config.database);
        let is_there = |read: Result<(), cosmonaut::Error>| match read {
            Ok(()) => Ok(true),
            Err(error) if error.is_not_found() => Ok(false),
            Err(error) => Err(failed(&error)),
        };
        let makes_database = !is_there(database.read().await.map(drop))?;
        if is_there(database.container(&config.container).read().await.map(drop))? {
            return Err(Failure::Work(format!(
                "{name} is there already, and a load belongs in a container of its own (name another with --container, \
                 or delete this one if an earlier run has left it)"
            )));
        }
        Ok(Self { config, name, database, makes_database })
    }

    async fn remove(&self) -> Result<(), Failure> {
        let removed = match self.makes_database {
            true => self.database.delete().await.map(drop),
            false => self.database.container(&self.config.container).delete().await.map(drop),
        };
        match removed {
            Err(error) if !error.is_not_found() => {
                Err(Failure::Work(format!("{} was measured, but cannot be deleted: {error}", self.name)))
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }
}
