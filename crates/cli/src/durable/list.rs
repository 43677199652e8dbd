//! `cosmonaut durable list`

use duroxide_cosmonaut::{InstanceSearch, InstanceSummary};
use serde_json::json;

use super::Answer;
use super::connect::{Store, failed};
use crate::cell::cell;
use crate::failure::Failure;
use crate::runtime;
use crate::screen;
use crate::table::fitted;
use crate::time::{self, utc};

/// How many instances are asked for at once.
const PAGE: u32 = 100;
/// How wide a name may be.
const NAME: usize = 60;

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// Only those with this status
    #[arg(long, value_enum)]
    status: Option<Status>,

    /// Only those of this orchestration
    #[arg(long, value_name = "ORCHESTRATION")]
    name: Option<String>,

    /// Only those that began at this time or later: 7d, 12h, 2026-11-15 or 2026-11-15T14:00:00Z
    #[arg(long, value_name = "WHEN")]
    since: Option<String>,

    /// Only those whose custom status has this text in it
    #[arg(long, value_name = "TEXT")]
    custom_status: Option<String>,

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

impl Arguments {
    fn search(&self) -> Result<InstanceSearch, Failure> {
        let now = time::millis(runtime::time_of_day());
        let since = self.since.as_deref().map(|text| time::moment(text, now)).transpose();
        Ok(InstanceSearch {
            status: self.status.map(|status| status.stored().to_owned()),
            orchestration: self.name.clone(),
            created_since: since.map_err(|problem| Failure::Usage(format!("--since: {problem}")))?,
            custom_status: self.custom_status.clone(),
            ..InstanceSearch::default()
        })
    }
}

pub(super) async fn run(store: &Store, arguments: &Arguments) -> Result<Answer, Failure> {
    let most = if arguments.all { usize::MAX } else { arguments.limit as usize };
    let search = arguments.search()?;
    let (mut found, mut continuation): (Vec<InstanceSummary>, _) = (Vec::new(), None);
    let has_more = loop {
        let size = u32::try_from(most - found.len()).map_or(PAGE, |left| left.min(PAGE));
        let page = store.provider.search_page(&search, size, continuation).await;
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
    fitted(&header, found.iter().map(row), screen::output_width())
}

/// `Checkout 1.0.0`
pub(super) fn orchestration(found: &InstanceSummary) -> String {
    match (&found.orchestration, &found.version) {
        (Some(name), Some(version)) => format!("{name} {version}"),
        (Some(name), None) => name.clone(),
        (None, _) => "-".to_owned(),
    }
}
