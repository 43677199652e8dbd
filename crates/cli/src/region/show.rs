//! The emulator's answers for people: a sentence where something was done, a table where something is listed.

use serde_json::Value;

use super::{Command, PartitionCommand};
use crate::table::fitted;

/// `screen` is how wide the terminal is, if it goes to one.
pub(super) fn text(command: &Command, answer: &Value, screen: Option<usize>) -> String {
    match command {
        Command::List
        | Command::Down { .. }
        | Command::Up { .. }
        | Command::Slow { .. }
        | Command::ForbidWrites { .. }
        | Command::AllowWrites { .. }
        | Command::Add { .. }
        | Command::Remove { .. } => regions(answer, screen),
        Command::Failover { region, .. } => moved(&format!("writes moved to {region}"), answer),
        Command::Lag { .. } | Command::Pause(_) | Command::Resume(_) | Command::Links => {
            links(answer, screen)
        }
        Command::Split { partition, .. } => {
            let halves: Vec<_> = items(answer, "partitions").map(cell).collect();
            format!("partition {partition} is now {}\n", halves.join(" and "))
        }
        Command::Partition { command } => match command {
            PartitionCommand::List { .. } => partitions(answer, screen),
            PartitionCommand::Failover { place, .. } => {
                moved(&format!("writes of partition {} moved to {}", place.partition, place.region), answer)
            }
            PartitionCommand::Fail { .. } | PartitionCommand::Slow { .. } => added(answer),
        },
        Command::Fault(_) => added(answer),
        Command::Faults | Command::Clear { .. } => faults(answer, screen),
    }
}

fn moved(what: &str, answer: &Value) -> String {
    match answer["lost"].as_u64() {
        None | Some(0) => format!("{what}; nothing is lost\n"),
        Some(1) => format!("{what}; 1 commit is lost\n"),
        Some(lost) => format!("{what}; {lost} commits are lost\n"),
    }
}

fn added(answer: &Value) -> String {
    let id = cell(&answer["id"]);
    format!("fault {id} is in force (lift it with `cosmonaut region clear {id}`)\n")
}

fn regions(answer: &Value, screen: Option<usize>) -> String {
    let row = |region: &Value| {
        let writes = match (&region["takesWrites"], &region["writesForbidden"]) {
            (_, Value::Bool(true)) => "forbidden",
            (Value::Bool(true), _) => "yes",
            _ => "no",
        };
        vec![
            cell(&region["name"]),
            cell(&region["url"]),
            cell(&region["state"]),
            writes.to_owned(),
            cell(&region["requests"]),
            cell(&region["behind"]),
        ]
    };
    fitted(
        &["REGION", "ADDRESS", "STATE", "WRITES", "REQUESTS", "BEHIND"],
        items(answer, "regions").map(row),
        screen,
    )
}

fn links(answer: &Value, screen: Option<usize>) -> String {
    let row = |link: &Value| {
        let paused = if link["paused"] == true { "paused" } else { "" };
        vec![cell(&link["from"]), cell(&link["to"]), cell(&link["lag"]), paused.to_owned()]
    };
    fitted(&["FROM", "TO", "LAG", ""], items(answer, "links").map(row), screen)
}

fn partitions(answer: &Value, screen: Option<usize>) -> String {
    let row = |partition: &Value| {
        let lsn = |lsn: &Value| format!("{}: {}", cell(&lsn["region"]), cell(&lsn["lsn"]));
        let lsns: Vec<_> = items(partition, "lsns").map(lsn).collect();
        let keys = format!("{}..{}", cell(&partition["min"]), cell(&partition["max"]));
        let writer = partition["writer"].as_str().unwrap_or("every region").to_owned();
        vec![cell(&partition["id"]), keys, writer, lsns.join(", ")]
    };
    fitted(&["PARTITION", "KEYS", "WRITES", "LSN"], items(answer, "partitions").map(row), screen)
}

fn faults(answer: &Value, screen: Option<usize>) -> String {
    let row = |fault: &Value| {
        let or_all =
            |member: &str| if fault[member].is_null() { "all".to_owned() } else { cell(&fault[member]) };
        vec![
            cell(&fault["id"]),
            effect(fault),
            or_all("region"),
            or_all("container"),
            or_all("partition"),
            cell(&fault["operations"]),
            cell(&fault["hits"]),
            cell(&fault["left"]),
        ]
    };
    let header = ["FAULT", "EFFECT", "REGION", "CONTAINER", "PARTITION", "OPERATIONS", "HITS", "LEFT"];
    let mut text = if items(answer, "faults").next().is_some() {
        fitted(&header, items(answer, "faults").map(row), screen)
    } else {
        "no faults are in force\n".to_owned()
    };
    if items(answer, "links").next().is_some() {
        text += &format!("\n{}", links(answer, screen));
    }
    text
}

/// `status 410/1007`, `slow 50ms`, and how likely it is.
fn effect(fault: &Value) -> String {
    let mut text = cell(&fault["effect"]);
    if !fault["status"].is_null() {
        text += &format!(" {}", cell(&fault["status"]));
        if fault["subStatus"] != 0 {
            text += &format!("/{}", cell(&fault["subStatus"]));
        }
    }
    for member in ["delay", "retryAfter"] {
        if !fault[member].is_null() {
            text += &format!(" {}", cell(&fault[member]));
        }
    }
    if !fault["probability"].is_null() {
        text += &format!(" (probability {})", cell(&fault["probability"]));
    }
    text
}

fn items<'v>(answer: &'v Value, member: &str) -> impl Iterator<Item = &'v Value> {
    answer[member].as_array().into_iter().flatten()
}

/// A value as it stands in a table.
fn cell(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_listed_is_a_table() {
        let answer = json!({"faults": [
            {"id": 12, "effect": "status", "status": 410, "subStatus": 1007, "operations": "write", "region": "East US", "hits": 3},
            {"id": 13, "effect": "slow", "delay": "50ms", "operations": "all", "probability": 0.5, "count": 2, "hits": 1, "left": 1},
        ], "links": [{"from": "a", "to": "b", "lag": "none", "paused": true}]});
        assert_eq!(
            text(&Command::Faults, &answer, None),
            "\
FAULT  EFFECT                       REGION   CONTAINER  PARTITION  OPERATIONS  HITS  LEFT
12     status 410/1007              East US  all        all        write       3     -
13     slow 50ms (probability 0.5)  all      all        all        all         1     1

FROM  TO  LAG
a     b   none  paused
"
        );
        assert_eq!(text(&Command::Faults, &json!({"faults": []}), None), "no faults are in force\n");
    }

    #[test]
    fn what_is_lost_is_said() {
        let command = Command::Failover { region: "West US".to_owned(), forced: true };
        for (lost, part) in [(0, "nothing is lost"), (1, "1 commit is lost"), (7, "7 commits are lost")] {
            assert!(text(&command, &json!({ "lost": lost }), None).contains(part));
        }
    }
}
