//! `cosmonaut container …`

use std::path::PathBuf;

use cosmonaut::options::ReadContainerOptions;
use cosmonaut::{ContainerProperties, CosmosClient, Error, TimeToLive};
use serde_json::json;

use super::Common;
use super::stats::Usage;
use super::throughput::{self, Amount};
use crate::account::failed;
use crate::confirm::confirm;
use crate::container::{self, ContainerName, Found};
use crate::document;
use crate::failure::Failure;
use crate::query::{list_json, list_text, told_of_waiting};
use crate::screen::{self, print};
use crate::table::fitted;
use crate::{region, runtime};

/// The arguments of `cosmonaut container`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES, arg_required_else_help = true)]
pub(crate) struct Arguments {
    #[command(flatten)]
    common: Common,

    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Create a container
    Create(Create),
    /// List the containers of the account or of one database
    List {
        /// The database
        database: Option<String>,
    },
    /// Show the definition of a container
    Show {
        /// The container
        #[arg(value_name = "DATABASE/CONTAINER")]
        container: ContainerName,
        /// With _rid, _self, _etag and _ts
        #[arg(long)]
        system: bool,
    },
    /// Replace the definition of a container: its indexing, time to live and so on
    Replace {
        /// The container
        #[arg(value_name = "DATABASE/CONTAINER")]
        container: ContainerName,
        /// The definition as JSON; - reads it from the standard input
        #[arg(value_name = "FILE")]
        definition: PathBuf,
        /// Only the version with this _etag
        #[arg(long, value_name = "ETAG")]
        if_match: Option<String>,
    },
    /// Delete a container with everything in it; it is gone for good
    Delete {
        /// The container
        #[arg(value_name = "DATABASE/CONTAINER")]
        container: ContainerName,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
    /// Show how much is in a container, its partitions and its throughput
    Stats {
        /// The container
        #[arg(value_name = "DATABASE/CONTAINER")]
        container: ContainerName,
    },
    /// Split a partition in two, on an emulator; on Azure, more throughput does that
    Split {
        /// The container
        #[arg(value_name = "DATABASE/CONTAINER")]
        container: ContainerName,
        /// Its id, as `cosmonaut region partition list` shows it
        partition: String,
        /// Where the emulator is managed, as `cosmonaut region` has it
        #[arg(long, value_name = "URL")]
        management: Option<String>,
    },
    /// Show the throughput of a container, or change it
    Throughput {
        /// The container
        #[arg(value_name = "DATABASE/CONTAINER")]
        container: ContainerName,
        #[command(flatten)]
        amount: Amount,
    },
}

#[derive(clap::Args)]
struct Create {
    /// The container
    #[arg(value_name = "DATABASE/CONTAINER")]
    container: ContainerName,
    /// Where the partition key is in an item, such as /customer; several for a hierarchical key
    #[arg(value_name = "PATH", required_unless_present = "definition")]
    paths: Vec<String>,
    /// Take indexing and everything else from this file: JSON, as `show` prints it; - is the standard input
    #[arg(long, value_name = "FILE", conflicts_with = "paths")]
    definition: Option<PathBuf>,
    /// Items end so many seconds after their last write; -1: only those that say so themselves
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true, conflicts_with = "definition")]
    ttl: Option<i64>,
    /// It is no mistake if there is one of this name and partition key
    #[arg(long)]
    if_not_exists: bool,
    #[command(flatten)]
    amount: Amount,
}

const EXAMPLES: &str = "\
Examples, with `cosmonaut up` running:
  cosmonaut container create shop/orders /customer --throughput 400
  cosmonaut container create shop/carts /tenant /user --autoscale 4000 --ttl 3600
  cosmonaut container show shop/orders > orders.json
  cosmonaut container replace shop/orders orders.json
  cosmonaut container stats shop/orders
  cosmonaut container throughput shop/orders --throughput 1000
  cosmonaut container split shop/orders 0                       on an emulator
  cosmonaut container delete shop/carts                         asks before; --yes does not";

/// Runs a command.
pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    if let Command::Split { container, partition, management } = &arguments.command {
        let split = region::split(management.clone(), arguments.common.json, container, partition);
        return region::run(&split);
    }
    runtime::run(async {
        let common = &arguments.common;
        let client = common.account.client()?;
        match &arguments.command {
            Command::Create(create) => self::create(common, &client, create).await,
            Command::List { database } => list(common, &client, database.as_deref()).await,
            Command::Show { container, system } => show(common, &client, container, *system).await,
            Command::Replace { container, definition, if_match } => {
                let properties = definition_of(container, definition)?;
                let mut request = container.of(&client).replace(properties);
                if let Some(etag) = if_match {
                    request = request.if_match(document::etag(etag));
                }
                let answer = checked(&client, container, told_of_waiting(request).await).await?;
                done(common, container, "replaced")?;
                common.stats(&answer)
            }
            Command::Delete { container, yes } => {
                let question = format!("Delete container {container} with everything in it for good?");
                confirm(&question, *yes)?;
                let answer = told_of_waiting(container.of(&client).delete()).await;
                let answer = checked(&client, container, answer).await?;
                done(common, container, "deleted")?;
                common.stats(&answer)
            }
            Command::Stats { container } => stats(common, &client, container).await,
            Command::Throughput { container, amount } => {
                self::throughput(common, &client, container, *amount).await
            }
            // It has been dealt with.
            Command::Split { .. } => Ok(()),
        }
    })
}

