//! A process that is killed in the middle of writing: what it acknowledged is there again, and no half of a batch.
#![cfg(unix)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::mpsc;
use std::thread;

use serde_json::{Value, json};

use crate::up::{Running, authority};

const WRITERS: usize = 4;
/// How many acknowledgements to wait for before the process is killed.
const ENOUGH: usize = 200;
const BATCH: usize = 3;

/// A connection that is kept; `None` once the server is gone.
struct Connection(BufReader<TcpStream>);

impl Connection {
    fn open(url: &str) -> Option<Self> {
        TcpStream::connect(authority(url)).ok().map(|stream| Self(BufReader::new(stream)))
    }

    fn send(&mut self, line: &str, headers: &[(&str, &str)], body: &Value) -> Option<(u16, Value)> {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let mut request = format!("{line} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n", body.len());
        headers.iter().for_each(|(name, value)| request += &format!("{name}: {value}\r\n"));
        self.0.get_mut().write_all(format!("{request}\r\n{body}").as_bytes()).ok()?;
        let (mut status, mut length) = (None, 0);
        loop {
            let mut header = String::new();
            self.0.read_line(&mut header).ok().filter(|read| *read > 0)?;
            let header = header.trim().to_ascii_lowercase();
            if header.is_empty() {
                break;
            }
            status = status.or_else(|| header.split(' ').nth(1)?.parse().ok());
            if let Some(value) = header.strip_prefix("content-length:") {
                length = value.trim().parse().ok()?;
            }
        }
        let mut body = vec![0; length];
        self.0.read_exact(&mut body).ok()?;
        Some((status?, serde_json::from_slice(&body).unwrap_or(Value::Null)))
    }
}

/// Writes until the server is gone: by turns an item and a batch. Reports what was acknowledged.
fn write(url: &str, writer: usize, acknowledged: &mpsc::Sender<String>) {
    let key = format!("[\"w{writer}\"]");
    let partition = ("x-ms-documentdb-partitionkey", key.as_str());
    let Some(mut connection) = Connection::open(url) else { return };
    for n in 0.. {
        let item = |part: usize| json!({"id": format!("{writer}-{n}-{part}"), "pk": format!("w{writer}")});
        let (headers, body, items) = if n % 2 == 0 {
            (vec![partition], item(0), 1)
        } else {
            let headers = vec![
                partition,
                ("x-ms-cosmos-is-batch-request", "true"),
                ("x-ms-cosmos-batch-atomic", "true"),
            ];
            let create = |part| json!({"operationType": "Create", "resourceBody": item(part)});
            (headers, (0..BATCH).map(create).collect(), BATCH)
        };
        match connection.send("POST /dbs/d/colls/c/docs", &headers, &body) {
            Some((200 | 201, _)) => {}
            Some((status, body)) => panic!("{status}: {body}"),
            None => return,
        }
        for part in 0..items {
            // The receiver stays until all writers are done.
            let _ = acknowledged.send(item(part)["id"].as_str().unwrap().to_owned());
        }
    }
}

fn all_ids(url: &str) -> Vec<String> {
    let mut connection = Connection::open(url).unwrap();
    let mut ids = Vec::new();
    for writer in 0..WRITERS {
        let key = format!("[\"w{writer}\"]");
        let headers = [
            ("x-ms-documentdb-partitionkey", key.as_str()),
            ("x-ms-documentdb-isquery", "true"),
            ("x-ms-max-item-count", "-1"),
        ];
        let query = json!({"query": "SELECT VALUE c.id FROM c"});
        let (status, body) = connection.send("POST /dbs/d/colls/c/docs", &headers, &query).unwrap();
        assert_eq!(status, 200, "{body}");
        ids.extend(body["Documents"].as_array().unwrap().iter().map(|id| id.as_str().unwrap().to_owned()));
    }
    ids
}

#[test]
fn acknowledged_writes_survive_a_kill_and_batches_are_whole() {
    let directory = std::env::temp_dir().join(format!("cosmonaut-crash-{}", std::process::id()));
    let arguments = ["--port", "0", "--json", "--no-auth", "--data", directory.to_str().unwrap()];
    let mut up = Running::start(&arguments);
    let url = up.url();
    let mut connection = Connection::open(&url).unwrap();
    let container = json!({"id": "c", "partitionKey": {"paths": ["/pk"], "version": 2}});
    for (line, body) in [("POST /dbs", json!({"id": "d"})), ("POST /dbs/d/colls", container)] {
        assert_eq!(connection.send(line, &[], &body).unwrap().0, 201);
    }

    let (sender, receiver) = mpsc::channel();
    let mut acknowledged = Vec::new();
    thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (sender, url) = (sender.clone(), &url);
            scope.spawn(move || write(url, writer, &sender));
        }
        drop(sender);
        for id in receiver {
            acknowledged.push(id);
            if acknowledged.len() == ENOUGH {
                up.signal("KILL");
            }
        }
    });

    let mut up = Running::start(&arguments);
    let found = all_ids(&up.url());
    for id in &acknowledged {
        assert!(found.contains(id), "{id} was acknowledged and is gone");
    }
    for id in found.iter().filter(|id| id.ends_with("-1")) {
        let batch = id.strip_suffix('1').unwrap();
        let parts = found.iter().filter(|id| id.starts_with(batch)).count();
        assert_eq!(parts, BATCH, "{batch}");
    }
    drop(up);
    std::fs::remove_dir_all(&directory).unwrap();
}
