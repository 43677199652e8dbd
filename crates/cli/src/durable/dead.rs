//! `cosmonaut durable dead`: what has stopped for good, and what to do about it.

use duroxide::providers::ProviderAdmin;
use duroxide_cosmonaut::{DeadCause, DeadLetter};
use serde_json::json;

use super::Answer;
use super::connect::{Store, failed};
use crate::cell::{cell, whole};
use crate::confirm::confirm;
use crate::failure::Failure;
use crate::screen;
use crate::table::fitted;
use crate::time::utc;

/// How wide a name, and what is said of it, may be.
const NAME: usize = 60;
const WORDS: usize = 100;

#[derive(clap::Subcommand)]
pub(super) enum Command {
    /// Instances that were given up after too many attempts, and documents that cannot be read
    List {
        /// How many of each at most
        #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
        limit: u32,
    },
    /// All that is known of one
    Show { instance: String },
    /// Start the orchestration of an instance that was given up once more, as a new instance
    Retry {
        instance: String,
        /// The name of the new instance [default: the old one with -retry-1, -retry-2, …]
        #[arg(long = "as", value_name = "NAME")]
        new_name: Option<String>,
    },
    /// Delete an instance that was given up; drop messages that cannot be read, and fail activities that cannot
    Terminate {
        instance: String,
        /// Do not ask
        #[arg(long, short)]
        yes: bool,
    },
}

impl Command {
    /// Whether it writes something.
    pub(super) fn is_change(&self) -> bool {
        match self {
            Self::List { .. } | Self::Show { .. } => false,
            Self::Retry { .. } | Self::Terminate { .. } => true,
        }
    }
}

pub(super) async fn run(store: &Store, command: &Command) -> Result<Answer, Failure> {
    match command {
        Command::List { limit } => list(store, *limit).await,
        Command::Show { instance } => show(store, instance).await,
        Command::Retry { instance, new_name } => retry(store, instance, new_name.as_deref()).await,
        Command::Terminate { instance, yes } => terminate(store, instance, *yes).await,
    }
}

async fn letters(store: &Store, limit: u32) -> Result<Vec<DeadLetter>, Failure> {
    store.provider.dead_letters(limit).await.map_err(|error| failed(&error))
}

async fn list(store: &Store, limit: u32) -> Result<Answer, Failure> {
    let found = letters(store, limit).await?;
    let row = |found: &DeadLetter| {
        vec![
            cell(&found.instance, NAME),
            cause(found.cause).to_owned(),
            utc(found.since),
            found.document.as_deref().map_or_else(String::new, |id| cell(id, NAME)),
            cell(&found.why, WORDS),
        ]
    };
    let text = match &found[..] {
        [] => "nothing has stopped for good\n".to_owned(),
        found => fitted(
            &["INSTANCE", "CAUSE", "SINCE", "DOCUMENT", "WHY"],
            found.iter().map(row),
            screen::output_width(),
        ),
    };
    Ok(Answer { text, json: json!(found) })
}

fn cause(cause: DeadCause) -> &'static str {
    match cause {
        DeadCause::Poisoned => "poisoned",
        DeadCause::Newer => "newer",
        DeadCause::Damaged => "damaged",
        _ => "other",
    }
}

async fn show(store: &Store, instance: &str) -> Result<Answer, Failure> {
    let found: Vec<_> =
        letters(store, u32::MAX >> 1).await?.into_iter().filter(|found| found.instance == instance).collect();
    if found.is_empty() {
        return Err(Failure::Work(format!("nothing in {instance} has stopped for good")));
    }
    let mut text = format!("instance  {}\n", whole(instance));
    for letter in &found {
        text += &format!("{:8}  since {}\n", cause(letter.cause), utc(letter.since));
        if let Some(id) = &letter.document {
            text += &format!("document  {}\n", whole(id));
        }
        text += &format!("why       {}\n", whole(&letter.why));
    }
    text += match found[0].cause {
        DeadCause::Poisoned => {
            "\n`dead retry` starts it again under another name, `dead terminate` deletes it\n"
        }
        DeadCause::Newer => "\nupdate every process that shares the container\n",
        _ => "\n`dead terminate` drops what waits and cannot be read\n",
    };
    Ok(Answer { text, json: json!(found) })
}

async fn retry(store: &Store, instance: &str, new_name: Option<&str>) -> Result<Answer, Failure> {
    store.existing(instance).await?;
    let new_name = match new_name {
        Some(name) => name.to_owned(),
        None => free_name(store, instance).await?,
    };
    store.provider.retry_dead(instance, &new_name).await.map_err(|error| failed(&error))?;
    Ok(Answer {
        text: format!("{instance} is tried again as {new_name}\n"),
        json: json!({ "instance": instance, "as": new_name }),
    })
}

/// The first name that no instance has.
async fn free_name(store: &Store, instance: &str) -> Result<String, Failure> {
    for n in 1_u64.. {
        let name = format!("{instance}-retry-{n}");
        let executions = store.provider.list_executions(&name).await.map_err(|error| failed(&error))?;
        if executions.is_empty() {
            return Ok(name);
        }
    }
    Err(Failure::Work(format!("there is no name left for another {instance}")))
}

async fn terminate(store: &Store, instance: &str, yes: bool) -> Result<Answer, Failure> {
    confirm(&format!("Get rid of what has stopped for good in {instance}?"), yes)?;
    let gone = store.provider.terminate_dead(instance).await.map_err(|error| failed(&error))?;
    let text = gone
        .iter()
        .map(|letter| match &letter.document {
            Some(id) => format!("removed {} of {}\n", whole(id), whole(instance)),
            None => format!("deleted {} with all that it has started\n", whole(instance)),
        })
        .collect();
    Ok(Answer { text, json: json!(gone) })
}
