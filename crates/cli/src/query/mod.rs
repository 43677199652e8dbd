//! `cosmonaut query`: runs a query, or explains it.
//!
//! Planning, merging and explaining are the client's; this reads arguments and writes rows.

mod explain;
mod output;
mod parameter;
mod row;
mod totals;

use std::io::{self, IsTerminal, Read, Write};
use std::pin::pin;
use std::time::Duration;

use cosmonaut::options::FeedOptions;
use cosmonaut::{ContainerProperties, CosmosClient, FeedScope, Query};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::account::{AccountArguments, failed};
use crate::container::{self, ContainerName};
use crate::failure::Failure;
use crate::runtime;
use crate::signal::StopSignal;
use crate::table::table;
use output::{Format, Rows};
use parameter::{Key, Parameter};
use totals::Totals;

/// How many rows are asked for at once.
const PAGE: u32 = 1000;

/// After so long without an answer the user is told that it is awaited.
const PATIENCE: Duration = Duration::from_secs(5);

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

/// Runs the query, or explains it, or lists what there is to ask.
pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    if arguments.format == Some(Format::Csv) && (arguments.explain || arguments.list) {
        return Err(Failure::Usage("only rows can be written as csv (use --format json)".to_owned()));
    }
    runtime::run(async {
        let client = arguments.account.client()?;
        match (&arguments.container, &arguments.query) {
            (Some(container), Some(query)) => {
                let query = Ask::new(arguments, container, query)?;
                // Where nothing is written before the end, Ctrl-C may end the process where it is.
                match arguments.explain {
                    true => told_of_waiting(query.explain(&client, arguments.format)).await,
                    false => query.rows(&client, arguments).await,
                }
            }
            _ => told_of_waiting(list(&client, arguments.format)).await,
        }
    })
}

/// A query and where it goes.
struct Ask<'a> {
    container: &'a ContainerName,
    query: Query,
    scope: FeedScope,
    options: FeedOptions,
}

impl<'a> Ask<'a> {
    fn new(arguments: &Arguments, container: &'a ContainerName, text: &str) -> Result<Self, Failure> {
        let mut query = Query::new(if text == "-" { from_input()? } else { text.to_owned() });
        for Parameter { name, value } in &arguments.parameters {
            query = query.with(name, value);
        }
        let scope = match &arguments.partition_key {
            Some(key) => FeedScope::from(key.0.clone()),
            None => FeedScope::Container,
        };
        let page = arguments.max.map_or(PAGE, |max| u32::try_from(max).map_or(PAGE, |max| max.min(PAGE)));
        Ok(Self { container, query, scope, options: FeedOptions::default().max_item_count(page) })
    }

    /// Writes the rows as they come, until there are enough, no more, or the user has seen enough.
    async fn rows(self, client: &CosmosClient, arguments: &Arguments) -> Result<(), Failure> {
        let mut stop = StopSignal::listen()?;
        let mut output = io::stdout().lock();
        let is_terminal = output.is_terminal();
        let format = arguments.format.unwrap_or(if is_terminal { Format::Table } else { Format::Jsonl });
        let width = is_terminal.then(crate::screen::width).flatten();
        let mut rows = Rows::new(format, width, arguments.system);
        let (mut totals, began) = (Totals::default(), runtime::now());
        let items = self
            .container
            .of(client)
            .query_items::<Box<RawValue>>(self.query, self.scope)
            .options(self.options);
        let mut pages = items.into_pages();
        let ended = loop {
            let left = arguments.max.map_or(u64::MAX, |max| max - totals.rows);
            if left == 0 {
                break Ok(());
            }
            let page = tokio::select! {
                page = told_of_waiting(pages.next()) => page,
                () = stop.heard() => break Err(Failure::Stopped),
            };
            match page {
                None => break Ok(()),
                Some(Err(error)) => break Err(self.container.failed(client, &error).await),
                Some(Ok(page)) => {
                    let wanted = page.items.len().min(usize::try_from(left).unwrap_or(usize::MAX));
                    totals.add(&page, wanted, arguments.stats);
                    rows.take(&page.items[..wanted], &mut output)?;
                }
            }
        };
        // Also after a failure: half an array is of no use to whoever reads it, and the status says that it is not all.
        if ended.is_ok() || totals.rows > 0 {
            rows.finish(&mut output)?;
            io::stderr().write_all(totals.text(began.elapsed()).as_bytes())?;
        }
        ended
    }

    async fn explain(self, client: &CosmosClient, format: Option<Format>) -> Result<(), Failure> {
        let container = self.container.of(client);
        let explained = container.explain_query(self.query, self.scope).options(self.options).await;
        let explained = match explained {
            Ok(explained) => explained,
            Err(error) => return Err(self.container.failed(client, &error).await),
        };
        print(&match format {
            Some(Format::Json) => format!("{:#}\n", explain::json(&explained)),
            Some(Format::Jsonl) => format!("{}\n", explain::json(&explained)),
            None | Some(Format::Table | Format::Csv) => explain::text(&explained),
        })
    }
}

/// Says on the standard error that an answer is still awaited, if it takes long.
async fn told_of_waiting<T>(answer: impl Future<Output = T>) -> T {
    let mut answer = pin!(answer);
    let mut waited = Duration::ZERO;
    loop {
        tokio::select! {
            answer = &mut answer => return answer,
            () = runtime::sleep(PATIENCE) => waited += PATIENCE,
        }
        // If nobody reads it, nobody wonders either.
        let _ =
            writeln!(io::stderr(), "no answer for {} s; still waiting (Ctrl-C ends it)", waited.as_secs());
    }
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
    let row = |(database, container): &(String, ContainerProperties)| {
        vec![format!("{database}/{}", container.id), container.partition_key.paths.join(", ")]
    };
    let object = |(database, container): &(String, ContainerProperties)| {
        let paths = &container.partition_key.paths;
        json!({ "database": database, "container": container.id, "partitionKey": paths })
    };
    print(&match format {
        Some(Format::Json) => format!("{:#}\n", found.iter().map(object).collect::<Value>()),
        Some(Format::Jsonl) => found.iter().map(|found| format!("{}\n", object(found))).collect(),
        None | Some(Format::Table | Format::Csv) if found.is_empty() => {
            "the account has no containers\n".into()
        }
        None | Some(Format::Table | Format::Csv) => {
            table(&["CONTAINER", "PARTITION KEY"], found.iter().map(row))
        }
    })
}

fn print(text: &str) -> Result<(), Failure> {
    let mut output = io::stdout().lock();
    output.write_all(text.as_bytes())?;
    output.flush()?;
    Ok(())
}
