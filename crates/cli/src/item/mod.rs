//! `cosmonaut item …`: reads, writes, changes and deletes single items.

mod change;
mod key;

use std::io::{self, IsTerminal};

use cosmonaut::{ContainerClient, CosmosClient, Error, Etag, PartitionKey, RawItem, Response};
use serde_json::{Value, json};

use crate::account::{AccountArguments, failed};
use crate::confirm::confirm;
use crate::container::ContainerName;
use crate::document::{self, Document};
use crate::failure::Failure;
use crate::query::{Key, told_of_waiting};
use crate::runtime;
use crate::screen::{note, print};
use change::Change;

/// The arguments of `cosmonaut item`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES, arg_required_else_help = true)]
pub(crate) struct Arguments {
    /// Print JSON: the item as the service has it, or what came of a write
    #[arg(long, global = true)]
    json: bool,

    /// Show every request on the standard error, and what the call has cost
    #[arg(long, global = true)]
    stats: bool,

    #[command(flatten)]
    account: AccountArguments,

    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Show an item
    Get {
        #[command(flatten)]
        place: Place,
        /// Show _rid, _self, _etag, _attachments and _ts on a terminal too
        #[arg(long)]
        system: bool,
    },
    /// Create an item, or replace the one of its id
    Put(Put),
    /// Change parts of an item where it is stored
    Patch {
        #[command(flatten)]
        place: Place,
        /// What to change, in order: set:/PATH=JSON, add:/PATH=JSON, replace:/PATH=JSON, increment:/PATH=NUMBER,
        /// remove:/PATH or move:/FROM=/TO
        #[arg(required = true, value_name = "CHANGE")]
        changes: Vec<Change>,
        /// Only if this holds for the item, such as "c.state = 'ready'"
        #[arg(long = "where", value_name = "CONDITION")]
        condition: Option<String>,
        /// Only the version with this _etag
        #[arg(long, value_name = "ETAG")]
        if_match: Option<String>,
    },
    /// Delete an item; it is gone for good
    Delete {
        #[command(flatten)]
        place: Place,
        /// Only the version with this _etag
        #[arg(long, value_name = "ETAG")]
        if_match: Option<String>,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
}

/// An item's place.
#[derive(clap::Args)]
struct Place {
    /// The container
    #[arg(value_name = "DATABASE/CONTAINER")]
    container: ContainerName,
    /// The item's id
    id: String,
    /// The item's partition key; a list for a hierarchical one. Not needed where the id is the key
    #[arg(long, short = 'k', value_name = "JSON")]
    partition_key: Option<Key>,
}

#[derive(clap::Args)]
struct Put {
    /// The container
    #[arg(value_name = "DATABASE/CONTAINER")]
    container: ContainerName,
    /// The item as JSON; - reads it from the standard input
    #[arg(value_name = "ITEM", required_unless_present = "file")]
    item: Option<Document>,
    /// Read the item from this file
    #[arg(long, short, value_name = "FILE", conflicts_with = "item")]
    file: Option<std::path::PathBuf>,
    /// The item's partition key, if it is not to be taken from the item
    #[arg(long, short = 'k', value_name = "JSON")]
    partition_key: Option<Key>,
    /// Only if there is none of this id
    #[arg(long, conflicts_with = "if_match")]
    create: bool,
    /// Replace only the version with this _etag
    #[arg(long, value_name = "ETAG")]
    if_match: Option<String>,
}

const EXAMPLES: &str = "\
Examples, with `cosmonaut up` running:
  cosmonaut item put shop/orders '{\"id\":\"7\",\"customer\":\"contoso\",\"total\":12.5}'
  cosmonaut item put shop/orders --file order.json --create     fails if there is one of its id
  cosmonaut item get shop/orders 7 -k '\"contoso\"'
  cosmonaut item get shop/orders 7 -k '\"contoso\"' --json | jq .total
  cosmonaut item patch shop/orders 7 -k '\"contoso\"' set:/state='\"sent\"' increment:/attempts=1
  cosmonaut item patch shop/orders 7 -k '\"contoso\"' remove:/draft --where \"c.state = 'ready'\"
  cosmonaut item delete shop/orders 7 -k '\"contoso\"'            asks before; --yes does not

The partition key of an item that is written is taken from it.";

/// Runs a command.
pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    runtime::run(async {
        let client = arguments.account.client()?;
        match &arguments.command {
            Command::Get { place, system } => get(arguments, &client, place, *system).await,
            Command::Put(put) => self::put(arguments, &client, put).await,
            Command::Patch { place, changes, condition, if_match } => {
                let patch = change::patch(changes, condition.as_deref());
                let key = place.key(&client).await?;
                let mut request = place.container.of(&client).patch_item(key, &place.id, patch);
                if let Some(etag) = if_match {
                    request = request.if_match(document::etag(etag));
                }
                let answer = told_of_waiting(request).await;
                let answer = checked(&client, &place.container, answer).await?;
                told(arguments, &answer, &place.container, &place.id, "changed")
            }
            Command::Delete { place, if_match, yes } => {
                confirm(&format!("Delete item {:?} of {} for good?", place.id, place.container), *yes)?;
                let key = place.key(&client).await?;
                let mut request = place.container.of(&client).delete_item(key, &place.id);
                if let Some(etag) = if_match {
                    request = request.if_match(document::etag(etag));
                }
                let answer = told_of_waiting(request).await;
                let answer = checked(&client, &place.container, answer).await?;
                told(arguments, &answer, &place.container, &place.id, "deleted")
            }
        }
    })
}

