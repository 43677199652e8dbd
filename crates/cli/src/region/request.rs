//! The request to the management API that a command stands for.

use serde_json::{Map, Value, json};

use super::{Between, Command, Fault, PartitionCommand, Place};

/// A request that is not sent yet.
#[derive(Debug, PartialEq)]
pub(super) struct Request {
    pub(super) method: &'static str,
    pub(super) path: String,
    /// JSON, or nothing.
    pub(super) body: Value,
}

pub(super) fn of(command: &Command) -> Request {
    match command {
        Command::List => get("/regions"),
        Command::Down { region, mode } => change(region, "down", json!({ "mode": mode })),
        Command::Up { region } => change(region, "up", Value::Null),
        Command::Slow { region, delay } => change(region, "slow", json!({ "delay": delay })),
        Command::Failover { region, forced } => post("/failover", json!({ "to": region, "forced": forced })),
        Command::ForbidWrites { region } => change(region, "forbid-writes", Value::Null),
        Command::AllowWrites { region } => change(region, "allow-writes", Value::Null),
        Command::Add { region } => post("/regions", json!({ "name": region })),
        Command::Remove { region } => delete(format!("/regions/{}", escaped(region))),
        Command::Lag { lag, between } => links(between, "lag", json!(lag)),
        Command::Pause(between) => links(between, "paused", json!(true)),
        Command::Resume(between) => links(between, "paused", json!(false)),
        Command::Links => get("/links"),
        Command::Split { container, partition } => {
            post("/partitions/split", json!({ "container": container, "partition": partition }))
        }
        Command::Partition { command } => of_partition(command),
        Command::Fault(fault) => post("/faults", fault_body(fault)),
        Command::Faults => get("/faults"),
        Command::Clear { fault: None } => delete("/faults".to_owned()),
        Command::Clear { fault: Some(id) } => delete(format!("/faults/{id}")),
    }
}

fn of_partition(command: &PartitionCommand) -> Request {
    match command {
        PartitionCommand::List { container } => {
            let names: Vec<_> = container.split('/').map(escaped).collect();
            get(&format!("/partitions/{}", names.join("/")))
        }
        PartitionCommand::Failover { place: Place { container, partition, region }, forced } => post(
            "/partitions/failover",
            json!({ "container": container, "partition": partition, "to": region, "forced": forced }),
        ),
        PartitionCommand::Fail { place, status, sub_status } => {
            partition_fault(place, json!({ "effect": "status", "status": status, "subStatus": sub_status }))
        }
        PartitionCommand::Slow { place, delay } => {
            partition_fault(place, json!({ "effect": "slow", "delay": delay }))
        }
    }
}

fn partition_fault(place: &Place, mut fault: Value) -> Request {
    fault["container"] = json!(place.container);
    fault["partition"] = json!(place.partition);
    fault["region"] = json!(place.region);
    post("/faults", fault)
}

fn fault_body(fault: &Fault) -> Value {
    let members = [
        ("effect", json!(fault.effect)),
        ("operations", json!(fault.operations)),
        ("region", json!(fault.region)),
        ("container", json!(fault.container)),
        ("partition", json!(fault.partition)),
        ("status", json!(fault.status)),
        ("subStatus", json!(fault.sub_status)),
        ("delay", json!(fault.delay)),
        ("retryAfter", json!(fault.retry_after)),
        ("probability", json!(fault.probability)),
        ("count", json!(fault.count)),
    ];
    without_nulls(members)
}

fn links(between: &Between, member: &str, value: Value) -> Request {
    let body = without_nulls([("from", json!(between.from)), ("to", json!(between.to)), (member, value)]);
    Request { method: "PUT", path: "/links".to_owned(), body }
}

fn without_nulls<const N: usize>(members: [(&str, Value); N]) -> Value {
    let named = members.into_iter().filter(|(_, value)| !value.is_null());
    Value::Object(named.map(|(name, value)| (name.to_owned(), value)).collect::<Map<_, _>>())
}

fn get(path: &str) -> Request {
    Request { method: "GET", path: path.to_owned(), body: Value::Null }
}

fn post(path: &str, body: Value) -> Request {
    Request { method: "POST", path: path.to_owned(), body }
}

fn delete(path: String) -> Request {
    Request { method: "DELETE", path, body: Value::Null }
}

fn change(region: &str, change: &str, body: Value) -> Request {
    post(&format!("/regions/{}/{change}", escaped(region)), body)
}

/// A name as a part of a path.
fn escaped(name: &str) -> String {
    let escape = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    name.bytes().map(escape).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_escaped_in_paths() {
        let region = || "Süd/1 %".to_owned();
        assert_eq!(of(&Command::Up { region: region() }).path, "/regions/S%C3%BCd%2F1%20%25/up");
        assert_eq!(of(&Command::Remove { region: region() }).path, "/regions/S%C3%BCd%2F1%20%25");
        let list = PartitionCommand::List { container: "my db/items".to_owned() };
        assert_eq!(of(&Command::Partition { command: list }).path, "/partitions/my%20db/items");
    }

    #[test]
    fn only_what_was_said_is_sent() {
        let between = Between { from: None, to: Some("West US".to_owned()) };
        assert_eq!(of(&Command::Pause(between)).body, json!({ "to": "West US", "paused": true }));
    }
}
