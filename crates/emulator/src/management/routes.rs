//! Which function of the control a request asks for.

use cosmonaut_wire::CosmosStatus;
use cosmonaut_wire::model::from_json;
use http::Method;
use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::RawValue;

use super::bodies::{
    self, AddRegion, FailoverBody, FaultList, LinkBody, Lost, Mode, PartitionFailover, PartitionName,
    RegionList, SlowBody,
};
use super::{Done, Management};
use crate::Failure;
use crate::faults::{FaultBody, FaultId, WrittenFault};

/// Every request there is: the method, the path, what it does, and a body to start from.
const ROUTES: [(&str, &str, &str, &str); 20] = [
    ("GET", "/", "what can be asked here", ""),
    ("GET", "/ready", "answers when the account does", ""),
    ("GET", "/regions", "the regions, in the order of failover priority, and how they do", ""),
    ("POST", "/regions", "add a region", r#"{"name":"North Europe"}"#),
    ("DELETE", "/regions/{name}", "remove a region", ""),
    (
        "POST",
        "/regions/{name}/down",
        "take a region down: refuse, hang or unavailable",
        r#"{"mode":"refuse"}"#,
    ),
    ("POST", "/regions/{name}/up", "bring a region back that is down or slow", ""),
    ("POST", "/regions/{name}/slow", "make a region slow", r#"{"delay":"p50=20ms,p99=400ms"}"#),
    ("POST", "/regions/{name}/forbid-writes", "refuse writes with 403/3", ""),
    ("POST", "/regions/{name}/allow-writes", "take that back", ""),
    ("POST", "/failover", "move the account's writes", r#"{"to":"West US","forced":false}"#),
    ("GET", "/partitions/{database}/{container}", "the partitions of a container", ""),
    (
        "POST",
        "/partitions/failover",
        "move the writes of one partition",
        r#"{"container":"d/c","partition":"0","to":"West US","forced":false}"#,
    ),
    ("POST", "/partitions/split", "split a partition in two", r#"{"container":"d/c","partition":"0"}"#),
    ("GET", "/links", "how late replication is from region to region", ""),
    (
        "PUT",
        "/links",
        "change that, for all regions or from or to one",
        r#"{"from":"East US","to":"West US","lag":"10ms..80ms","paused":false}"#,
    ),
    ("GET", "/faults", "the faults in force and how often they struck, and links that lag", ""),
    (
        "POST",
        "/faults",
        "add a fault: refuse, hang, status, slow, drop-response, duplicate or throttle",
        r#"{"region":"East US","container":"d/c","partition":"0","operations":"write","effect":"status","status":503,"subStatus":0,"probability":0.5,"count":10}"#,
    ),
    ("DELETE", "/faults", "lift every fault, and resume paused links", ""),
    ("DELETE", "/faults/{id}", "lift a fault", ""),
];

impl Management {
    pub(super) async fn dispatch(&self, method: &Method, path: &str, body: &[u8]) -> Result<Done, Failure> {
        let segments = segments(path)?;
        let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
        match (method.as_str(), segments.as_slice()) {
            ("GET", []) => Ok(overview()),
            ("GET", ["ready"]) => Ok(Done::ok(&json!({ "ready": true }))),
            ("GET", ["regions"]) => Ok(Done::ok(&self.regions())),
            ("POST", ["regions"]) => self.add_region(read("region", body)?).await,
            ("DELETE", ["regions", name]) => {
                self.control.remove_region(name).await?;
                Ok(Done::ok(&self.regions()))
            }
            ("POST", ["regions", name, change]) => self.change_region(name, change, body).await,
            ("POST", ["failover"]) => self.move_writes(&read("failover", body)?),
            ("POST", ["partitions", "failover"]) => self.move_partition(&read("partition failover", body)?),
            ("POST", ["partitions", "split"]) => self.split(&read("split", body)?).await,
            ("GET", ["partitions", database, container]) => {
                self.partitions(&format!("{database}/{container}"))
            }
            ("GET", ["links"]) => Ok(Done::ok(&bodies::links(self.control.links()))),
            ("PUT", ["links"]) => self.change_links(&read("links", body)?),
            ("GET", ["faults"]) => Ok(Done::ok(&FaultList::of(&self.control))),
            ("POST", ["faults"]) => self.add_fault(read("fault", body)?).await,
            ("DELETE", ["faults"]) => {
                self.control.clear().await?;
                Ok(Done::ok(&FaultList::of(&self.control)))
            }
            ("DELETE", ["faults", id]) => {
                self.control.remove_fault(fault_id(id)?).await?;
                Ok(Done::ok(&FaultList::of(&self.control)))
            }
            _ => Err(nothing_there(method, path, &segments)),
        }
    }

    fn regions(&self) -> RegionList {
        RegionList::of(&self.control)
    }

    async fn add_region(&self, body: AddRegion) -> Result<Done, Failure> {
        self.control.add_region(&body.name).await?;
        Ok(Done::made(&self.regions()))
    }

    async fn change_region(&self, name: &str, change: &str, body: &[u8]) -> Result<Done, Failure> {
        let control = &self.control;
        match change {
            "down" => {
                let Mode { mode } = read("outage", body)?;
                control.take_down(name, mode.into()).await?;
            }
            "up" => {
                nothing(body)?;
                control.bring_back(name).await?;
            }
            "slow" => {
                let SlowBody { delay } = read("delay", body)?;
                let delay = delay.parse().map_err(|error| Failure::bad_request(format!("delay: {error}")))?;
                control.slow_down(name, delay).await?;
            }
            "forbid-writes" => {
                nothing(body)?;
                control.forbid_writes(name).await?;
            }
            "allow-writes" => {
                nothing(body)?;
                control.allow_writes(name).await?;
            }
            other => {
                return Err(Failure::not_found(format!(
                    "a region cannot be told to {other:?} (try down, up, slow, forbid-writes or allow-writes)"
                )));
            }
        }
        Ok(Done::ok(&self.regions()))
    }

    fn move_writes(&self, body: &FailoverBody) -> Result<Done, Failure> {
        let moved = self.control.move_writes(&body.to, body.how())?;
        Ok(Done::ok(&Lost { lost: moved.lost }))
    }

    fn move_partition(&self, body: &PartitionFailover) -> Result<Done, Failure> {
        let moved = self.control.move_partition(&body.container, &body.partition, &body.to, body.how())?;
        Ok(Done::ok(&Lost { lost: moved.lost }))
    }

    async fn split(&self, body: &PartitionName) -> Result<Done, Failure> {
        let halves = self.control.split(&body.container, &body.partition).await?;
        Ok(Done::ok(&json!({ "partitions": halves.map(|id| id.as_str().to_owned()) })))
    }

    fn partitions(&self, container: &str) -> Result<Done, Failure> {
        Ok(Done::ok(&bodies::partitions(&self.control, container)?))
    }

    fn change_links(&self, body: &LinkBody) -> Result<Done, Failure> {
        let (from, to) = (body.from.as_deref(), body.to.as_deref());
        if body.lag.is_none() && body.paused.is_none() {
            return Err(Failure::bad_request("say what to change: \"lag\", \"paused\" or both"));
        }
        if let Some(lag) = &body.lag {
            let lag = lag.parse().map_err(|error| Failure::bad_request(format!("lag: {error}")))?;
            self.control.set_lag(from, to, lag)?;
        }
        match body.paused {
            Some(true) => self.control.pause(from, to)?,
            Some(false) => self.control.resume(from, to)?,
            None => {}
        }
        Ok(Done::ok(&bodies::links(self.control.links())))
    }

    async fn add_fault(&self, body: FaultBody) -> Result<Done, Failure> {
        let id = self.control.add_fault(body.read()?).await?;
        let added = self.control.faults().into_iter().find(|active| active.id == id);
        // It may have been lifted again by somebody else.
        Ok(Done::made(&added.map(WrittenFault::from)))
    }
}

/// A row of [`ROUTES`], in the order in which it is read.
#[derive(Serialize)]
struct Row {
    method: &'static str,
    path: &'static str,
    what: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<&'static RawValue>,
}

#[derive(Serialize)]
struct Overview {
    requests: Vec<Row>,
}

fn overview() -> Done {
    let rows = ROUTES.into_iter().map(|(method, path, what, example)| {
        let body = serde_json::from_str(example).ok();
        Row { method, path, what, body }
    });
    Done::ok(&Overview { requests: rows.collect() })
}

/// 405 if the path is known with another method, else 404.
fn nothing_there(method: &Method, path: &str, segments: &[&str]) -> Failure {
    let methods: Vec<_> = ROUTES
        .iter()
        .filter(|(_, pattern, ..)| is_at(pattern, segments))
        .map(|(method, ..)| *method)
        .collect();
    if methods.is_empty() {
        return Failure::not_found(format!("there is nothing at {path} (GET / lists what there is)"));
    }
    Failure::new(
        CosmosStatus::METHOD_NOT_ALLOWED,
        format!("{method} does not apply to {path} (try {})", methods.join(" or ")),
    )
}

fn is_at(pattern: &str, segments: &[&str]) -> bool {
    let pattern: Vec<_> = pattern.split('/').filter(|part| !part.is_empty()).collect();
    let fits = |(part, segment): (&&str, &&str)| part.starts_with('{') || part == segment;
    pattern.len() == segments.len() && pattern.iter().zip(segments).all(fits)
}

/// A body read as a shape; none at all stands for one without members.
fn read<'b, T: Deserialize<'b>>(what: &'static str, body: &'b [u8]) -> Result<T, Failure> {
    let body = if body.trim_ascii().is_empty() { b"{}" } else { body };
    from_json(what, body)
        .map_err(|error| Failure::bad_request(format!("{error} (GET / shows an example of each body)")))
}

/// A body that has nothing to say.
fn nothing(body: &[u8]) -> Result<(), Failure> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Nothing {}
    read::<Nothing>("an empty body", body).map(|Nothing {}| ())
}

fn fault_id(text: &str) -> Result<FaultId, Failure> {
    let number = text.parse();
    number.map(FaultId).map_err(|_| Failure::bad_request(format!("{text:?} is not the number of a fault")))
}

/// The parts of a path, unescaped.
fn segments(path: &str) -> Result<Vec<String>, Failure> {
    path.split('/').filter(|part| !part.is_empty()).map(unescape).collect()
}

fn unescape(text: &str) -> Result<String, Failure> {
    let wrong =
        || Failure::bad_request(format!("{text:?} is not a percent-encoded name (try \"East%20US\")"));
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let digits =
            rest.get(..2).filter(|digits| digits.iter().all(u8::is_ascii_hexdigit)).ok_or_else(wrong)?;
        let digits = std::str::from_utf8(digits).map_err(|_| wrong())?;
        bytes.push(u8::from_str_radix(digits, 16).map_err(|_| wrong())?);
        rest = &rest[2..];
    }
    String::from_utf8(bytes).map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_paths_are_unescaped() {
        for (path, expected) in [
            ("/", vec![]),
            ("/regions/East%20US/down", vec!["regions", "East US", "down"]),
            ("//a/%2F%C3%BC/", vec!["a", "/ü"]),
        ] {
            assert_eq!(segments(path).unwrap(), expected, "{path}");
        }
        for path in ["/%", "/%2", "/%zz", "/%ff"] {
            assert!(segments(path).is_err(), "{path}");
        }
    }

    #[test]
    fn every_example_is_json() {
        for (_, path, _, example) in ROUTES {
            assert!(
                example.is_empty() || serde_json::from_str::<serde_json::Value>(example).is_ok(),
                "{path}"
            );
        }
    }
}
