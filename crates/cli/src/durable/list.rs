//! `cosmonaut durable list`

use duroxide_cosmonaut::InstanceSummary;
use serde_json::json;

use super::Answer;
use super::connect::{Store, failed};
use crate::cell::cell;
use crate::failure::Failure;
use crate::table::table;
use crate::time::utc;

/// How many instances are asked for at once.
const PAGE: u32 = 100;
/// How wide a name may be.
const NAME: usize = 60;

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// Only those with this status
    #[arg(long, value_enum)]
    status: Option<Status>,

    /// How many at most
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,

    /// All of them, however many
    #[arg(long, conflicts_with = "limit")]
    all: bool,
}

/// The statuses, as arguments have them.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Status {
    Running,
    Completed,
    Failed,
    ContinuedAsNew,
}

impl Status {
    fn stored(self) -> &'static str {
        match self {
            Self::Running => "Running",
            Self::Completed => "Completed",
            Self::Failed => "Failed",
            Self::ContinuedAsNew => "ContinuedAsNew",
        }
    }
}

pub(super) async fn run(store: &Store, arguments: &Arguments) -> Result<Answer, Failure> {
    let most = if arguments.all { usize::MAX } else { arguments.limit as usize };
    let (mut found, mut continuation): (Vec<InstanceSummary>, _) = (Vec::new(), None);
    let has_more = loop {
        let size = u32::try_from(most - found.len()).map_or(PAGE, |left| left.min(PAGE));
        let status = arguments.status.map(Status::stored);
        let page = store.provider.list_summaries_page(status, size, continuation).await;
        let page = page.map_err(|error| failed(&error))?;
        found.extend(page.summaries);
        continuation = page.continuation;
        if continuation.is_none() || found.len() >= most {
            break continuation.is_some();
        }
    };
    let text = match &found[..] {
        [] => "there are no such instances\n".to_owned(),
        found => {
            let more = if has_more { "(there are more: --limit or --all)\n" } else { "" };
            format!("{}{more}", instances(found))
        }
    };
    Ok(Answer { text, json: json!(found) })
}

fn instances(found: &[InstanceSummary]) -> String {
    let row = |found: &InstanceSummary| {
        vec![
            cell(&found.instance, NAME),
            cell(&orchestration(found), NAME),
            cell(&found.status, NAME),
            found.execution.to_string(),
            found.events.to_string(),
            utc(found.created_at),
            found.parent.as_deref().map_or_else(String::new, |parent| cell(parent, NAME)),
        ]
    };
    let header = ["INSTANCE", "ORCHESTRATION", "STATUS", "EXECUTION", "EVENTS", "CREATED", "PARENT"];
    table(&header, found.iter().map(row))
}

/// `Checkout 1.0.0`
pub(super) fn orchestration(found: &InstanceSummary) -> String {
    match (&found.orchestration, &found.version) {
        (Some(name), Some(version)) => format!("{name} {version}"),
        (Some(name), None) => name.clone(),
        (None, _) => "-".to_owned(),
    }
}
