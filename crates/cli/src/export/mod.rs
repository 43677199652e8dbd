//! `cosmonaut export`: writes the items of containers to files.
//!
//! `job` is the export of one container, `parts` reads its partitions side by side, `output` writes what they find, and
//! `state` is what an export that is run again goes on from.

mod job;
mod output;
mod parts;
mod state;
mod table;

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::account::AccountArguments;
use crate::container::ContainerName;
use crate::data::bar::{bytes, per_second};
use crate::data::checkpoint;
use crate::data::definition::Definition;
use crate::data::form::{self, Form, Packed};
use crate::data::lock::Lock;
use crate::data::place::{self, Place};
use crate::data::reader::STANDARD;
use crate::data::told::Told;
use crate::failure::Failure;
use crate::runtime;
use crate::screen::note;
use crate::signal::StopSignal;
use crate::time::span;
use job::{Done, Job};
use state::Of;

/// The arguments of `cosmonaut export`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES, override_usage = "cosmonaut export [OPTIONS] DATABASE/CONTAINER FILE\n       \
    cosmonaut export [OPTIONS] DATABASE DIRECTORY\n       cosmonaut export [OPTIONS] --all DIRECTORY")]
pub(crate) struct Arguments {
    /// What is written, and where: a container and a file (- is the standard output), or a database and a directory
    #[arg(value_name = "PLACE", num_args = 1..=2, required = true)]
    places: Vec<String>,

    /// Write every container of the account
    #[arg(long)]
    all: bool,

    /// How items are written [default: as the name of the file says, jsonl in a directory and to the standard output]
    #[arg(long, short, value_enum)]
    format: Option<Form>,

    /// Pack the files of a directory; a file on its own is packed if its name ends with .gz
    #[arg(long)]
    gzip: bool,

    /// Write _rid, _self, _etag, _attachments and _ts too
    #[arg(long)]
    system: bool,

    /// The columns of CSV, which are found by reading everything first if they are not given
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    columns: Vec<String>,

    /// How many partitions are read at once
    #[arg(long, value_name = "NUMBER", default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..))]
    parallel: u16,

    /// How many items are asked for at once
    #[arg(long, value_name = "ITEMS", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..))]
    page: u32,

    /// Begin anew: forget how far an earlier run came, and replace files
    #[arg(long)]
    restart: bool,

    /// Print what was done as JSON, a line for each container
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    account: AccountArguments,
}

const EXAMPLES: &str = "\
Examples, with `cosmonaut up` running:
  cosmonaut export shop/orders orders.jsonl       an item in each line, and orders.container.json
  cosmonaut export shop/orders orders.csv.gz      packed, because the name says so
  cosmonaut export shop/orders - | jq .total      to the standard output
  cosmonaut export shop backup --gzip             every container of a database, in a directory
  cosmonaut export --all backup                   every container of the account

An export that was interrupted, by whatever, goes on when it is run again: FILE.state says from where,
FILE.part is what there is so far, and FILE is there once it is whole. Numbers are written as they
are stored. What is written to a container meanwhile may be in the file or not; it is no snapshot.
Stored procedures, triggers and functions are not exported.";

/// Runs the export.
pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    runtime::run(export(arguments))
}

async fn export(arguments: &Arguments) -> Result<(), Failure> {
    let place = Place::read(&arguments.places, arguments.all)?;
    let mut stop = StopSignal::listen()?;
    match place {
        Place::One(name, path) => {
            let packed = match (path.to_str(), arguments.format) {
                (Some(STANDARD), said) => Packed { form: said.unwrap_or(Form::Jsonl), gzip: arguments.gzip },
                (_, said) => form::of(&path, said)?,
            };
            one(arguments, &name, &path, packed, &mut stop).await?.1.0
        }
        Place::Many(database, directory) => many(arguments, database.as_deref(), &directory, &mut stop).await,
    }
}

/// Exports one container. What is told of it may not reach its reader, which is no reason to leave out others.
async fn one(
    arguments: &Arguments,
    name: &ContainerName,
    path: &Path,
    packed: Packed,
    stop: &mut StopSignal,
) -> Result<(Done, Told), Failure> {
    let to_output = path.to_str() == Some(STANDARD);
    if to_output && packed.form == Form::Csv && arguments.columns.is_empty() {
        let message =
            "the columns of CSV are known when everything was read (write to a file, or give --columns)";
        return Err(Failure::Usage(message.to_owned()));
    }
    if to_output && arguments.json {
        return Err(Failure::Usage(
            "items go to the standard output, so --json cannot (write to a file)".to_owned(),
        ));
    }
    let client = arguments.account.client()?;
    // Only one run at a time writes a file, its part and its state.
    let _lock = if to_output { None } else { Some(Lock::of(path)?) };
    let definition = stop.or(Definition::of(&client, name)).await?;
    let job = Job {
        client: &client,
        name,
        definition: &definition,
        path: (!to_output).then_some(path),
        of: of(arguments, name, definition.container.rid.clone(), packed),
        parallel: arguments.parallel,
        page: arguments.page,
        restart: arguments.restart,
    };
    let done = job.run(stop).await?;
    let told = tell(arguments, name, path, &done);
    Ok((done, told))
}

