//! `cosmonaut bench`: puts a load on a container and measures what it takes.

mod load;
mod mix;
mod progress;
mod report;
mod tally;
mod target;

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::account::AccountArguments;
use crate::container::ContainerName;
use crate::failure::Failure;
use crate::runtime;
use crate::screen::{note, print};
use crate::signal::StopSignal;
use load::{Load, Pace};
use mix::Mix;
use progress::Bar;
use report::Report;
use target::{Target, Wanted};

/// How many workers there are if nothing is said: at a rate, enough that the rate decides.
const WORKERS: usize = 16;
const WORKERS_AT_A_RATE: usize = 256;

/// The arguments of `cosmonaut bench`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The container to use; it is made if it is not there
    #[arg(value_name = "DATABASE/CONTAINER", default_value = "cosmonaut-bench/items")]
    container: ContainerName,

    /// What is done, by shares: read and write are of one item, query finds ten over all partitions
    #[arg(long, value_name = "SHARES", default_value = "read=80,write=15,query=5")]
    mix: Mix,

    /// How many operations are under way at once [default: 16, or at most 256 with --rate]
    #[arg(long, short, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..))]
    concurrency: Option<u16>,

    /// Start so many operations a second, however long they take, and measure each from when it was due
    #[arg(long, short, value_name = "PER-SECOND", value_parser = rate)]
    rate: Option<f64>,

    /// How long operations are counted
    #[arg(long, short, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    seconds: u32,

    /// How long they are done before that without being counted
    #[arg(long, value_name = "SECONDS", default_value_t = 2)]
    warm_up: u32,

    /// How many items there are to read and write
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..))]
    items: u64,

    /// How large they are
    #[arg(long, value_name = "BYTES", default_value_t = 1024, value_parser = clap::value_parser!(u32).range(128..2_000_000))]
    item_size: u32,

    /// The throughput of a container that is made, in request units a second
    #[arg(long, value_name = "RU")]
    throughput: Option<u32>,

    /// Leave what was made or written
    #[arg(long)]
    keep: bool,

    /// Print the result as one JSON object
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    account: AccountArguments,
}

const EXAMPLES: &str = "\
Examples, with `cosmonaut up` running:
  cosmonaut bench                                 ten seconds of reads, writes and queries
  cosmonaut bench --mix read=1 --concurrency 64   only reads, 64 at a time
  cosmonaut bench --rate 500 --seconds 60         500 a second, for a minute
  cosmonaut bench shop/orders --json              in a container of yours; what is in it stays as it
                                                  is, what this adds is removed

A closed loop (--concurrency) finds out how much an account can do. It says little about how long
users wait, because it asks less when answers are slow. An open loop (--rate) asks on time: what a
slow answer keeps waiting counts as slow too.

Ctrl-C ends it early, with the result so far.";

fn rate(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|rate| (0.001..=1_000_000.0).contains(rate));
    number.ok_or_else(|| "expected a number of operations a second, for example 500".to_owned())
}

/// Runs the benchmark.
pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    runtime::run(bench(arguments))
}

async fn bench(arguments: &Arguments) -> Result<(), Failure> {
    let mut stop = StopSignal::listen()?;
    let wanted = Wanted {
        items: arguments.items,
        item_size: arguments.item_size as usize,
        throughput: arguments.throughput,
    };
    let client = arguments.account.client()?;
    let name = &arguments.container;
    let target = tokio::select! {
        target = Target::open(client, name.clone(), wanted) => Arc::new(target?),
        () = stop.heard() => {
            note(&format!("stopped before {name} was ready; if it was being made, it is left"));
            return Err(Failure::Stopped);
        }
    };
    let measured = match fill(&target, &mut stop).await {
        Ok(Filled::All) => Ok(measure(arguments, &target, &mut stop).await),
        Ok(Filled::Part) => Err(Failure::Stopped),
        Ok(Filled::Left) => {
            note(&format!("stopped; what was written to {name} is left"));
            return Err(Failure::Stopped);
        }
        Err(failure) => Err(failure),
    };
    let removed = match arguments.keep {
        true => Ok(()),
        false => tokio::select! {
            removed = target.remove() => removed,
            // Asked once more: what is left is left.
            () = stop.heard() => Err(Failure::Stopped),
        },
    };
    let report = match measured {
        Ok(report) => report,
        // That something is left matters more than that the user wanted to stop.
        Err(Failure::Stopped) => return removed.and(Err(Failure::Stopped)),
        Err(failure) => return Err(failure),
    };
    let text = if arguments.json {
        format!("{:#}\n", report.json())
    } else {
        report.text(crate::screen::output_width())
    };
    print(&text)?;
    removed?;
    match report.tally.all().succeeded() {
        0 if !report.stopped => Err(Failure::Work("not one operation succeeded".to_owned())),
        _ => Ok(()),
    }
}

/// How far the items were written.
enum Filled {
    All,
    /// The user has seen enough, and no write is under way.
    Part,
    /// The user did not even want to wait for the writes that are under way.
    Left,
}

/// Writes the items, unless the user has seen enough before.
async fn fill(target: &Arc<Target>, stop: &mut StopSignal) -> Result<Filled, Failure> {
    let mut filling = pin!(target.fill());
    tokio::select! {
        filled = &mut filling => return filled.map(|()| Filled::All),
        () = stop.heard() => target.stop_filling(),
    }
    note("stopping when the writes under way have ended; Ctrl-C once more leaves everything as it is");
    tokio::select! {
        _ = filling => Ok(Filled::Part),
        () = stop.heard() => Ok(Filled::Left),
    }
}

/// Puts the load on until its time is up or the user has seen enough.
async fn measure(arguments: &Arguments, target: &Arc<Target>, stop: &mut StopSignal) -> Report {
    let (pace, usual) = match arguments.rate {
        Some(rate) => (Pace::Open(rate), WORKERS_AT_A_RATE),
        None => (Pace::Closed, WORKERS),
    };
    let concurrency = arguments.concurrency.map_or(usual, usize::from);
    let seconds = |number: u32| Duration::from_secs(number.into());
    let (warm_up, time) = (seconds(arguments.warm_up), seconds(arguments.seconds));
    let load = Arc::new(Load::new(Arc::clone(target), arguments.mix.clone(), pace, warm_up, time));
    let (stopper, stopped) = watch::channel(false);
    let mut running = pin!(finished(load.start(concurrency, &stopped)));
    let bar = Bar::new(&load);
    let is_stopped = tokio::select! {
        () = &mut running => false,
        () = stop.heard() => true,
        never = bar.draw(&load) => match never {},
    };
    bar.end(is_stopped);
    let ended = runtime::now().min(load.ends);
    if is_stopped {
        // Nobody hears it if all have ended meanwhile.
        let _ = stopper.send(true);
        tokio::select! {
            () = running => {}
            // Asked twice: what is under way does not count.
            () = stop.heard() => {}
        }
    }
    Report {
        container: arguments.container.to_string(),
        pace,
        concurrency,
        counted: ended.saturating_duration_since(load.counted_from),
        not_started: load.not_started(ended),
        stopped: is_stopped,
        tally: load.tally(),
    }
}

async fn finished(workers: Vec<JoinHandle<()>>) {
    for worker in workers {
        // A worker that panicked has said so; the others go on.
        let _ = worker.await;
    }
}
