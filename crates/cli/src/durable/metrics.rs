//! `cosmonaut durable metrics`

use duroxide::providers::ProviderAdmin;
use serde_json::json;

use super::Answer;
use super::connect::{Store, failed};
use crate::failure::Failure;
use crate::time::span;

pub(super) async fn run(store: &Store) -> Result<Answer, Failure> {
    let counts = store.provider.get_system_metrics().await.map_err(|error| failed(&error))?;
    let backlog = store.provider.backlog().await.map_err(|error| failed(&error))?;
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
        ("timers", backlog.timers),
    ];
    let mut text: String = rows.iter().map(|(name, number)| format!("{name:18}  {number}\n")).collect();
    for (name, number, age) in [
        ("messages waiting", backlog.messages, backlog.message_age),
        ("activities waiting", backlog.activities, backlog.activity_age),
    ] {
        let since = age.map_or_else(String::new, |age| format!(" (the oldest for {})", span(age)));
        text += &format!("{name:18}  {number}{since}\n");
    }
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
        "queues": {
            "messages": backlog.messages,
            "oldestMessageMs": backlog.message_age.map(|age| age.as_millis() as u64),
            "activities": backlog.activities,
            "oldestActivityMs": backlog.activity_age.map(|age| age.as_millis() as u64),
            "timers": backlog.timers,
        },
    });
    Ok(Answer { text, json })
}
