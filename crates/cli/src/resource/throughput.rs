//! Throughput of containers and databases: as arguments have it, shown, and changed until the service has done so.

use cosmonaut::{Error, ThroughputPoller, ThroughputProperties};
use serde_json::{Value, json};

use crate::account::failed;
use crate::failure::Failure;
use crate::screen::note;

/// An amount, in one of two kinds.
#[derive(clap::Args, Clone, Copy)]
pub(super) struct Amount {
    /// Request units per second at all times
    #[arg(long, value_name = "RU", conflicts_with = "autoscale")]
    throughput: Option<u32>,

    /// At most so many request units per second, following the load
    #[arg(long, value_name = "RU")]
    autoscale: Option<u32>,
}

impl Amount {
    pub(super) fn wanted(self) -> Option<ThroughputProperties> {
        match (self.throughput, self.autoscale) {
            (Some(throughput), _) => Some(ThroughputProperties::manual(throughput)),
            (None, Some(most)) => Some(ThroughputProperties::autoscale(most, None)),
            (None, None) => None,
        }
    }
}

/// `400 RU/s`, or `up to 4000 RU/s (autoscale)`.
pub(super) fn text(throughput: Option<ThroughputProperties>) -> String {
    match throughput {
        Some(ThroughputProperties::Manual { throughput }) => format!("{throughput} RU/s"),
        Some(ThroughputProperties::Autoscale { max_throughput, .. }) => {
            format!("up to {max_throughput} RU/s (autoscale)")
        }
        None => "none of its own".to_owned(),
    }
}

pub(super) fn json(throughput: Option<ThroughputProperties>) -> Value {
    match throughput {
        Some(ThroughputProperties::Manual { throughput }) => json!({ "throughput": throughput }),
        Some(ThroughputProperties::Autoscale { max_throughput, .. }) => {
            json!({ "autoscale": max_throughput })
        }
        None => Value::Null,
    }
}

/// Changes a throughput and waits until that is done, which may take the service minutes.
pub(super) async fn change(mut poller: ThroughputPoller) -> Result<ThroughputProperties, Failure> {
    let mut told = false;
    let mut reached = None;
    while let Some(status) = poller.next().await {
        let status = status.map_err(|error| explained(&error))?;
        if status.is_pending && !told {
            note("the service is at it (Ctrl-C ends the waiting, not the change)");
            told = true;
        }
        reached = Some(status.throughput);
    }
    reached.ok_or_else(|| Failure::Work("the service has not said what came of it".to_owned()))
}

fn explained(error: &Error) -> Failure {
    match error.is_not_found() {
        true => {
            Failure::Work(format!("{error} (a throughput is given when a container or database is made)"))
        }
        false => failed(error),
    }
}
