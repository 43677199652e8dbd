//! A process that is killed in the middle of writing: what it acknowledged is there again in every region, what it
//! deleted is not, and there is no half of a batch.
//!
//! Ten kills by default; `CRASH_KILLS` sets another number.
#![cfg(unix)]

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;
use std::sync::mpsc;
use std::thread;

use serde_json::{Value, json};

use crate::connection::Connection;
use crate::up::Running;

const WRITERS: usize = 4;
const DOCS: &str = "/dbs/d/colls/c/docs";
/// What a batch writes together.
const BATCH: [&str; 3] = ["b0", "b1", "b2"];
/// What is written alone, and deleted now and then.
const SINGLE: [&str; 3] = ["s0", "s1", "s2"];
/// The key of an item that all writers write.
const SHARED: &str = "shared";

/// How often the account of each of the three tests is killed.
fn kills(test: usize) -> usize {
    let all: usize = std::env::var("CRASH_KILLS").map_or(10, |text| text.parse().unwrap());
    (all + test) / 3
}

/// One request of a writer: what its items are afterwards.
#[derive(Clone)]
enum Act {
    Put(&'static str, u64),
    Delete(&'static str),
    Batch(u64),
    Share(u64),
}

impl Act {
    /// The n-th thing that a writer does. Items are written again and again, so that older versions are on their way
    /// to other regions when newer ones are written.
    fn nth(n: u64) -> Self {
        let id = SINGLE[(n / 6 % 3) as usize];
        match n % 6 {
            0 | 1 => Self::Put(id, n),
            2 | 4 => Self::Batch(n),
            3 => Self::Share(n),
            _ if (n / 18).is_multiple_of(2) => Self::Delete(id),
            _ => Self::Put(id, n),
        }
    }

    fn send(&self, connection: &mut Connection, writer: usize) -> Option<(u16, Value)> {
        let key = if let Self::Share(_) = self { SHARED.to_owned() } else { format!("w{writer}") };
        let header = format!("[\"{key}\"]");
        let partition = ("x-ms-documentdb-partitionkey", header.as_str());
        let item = |id: &str, n: u64| json!({"id": id, "pk": key, "n": n, "writer": writer});
        let upsert = [partition, ("x-ms-documentdb-is-upsert", "true")];
        match self {
            Self::Put(id, n) => connection.send(&format!("POST {DOCS}"), &upsert, &item(id, *n)),
            Self::Share(n) => connection.send(&format!("POST {DOCS}"), &upsert, &item(SHARED, *n)),
            Self::Delete(id) => connection.send(&format!("DELETE {DOCS}/{id}"), &[partition], &Value::Null),
            Self::Batch(n) => {
                let headers = [
                    partition,
                    ("x-ms-cosmos-is-batch-request", "true"),
                    ("x-ms-cosmos-batch-atomic", "true"),
                ];
                let put = |id: &str| json!({"operationType": "Upsert", "resourceBody": item(id, *n)});
                connection.send(&format!("POST {DOCS}"), &headers, &BATCH.iter().map(|id| put(id)).collect())
            }
        }
    }
}

/// What a writer's own items are: by id, the number written last.
type Items = BTreeMap<String, u64>;

/// What became of a writer's requests.
#[derive(Clone, Default)]
struct Written {
    next: u64,
    acknowledged: Items,
    /// The request that nobody has answered: it may have been done.
    open: Option<Act>,
}

impl Written {
    fn after(&self, act: &Act) -> Items {
        let mut items = self.acknowledged.clone();
        match act {
            Act::Put(id, n) => drop(items.insert((*id).to_owned(), *n)),
            Act::Delete(id) => drop(items.remove(*id)),
            Act::Batch(n) => items.extend(BATCH.map(|id| (id.to_owned(), *n))),
            Act::Share(_) => {}
        }
        items
    }

    /// Goes on with what was found, which must be what was acknowledged, with or without the open request.
    fn settle(&mut self, found: Items, what: &str) {
        let with_open = self.open.take().map(|act| self.after(&act));
        assert!(
            found == self.acknowledged || Some(&found) == with_open.as_ref(),
            "{what}: found {found:?}, acknowledged {:?}, or {with_open:?}",
            self.acknowledged
        );
        self.acknowledged = found;
    }
}

/// Writes until the server is gone, and tells of each acknowledgement.
fn write(url: &str, writer: usize, mut written: Written, acknowledged: &mpsc::Sender<()>) -> Written {
    let Some(mut connection) = Connection::open(url) else { return written };
    loop {
        let act = Act::nth(written.next);
        written.next += 1;
        match act.send(&mut connection, writer) {
            Some((200 | 201 | 204, _)) => {}
            // Deleted before, by a request that nobody answered.
            Some((404, _)) if matches!(act, Act::Delete(_)) => {}
            Some((status, body)) => panic!("{status}: {body}"),
            None => {
                written.open = Some(act);
                return written;
            }
        }
        written.acknowledged = written.after(&act);
        // The receiver stays until all writers are done.
        let _ = acknowledged.send(());
    }
}

fn items(url: &str, key: &str) -> Vec<(String, u64, u64)> {
    let key = format!("[\"{key}\"]");
    let headers = [
        ("x-ms-documentdb-partitionkey", key.as_str()),
        ("x-ms-documentdb-isquery", "true"),
        ("x-ms-max-item-count", "-1"),
    ];
    let query = json!({"query": "SELECT c.id, c.n, c.writer FROM c"});
    let answer = Connection::open(url).unwrap().send(&format!("POST {DOCS}"), &headers, &query);
    let (status, body) = answer.unwrap();
    assert_eq!(status, 200, "{body}");
    let item = |item: &Value| {
        let number = |member: &str| item[member].as_u64().unwrap();
        (item["id"].as_str().unwrap().to_owned(), number("n"), number("writer"))
    };
    body["Documents"].as_array().unwrap().iter().map(item).collect()
}

/// An account that is killed again and again while it is written to.
struct Account {
    arguments: Vec<String>,
    directory: PathBuf,
    /// Whether every region is written to.
    everywhere: bool,
    written: Vec<Written>,
}

impl Account {
    fn new(name: &str, regions: &[&str]) -> Self {
        let directory = std::env::temp_dir().join(format!("cosmonaut-crash-{name}-{}", std::process::id()));
        let data = directory.to_str().unwrap();
        let common = ["--port", "0", "--management-port", "0", "--json", "--no-auth", "--data", data];
        let arguments = common.iter().chain(regions).map(ToString::to_string).collect();
        let everywhere = regions.contains(&"--multi-write");
        Self { arguments, directory, everywhere, written: vec![Written::default(); WRITERS] }
    }

    fn start(&self) -> (Running, Vec<String>) {
        let arguments: Vec<&str> = self.arguments.iter().map(String::as_str).collect();
        let mut up = Running::start(&arguments);
        let ready = up.ready();
        let url = |endpoint: &Value| endpoint["url"].as_str().unwrap().to_owned();
        (up, ready["endpoints"].as_array().unwrap().iter().map(url).collect())
    }

    fn create(&self) {
        let (mut up, urls) = self.start();
        let mut connection = Connection::open(&urls[0]).unwrap();
        let container = json!({"id": "c", "partitionKey": {"paths": ["/pk"], "version": 2}});
        for (line, body) in [("POST /dbs", json!({"id": "d"})), ("POST /dbs/d/colls", container)] {
            assert_eq!(connection.send(line, &[], &body).unwrap().0, 201);
        }
        up.signal("KILL");
    }

    /// Writes until there are enough acknowledgements, and kills the process.
    fn write_and_kill(&mut self, enough: usize) {
        let (mut up, urls) = self.start();
        let (sender, receiver) = mpsc::channel();
        let everywhere = self.everywhere;
        thread::scope(|scope| {
            let writing: Vec<_> = self.written.drain(..).enumerate().collect();
            let writers: Vec<_> = writing
                .into_iter()
                .map(|(writer, written)| {
                    let sender = sender.clone();
                    let url = &urls[if everywhere { writer % urls.len() } else { 0 }];
                    scope.spawn(move || write(url, writer, written, &sender))
                })
                .collect();
            drop(sender);
            receiver.iter().take(enough).for_each(drop);
            up.signal("KILL");
            self.written = writers.into_iter().map(|writer| writer.join().unwrap()).collect();
        });
    }

    /// Every region has what every writer was told, and all have the same.
    fn check(&mut self, what: &str) {
        let (mut up, urls) = self.start();
        let shared = items(&urls[0], SHARED);
        assert_eq!(shared.len(), 1, "{what}");
        for (writer, written) in self.written.iter_mut().enumerate() {
            for url in &urls {
                let found = items(url, &format!("w{writer}"));
                assert!(found.iter().all(|(_, _, by)| *by == writer as u64));
                let found: Items = found.into_iter().map(|(id, n, _)| (id, n)).collect();
                let batch: Vec<_> = BATCH.iter().map(|id| found.get(*id)).collect();
                assert!(batch.iter().all(|n| *n == batch[0]), "{what}: half of a batch: {batch:?}");
                written.settle(found, &format!("{what}, writer {writer} at {url}"));
            }
        }
        assert!(urls.iter().all(|url| items(url, SHARED) == shared), "{what}");
        up.signal("KILL");
    }

    fn survive(mut self, kills: usize) {
        self.create();
        for kill in 0..kills {
            // Now soon after the start, now later.
            self.write_and_kill(30 + kill * 53 % 400);
            self.check(&format!("kill {kill}"));
        }
        std::fs::remove_dir_all(&self.directory).unwrap();
    }
}

/// A disk that takes no more than 16 MiB of the data file.
#[test]
fn a_full_disk_is_said_and_ends_the_process() {
    let account = Account::new("full", &[]);
    account.create();
    let limited = "trap '' XFSZ; ulimit -f 32768; exec \"$@\"";
    let mut command = Command::new("sh");
    command.args(["-c", limited, "sh", env!("CARGO_BIN_EXE_cosmonaut"), "up"]).args(&account.arguments);
    let mut up = Running::of(&mut command);
    let mut connection = Connection::open(&up.url()).unwrap();
    let (mut stored, text) = (Vec::new(), "x".repeat(500_000));
    let refused = loop {
        let id = stored.len().to_string();
        let item = json!({"id": id, "pk": "a", "n": 0, "writer": 0, "text": text});
        let headers = [("x-ms-documentdb-partitionkey", "[\"a\"]")];
        match connection.send(&format!("POST {DOCS}"), &headers, &item) {
            Some((201, _)) => stored.push(id),
            other => break other,
        }
        assert!(stored.len() < 100, "the disk never gets full");
    };
    assert!(refused.is_none_or(|(status, _)| status == 500));
    let (status, error) = up.end();
    assert_eq!(status.code(), Some(1), "{error}");
    assert!(error.contains("could not be stored") && error.contains("free the disk"), "{error}");

    let (_up, urls) = account.start();
    let found: Vec<_> = items(&urls[0], "a").into_iter().map(|(id, ..)| id).collect();
    assert!(stored.iter().all(|id| found.contains(id)), "{stored:?} {found:?}");
    std::fs::remove_dir_all(&account.directory).unwrap();
}

#[test]
fn one_region_survives_kills() {
    Account::new("one", &[]).survive(kills(0));
}

#[test]
fn three_regions_with_a_lag_survive_kills() {
    let regions = ["--regions", "East US,West US,North Europe", "--lag", "10ms..80ms"];
    Account::new("three", &regions).survive(kills(1));
}

#[test]
fn regions_that_all_write_survive_kills() {
    let regions = ["--regions", "East US,West US,North Europe", "--lag", "10ms..80ms", "--multi-write"];
    Account::new("everywhere", &regions).survive(kills(2));
}
