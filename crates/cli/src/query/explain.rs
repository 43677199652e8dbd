//! `cosmonaut query --explain`: what the client says about a query, for people and as JSON.

use std::fmt::Write as _;

use cosmonaut::model::{DistinctType, SortOrder};
use cosmonaut::{FeedRange, Index, PartitionExplanation, QueryExplanation};
use cosmonaut_explorer::explanation;
use serde_json::json;

use super::output::Format;
use crate::cell::{cell, whole};
use crate::screen;
use crate::served::regions;
use crate::table::fitted;

/// An explanation in the form that is asked for.
pub(crate) fn shown(explained: &QueryExplanation, format: Option<Format>) -> String {
    match format {
        Some(Format::Json) => format!("{:#}\n", explanation(explained)),
        Some(Format::Jsonl) => format!("{}\n", explanation(explained)),
        None | Some(Format::Table | Format::Vertical | Format::Csv) => text(explained),
    }
}

fn text(explained: &QueryExplanation) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: &str| {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{name:10}  {}", whole(value));
    };
    match &explained.not_understood {
        None => line("plan", "made by this client, without a request"),
        Some(problem) => {
            let first = problem.lines().next().unwrap_or_default();
            line("plan", &format!("made by the service, because this client cannot: {first}"));
        }
    }
    line("sent", &explained.sent);
    for (name, value) in steps(explained) {
        line(name, &value);
    }
    let merged = if explained.is_merged {
        "of all partitions, here"
    } else {
        "none: rows come as partitions give them"
    };
    line("merging", merged);
    let asked = explained.partitions.len();
    line("partitions", &format!("{asked} of {}", asked + explained.ruled_out));
    text + "\n" + &partitions(&explained.partitions) + "\n" + &indexes(explained)
}

/// What the plan does with rows, in the order in which it does.
fn steps(explained: &QueryExplanation) -> Vec<(&'static str, String)> {
    let plan = &explained.plan;
    let mut steps = Vec::new();
    if !plan.order_by.is_empty() {
        let key = |(expression, order): (&String, &SortOrder)| match order {
            SortOrder::Ascending => format!("{expression} ASC"),
            SortOrder::Descending => format!("{expression} DESC"),
        };
        let keys: Vec<_> = plan.order_by_expressions.iter().zip(&plan.order_by).map(key).collect();
        steps.push(("order by", keys.join(", ")));
    }
    if !plan.group_by_expressions.is_empty() {
        steps.push(("group by", plan.group_by_expressions.join(", ")));
    }
    let grouped = plan.group_by_alias_to_aggregate_type.values().flatten();
    let aggregates: Vec<_> = plan.aggregates.iter().chain(grouped).map(|kind| format!("{kind:?}")).collect();
    if !aggregates.is_empty() {
        steps.push(("aggregates", aggregates.join(", ")));
    }
    match plan.distinct_type {
        DistinctType::None => {}
        DistinctType::Ordered => steps.push(("distinct", "equal rows come one after the other".to_owned())),
        DistinctType::Unordered => steps.push(("distinct", "every row given is remembered".to_owned())),
    }
    if plan.d_count_info.is_some() {
        steps.push(("distinct", "counted only".to_owned()));
    }
    for (name, number) in [("top", plan.top), ("offset", plan.offset), ("limit", plan.limit)] {
        if let Some(number) = number {
            steps.push((name, number.to_string()));
        }
    }
    steps
}

fn partitions(partitions: &[PartitionExplanation]) -> String {
    let row = |partition: &PartitionExplanation| {
        let metrics = partition.metrics.as_ref();
        let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        vec![
            or_dash(partition.id.clone()),
            format!("{}{}", partition.rows, if partition.has_more { "+" } else { "" }),
            format!("{:.2}", partition.request_charge),
            millis(partition.diagnostics.elapsed()),
            or_dash(metrics.map(|metrics| millis(metrics.total_time))),
            or_dash(metrics.map(|metrics| metrics.retrieved_documents.to_string())),
            or_dash(metrics.map(|metrics| format!("{:.0}%", metrics.index_hit_ratio * 100.0))),
            regions(&partition.diagnostics).last().unwrap_or("-").to_owned(),
            keys(&partition.range),
        ]
    };
    let header =
        ["PARTITION", "ROWS", "RU", "TIME", "IN SERVICE", "DOCS READ", "INDEX HITS", "REGION", "HASHED KEYS"];
    let mut text = fitted(&header, partitions.iter().map(row), screen::output_width());
    if partitions.iter().any(|partition| partition.has_more) {
        text += "(+ there are more: this is the first page of each partition)\n";
    }
    text
}

/// Where a range begins and ends, as far as that tells it from others.
fn keys(range: &FeedRange) -> String {
    let ends = json!(range);
    let end = |name: &str| cell(ends[name].as_str().unwrap_or_default(), 9);
    format!("{}..{}", end("min"), end("max"))
}

fn indexes(explained: &QueryExplanation) -> String {
    let Some(indexes) = explained.indexes() else {
        return "indexes     the service does not say\n".to_owned();
    };
    let name = |index: &Index| match (&*index.impact, index.paths.len()) {
        ("", 1) => index.paths.join(", "),
        ("", _) => format!("({})", index.paths.join(", ")),
        (impact, 1) => format!("{} (impact: {})", index.paths.join(", "), impact.to_lowercase()),
        (impact, _) => format!("({}) (impact: {})", index.paths.join(", "), impact.to_lowercase()),
    };
    let list = |indexes: &[Index]| match indexes {
        [] => "none".to_owned(),
        indexes => indexes.iter().map(name).collect::<Vec<_>>().join("\n            "),
    };
    let mut text = format!("indexes     {}\n", list(&indexes.used));
    if !indexes.potential.is_empty() {
        text += &format!("would help  {}\n", list(&indexes.potential));
    }
    text
}

fn millis(time: std::time::Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1000.0)
}
