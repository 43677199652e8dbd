//! `cosmonaut demo`: three regions serve a shop, one of them fails in the middle, and nothing is lost.
//!
//! Everything runs in this process, over real sockets. What is measured is what an application sees through the
//! client; the account is the emulator, with distances made by delays.

mod account;
mod gap;
mod ledger;
mod meter;
mod orchestrations;
mod outcome;
mod phase;
mod report;
mod scenario;
mod screen;
mod show;
mod summary;
mod words;
mod workload;

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::runtime;
use scenario::Scenario;
use summary::Summary;

/// Watch three regions serve a shop while one of them fails: live, with a summary and a report.
///
/// East US takes the writes, West US is the nearest, and North Europe is there too. Reads, writes, queries and durable
/// orchestrations go on while the fault comes and goes; then everything is read back.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// How long to run: a fifth all is well, a quarter it is not, and then it is mended
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u32).range(3..=3600))]
    seconds: u32,

    /// What goes wrong
    #[arg(long, value_enum, default_value_t = Scenario::RegionDown)]
    scenario: Scenario,

    /// Print the summary as one JSON object; progress goes to the error stream
    #[arg(long)]
    json: bool,

    /// Where to write the report, which needs no network to be read
    #[arg(long, value_name = "FILE", default_value = "cosmonaut-demo.html")]
    report: PathBuf,

    /// Write no report
    #[arg(long, conflicts_with = "report")]
    no_report: bool,
}

const EXAMPLES: &str = "\
Examples:
  cosmonaut demo                                      the nearest region goes down, and comes back
  cosmonaut demo --scenario write-failover            writes move to another region
  cosmonaut demo --seconds 10 --json --no-report      for scripts

Ctrl-C stops early and still mends, reads back and sums up; a second one ends it at once.

Exit status: 0 if all is well, 1 if a write was lost or applied twice or an orchestration did not complete, 2 if the
arguments make no sense, 130 if it was stopped.";

/// Runs the demo, and tells how it went.
pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let report = (!arguments.no_report).then_some(&*arguments.report);
    report.map_or(Ok(()), check_writable)?;
    let run = runtime::run(show::play(arguments))?;
    let summary = Summary::new(&run);
    if let Some(file) = report {
        std::fs::write(file, report::page(&run, &summary)).map_err(|error| unwritable(file, &error))?;
    }
    let shown = report.map(|file| file.display().to_string());
    let text = if arguments.json {
        format!("{:#}\n", summary.json(shown.as_deref()))
    } else {
        summary.text(shown.as_deref())
    };
    let mut output = std::io::stdout().lock();
    output.write_all(text.as_bytes())?;
    output.flush()?;
    match summary.harm() {
        _ if summary.stopped => Err(Failure::Stopped),
        Some(harm) => Err(Failure::Work(harm)),
        None => Ok(()),
    }
}

/// Before the run, not after it.
fn check_writable(file: &Path) -> Result<(), Failure> {
    let opened = OpenOptions::new().create(true).append(true).open(file);
    opened.map(drop).map_err(|error| unwritable(file, &error))
}

fn unwritable(file: &Path, error: &std::io::Error) -> Failure {
    let name = file.display();
    Failure::Usage(format!(
        "cannot write the report {name}: {error} (name another with --report, or use --no-report)"
    ))
}
