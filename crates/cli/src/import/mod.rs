//! `cosmonaut import`: writes the items of files to containers.
//!
//! `chunks` reads a file ahead, `job` writes it chunk by chunk, `state` is what an import that is run again goes on from,
//! and `refusals` keeps what could not be written.

mod chunks;
mod job;
mod refusals;
mod state;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use cosmonaut::{ContainerProperties, CosmosClient, PartitionKeyDefinition};
use serde_json::json;

use crate::account::AccountArguments;
use crate::container::ContainerName;
use crate::data::apply::Target;
use crate::data::bar::per_second;
use crate::data::checkpoint;
use crate::data::definition::{Definition, SUFFIX, beside};
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
use state::{Identity, Of};

/// The arguments of `cosmonaut import`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES, override_usage = "cosmonaut import [OPTIONS] DATABASE/CONTAINER FILE\n       \
    cosmonaut import [OPTIONS] DATABASE DIRECTORY\n       cosmonaut import [OPTIONS] --all DIRECTORY")]
pub(crate) struct Arguments {
    /// Where to, and what: a container and a file (- is the standard input), or a database and a directory
    #[arg(value_name = "PLACE", num_args = 1..=2, required = true)]
    places: Vec<String>,

    /// Write every container of a directory, each to the database that it came from
    #[arg(long)]
    all: bool,

    /// How the items are written [default: as the name of the file says, jsonl from the standard input]
    #[arg(long, short, value_enum)]
    format: Option<Form>,

    /// What comes by the standard input is packed
    #[arg(long)]
    gzip: bool,

    /// A definition to make the container of, if it is not there [default: NAME.container.json beside the file]
    #[arg(long, value_name = "FILE", conflicts_with = "partition_key")]
    definition: Option<PathBuf>,

    /// Make the container with this partition key, if it is not there; several paths for a hierarchical one
    #[arg(long, value_name = "PATHS", value_delimiter = ',')]
    partition_key: Vec<String>,

    /// Leave items that are there already as they are, instead of replacing them
    #[arg(long)]
    keep_existing: bool,

    /// Columns of CSV that are text, whatever they look like
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    text: Vec<String>,

    /// Write what is refused to this file, a line of JSON each: line, id, status and why
    #[arg(long, value_name = "FILE")]
    errors: Option<PathBuf>,

    /// Where to keep how far it came [default: FILE.import beside the file]
    #[arg(long, value_name = "FILE")]
    state: Option<PathBuf>,

