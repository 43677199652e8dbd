//! Orchestrations: the list, one with its history and tree, and what steers them.

use std::time::Duration;

use duroxide::providers::{
    ExecutionInfo, InstanceFilter, InstanceInfo, Provider, ProviderAdmin, PruneOptions, WorkItem,
};
use duroxide_cosmonaut::{CosmosProvider, InstanceSearch};
use http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Ask;
use super::sampled::Sample;
use crate::answer::Refusal;

/// How many executions are described: an instance that goes on as new for ever has any number.
const EXECUTIONS: usize = 20;
const DEAD: u32 = 200;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raise {
    instance: String,
    event: String,
    #[serde(default)]
    data: String,
    #[serde(default)]
    queue: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Cancel {
    instances: Vec<String>,
    reason: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Delete {
    instances: Vec<String>,
    #[serde(default)]
    force: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Prune {
    instance: Option<String>,
    keep_last: Option<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Retry {
    instance: String,
    name: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct One {
    instance: String,
}

impl Ask<'_> {
    pub(super) async fn instances(&self) -> Result<Value, Refusal> {
        let place = self.place;
        if let Some(id) = place.get("id") {
            let mut found =
                self.store().await?.tree_summaries(id).await.map_err(|error| self.unanswered(&error))?;
            found.truncate(1);
            return Ok(json!({ "instances": found, "next": null }));
        }
        let owned = |name: &str| place.get(name).map(str::to_owned);
        let time = |name: &str| match place.get(name) {
            Some(_) => place.number(name, 0_u64).map(Some),
            None => Ok(None),
        };
        let search = InstanceSearch {
            status: owned("status"),
            orchestration: owned("name"),
            created_since: time("since")?,
            created_before: time("before")?,
            custom_status: owned("custom"),
        };
        let size = place.number("max", 100_u32)?.clamp(1, 500);
        let page = self.store().await?.search_page(&search, size, owned("next")).await;
        let page = page.map_err(|error| self.unanswered(&error))?;
        Ok(json!({ "instances": page.summaries, "next": page.continuation }))
    }

    pub(super) async fn durable_metrics(&self) -> Result<Value, Refusal> {
        let store = self.store().await?;
        let counts = store.get_system_metrics().await.map_err(|error| self.unanswered(&error))?;
        let backlog = store.backlog().await.map_err(|error| self.unanswered(&error))?;
        let millis = |age: Option<Duration>| age.map(|age| age.as_millis() as u64);
        let over_time = self.sampled(Sample {
            messages: backlog.messages,
            activities: backlog.activities,
            message_age: millis(backlog.message_age),
            activity_age: millis(backlog.activity_age),
            running: counts.running_instances,
            started: counts.total_instances,
            ended: counts.completed_instances + counts.failed_instances,
        })?;
        Ok(json!({
            "overTime": over_time,
            "instances": counts.total_instances,
            "running": counts.running_instances,
            "completed": counts.completed_instances,
            "failed": counts.failed_instances,
            "executions": counts.total_executions,
            "events": counts.total_events,
            "messages": backlog.messages,
            "messageAgeMs": millis(backlog.message_age),
            "activities": backlog.activities,
            "activityAgeMs": millis(backlog.activity_age),
            "timers": backlog.timers,
        }))
    }

    pub(super) async fn dead(&self) -> Result<Value, Refusal> {
        let found = self.store().await?.dead_letters(DEAD).await.map_err(|error| self.unanswered(&error))?;
        Ok(json!({ "dead": found, "complete": found.len() < DEAD as usize }))
    }

    pub(super) async fn instance(&self, id: &str) -> Result<Value, Refusal> {
        let store = self.store().await?;
        let info = self.existing(&store, id).await?;
        let all = async {
            let custom_status = store.get_custom_status(id, 0).await?.and_then(|(status, _)| status);
            let values = store.get_kv_all_values(id).await?;
            let stats = store.get_instance_stats(id).await?;
            let numbers = store.list_executions(id).await?;
            let mut executions = Vec::new();
            for number in numbers.iter().rev().take(EXECUTIONS) {
                executions.push(execution(&store.get_execution_info(id, *number).await?));
            }
            Ok(json!({
                "instance": info.instance_id,
                "orchestration": info.orchestration_name,
                "version": info.orchestration_version,
                "status": info.status,
                "execution": info.current_execution_id,
                "parent": info.parent_instance_id,
                "createdAt": info.created_at,
                "updatedAt": info.updated_at,
                "output": info.output,
                "customStatus": custom_status,
                "values": values,
                "historyBytes": stats.as_ref().map(|stats| stats.history_size_bytes),
                "executionCount": numbers.len(),
                "executions": executions,
            }))
        };
        all.await.map_err(|error| self.unanswered(&error))
    }

    /// As much as tells whether there is anything new of an instance.
    pub(super) async fn pulse(&self, id: &str) -> Result<Value, Refusal> {
        let store = self.store().await?;
        let info = self.existing(&store, id).await?;
        let current = store.get_execution_info(id, info.current_execution_id).await;
        let current = current.map_err(|error| self.unanswered(&error))?;
        Ok(json!({
            "status": info.status,
            "execution": info.current_execution_id,
            "updatedAt": info.updated_at,
            "events": current.event_count,
        }))
    }

    /// What happened in an execution, or what did after the event of a number.
    pub(super) async fn history(&self, id: &str) -> Result<Value, Refusal> {
        let store = self.store().await?;
        let info = self.existing(&store, id).await?;
        let run = self.place.number("run", info.current_execution_id)?;
        let after = self.place.number("after", 0_u64)?;
        let events = store.read_history_with_execution_id(id, run).await;
        let mut events = events.map_err(|error| self.unanswered(&error))?;
        events.retain(|event| event.event_id > after);
        Ok(json!({ "run": run, "current": info.current_execution_id, "events": events }))
    }

    pub(super) async fn tree(&self, id: &str) -> Result<Value, Refusal> {
        let all = self.store().await?.tree_summaries(id).await.map_err(|error| self.unanswered(&error))?;
        Ok(json!({ "instances": all }))
    }

    /// A change of one instance or several, which are always named.
    pub(super) async fn change_instances(&self, verb: &str) -> Result<Value, Refusal> {
        match verb {
            "raise" => self.raise(self.body()?).await,
            "cancel" => self.cancel(self.body()?).await,
            "delete" => self.delete(self.body()?).await,
            "prune" => self.prune(self.body()?).await,
            "retry" => self.retry(self.body()?).await,
            "terminate" => self.terminate(self.body()?).await,
            _ => Err(self.nothing_there()),
        }
    }

    async fn raise(&self, Raise { instance, event: name, data, queue }: Raise) -> Result<Value, Refusal> {
        let store = self.store_to_change().await?;
        self.listening(&store, &instance).await?;
        let item = match queue {
            true => WorkItem::QueueMessage { instance, name, data },
            false => WorkItem::ExternalRaised { instance, name, data },
        };
        store.enqueue_for_orchestrator(item, None).await.map_err(|error| self.unanswered(&error))?;
        Ok(json!({ "done": 1, "failed": [] }))
    }

    async fn cancel(&self, Cancel { instances, reason }: Cancel) -> Result<Value, Refusal> {
        let store = self.store_to_change().await?;
        let (mut done, mut failed) = (0, Vec::new());
        for instance in instances {
            let cancelled = async {
                self.listening(&store, &instance).await?;
                let item = WorkItem::CancelInstance { instance: instance.clone(), reason: reason.clone() };
                store.enqueue_for_orchestrator(item, None).await.map_err(|error| self.unanswered(&error))
            };
            match cancelled.await {
                Ok(()) => done += 1,
                Err(refusal) => failed.push(json!({ "id": instance, "message": refusal.message() })),
            }
        }
        Ok(json!({ "done": done, "failed": failed }))
    }

    /// Deletes each with all that it has started.
    async fn delete(&self, Delete { instances, force }: Delete) -> Result<Value, Refusal> {
        let store = self.store_to_change().await?;
        let (mut done, mut failed) = (0, Vec::new());
        for instance in instances {
            match self.delete_tree(&store, &instance, force).await {
                Ok(count) => done += count,
                Err(refusal) => failed.push(json!({ "id": instance, "message": refusal.message() })),
            }
        }
        Ok(json!({ "done": done, "failed": failed }))
    }

    async fn delete_tree(&self, store: &CosmosProvider, id: &str, force: bool) -> Result<u64, Refusal> {
        let all = store.tree_summaries(id).await.map_err(|error| self.unanswered(&error))?;
        let Some(root) = all.first() else { return Err(no_such(id)) };
        if let Some(parent) = &root.parent {
            return Err(Refusal::bad(format!(
                "{id} was started by {parent}, which may wait for it (delete that)"
            )));
        }
        if let Some(running) = all.iter().find(|found| found.status == "Running").filter(|_| !force) {
            return Err(Refusal::bad(format!("{} still runs (cancel it first)", running.instance)));
        }
        let ids: Vec<String> = all.into_iter().map(|found| found.instance).collect();
        let gone =
            store.delete_instances_atomic(&ids, force).await.map_err(|error| self.unanswered(&error))?;
        Ok(gone.instances_deleted)
    }

    async fn prune(&self, Prune { instance, keep_last }: Prune) -> Result<Value, Refusal> {
        let store = self.store_to_change().await?;
        let options = PruneOptions { keep_last, completed_before: None };
        let pruned = match &instance {
            Some(instance) => store.prune_executions(instance, options).await,
            None => store.prune_executions_bulk(InstanceFilter::default(), options).await,
        };
        let pruned = pruned.map_err(|error| self.unanswered(&error))?;
        Ok(json!({
            "instances": pruned.instances_processed,
            "executions": pruned.executions_deleted,
            "events": pruned.events_deleted,
        }))
    }

    async fn retry(&self, Retry { instance, name }: Retry) -> Result<Value, Refusal> {
        let store = self.store_to_change().await?;
        store.retry_dead(&instance, &name).await.map_err(|error| self.unanswered(&error))?;
        Ok(json!({ "instance": instance, "as": name }))
    }

    async fn terminate(&self, One { instance }: One) -> Result<Value, Refusal> {
        let store = self.store_to_change().await?;
        let gone = store.terminate_dead(&instance).await.map_err(|error| self.unanswered(&error))?;
        Ok(json!({ "gone": gone }))
    }

    async fn existing(&self, store: &CosmosProvider, id: &str) -> Result<InstanceInfo, Refusal> {
        let error = match store.get_instance_info(id).await {
            Ok(info) => return Ok(info),
            Err(error) => error,
        };
        match store.list_executions(id).await {
            Ok(executions) if executions.is_empty() => Err(no_such(id)),
            Ok(_) | Err(_) => Err(self.unanswered(&error)),
        }
    }

    /// An instance that can still hear something.
    async fn listening(&self, store: &CosmosProvider, id: &str) -> Result<(), Refusal> {
        let info = self.existing(store, id).await?;
        if info.status == "Completed" || info.status == "Failed" {
            let message = format!("{id} has ended ({}): it hears nothing any more", info.status);
            return Err(Refusal::new(StatusCode::CONFLICT, "request", message));
        }
        Ok(())
    }
}

fn no_such(id: &str) -> Refusal {
    Refusal::not_found(format!("there is no instance {id:?} here that has had a turn"))
}

fn execution(execution: &ExecutionInfo) -> Value {
    json!({
        "execution": execution.execution_id,
        "status": execution.status,
        "output": execution.output,
        "startedAt": execution.started_at,
        "completedAt": execution.completed_at,
        "events": execution.event_count,
    })
}
