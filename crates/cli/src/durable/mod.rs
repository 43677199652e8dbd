//! `cosmonaut durable …`: looks at orchestrations and steers them. Only `stress` runs any.
//!
//! Each command is a call or two of the provider; this reads arguments and shows answers.

mod change;
mod connect;
mod dead;
mod definition;
mod doctor;
mod event;
mod history;
mod list;
mod metrics;
mod show;
mod stress;
mod tree;

use serde_json::Value;

use crate::account::AccountArguments;
use crate::failure::Failure;
use crate::runtime;
use crate::screen::print;

/// The arguments of `cosmonaut durable`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES, arg_required_else_help = true)]
pub(crate) struct Arguments {
    /// The database of the orchestrations [default: COSMONAUT_DATABASE, or duroxide]
    #[arg(long, value_name = "NAME", global = true)]
    database: Option<String>,

    /// The container of the orchestrations [default: COSMONAUT_CONTAINER, or duroxide]
    #[arg(long, value_name = "NAME", global = true)]
    container: Option<String>,

    /// The task hub in the container [default: COSMONAUT_HUB, or the one without a name]
    #[arg(long, value_name = "NAME", global = true)]
    hub: Option<String>,

    /// Where several regions write: the one that the runtimes use
    #[arg(long, value_name = "REGION", global = true)]
    write_region: Option<String>,

    /// Print JSON
    #[arg(long, global = true)]
    json: bool,

    #[command(flatten)]
    account: AccountArguments,

    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    #[command(flatten)]
    Stored(Stored),
    /// Whether orchestrations can run in this container, and what to change if not; status 1 if they cannot
    Doctor,
    /// The container as the provider makes it, to make it beforehand: JSON or Bicep
    Definition(definition::Arguments),
    /// Run orchestrations in a container of their own and measure rate, latency, requests and request units
    Stress(stress::Arguments),
}

/// What is about orchestrations that are stored.
#[derive(clap::Subcommand)]
enum Stored {
    /// The instances, the newest first
    List(list::Arguments),
    /// An instance: what it runs, how it does, its status, keys and executions
    Show(show::Arguments),
    /// What happened to an instance, event by event
    History(history::Arguments),
    /// An instance and all that it has started
    Tree { instance: String },
    /// Send an event to an instance that waits for one
    Raise(change::Raise),
    /// Ask an instance to end
    Cancel(change::Cancel),
    /// Delete an instance with its history; it is gone for good
    Delete(change::Delete),
    /// Remove past executions of one instance or of all; the current one always stays
    Prune(change::Prune),
    /// How many instances, executions and events there are, and what waits in the queues
    Metrics,
    /// What has stopped for good: list, show, retry, terminate
    #[command(subcommand)]
    Dead(dead::Command),
}

impl Stored {
    /// Whether it writes something.
    fn is_change(&self) -> bool {
        match self {
            Self::Raise(_) | Self::Cancel(_) | Self::Delete(_) | Self::Prune(_) => true,
            Self::Dead(command) => command.is_change(),
            Self::List(_) | Self::Show(_) | Self::History(_) | Self::Tree { .. } | Self::Metrics => false,
        }
    }
}

const EXAMPLES: &str = "\
Examples:
  cosmonaut durable list --status running           what runs
  cosmonaut durable show order-7                    how one does
  cosmonaut durable history order-7                 what happened to it, and when
  cosmonaut durable list --hub orders               those of a task hub of this name
  cosmonaut durable raise order-7 approved '\"Ada\"'  what it waits for
  cosmonaut durable cancel order-7 --reason late    it ends with its next turn
  cosmonaut durable delete order-7 --tree           it is gone, with all that it has started
  cosmonaut durable prune --completed-before 30d    past executions that are older, of all instances
  cosmonaut durable dead list                       what has stopped for good
  cosmonaut durable doctor                          whether orchestrations can run here
  cosmonaut durable definition --format bicep       the container, for an infrastructure repository
  cosmonaut durable stress --seconds 30             how many this account carries, and at which cost

Only `stress` runs orchestrations and creates something, in a container that it deletes again: for
the others a database or container that is not there is an error.";

/// What a command has to say, for people or as JSON.
struct Answer {
    text: String,
    json: Value,
}

/// Runs a command.
pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    // Nothing is written before the end, so Ctrl-C may end the process where it is.
    let (text, verdict) = match &arguments.command {
        Command::Stored(command) => (shown(arguments, runtime::run(stored(arguments, command))?), Ok(())),
        Command::Doctor => {
            let (answer, verdict) = runtime::run(doctor::run(arguments))?;
            (shown(arguments, answer), verdict)
        }
        Command::Stress(stress) => {
            let (answer, verdict) = runtime::run(stress::run(arguments, stress))?;
            (shown(arguments, answer), verdict)
        }
        Command::Definition(definition) => (definition::run(arguments, definition)?, Ok(())),
    };
    print(&text)?;
    verdict
}

fn shown(arguments: &Arguments, answer: Answer) -> String {
    if arguments.json { format!("{:#}\n", answer.json) } else { answer.text }
}

async fn stored(arguments: &Arguments, command: &Stored) -> Result<Answer, Failure> {
    let store = match command.is_change() {
        true => connect::Store::open_to_change(arguments).await?,
        false => connect::Store::open(arguments).await?,
    };
    match command {
        Stored::List(arguments) => list::run(&store, arguments).await,
        Stored::Show(arguments) => show::run(&store, arguments).await,
        Stored::History(arguments) => history::run(&store, arguments).await,
        Stored::Tree { instance } => tree::run(&store, instance).await,
        Stored::Raise(arguments) => change::raise(&store, arguments).await,
        Stored::Cancel(arguments) => change::cancel(&store, arguments).await,
        Stored::Delete(arguments) => change::delete(&store, arguments).await,
        Stored::Prune(arguments) => change::prune(&store, arguments).await,
        Stored::Metrics => metrics::run(&store).await,
        Stored::Dead(command) => dead::run(&store, command).await,
    }
}
