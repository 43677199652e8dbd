//! `cosmonaut shell`: queries and commands one after the other, typed by a person or read from a script.
//!
//! Queries run as those of `cosmonaut query` do; this reads statements, keeps what was set, and edits lines.

mod command;
mod completion;
mod editor;
mod pager;
mod session;
mod statement;

use std::io::{self, BufRead, BufReader, IsTerminal};

use tokio::sync::mpsc;

use crate::account::AccountArguments;
use crate::container::ContainerName;
use crate::failure::Failure;
use crate::query::Format;
use crate::runtime;
use crate::signal::{StopSignal, end_when_told};
use session::{Flow, Session};
use statement::Reader;

/// The arguments of `cosmonaut shell`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The container to begin with
    #[arg(value_name = "DATABASE/CONTAINER")]
    container: Option<ContainerName>,

    /// Run this and end: queries, each with ; at its end, and commands such as \d, each on a line of its own. Can be
    /// given several times
    #[arg(long = "command", short = 'c', value_name = "TEXT")]
    commands: Vec<String>,

    /// How rows are written [default: table on a terminal, jsonl elsewhere]
    #[arg(long, short, value_enum)]
    format: Option<Format>,

    /// The same as --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,

    /// Show _rid, _self, _etag, _attachments and _ts in tables too
    #[arg(long)]
    system: bool,

    /// Show every request on the standard error, as \stats does
    #[arg(long)]
    stats: bool,

    #[command(flatten)]
    account: AccountArguments,
}

const EXAMPLES: &str = "\
Examples, with `cosmonaut up` running:
  cosmonaut shell shop/orders                                      \\? says what can be typed
  cosmonaut shell shop/orders -c \"SELECT VALUE COUNT(1) FROM c\"
  cosmonaut shell -c '\\d'                                          what there is
  cosmonaut shell shop/orders --json < report.sql
  PAGER='less -S' cosmonaut shell shop/orders                      long results go there

A query ends with ; or an empty line. Ctrl-C stops a query that runs, Ctrl-D ends the shell.
A script ends at its first failure, with the status of that: 1 for work that failed, 2 for
what cannot be used, 130 if it was stopped. What is typed is kept in
$XDG_STATE_HOME/cosmonaut/history (~/.local/state), for its owner alone, but for lines that
begin with a blank.";

/// Runs what the arguments say, or what is read.
pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let typed = arguments.commands.is_empty() && io::stdin().is_terminal();
    runtime::run(async {
        let mut session = Session::open(arguments, typed).await?;
        if typed {
            // While a line is read nothing else would end this.
            end_when_told()?;
            return editor::interact(&mut session).await;
        }
        if arguments.commands.is_empty() {
            return script(&mut session, Lines::of(BufReader::new(io::stdin()))?).await.map(drop);
        }
        for text in &arguments.commands {
            let lines = Lines::of(io::Cursor::new(text.clone().into_bytes()))?;
            if let Flow::Quit = script(&mut session, lines).await? {
                break;
            }
        }
        Ok(())
    })
}

/// The lines of a script. A thread reads them, so that who waits for one can be told to stop.
struct Lines(mpsc::Receiver<io::Result<String>>);

impl Lines {
    fn of(input: impl BufRead + Send + 'static) -> Result<Self, Failure> {
        // Few lines are read ahead: a script may wait for what its own queries change.
        let (send, lines) = mpsc::channel(1);
        std::thread::Builder::new()
            .name("script".to_owned())
            .spawn(move || {
                for line in input.lines() {
                    if send.blocking_send(line).is_err() {
                        return;
                    }
                }
            })
            .map_err(|error| Failure::Work(format!("cannot start a thread: {error}")))?;
        Ok(Self(lines))
    }
}

/// Runs statements as they are read, up to the first that fails.
async fn script(session: &mut Session<'_>, mut lines: Lines) -> Result<Flow, Failure> {
    let mut reader = Reader::default();
    let mut stop = StopSignal::listen()?;
    loop {
        let line = tokio::select! {
            line = lines.0.recv() => line,
            () = stop.heard() => return Err(Failure::Stopped),
        };
        let Some(line) = line else { break };
        let line = line.map_err(|error| Failure::Usage(format!("the script cannot be read: {error}")))?;
        for statement in reader.line(&line) {
            if let Flow::Quit = Box::pin(session.run(&statement)).await? {
                return Ok(Flow::Quit);
            }
            // Ctrl-C has ended the watching, and is done with.
            if statement.may_watch() {
                stop = StopSignal::listen()?;
            }
        }
    }
    match reader.rest() {
        Some(statement) => Box::pin(session.run(&statement)).await,
        None => Ok(Flow::Continue),
    }
}
