//! What was found, for people and for programs.

use serde::Serialize;

use crate::cell::{whole, wrapped};
use crate::table::fitted;

/// Something that is not as it should be.
#[derive(Debug, Serialize)]
pub(super) struct Finding {
    pub(super) level: Level,
    /// What it is about, in one word.
    pub(super) kind: Kind,
    pub(super) what: String,
    pub(super) remedy: String,
}

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Level {
    /// An application would not work.
    Error,
    /// It would, but not as well as it could.
    Warning,
}

/// What a finding is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Kind {
    Name,
    Connection,
    Tls,
    Clock,
    Key,
    Account,
    Region,
    Throughput,
    Emulator,
}

/// A region of the account.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Region {
    pub(super) name: String,
    pub(super) endpoint: String,
    pub(super) takes_writes: bool,
    /// How long it takes to connect: the way there and back.
    pub(super) round_trip_ms: Option<f64>,
    /// Whether a proxy is on the way.
    pub(super) by_proxy: bool,
}

/// How a read went, as an application would see it.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Reads {
    pub(super) container: String,
    pub(super) served_by: Vec<String>,
    pub(super) protocol: Option<String>,
    pub(super) count: usize,
    pub(super) median_ms: f64,
    pub(super) slowest_ms: f64,
    pub(super) request_units: f64,
}

/// What a container was given.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Container {
    pub(super) name: String,
    pub(super) partitions: Option<usize>,
    /// In words; none if it has none of its own, or that is not to be seen.
    pub(super) throughput: Option<String>,
}

/// Everything that was found.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Report {
    pub(super) version: &'static str,
    pub(super) endpoint: String,
    pub(super) addresses: Vec<String>,
    /// The proxy on the way to the endpoint.
    pub(super) proxy: Option<String>,
    pub(super) tls: Option<String>,
    pub(super) account: Option<String>,
    pub(super) consistency: Option<String>,
    /// How much the service's clock is ahead of this machine's.
    pub(super) clock_ahead_seconds: Option<i64>,
    pub(super) regions: Vec<Region>,
    pub(super) preferred_region: Option<String>,
    pub(super) reads: Option<Reads>,
    pub(super) containers: Vec<Container>,
    /// What an emulator says of itself.
    pub(super) emulator: Option<serde_json::Value>,
    pub(super) findings: Vec<Finding>,
}

impl Report {
    pub(super) fn new(endpoint: &str) -> Self {
        Self { version: env!("CARGO_PKG_VERSION"), endpoint: endpoint.to_owned(), ..Self::default() }
    }

    pub(super) fn add(&mut self, level: Level, kind: Kind, what: String, remedy: &str) {
        self.findings.push(Finding { level, kind, what, remedy: remedy.to_owned() });
    }

    /// On a screen of so many columns, if it is one.
    pub(super) fn text(&self, screen: Option<usize>) -> String {
        let most = screen.unwrap_or(usize::MAX);
        let mut text = self.facts(most);
        if !self.regions.is_empty() {
            text += &format!("\n{}", self.region_table(screen));
        }
        if !self.containers.is_empty() {
            text += &format!("\n{}", self.container_table(screen));
        }
        text.push('\n');
        for finding in &self.findings {
            let level = match finding.level {
                Level::Error => "error",
                Level::Warning => "warning",
            };
            let what = wrapped(&format!("{level}: {}", whole(&finding.what)), most, 2);
            text += &format!(
                "{what}\n  {}\n",
                wrapped(&format!("-> {}", whole(&finding.remedy)), most.saturating_sub(2), 5)
            );
        }
        if self.findings.is_empty() {
            text += "nothing is wrong\n";
        }
        text
    }

    fn facts(&self, most: usize) -> String {
        let mut text = String::new();
        let mut line = |name: &str, value: &str| {
            text += &wrapped(&format!("{name:13}  {}", whole(value)), most, 15);
            text.push('\n');
        };
        line("endpoint", &self.endpoint);
        line(
            "addresses",
            &if self.addresses.is_empty() { "none".to_owned() } else { self.addresses.join(", ") },
        );
        let said = [
            ("proxy", &self.proxy),
            ("TLS", &self.tls),
            ("account", &self.account),
            ("consistency", &self.consistency),
        ];
        for (name, value) in said {
            if let Some(value) = value {
                line(name, value);
            }
        }
        match self.clock_ahead_seconds {
            Some(-1..=1) => line("clock", "as the service's"),
            Some(ahead) if ahead > 0 => line("clock", &format!("{ahead} s behind the service's")),
            Some(behind) => line("clock", &format!("{} s ahead of the service's", -behind)),
            None => {}
        }
        if let Some(region) = &self.preferred_region {
            line("preferred", region);
        }
        if let Some(reads) = &self.reads {
            let protocol = reads.protocol.as_deref().unwrap_or("no protocol");
            let by =
                if reads.served_by.is_empty() { "nobody".to_owned() } else { reads.served_by.join(", ") };
            line(
                "reads",
                &format!(
                    "{} of {}, served by {by} over {protocol}, {:.1} ms (slowest {:.1} ms), {:.2} RU",
                    reads.count, reads.container, reads.median_ms, reads.slowest_ms, reads.request_units
                ),
            );
        }
        text
    }

    fn region_table(&self, screen: Option<usize>) -> String {
        let row = |region: &Region| {
            let time = match region.round_trip_ms {
                Some(time) => format!("{time:.1} ms"),
                None if region.by_proxy => "by proxy".to_owned(),
                None => "not reached".to_owned(),
            };
            let takes = if region.takes_writes { "reads, writes" } else { "reads" };
            vec![whole(&region.name), time, takes.to_owned(), whole(&region.endpoint)]
        };
        fitted(&["REGION", "DISTANCE", "TAKES", "ENDPOINT"], self.regions.iter().map(row), screen)
    }

    fn container_table(&self, screen: Option<usize>) -> String {
        let row = |container: &Container| {
            let partitions = container.partitions.map_or_else(String::new, |count| count.to_string());
            let throughput =
                container.throughput.clone().unwrap_or_else(|| "of its database, or none".to_owned());
            vec![whole(&container.name), partitions, throughput]
        };
        fitted(&["CONTAINER", "PARTITIONS", "THROUGHPUT"], self.containers.iter().map(row), screen)
    }
}
