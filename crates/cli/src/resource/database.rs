//! `cosmonaut database …`

use cosmonaut::{CosmosClient, Error};
use serde_json::json;

use super::Common;
use super::throughput::{self, Amount};
use crate::account::failed;
use crate::confirm::confirm;
use crate::container::{self, ContainerName};
use crate::document;
use crate::failure::Failure;
use crate::query::told_of_waiting;
use crate::runtime;
use crate::screen::{self, print};
use crate::table::fitted;

/// The arguments of `cosmonaut database`.
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
    /// Create a database
    Create {
        /// Its name
        database: String,
        /// It is no mistake if there is one of this name
        #[arg(long)]
        if_not_exists: bool,
        #[command(flatten)]
        amount: Amount,
    },
    /// List the databases
    List,
    /// Show what is known of a database
    Show {
        /// Its name
        database: String,
        /// With _rid, _self, _etag and _ts
        #[arg(long)]
        system: bool,
    },
    /// Delete a database with all of its containers; it is gone for good
    Delete {
        /// Its name
        database: String,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
    /// Show the throughput that the containers of a database share, or change it
    Throughput {
        /// Its name
        database: String,
        #[command(flatten)]
        amount: Amount,
    },
}

const EXAMPLES: &str = "\
Examples, with `cosmonaut up` running:
  cosmonaut database create shop
  cosmonaut database create shared --autoscale 4000      its containers share that
  cosmonaut database list --json
  cosmonaut database delete shop                         asks before; --yes does not";

/// Runs a command.
pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    runtime::run(async {
        let common = &arguments.common;
        let client = common.account.client()?;
        match &arguments.command {
            Command::Create { database, if_not_exists, amount } => {
                let mut request = match if_not_exists {
                    true => client.create_database_if_not_exists(database),
                    false => client.create_database(database),
                };
                if let Some(throughput) = amount.wanted() {
                    request = request.throughput(throughput);
                }
                let answer = told_of_waiting(request).await.map_err(|error| failed(&error))?;
                let is_new = answer.status().code() == 201;
                done(common, database, if is_new { "created" } else { "there already" })?;
                common.stats(&answer)
            }
            Command::List => list(common, &client).await,
            Command::Show { database, system } => {
                let answer = told_of_waiting(client.database(database).read()).await;
                let answer = checked(&client, database, answer).await?;
                print(&document::resource(answer.value(), *system))?;
                common.stats(&answer)
            }
            Command::Delete { database, yes } => {
                let question = format!("Delete database {database:?} with all of its containers for good?");
                confirm(&question, *yes)?;
                let answer = told_of_waiting(client.database(database).delete()).await;
                let answer = checked(&client, database, answer).await?;
                done(common, database, "deleted")?;
                common.stats(&answer)
            }
            Command::Throughput { database, amount } => {
                self::throughput(common, &client, database, *amount).await
            }
        }
    })
}

async fn list(common: &Common, client: &CosmosClient) -> Result<(), Failure> {
    let found = told_of_waiting(container::all(client)).await.map_err(|error| failed(&error))?;
    let mut databases: Vec<(String, usize)> = Vec::new();
    for found in found {
        let containers = usize::from(found.container.is_some());
        match databases.last_mut() {
            Some((name, count)) if *name == found.database => *count += containers,
            _ => databases.push((found.database, containers)),
        }
    }
    print(&match common.json {
        true => {
            let object = |(name, count): &(String, usize)| json!({ "database": name, "containers": count });
            format!("{:#}\n", databases.iter().map(object).collect::<serde_json::Value>())
        }
        false if databases.is_empty() => "the account has no databases\n".to_owned(),
        false => {
            let row = |(name, count): &(String, usize)| vec![name.clone(), count.to_string()];
            fitted(&["DATABASE", "CONTAINERS"], databases.iter().map(row), screen::output_width())
        }
    })
}

async fn throughput(
    common: &Common,
    client: &CosmosClient,
    name: &str,
    amount: Amount,
) -> Result<(), Failure> {
    let database = client.database(name);
    let now = match amount.wanted() {
        None => {
            let answer = checked(client, name, told_of_waiting(database.read_throughput()).await).await?;
            common.stats(&answer)?;
            *answer.value()
        }
        Some(wanted) => Some(throughput::change(database.begin_replace_throughput(wanted)).await?),
    };
    print(&match common.json {
        true => format!("{}\n", json!({ "database": name, "throughput": throughput::json(now) })),
        false => format!("{name}: {}\n", throughput::text(now)),
    })
}

fn done(common: &Common, name: &str, what: &str) -> Result<(), Failure> {
    print(&match common.json {
        true => format!("{}\n", json!({ "database": name, "done": what })),
        false => format!("database {name:?}: {what}\n"),
    })
}

/// Why a call on a database failed; if it is not there, with what is.
pub(super) async fn explained(client: &CosmosClient, database: &str, error: &Error) -> Failure {
    match error.is_not_found() {
        // Of a container that cannot be there the database is named first.
        true => ContainerName::new(database, "").missing(client).await,
        false => failed(error),
    }
}

async fn checked<T>(client: &CosmosClient, name: &str, answer: Result<T, Error>) -> Result<T, Failure> {
    match answer {
        Ok(answer) => Ok(answer),
        Err(error) => Err(explained(client, name, &error).await),
    }
}
