//! Load of every kind on an account whose regions break and come back, round after round: neither the memory nor the
//! descriptors of the process grow.
//!
//! Three rounds by default; `STRESS_ROUNDS` sets another number.

use std::fs;
use std::thread;

use serde_json::{Value, json};

use crate::connection::Connection;
use crate::up::Running;

const REGIONS: [&str; 3] = ["East US", "West US", "North Europe"];
const DOCS: &str = "/dbs/d/colls/c/docs";
const WORKERS: usize = 4;
/// How many requests each worker sends in a round.
const REQUESTS: usize = 300;
/// The same items are written again and again, so that nothing has a reason to grow.
const ITEMS: usize = 50;
/// How many rounds pass before the process is as large as it is going to be.
const WARM: usize = 2;
const SPARE_BYTES: u64 = 48 * 1024 * 1024;

struct Account {
    up: Running,
    urls: Vec<String>,
    management: String,
}

impl Account {
    fn start(directory: &str) -> Self {
        let regions = REGIONS.join(",");
        let arguments = [
            "--port",
            "0",
            "--management-port",
            "0",
            "--json",
            "--no-auth",
            "--data",
            directory,
            "--regions",
            &regions,
            "--multi-write",
            "--lag",
            "1ms..20ms",
        ];
        let mut up = Running::start(&arguments);
        let ready = up.ready();
        let url = |endpoint: &Value| endpoint["url"].as_str().unwrap().to_owned();
        let urls = ready["endpoints"].as_array().unwrap().iter().map(url).collect();
        let account = Self { up, urls, management: ready["management"].as_str().unwrap().to_owned() };
        let mut connection = Connection::open(&account.urls[0]).unwrap();
        let container =
            json!({"id": "c", "partitionKey": {"paths": ["/pk"], "version": 2}, "defaultTtl": 600});
        for (line, body) in [("POST /dbs", json!({"id": "d"})), ("POST /dbs/d/colls", container)] {
            assert_eq!(connection.send(line, &[], &body).unwrap().0, 201);
        }
        account
    }

    fn manage(&self, line: &str, body: &Value) {
        let (status, answer) = Connection::open(&self.management).unwrap().send(line, &[], body).unwrap();
        assert!(status < 300, "{line}: {status} {answer}");
    }

    /// Breaks something; what, depends on the round.
    fn damage(&self, round: usize) {
        match round % 5 {
            0 => self.manage("POST /regions/westus/down", &json!({"mode": "refuse"})),
            1 => self.manage("PUT /links", &json!({"paused": true})),
            2 => self.manage("POST /regions/northeurope/down", &json!({"mode": "unavailable"})),
            3 => self.manage(
                "POST /faults",
                &json!({"operations": "write", "effect": "drop-response", "count": 20}),
            ),
            _ => self.manage("POST /faults", &json!({"effect": "status", "status": 503, "probability": 0.2})),
        }
    }

    fn mend(&self) {
        for region in ["westus", "northeurope"] {
            self.manage(&format!("POST /regions/{region}/up"), &Value::Null);
        }
        self.manage("DELETE /faults", &Value::Null);
    }

    /// The memory of the process in bytes, and how many descriptors it has open, once nobody is connected.
    fn at_rest(&self) -> (u64, usize) {
        let process = format!("/proc/{}", self.up.id());
        let descriptors = || fs::read_dir(format!("{process}/fd")).unwrap().count();
        // Connections are closed by the server when it has seen that the clients are gone: it is asked until it has.
        let mut least = descriptors();
        for _ in 0..200 {
            self.manage("GET /ready", &Value::Null);
            least = least.min(descriptors());
        }
        let status = fs::read_to_string(format!("{process}/status")).unwrap();
        let kilobytes = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        let kilobytes: u64 = kilobytes.trim().trim_end_matches("kB").trim().parse().unwrap();
        (kilobytes * 1024, least)
    }
}

/// Sends requests of all kinds to a region, with a new connection whenever one is lost; says how many were answered.
fn work(url: &str, worker: usize) -> usize {
    let mut connection = None;
    let mut answered = 0;
    for n in 0..REQUESTS {
        let Some(open) = connection.take().or_else(|| Connection::open(url)) else { continue };
        connection = request(open, worker, n);
        answered += usize::from(connection.is_some());
    }
    answered
}

fn request(mut connection: Connection, worker: usize, n: usize) -> Option<Connection> {
    let (key, id) = (format!("k{}", n % 7), format!("{}", n % ITEMS));
    let header = format!("[\"{key}\"]");
    let partition = ("x-ms-documentdb-partitionkey", header.as_str());
    let item = json!({"id": id, "pk": key, "n": n, "worker": worker, "text": "x".repeat(n * 37 % 4_000)});
    let post = format!("POST {DOCS}");
    let (status, body) = match n % 6 {
        0 | 1 => connection.send(&post, &[partition, ("x-ms-documentdb-is-upsert", "true")], &item),
        2 => connection.send(&format!("GET {DOCS}/{id}"), &[partition], &Value::Null),
        3 => {
            let query = json!({"query": "SELECT TOP 10 c.id FROM c WHERE c.n > 20 ORDER BY c.n"});
            connection.send(&post, &[partition, ("x-ms-documentdb-isquery", "true")], &query)
        }
        4 => {
            let batch =
                [partition, ("x-ms-cosmos-is-batch-request", "true"), ("x-ms-cosmos-batch-atomic", "true")];
            connection.send(&post, &batch, &json!([{"operationType": "Upsert", "resourceBody": item}]))
        }
        _ => connection.send(&format!("DELETE {DOCS}/{id}"), &[partition], &Value::Null),
    }?;
    assert!(matches!(status, 200 | 201 | 204 | 404 | 503), "{status}: {body}");
    Some(connection)
}

#[test]
fn neither_memory_nor_descriptors_grow() {
    let rounds = std::env::var("STRESS_ROUNDS").map_or(3, |text| text.parse().unwrap());
    let directory = std::env::temp_dir().join(format!("cosmonaut-stress-{}", std::process::id()));
    let account = Account::start(directory.to_str().unwrap());
    let mut warm = None;
    for round in 0..rounds {
        account.damage(round);
        let answered: usize = thread::scope(|scope| {
            let urls = (0..WORKERS).map(|worker| (worker, &account.urls[worker % REGIONS.len()]));
            let workers: Vec<_> = urls.map(|(worker, url)| scope.spawn(move || work(url, worker))).collect();
            workers.into_iter().map(|worker| worker.join().unwrap()).sum()
        });
        assert!(answered >= REQUESTS, "only {answered} requests of round {round} were answered");
        account.mend();
        let (bytes, descriptors) = account.at_rest();
        println!("round {round}: {answered} answered, {} MiB, {descriptors} descriptors", bytes >> 20);
        if round + 1 == WARM {
            warm = Some((bytes, descriptors));
        }
        if let Some((warm_bytes, warm_descriptors)) = warm {
            assert!(
                bytes <= warm_bytes * 5 / 4 + SPARE_BYTES,
                "round {round}: {warm_bytes} bytes became {bytes}"
            );
            assert!(
                descriptors <= warm_descriptors + 4,
                "round {round}: {warm_descriptors} became {descriptors}"
            );
        }
    }
    drop(account);
    fs::remove_dir_all(&directory).unwrap();
}
