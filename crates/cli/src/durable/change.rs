//! `cosmonaut durable raise`, `cancel`, `delete` and `prune`: what changes something.

use duroxide::providers::{InstanceFilter, InstanceInfo, Provider, ProviderAdmin, PruneOptions, WorkItem};
use serde_json::json;

use super::Answer;
use super::connect::{Store, failed};
use crate::confirm::confirm;
use crate::failure::Failure;
use crate::{runtime, time};

const RUNNING: &str = "Running";

#[derive(clap::Args)]
pub(super) struct Raise {
    instance: String,
    /// The name that the orchestration waits for
    event: String,
    /// What it gets, as it reads it: JSON where it expects a type
    #[arg(default_value = "")]
    data: String,
    /// Put it into the queue of this name, where it stays until it is read, even by a later execution
    #[arg(long)]
    queue: bool,
}

#[derive(clap::Args)]
pub(super) struct Cancel {
    instance: String,
    /// What its history says about why
    #[arg(long, default_value = "cancelled by hand")]
    reason: String,
}

#[derive(clap::Args)]
pub(super) struct Delete {
    instance: String,
    /// Even if it runs: its workers find out when it is gone
    #[arg(long)]
    force: bool,
    /// Together with all that it has started
    #[arg(long)]
    tree: bool,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
}

#[derive(clap::Args)]
pub(super) struct Prune {
    /// Only of this instance [default: of all]
    instance: Option<String>,
    /// Keep the last executions, so many with the current one
    #[arg(long, value_name = "NUMBER")]
    keep_last: Option<u32>,
    /// Only executions that had ended by then: 30d, 12h, 2026-11-15 or 2026-11-15T14:00:00Z
    #[arg(long, value_name = "WHEN")]
    completed_before: Option<String>,
    /// How many instances at most [default: 1000]
    #[arg(long, value_name = "INSTANCES", conflicts_with = "instance")]
    limit: Option<u32>,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
}

pub(super) async fn raise(store: &Store, arguments: &Raise) -> Result<Answer, Failure> {
    let Raise { instance, event, data, queue } = arguments;
    running(store, instance).await?;
    let (instance, name, data) = (instance.clone(), event.clone(), data.clone());
    let item = match queue {
        true => WorkItem::QueueMessage { instance, name, data },
        false => WorkItem::ExternalRaised { instance, name, data },
    };
    store.provider.enqueue_for_orchestrator(item, None).await.map_err(|error| failed(&error))?;
    Ok(Answer {
        text: format!("{event} is on its way to {}\n", arguments.instance),
        json: json!({ "instance": arguments.instance, "event": event, "queue": queue }),
    })
}

pub(super) async fn cancel(store: &Store, arguments: &Cancel) -> Result<Answer, Failure> {
    let Cancel { instance, reason } = arguments;
    running(store, instance).await?;
    let item = WorkItem::CancelInstance { instance: instance.clone(), reason: reason.clone() };
    store.provider.enqueue_for_orchestrator(item, None).await.map_err(|error| failed(&error))?;
    Ok(Answer {
        text: format!("{instance} ends with its next turn\n"),
        json: json!({ "instance": instance, "reason": reason }),
    })
}

/// An instance that can still hear something.
async fn running(store: &Store, instance: &str) -> Result<InstanceInfo, Failure> {
    let info = store.existing(instance).await?;
    if info.status == "Completed" || info.status == "Failed" {
        return Err(Failure::Work(format!(
            "{instance} has ended ({}): it hears nothing any more",
            info.status
        )));
    }
    Ok(info)
}

pub(super) async fn delete(store: &Store, arguments: &Delete) -> Result<Answer, Failure> {
    let Delete { instance, force, tree, yes } = arguments;
    let all = store.provider.tree_summaries(instance).await.map_err(|error| failed(&error))?;
    let Some(root) = all.first() else { return Err(store.no_such(instance)) };
    if let Some(parent) = &root.parent {
        let message =
            format!("{instance} was started by {parent}, which may wait for it (delete that, with --tree)");
        return Err(Failure::Work(message));
    }
    let below = all.len() - 1;
    if below > 0 && !tree {
        let message = format!("{instance} has started {below} others (delete them too with --tree)");
        return Err(Failure::Work(message));
    }
    if let Some(running) = all.iter().find(|found| found.status == RUNNING).filter(|_| !force) {
        let message = format!("{} still runs (cancel it first, or use --force)", running.instance);
        return Err(Failure::Work(message));
    }
    let with = if below > 0 { format!(" and the {below} that it has started") } else { String::new() };
    confirm(&format!("Delete {instance}{with} for good?"), *yes)?;
    let ids: Vec<String> = all.into_iter().map(|found| found.instance).collect();
    let gone = store.provider.delete_instances_atomic(&ids, *force).await.map_err(|error| failed(&error))?;
    Ok(Answer {
        text: format!(
            "deleted: instances {}, executions {}, events {}, messages {}\n",
            gone.instances_deleted, gone.executions_deleted, gone.events_deleted, gone.queue_messages_deleted
        ),
        json: json!({
            "instances": gone.instances_deleted,
            "executions": gone.executions_deleted,
            "events": gone.events_deleted,
            "messages": gone.queue_messages_deleted,
        }),
    })
}

pub(super) async fn prune(store: &Store, arguments: &Prune) -> Result<Answer, Failure> {
    let now = time::millis(runtime::time_of_day());
    let before = arguments.completed_before.as_deref().map(|text| time::moment(text, now));
    let completed_before =
        before.transpose().map_err(|problem| Failure::Usage(format!("--completed-before: {problem}")))?;
    let options = PruneOptions { keep_last: arguments.keep_last, completed_before };
    let of = match &arguments.instance {
        Some(instance) => {
            store.existing(instance).await?;
            instance.clone()
        }
        None => "all instances".to_owned(),
    };
    let but = arguments.keep_last.map_or_else(String::new, |keep| format!(" but the last {keep}"));
    let by = completed_before
        .map_or_else(String::new, |before| format!(" that had ended by {}", time::utc(before)));
    confirm(&format!("Remove the past executions of {of}{but}{by} for good?"), arguments.yes)?;
    let pruned = match &arguments.instance {
        Some(instance) => store.provider.prune_executions(instance, options).await,
        None => {
            let filter = InstanceFilter { limit: arguments.limit, ..InstanceFilter::default() };
            store.provider.prune_executions_bulk(filter, options).await
        }
    };
    let pruned = pruned.map_err(|error| failed(&error))?;
    Ok(Answer {
        text: format!(
            "removed: executions {}, events {} (of {} instances looked at)\n",
            pruned.executions_deleted, pruned.events_deleted, pruned.instances_processed
        ),
        json: json!({
            "instances": pruned.instances_processed,
            "executions": pruned.executions_deleted,
            "events": pruned.events_deleted,
        }),
    })
}
