//! `cosmonaut durable history`: what happened to an instance, as a timeline.

use duroxide::Event;
use duroxide::providers::{InstanceInfo, ProviderAdmin};
use serde_json::json;

use super::Answer;
use super::connect::{Store, failed};
use super::event::{Data, question, told};
use crate::cell::{cell, whole};
use crate::failure::Failure;
use crate::screen;
use crate::table::fitted;
use crate::time::utc;

/// How much of a name and of data is shown, unless all is asked for.
const NAME: usize = 40;
const DATA: usize = 60;

#[derive(clap::Args)]
pub(super) struct Arguments {
    instance: String,

    /// Which execution [default: the current one]
    #[arg(long, value_name = "NUMBER")]
    execution: Option<u64>,

    /// Do not cut inputs and outputs
    #[arg(long)]
    full: bool,
}

pub(super) async fn run(store: &Store, arguments: &Arguments) -> Result<Answer, Failure> {
    let info = store.existing(&arguments.instance).await?;
    let execution = arguments.execution.unwrap_or(info.current_execution_id);
    let executions =
        store.provider.list_executions(&arguments.instance).await.map_err(|error| failed(&error))?;
    if !executions.contains(&execution) {
        let known: Vec<_> = executions.iter().map(u64::to_string).collect();
        return Err(Failure::Work(format!(
            "{} has no execution {execution} (there are: {})",
            arguments.instance,
            known.join(", ")
        )));
    }
    let history = store.provider.read_history_with_execution_id(&arguments.instance, execution).await;
    let history = history.map_err(|error| failed(&error))?;
    let text = heading(&info, execution, executions.len(), &history)
        + &timeline(&history, arguments.full, screen::output_width());
    Ok(Answer { text, json: json!(history) })
}

fn heading(info: &InstanceInfo, execution: u64, of: usize, history: &[Event]) -> String {
    let began =
        history.first().map_or_else(String::new, |first| format!(", from {}", utc(first.timestamp_ms)));
    format!(
        "{} runs {} {}: execution {execution} of {of}{began}\n\n",
        whole(&info.instance_id),
        whole(&info.orchestration_name),
        whole(&info.orchestration_version),
    )
}

/// A line for each event: when after the first, what, and how long an answer took.
fn timeline(history: &[Event], full: bool, screen: Option<usize>) -> String {
    let start = history.first().map_or(0, |first| first.timestamp_ms);
    let cut = |text: &str, most| if full { whole(text) } else { cell(text, most) };
    let row = |event: &Event| {
        let told = told(event, history);
        let data = match &told.data {
            Data::None => String::new(),
            Data::Text(text) => cut(text, DATA),
            Data::Words(words) => cut(words, DATA),
        };
        let took = question(event, history)
            .map_or_else(String::new, |asked| seconds(event.timestamp_ms.saturating_sub(asked.timestamp_ms)));
        vec![
            event.event_id.to_string(),
            format!("+{}", seconds(event.timestamp_ms.saturating_sub(start))),
            told.what.to_owned(),
            cut(told.name, NAME),
            took,
            data,
        ]
    };
    fitted(&["#", "TIME", "EVENT", "NAME", "TOOK", "DATA"], history.iter().map(row), screen)
}

fn seconds(millis: u64) -> String {
    format!("{}.{:03} s", millis / 1000, millis % 1000)
}

#[cfg(test)]
mod tests {
    use duroxide::EventKind;

    use super::*;

    #[test]
    fn a_timeline_says_when_what_and_how_long() {
        let at = |id, source, time, kind| Event {
            timestamp_ms: time,
            ..Event::with_event_id(id, "i", 1, source, kind)
        };
        let scheduled = EventKind::ActivityScheduled {
            name: "Reserve".into(),
            input: "x".repeat(100),
            session_id: None,
            tag: None,
        };
        let history = [
            at(2, None, 1000, scheduled),
            at(3, None, 1001, EventKind::TimerCreated { fire_at_ms: 6001 }),
            at(4, Some(2), 3500, EventKind::ActivityCompleted { result: "a\nb".into() }),
        ];
        let expected = format!(
            "\
#  TIME      EVENT          NAME     TOOK     DATA
2  +0.000 s  activity       Reserve           {}…
3  +0.001 s  timer                            for 5.0 s
4  +2.500 s  activity done  Reserve  2.500 s  a\\nb
",
            "x".repeat(DATA - 1)
        );
        assert_eq!(timeline(&history, false, None), expected);
        assert!(timeline(&history, true, None).contains(&"x".repeat(100)));
    }
}