impl Place {
    /// The key that was given, or the id where that is the key.
    async fn key(&self, client: &CosmosClient) -> Result<PartitionKey, Failure> {
        match &self.partition_key {
            Some(key) => Ok(key.0.clone()),
            None => {
                let paths = paths(client, &self.container).await?;
                if paths == ["/id"] {
                    return Ok(PartitionKey::from(self.id.as_str()));
                }
                Err(Failure::Usage(format!(
                    "items of {} have a partition key in {} (say it by -k, for example -k '\"contoso\"')",
                    self.container,
                    paths.join(", ")
                )))
            }
        }
    }
}

async fn get(
    arguments: &Arguments,
    client: &CosmosClient,
    place: &Place,
    with_system: bool,
) -> Result<(), Failure> {
    let key = place.key(client).await?;
    let container = place.container.of(client);
    let answer = told_of_waiting(container.read_item::<RawItem>(key, &place.id)).await;
    let answer = checked(client, &place.container, answer).await?;
    let text = document::text(answer.value().as_bytes())?;
    let for_terminal = io::stdout().is_terminal();
    print(&match for_terminal && !arguments.json {
        true => document::for_people(&text, with_system),
        false => document::on_one_line(&text, for_terminal),
    })?;
    stats(arguments, &answer)
}

async fn put(arguments: &Arguments, client: &CosmosClient, put: &Put) -> Result<(), Failure> {
    let text = document::read(put.item.as_ref(), put.file.as_deref())?;
    let parsed: Value = serde_json::from_str(&text)
        .map_err(|error| Failure::Usage(format!("the item is not JSON: {error}")))?;
    let Some(id) = parsed["id"].as_str() else {
        return Err(Failure::Usage("the item has no \"id\" that is a text".to_owned()));
    };
    let key = match &put.partition_key {
        Some(key) => key.0.clone(),
        None => key::of(&parsed, &paths(client, &put.container).await?).map_err(Failure::Usage)?,
    };
    let container: ContainerClient = put.container.of(client);
    let item = RawItem::from(text);
    let request = match (put.create, &put.if_match) {
        (true, _) => container.create_item(key, item),
        (false, Some(etag)) => container.replace_item(key, id, item).if_match(document::etag(etag)),
        (false, None) => container.upsert_item(key, item),
    };
    let answer = checked(client, &put.container, told_of_waiting(request).await).await?;
    let what = if answer.status().code() == 201 { "created" } else { "replaced" };
    told(arguments, &answer, &put.container, id, what)
}

/// Where the partition key of a container's items is.
async fn paths(client: &CosmosClient, container: &ContainerName) -> Result<Vec<String>, Failure> {
    match told_of_waiting(container.of(client).read()).await {
        Ok(read) => Ok(read.into_value().partition_key.paths.clone()),
        Err(error) => Err(container.failed(client, &error).await),
    }
}

/// An answer, or why there is none. What is not there may be the container, too.
async fn checked<T>(
    client: &CosmosClient,
    container: &ContainerName,
    answer: Result<Response<T>, Error>,
) -> Result<Response<T>, Failure> {
    match answer {
        Ok(answer) => Ok(answer),
        Err(error) if error.is_not_found() => match container.of(client).read().await {
            Err(absent) if absent.is_not_found() => Err(container.missing(client).await),
            _ => Err(failed(&error)),
        },
        Err(error) => Err(failed(&error)),
    }
}

/// Says what came of a write.
fn told<T>(
    arguments: &Arguments,
    answer: &Response<T>,
    container: &ContainerName,
    id: &str,
    what: &str,
) -> Result<(), Failure> {
    let etag = answer.etag();
    let etag = etag.as_ref().map(Etag::as_str);
    print(&match arguments.json {
        true => {
            let charge = answer.request_charge();
            format!("{}\n", json!({ "id": id, "done": what, "etag": etag, "requestCharge": charge }))
        }
        false => format!("{what} item {id:?} of {container}\n"),
    })?;
    stats(arguments, answer)
}

fn stats<T>(arguments: &Arguments, answer: &Response<T>) -> Result<(), Failure> {
    if arguments.stats {
        note(&format!("{}\n{:.2} RU", answer.diagnostics(), answer.request_charge()));
    }
    Ok(())
}
