//! `cosmonaut query`: runs a query, or explains it.
//!
//! Planning, merging and explaining are the client's; this reads arguments and writes rows.

pub(crate) mod explain;
mod output;
mod parameter;
mod row;
mod run;
mod totals;

use std::io::{self, IsTerminal, Read};

use cosmonaut::{CosmosClient, FeedScope, Query};
use serde_json::{Value, json};

use crate::account::{AccountArguments, failed};
use crate::container::{self, ContainerName, Found};
use crate::failure::Failure;
use crate::runtime;
use crate::screen::{note, output_width, print};
use crate::signal::StopSignal;
use crate::table::fitted;
use parameter::Parameter;

pub(crate) use output::{Format, Manner};
pub(crate) use parameter::Key;
pub(crate) use run::{Ask, Ran, told_of_waiting};

/// The arguments of `cosmonaut query`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// What to ask
    #[arg(value_name = "DATABASE/CONTAINER", required_unless_present = "list")]
    container: Option<ContainerName>,

    /// The query, in the SQL of Cosmos DB; - reads it from the standard input
    #[arg(value_name = "QUERY", required_unless_present = "list")]
    query: Option<String>,

    /// A value for a name in the query; can be given several times
    #[arg(long = "param", short = 'p', value_name = "NAME=JSON")]
    parameters: Vec<Parameter>,

    /// Ask only for the items of this partition key; a list for a hierarchical key or the beginning of one
    #[arg(long, short = 'k', value_name = "JSON")]
    partition_key: Option<Key>,

    /// How rows are written [default: table on a terminal, jsonl elsewhere]
    #[arg(long, short, value_enum)]
    format: Option<Format>,

    /// The same as --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,

    /// Stop after so many rows
    #[arg(long, short, value_name = "ROWS", value_parser = clap::value_parser!(u64).range(1..))]
    max: Option<u64>,

    /// Show _rid, _self, _etag, _attachments and _ts in tables too
    #[arg(long)]
    system: bool,

    /// Show how the query is run instead of its rows. Costs what a first page of each partition costs
    #[arg(long)]
    explain: bool,

    /// Show every request on the standard error: where it went, what came of it, how long it took
    #[arg(long)]
    stats: bool,

    /// List the databases, their containers and partition keys instead
    #[arg(long, conflicts_with_all = ["container", "query", "explain"])]
    list: bool,

    #[command(flatten)]
    account: AccountArguments,
}

const EXAMPLES: &str = "\
Examples, with `cosmonaut up` running:
  cosmonaut query --list                                        what there is to ask
  cosmonaut query shop/orders \"SELECT * FROM c\"
  cosmonaut query shop/orders \"SELECT * FROM c WHERE c.total > @min ORDER BY c.total\" -p min=10
  cosmonaut query shop/orders \"SELECT VALUE COUNT(1) FROM c\" -k '\"contoso\"'
  cosmonaut query shop/orders \"SELECT * FROM c\" --format csv > orders.csv
  cosmonaut query shop/orders \"SELECT * FROM c WHERE c.city = 'Oslo'\" --explain
  cosmonaut query shop/orders - < report.sql | jq .total

Rows go to the standard output as they arrive; csv waits for the last one, because its first
line names every column. What the query cost goes to the standard error.";

impl Arguments {
    fn format(&self) -> Option<Format> {
        if self.json { Some(Format::Json) } else { self.format }
    }
}

/// Runs the query, or explains it, or lists what there is to ask.
pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let format = arguments.format();
    if format == Some(Format::Csv) && (arguments.explain || arguments.list) {
        return Err(Failure::Usage("only rows can be written as csv (use --format json)".to_owned()));
    }
    runtime::run(async {
        let client = arguments.account.client()?;
        match (&arguments.container, &arguments.query) {
            (Some(container), Some(query)) => ask(&client, arguments, container, query).await,
            _ => told_of_waiting(list(&client, arguments.format())).await,
        }
    })
}

async fn ask(
    client: &CosmosClient,
    arguments: &Arguments,
    container: &ContainerName,
    text: &str,
) -> Result<(), Failure> {
    let mut query = Query::new(if text == "-" { from_input()? } else { text.to_owned() });
    for Parameter { name, value } in &arguments.parameters {
        query = query.with(name, value);
    }
    let scope = match &arguments.partition_key {
        Some(key) => FeedScope::from(key.0.clone()),
        None => FeedScope::Container,
    };
    let ask = Ask { container, query, scope, most: arguments.max };
    if arguments.explain {
        // Where nothing is written before the end, Ctrl-C may end the process where it is.
        return print(&explain::shown(&ask.explain(client).await?, arguments.format()));
    }
    let mut stop = StopSignal::listen()?;
    let mut output = io::stdout().lock();
    let for_terminal = output.is_terminal();
    let usual = if for_terminal { Format::Table } else { Format::Jsonl };
    let manner = Manner {
        format: arguments.format().unwrap_or(usual),
        for_terminal,
        width: crate::screen::output_width(),
        with_system: arguments.system,
    };
    let ran = ask.rows(client, manner, arguments.stats, &mut output, &mut stop).await;
    match ran.ended {
        Err(failure @ Failure::Output(_)) => return Err(failure),
        Ok(()) => {}
        Err(_) if ran.totals.rows > 0 => {}
        Err(failure) => return Err(failure),
    }
    note(&ran.totals.text(ran.took));
    ran.ended
}

fn from_input() -> Result<String, Failure> {
    let mut text = String::new();
    io::stdin().read_to_string(&mut text).map_err(|error| {
        Failure::Usage(format!("the query cannot be read from the standard input: {error}"))
    })?;
    Ok(text)
}

async fn list(client: &CosmosClient, format: Option<Format>) -> Result<(), Failure> {
    let found = container::all(client).await.map_err(|error| failed(&error))?;
    print(&match format {
        Some(Format::Json) => list_json(&found),
        Some(Format::Jsonl) => found.iter().map(|found| format!("{}\n", listed(found))).collect(),
        None | Some(Format::Table | Format::Vertical | Format::Csv) => list_text(&found, output_width()),
    })
}

/// The containers of an account as a table, on a screen of so many columns, if it is one. A database without any has a
/// line, too.
pub(crate) fn list_text(found: &[Found], screen: Option<usize>) -> String {
    if found.is_empty() {
        return "the account has no databases\n".to_owned();
    }
    let row = |found: &Found| match &found.container {
        Some(container) => {
            vec![format!("{}/{}", found.database, container.id), container.partition_key.paths.join(", ")]
        }
        None => vec![format!("{}/", found.database), "(no containers)".to_owned()],
    };
    fitted(&["CONTAINER", "PARTITION KEY"], found.iter().map(row), screen)
}

/// The same as one array.
pub(crate) fn list_json(found: &[Found]) -> String {
    format!("{:#}\n", found.iter().map(listed).collect::<Value>())
}

fn listed(found: &Found) -> Value {
    let container = found.container.as_ref();
    json!({
        "database": found.database,
        "container": container.map(|container| &container.id),
        "partitionKey": container.map(|container| &container.partition_key.paths),
    })
}
