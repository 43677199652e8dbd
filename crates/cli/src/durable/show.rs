//! `cosmonaut durable show`

use std::collections::BTreeMap;

use duroxide::SystemStats;
use duroxide::providers::{ExecutionInfo, InstanceInfo, Provider, ProviderAdmin};
use serde_json::{Value, json};

use super::Answer;
use super::connect::{Store, failed};
use super::event::{input, waits_for};
use crate::cell::{cell, whole};
use crate::failure::Failure;
use crate::screen;
use crate::table::{fitted, table};
use crate::time::{span, utc};

/// How many executions are shown: an instance that goes on as new for ever has any number.
const EXECUTIONS: usize = 10;
/// How much of a text is shown, unless all is asked for.
const TEXT: usize = 100;
/// How many things are named that an instance waits for.
const WAITS: usize = 10;

#[derive(clap::Args)]
pub(super) struct Arguments {
    instance: String,

    /// Do not cut output, status and values
    #[arg(long)]
    full: bool,
}

/// All that is known of an instance.
struct Known {
    info: InstanceInfo,
    custom_status: Option<String>,
    values: BTreeMap<String, String>,
    stats: Option<SystemStats>,
    /// What the current execution was started with.
    input: Option<String>,
    /// What has no answer yet: activities, timers, events, children.
    waits_for: Vec<String>,
    /// Why neither of them is known.
    unread: Option<String>,
    /// The last ones, the newest first.
    executions: Vec<ExecutionInfo>,
    /// How many there are.
    total: usize,
}

pub(super) async fn run(store: &Store, arguments: &Arguments) -> Result<Answer, Failure> {
    let known = Known::read(store, &arguments.instance).await?;
    Ok(Answer { text: known.text(arguments.full), json: known.json() })
}

impl Known {
    async fn read(store: &Store, instance: &str) -> Result<Self, Failure> {
        let info = store.existing(instance).await?;
        let provider = &store.provider;
        let all = async {
            let custom_status = provider.get_custom_status(instance, 0).await?.and_then(|(status, _)| status);
            let values = provider.get_kv_all_values(instance).await?.into_iter().collect();
            let stats = provider.get_instance_stats(instance).await?;
            let numbers = provider.list_executions(instance).await?;
            let mut executions = Vec::new();
            for number in numbers.iter().rev().take(EXECUTIONS) {
                executions.push(provider.get_execution_info(instance, *number).await?);
            }
            let execution = info.current_execution_id;
            // What an application has encoded is only for those who can decode it; the rest is shown all the same.
            let (history, unread) = match provider.read_history_with_execution_id(instance, execution).await {
                Ok(history) => (history, None),
                Err(error) => (Vec::new(), Some(error.to_string())),
            };
            let (input, waits_for) = (input(&history), waits_for(&history));
            let total = numbers.len();
            Ok(Self { info, custom_status, values, stats, input, waits_for, unread, executions, total })
        };
        all.await.map_err(|error| failed(&error))
    }

    fn text(&self, full: bool) -> String {
        let cut = |text: &str| if full { whole(text) } else { cell(text, TEXT) };
        let info = &self.info;
        let mut lines = vec![
            ("instance", whole(&info.instance_id)),
            ("orchestration", whole(&format!("{} {}", info.orchestration_name, info.orchestration_version))),
            ("status", whole(&info.status)),
            ("created", utc(info.created_at)),
            ("last turn", utc(info.updated_at)),
        ];
        lines.extend(info.parent_instance_id.iter().map(|parent| ("started by", whole(parent))));
        lines.extend(self.input.iter().map(|input| ("input", cut(input))));
        lines.extend(self.waits_for.iter().take(WAITS).map(|what| ("waits for", cut(what))));
        lines.extend(self.unread.iter().map(|why| ("input", format!("cannot be read: {}", cut(why)))));
        if self.waits_for.len() > WAITS {
            lines.push(("", format!("and {} more", self.waits_for.len() - WAITS)));
        }
        lines.extend(self.custom_status.iter().map(|status| ("custom status", cut(status))));
        lines.extend(info.output.iter().map(|output| ("output", cut(output))));
        if let Some(stats) = &self.stats {
            let SystemStats { history_event_count, history_size_bytes, queue_pending_count, .. } = stats;
            lines.push(("history", format!("{history_event_count} events, {history_size_bytes} bytes")));
            if *queue_pending_count > 0 {
                lines.push(("queue", format!("{queue_pending_count} messages from the execution before")));
            }
        }
        let mut text: String = lines.iter().map(|(name, value)| format!("{name:13}  {value}\n")).collect();
        text += &format!("\n{}", self.executions_table(full));
        if !self.values.is_empty() {
            let row = |(key, value): (&String, &String)| vec![cut(key), cut(value)];
            text += &format!("\n{}", table(&["KEY", "VALUE"], self.values.iter().map(row)));
        }
        text
    }

    fn executions_table(&self, full: bool) -> String {
        let row = |execution: &ExecutionInfo| {
            let took = execution.completed_at.map(|ended| ended.saturating_sub(execution.started_at));
            let output = execution.output.as_deref().unwrap_or_default();
            vec![
                execution.execution_id.to_string(),
                whole(&execution.status),
                utc(execution.started_at),
                took.map_or_else(|| "-".to_owned(), |took| span(std::time::Duration::from_millis(took))),
                execution.event_count.to_string(),
                if full { whole(output) } else { cell(output, TEXT / 2) },
            ]
        };
        let header = ["EXECUTION", "STATUS", "STARTED", "TOOK", "EVENTS", "OUTPUT"];
        let older = self.total - self.executions.len();
        let note = if older > 0 { format!("(and {older} older)\n") } else { String::new() };
        fitted(&header, self.executions.iter().map(row), screen::output_width()) + &note
    }

    fn json(&self) -> Value {
        let info = &self.info;
        let execution = |execution: &ExecutionInfo| {
            json!({
                "execution": execution.execution_id,
                "status": execution.status,
                "output": execution.output,
                "startedAt": execution.started_at,
                "completedAt": execution.completed_at,
                "events": execution.event_count,
            })
        };
        json!({
            "instance": info.instance_id,
            "orchestration": info.orchestration_name,
            "version": info.orchestration_version,
            "status": info.status,
            "execution": info.current_execution_id,
            "parent": info.parent_instance_id,
            "createdAt": info.created_at,
            "updatedAt": info.updated_at,
            "input": self.input,
            "waitsFor": self.waits_for,
            "output": info.output,
            "customStatus": self.custom_status,
            "values": self.values,
            "historyBytes": self.stats.as_ref().map(|stats| stats.history_size_bytes),
            "executionCount": self.total,
            "executions": self.executions.iter().map(execution).collect::<Vec<_>>(),
        })
    }
}