/// What the export of a container is, for a later run that would go on.
fn of(arguments: &Arguments, name: &ContainerName, rid: Option<String>, packed: Packed) -> Of {
    let (container, with_system, columns) = (name.to_string(), arguments.system, arguments.columns.clone());
    Of { container, rid, packed, with_system, columns }
}

/// What of a directory was exported, while the rest is not.
#[derive(Default, serde::Serialize, serde::Deserialize)]
struct Finished {
    containers: Vec<FinishedContainer>,
}

/// A container that was exported to its end.
#[derive(serde::Serialize, serde::Deserialize)]
struct FinishedContainer {
    of: Of,
    /// How long its file was.
    length: u64,
}

impl Finished {
    /// That it is of the same export: otherwise a later run must not pass over what is finished, or leave it beside what
    /// comes from elsewhere.
    fn check(&self, wanted: &[(Of, PathBuf)], state: &Path) -> Result<(), Failure> {
        for done in &self.containers {
            let container = &done.of.container;
            match wanted.iter().find(|(of, _)| of.container == *container) {
                Some((of, _)) => done.of.check(of, state)?,
                None => {
                    let state = state.display();
                    return Err(Failure::Usage(format!(
                        "{state} is of an export that {container} belongs to, which is gone, or not asked for, or of \
                         another account (go on as it was begun, or use --restart)"
                    )));
                }
            }
        }
        Ok(())
    }

    /// Whether the file of a container is there as it was written.
    fn has(&self, of: &Of, path: &Path) -> bool {
        let length = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file).map(|found| found.len());
        self.containers.iter().any(|done| done.of == *of && Some(done.length) == length)
    }
}

/// Exports several containers, one after the other.
async fn many(
    arguments: &Arguments,
    database: Option<&str>,
    directory: &Path,
    stop: &mut StopSignal,
) -> Result<(), Failure> {
    let client = arguments.account.client()?;
    let found = stop.or(place::containers(&client, database)).await?;
    let packed = Packed { form: arguments.format.unwrap_or(Form::Jsonl), gzip: arguments.gzip };
    let path = |name: &ContainerName| with_extension(place::file_in(directory, name), packed);
    let (names, rids): (Vec<_>, Vec<_>) = found.into_iter().unzip();
    let wanted: Vec<_> =
        names.iter().zip(rids).map(|(name, rid)| (of(arguments, name, rid, packed), path(name))).collect();
    let state = directory.join("export.state");
    std::fs::create_dir_all(directory).map_err(|error| checkpoint::cannot("make", directory, &error))?;
    let _lock = Lock::of(&state)?;
    if arguments.restart {
        checkpoint::remove(&state)?;
    }
    let mut finished: Finished = checkpoint::load(&state)?.unwrap_or_default();
    finished.check(&wanted, &state)?;
    let mut told = Told(Ok(()));
    for (name, (of, path)) in names.iter().zip(&wanted) {
        if finished.has(of, path) {
            continue;
        }
        let folder = path.parent().expect("a file in a directory has one");
        std::fs::create_dir_all(folder).map_err(|error| checkpoint::cannot("make", folder, &error))?;
        let (done, line) = one(arguments, name, path, packed, stop).await?;
        told = told.and(line);
        finished.containers.retain(|known| known.of.container != done.of.container);
        finished.containers.push(FinishedContainer { of: done.of, length: done.bytes });
        checkpoint::save(&state, &finished)?;
    }
    checkpoint::remove(&state)?;
    told.0
}

fn with_extension(path: PathBuf, packed: Packed) -> PathBuf {
    let gz = if packed.gzip { ".gz" } else { "" };
    checkpoint::with_suffix(&path, &format!(".{}{gz}", packed.form.extension()))
}

/// Says what was done: to people on the standard error, to programs on the standard output.
fn tell(arguments: &Arguments, name: &ContainerName, path: &Path, done: &Done) -> Told {
    let seconds = done.time.as_secs_f64();
    if arguments.json {
        let line = json!({
            "container": name.to_string(), "file": path.display().to_string(), "items": done.items,
            "bytes": done.bytes, "requestUnits": done.charge, "seconds": seconds, "resumed": done.before > 0,
        });
        return Told::line(&line);
    }
    let rate = per_second(done.items - done.before, done.time);
    let earlier = match done.before {
        0 => String::new(),
        before => format!(" ({before} of them by an earlier run)"),
    };
    note(&format!(
        "{name}: {} items{earlier}, {}, {:.2} RU, {}, {rate}/s",
        done.items,
        bytes(done.bytes),
        done.charge,
        span(done.time),
    ));
    Told(Ok(()))
}