    /// Begin anew: forget how far an earlier run came
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
  cosmonaut import shop/orders orders.jsonl              made as orders.container.json says, if it is not there
  cosmonaut import shop/orders orders.csv --partition-key /customer --text zip
  cosmonaut import shop/orders orders.jsonl.gz --errors refused.jsonl
  jq -c '.orders[]' all.json | cosmonaut import shop/orders -
  cosmonaut import shop backup                           a directory that `export` wrote
  cosmonaut import --all backup                          the same, for all databases

Items replace those of the same id. An import that was interrupted, by whatever, goes on when it is
run again: FILE.import says from where. Numbers are written as they are in the file. In CSV a cell that
is JSON (12, true, {\"a\":1}) is that value and anything else is text; id always is.
The status is 1 if an item was refused.";

/// Runs the import.
pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    runtime::run(import(arguments))
}

async fn import(arguments: &Arguments) -> Result<(), Failure> {
    let place = Place::read(&arguments.places, arguments.all)?;
    let mut stop = StopSignal::listen()?;
    let client = arguments.account.client()?;
    match place {
        Place::One(name, path) => {
            let packed = match (path.to_str(), arguments.format) {
                (Some(STANDARD), said) => Packed { form: said.unwrap_or(Form::Jsonl), gzip: arguments.gzip },
                (_, said) => form::of(&path, said)?,
            };
            let definition = definition(arguments, &name, &path)?;
            let (done, told) = one(arguments, &client, &name, &path, packed, definition, &mut stop).await?;
            verdict(done.refused).and(told.0)
        }
        Place::Many(database, directory) => {
            many(arguments, &client, database.as_deref(), &directory, &mut stop).await
        }
    }
}

/// What the container is made of, if it is not there.
fn definition(
    arguments: &Arguments,
    name: &ContainerName,
    path: &Path,
) -> Result<Option<Definition>, Failure> {
    if !arguments.partition_key.is_empty() {
        let key = PartitionKeyDefinition::from(arguments.partition_key.clone());
        key.validate().map_err(|error| Failure::Usage(format!("--partition-key: {error}")))?;
        let container = ContainerProperties::new(&name.container, key);
        return Ok(Some(Definition { database: name.database.clone(), container, throughput: None }));
    }
    if let Some(path) = &arguments.definition {
        return Definition::load(path).map(Some);
    }
    let beside = beside(path);
    match path.to_str() != Some(STANDARD) && beside.exists() {
        true => Definition::load(&beside).map(Some),
        false => Ok(None),
    }
}

async fn one(
    arguments: &Arguments,
    client: &CosmosClient,
    name: &ContainerName,
    path: &Path,
    packed: Packed,
    definition: Option<Definition>,
    stop: &mut StopSignal,
) -> Result<(Done, Told), Failure> {
    let is_file = path.to_str() != Some(STANDARD);
    let state = arguments.state.clone().or_else(|| is_file.then(|| checkpoint::with_suffix(path, ".import")));
    check_errors(arguments, path, state.as_deref())?;
    if is_file {
        // No container is made for a file that is not there.
        std::fs::metadata(path).map_err(|error| checkpoint::cannot("read", path, &error))?;
    }
    let begun = state.as_deref().filter(|state| !arguments.restart && state.exists());
    let properties = stop.or(find_or_make(client, name, definition, begun)).await?;
    // Only one run at a time goes on from a state, and writes one file of refusals.
    let _lock = state.as_deref().map(Lock::of).transpose()?;
    let _errors_lock = arguments.errors.as_deref().map(Lock::of).transpose()?;
    let job = Job {
        name,
        target: Target::new(name.of(client), &properties),
        of: of(arguments, name, &properties, path, packed)?,
        properties,
        path,
        errors: arguments.errors.as_deref(),
        state: state.as_deref(),
        restart: arguments.restart,
    };
    let done = job.run(stop).await?;
    let told = tell(arguments, name, path, &done);
    Ok((done, told))
}

/// What the import of a file to a container is, for a later run that would go on.
fn of(
    arguments: &Arguments,
    name: &ContainerName,
    properties: &ContainerProperties,
    path: &Path,
    packed: Packed,
) -> Result<Of, Failure> {
    let is_file = path.to_str() != Some(STANDARD);
    let file = is_file.then(|| Identity::of(path)).transpose();
    Ok(Of {
        container: name.to_string(),
        rid: properties.rid.clone(),
        file: file.map_err(|error| checkpoint::cannot("read", path, &error))?,
        keep_existing: arguments.keep_existing,
        packed,
        text: arguments.text.clone(),
        errors: arguments.errors.clone(),
    })
}

/// The container, which is made if it is not there and its definition is known. That of an import that was begun is there.
async fn find_or_make(
    client: &CosmosClient,
    name: &ContainerName,
    definition: Option<Definition>,
    begun: Option<&Path>,
) -> Result<ContainerProperties, Failure> {
    let container = name.of(client);
    match (container.read().await, begun, definition) {
        (Ok(found), ..) => Ok(found.into_value()),
        (Err(error), Some(begun), _) if error.is_not_found() => {
            let state = begun.display();
            Err(Failure::Usage(format!(
                "{state} is of an import that was begun, and {name} is gone, or of another account (use --restart)"
            )))
        }
        (Err(error), None, Some(definition)) if error.is_not_found() => {
            definition.make(client, name).await?;
            note(&format!("made the container {name}"));
            let made = container.read().await.map_err(|error| crate::account::failed(&error))?;
            Ok(made.into_value())
        }
        (Err(error), None, None) if error.is_not_found() => {
            let hint = format!("there is no container {name} (make it with --partition-key or --definition)");
            Err(Failure::Work(hint))
        }
        (Err(error), ..) => Err(name.failed(client, &error).await),
    }
}

/// That refusals would not be written over what the import reads or keeps.
fn check_errors(arguments: &Arguments, path: &Path, state: Option<&Path>) -> Result<(), Failure> {
    let Some(errors) = arguments.errors.as_deref() else { return Ok(()) };
    let definition = arguments.definition.clone().unwrap_or_else(|| beside(path));
    let used = [(path, "is what is imported"), (&definition, "is the definition of the container")];
    let used = used.into_iter().chain(state.map(|state| (state, "is where how far it came is kept")));
    for (path, what) in used {
        if checkpoint::is_same(errors, path) {
            return Err(Failure::Usage(format!("--errors: {} {what} (name another file)", errors.display())));
        }
    }
    Ok(())
}

/// What of a directory was imported, while the rest is not.
#[derive(Default, serde::Serialize, serde::Deserialize)]
struct Finished {
    /// By the path of the file in the directory.
    files: BTreeMap<String, FinishedFile>,
    refused: u64,
}

/// A file that was imported to its end.
#[derive(serde::Serialize, serde::Deserialize)]
struct FinishedFile {
    of: Of,
    /// When the file was last written: it is not read again.
    modified: Option<SystemTime>,
}

impl FinishedFile {
    /// That it is of the same import, and that what it has written is still there: otherwise a later run must not pass the
    /// file over.
    async fn check(
        &self,
        client: &CosmosClient,
        arguments: &Arguments,
        (name, path, packed): (&ContainerName, &Path, Packed),
        state: &Path,
    ) -> Result<(), Failure> {
        let other = |what: &str| {
            let (file, state) = (path.display(), state.display());
            Err(Failure::Usage(format!("{state} has {file} from an import {what} (use --restart)")))
        };
        let there = match name.of(client).read().await {
            Ok(there) => there.into_value(),
            Err(error) if error.is_not_found() => {
                let to = &self.of.container;
                return other(&format!("to {to}, and there is no container {name} in this account"));
            }
            Err(error) => return Err(crate::account::failed(&error)),
        };
        if let Some(what) = self.of.difference(&of(arguments, name, &there, path, packed)?) {
            return other(&what);
        }
        if self.modified != modified(path) {
            return other("of a file that was written anew since");
        }
        Ok(())
    }
}

/// When a file was last written, if the system says.
fn modified(path: &Path) -> Option<SystemTime> {
    std::fs::metadata(path).and_then(|found| found.modified()).ok()
}

/// Imports the containers of a directory, one after the other.
async fn many(
    arguments: &Arguments,
    client: &CosmosClient,
    database: Option<&str>,
    directory: &Path,
    stop: &mut StopSignal,
) -> Result<(), Failure> {
    if arguments.errors.is_some() || arguments.state.is_some() || arguments.definition.is_some() {
        let message =
            "--errors, --state and --definition are for one file (import the containers one by one)";
        return Err(Failure::Usage(message.to_owned()));
    }
    let state = directory.join("import.state");
    if !directory.is_dir() {
        return Err(Failure::Usage(format!("{} is no directory", directory.display())));
    }
    let _lock = Lock::of(&state)?;
    if arguments.restart {
        checkpoint::remove(&state)?;
    }
    let mut finished: Finished = checkpoint::load(&state)?.unwrap_or_default();
    // A database may be written to under another name only if the directory has just one.
    let found = match place::definitions(directory, database) {
        Ok(found) => found,
        Err(failure) => match (place::definitions(directory, None), database) {
            (Ok(all), Some(_)) if all.iter().all(|(_, other)| other.database == all[0].1.database) => all,
            _ => return Err(failure),
        },
    };
    let mut told = Told(Ok(()));
    for (path, definition) in found {
        let file = items_of(&path)?;
        let named = file.strip_prefix(directory).unwrap_or(&file).display().to_string();
        let to = database.unwrap_or(&definition.database);
        let name = ContainerName::new(to, &definition.container.id);
        let packed = form::of(&file, None)?;
        if let Some(done) = finished.files.get(&named) {
            stop.or(done.check(client, arguments, (&name, &file, packed), &state)).await?;
            continue;
        }
        // As the file is before it is read.
        let written = modified(&file);
        let (done, line) = one(arguments, client, &name, &file, packed, Some(definition), stop).await?;
        told = told.and(line);
        finished.refused += done.refused;
        finished.files.insert(named, FinishedFile { of: done.of, modified: written });
        checkpoint::save(&state, &finished)?;
    }
    checkpoint::remove(&state)?;
    verdict(finished.refused).and(told.0)
}

/// The file whose definition this is.
fn items_of(definition: &Path) -> Result<PathBuf, Failure> {
    let text = definition.to_string_lossy();
    let stem = text.strip_suffix(SUFFIX).unwrap_or(&text);
    let endings = ["jsonl", "jsonl.gz", "json", "json.gz", "csv", "csv.gz"];
    let files: Vec<_> = endings.iter().map(|ending| PathBuf::from(format!("{stem}.{ending}"))).collect();
    let mut there = files.into_iter().filter(|file| file.exists());
    match (there.next(), there.next()) {
        (Some(file), None) => Ok(file),
        (Some(one), Some(other)) => {
            let (one, other) = (one.display(), other.display());
            Err(Failure::Usage(format!("{one} and {other} are both there (remove one of them)")))
        }
        (None, _) => Err(Failure::Usage(format!(
            "{text}: the file with the items is missing (was the export finished?)"
        ))),
    }
}

/// Says what was done: to people on the standard error, to programs on the standard output.
fn tell(arguments: &Arguments, name: &ContainerName, path: &Path, done: &Done) -> Told {
    if arguments.json {
        let line = json!({
            "container": name.to_string(), "file": path.display().to_string(), "items": done.items,
            "written": done.written, "kept": done.kept, "refused": done.refused, "requestUnits": done.charge,
            "seconds": done.time.as_secs_f64(), "resumed": done.before > 0,
        });
        return Told::line(&line);
    }
    let rate = per_second(done.items - done.before, done.time);
    let some = |count: u64, what: &str| if count > 0 { format!(", {count} {what}") } else { String::new() };
    note(&format!(
        "{name}: {} items{}{}{}, {:.2} RU, {}, {rate}/s",
        done.items,
        some(done.before, "of them by an earlier run"),
        some(done.kept, "kept as they were"),
        some(done.refused, "refused"),
        done.charge,
        span(done.time),
    ));
    Told(Ok(()))
}

fn verdict(refused: u64) -> Result<(), Failure> {
    match refused {
        0 => Ok(()),
        1 => Err(Failure::Work("1 item was refused".to_owned())),
        count => Err(Failure::Work(format!("{count} items were refused"))),
    }
}
