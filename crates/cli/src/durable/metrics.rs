//! `cosmonaut durable metrics`

use duroxide::providers::ProviderAdmin;
use serde_json::json;

use super::Answer;
use super::connect::{Store, failed};
use crate::failure::Failure;

pub(super) async fn run(store: &Store) -> Result<Answer, Failure> {
    let counts = store.provider.get_system_metrics().await.map_err(|error| failed(&error))?;
    let queues = store.provider.get_queue_depths().await.map_err(|error| failed(&error))?;
    let other = counts
        .total_instances
        .saturating_sub(counts.running_instances + counts.completed_instances + counts.failed_instances);
    let rows = [
        ("instances", counts.total_instances),
        ("  running", counts.running_instances),
        ("  completed", counts.completed_instances),
        ("  failed", counts.failed_instances),
        ("  going on as new", other),
        ("executions", counts.total_executions),
        ("events", counts.total_events),
        ("messages waiting", queues.orchestrator_queue as u64),
        ("activities waiting", queues.worker_queue as u64),
    ];
    let text = rows.iter().map(|(name, number)| format!("{name:18}  {number}\n")).collect();
    let json = json!({
        "instances": {
            "total": counts.total_instances,
            "running": counts.running_instances,
            "completed": counts.completed_instances,
            "failed": counts.failed_instances,
            "continuedAsNew": other,
        },
        "executions": counts.total_executions,
        "events": counts.total_events,
        "queues": { "messages": queues.orchestrator_queue, "activities": queues.worker_queue },
    });
    Ok(Answer { text, json })
}