async fn create(common: &Common, client: &CosmosClient, create: &Create) -> Result<(), Failure> {
    let name = &create.container;
    let mut properties = match &create.definition {
        Some(file) => definition_of(name, file)?,
        None => ContainerProperties::new(&*name.container, create.paths.clone()),
    };
    if let Some(seconds) = create.ttl {
        let ttl = TimeToLive::try_from(seconds).map_err(|error| Failure::Usage(format!("--ttl: {error}")))?;
        properties = properties.with_default_ttl(ttl);
    }
    let database = client.database(&name.database);
    let mut request = match create.if_not_exists {
        true => database.create_container_if_not_exists(properties),
        false => database.create_container(properties),
    };
    if let Some(throughput) = create.amount.wanted() {
        request = request.throughput(throughput);
    }
    let answer = match told_of_waiting(request).await {
        Ok(answer) => answer,
        Err(error) if error.is_not_found() => {
            return Err(Failure::Work(format!(
                "there is no database {:?} (`cosmonaut database create {0}` makes it)",
                name.database
            )));
        }
        Err(error) => return Err(failed(&error)),
    };
    let is_new = answer.status().code() == 201;
    done(common, name, if is_new { "created" } else { "there already" })?;
    common.stats(&answer)
}

/// A definition from a file, for a container of this name.
fn definition_of(name: &ContainerName, file: &std::path::Path) -> Result<ContainerProperties, Failure> {
    let text = document::read(None, Some(file))?;
    let wrong = |problem: String| Failure::Usage(format!("{}: {problem}", file.display()));
    let mut definition: serde_json::Value = serde_json::from_str(&text)
        .map_err(|error| wrong(format!("not the definition of a container: {error}")))?;
    if let Some(members) = definition.as_object_mut() {
        members.entry("id").or_insert_with(|| name.container.clone().into());
    }
    let mut properties: ContainerProperties = serde_json::from_value(definition)
        .map_err(|error| wrong(format!("not the definition of a container: {error}")))?;
    if properties.id != name.container {
        return Err(wrong(format!(
            "it defines the container {:?}, not {:?} (a container cannot be renamed)",
            properties.id, name.container
        )));
    }
    (properties.rid, properties.self_link, properties.etag, properties.timestamp) = (None, None, None, None);
    Ok(properties)
}

async fn list(common: &Common, client: &CosmosClient, database: Option<&str>) -> Result<(), Failure> {
    let found: Vec<Found> = match database {
        None => told_of_waiting(container::all(client)).await.map_err(|error| failed(&error))?,
        Some(name) => match told_of_waiting(container::of_database(client, name)).await {
            Ok(found) => found,
            Err(error) => return Err(super::database::explained(client, name, &error).await),
        },
    };
    print(&if common.json { list_json(&found) } else { list_text(&found, screen::output_width()) })
}

async fn show(
    common: &Common,
    client: &CosmosClient,
    name: &ContainerName,
    with_system: bool,
) -> Result<(), Failure> {
    let answer = checked(client, name, told_of_waiting(name.of(client).read()).await).await?;
    print(&document::resource(answer.value(), with_system))?;
    common.stats(&answer)
}

async fn stats(common: &Common, client: &CosmosClient, name: &ContainerName) -> Result<(), Failure> {
    let container = name.of(client);
    let mut options = ReadContainerOptions::default();
    let header = "x-ms-documentdb-populatequotainfo".parse().expect("a header's name");
    let yes = "true".parse().expect("a header's value");
    options.request.custom_headers = Some([(header, yes)].into());
    let answer = checked(client, name, told_of_waiting(container.read().options(options)).await).await?;
    let usage = Usage::of(&answer);
    let throughput = told_of_waiting(container.read_throughput()).await;
    let throughput = checked(client, name, throughput).await?;
    let ranges = told_of_waiting(container.feed_ranges()).await.map_err(|error| failed(&error))?;
    let paths = answer.value().partition_key.paths.join(", ");
    print(&match common.json {
        true => format!(
            "{:#}\n",
            json!({
                "container": name.to_string(),
                "partitionKey": answer.value().partition_key.paths,
                "usage": usage.json(),
                "partitions": ranges.len(),
                "throughput": throughput::json(*throughput.value()),
            })
        ),
        false => {
            let or_dash =
                |number: Option<u64>, unit: &str| number.map_or_else(|| "-".into(), |n| format!("{n}{unit}"));
            let row = vec![
                name.to_string(),
                paths,
                or_dash(usage.items(), ""),
                or_dash(usage.kilobytes(), " KB"),
                ranges.len().to_string(),
                throughput::text(*throughput.value()),
            ];
            let header = ["CONTAINER", "PARTITION KEY", "ITEMS", "SIZE", "PARTITIONS", "THROUGHPUT"];
            fitted(&header, [row], screen::output_width())
        }
    })?;
    common.stats(&answer)
}

async fn throughput(
    common: &Common,
    client: &CosmosClient,
    name: &ContainerName,
    amount: Amount,
) -> Result<(), Failure> {
    let container = name.of(client);
    let now = match amount.wanted() {
        None => {
            let answer = checked(client, name, told_of_waiting(container.read_throughput()).await).await?;
            common.stats(&answer)?;
            *answer.value()
        }
        Some(wanted) => Some(throughput::change(container.begin_replace_throughput(wanted)).await?),
    };
    print(&match common.json {
        true => {
            format!("{}\n", json!({ "container": name.to_string(), "throughput": throughput::json(now) }))
        }
        false => format!("{name}: {}\n", throughput::text(now)),
    })
}

fn done(common: &Common, name: &ContainerName, what: &str) -> Result<(), Failure> {
    print(&match common.json {
        true => format!("{}\n", json!({ "container": name.to_string(), "done": what })),
        false => format!("container {name}: {what}\n"),
    })
}

async fn checked<T>(
    client: &CosmosClient,
    name: &ContainerName,
    answer: Result<T, Error>,
) -> Result<T, Failure> {
    match answer {
        Ok(answer) => Ok(answer),
        Err(error) => Err(name.failed(client, &error).await),
    }
}
