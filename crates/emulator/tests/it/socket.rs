//! A client with a connection of its own, for what only shows on sockets.

use std::io;
use std::time::Duration;

use bytes::Bytes;
use cosmonaut_emulator::{Emulator, EmulatorBuilder, FaultId};
use http::{HeaderMap, Request, Response, Version};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::client::{Answer, request};

pub(crate) const EAST: &str = "East US";
pub(crate) const WEST: &str = "West US";

/// An open connection.
pub(crate) struct Connection {
    sender: Sender,
    url: String,
    _task: JoinSet<()>,
}

enum Sender {
    Http1(http1::SendRequest<Full<Bytes>>),
    Http2(http2::SendRequest<Full<Bytes>>),
}

pub(crate) fn authority(url: &str) -> &str {
    url.split('/').nth(2).unwrap()
}

impl Connection {
    pub(crate) async fn open(url: &str) -> io::Result<Self> {
        let stream = TcpStream::connect(authority(url)).await?;
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
        let mut task = JoinSet::new();
        task.spawn(async move { drop(connection.await) });
        Ok(Self { sender: Sender::Http1(sender), url: url.to_owned(), _task: task })
    }

    pub(crate) async fn open_http2(url: &str) -> io::Result<Self> {
        let stream = TcpStream::connect(authority(url)).await?;
        let (sender, connection) =
            http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
        let mut task = JoinSet::new();
        task.spawn(async move { drop(connection.await) });
        Ok(Self { sender: Sender::Http2(sender), url: url.to_owned(), _task: task })
    }

    /// Sends a signed request; an error is a connection that ended without an answer.
    pub(crate) async fn send(
        &mut self,
        line: &str,
        extra: &[(&str, &str)],
        body: &Value,
    ) -> Result<Answer, hyper::Error> {
        self.send_text(line, extra, &if body.is_null() { String::new() } else { body.to_string() }).await
    }

    /// The same with a body that need not be JSON.
    pub(crate) async fn send_text(
        &mut self,
        line: &str,
        extra: &[(&str, &str)],
        text: &str,
    ) -> Result<Answer, hyper::Error> {
        let response = match &mut self.sender {
            Sender::Http1(sender) => {
                let host = ("host", authority(&self.url));
                let mut request = request(line, &[&[host], extra].concat(), text).map(Full::new);
                *request.version_mut() = Version::HTTP_11;
                sender.send_request(request).await?
            }
            Sender::Http2(sender) => {
                let (mut parts, body) = request(line, extra, text).into_parts();
                parts.uri = format!("{}{}", self.url.trim_end_matches('/'), parts.uri).parse().unwrap();
                sender.send_request(Request::from_parts(parts, Full::new(body))).await?
            }
        };
        let (parts, body) = response.into_parts();
        Ok(Answer::of(Response::from_parts(parts, body.collect().await?.to_bytes())))
    }

    /// From now on requests name the server by this address.
    pub(crate) fn call_it(&mut self, url: &str) {
        url.clone_into(&mut self.url);
    }

    pub(crate) async fn get(&mut self, path: &str) -> Result<Answer, hyper::Error> {
        self.send(&format!("GET {path}"), &[], &Value::Null).await
    }
}

/// An account with two regions, a database `d` and in it a container `c` of two partitions with the key `/pk`.
pub(crate) async fn two_regions(builder: EmulatorBuilder) -> Emulator {
    let emulator = builder.regions([EAST, WEST]).start().await.unwrap();
    let mut east = Connection::open(emulator.url()).await.unwrap();
    let made = east.send("POST /dbs", &[], &json!({"id": "d"})).await.unwrap();
    assert_eq!(made.code(), 201, "{}", made.body);
    let container = json!({"id": "c", "partitionKey": {"paths": ["/pk"], "kind": "Hash", "version": 2}});
    let throughput = [("x-ms-offer-throughput", "12000")];
    let made = east.send("POST /dbs/d/colls", &throughput, &container).await.unwrap();
    assert_eq!(made.code(), 201, "{}", made.body);
    emulator
}

/// Writes an item of a partition key and says which partition has it.
pub(crate) async fn write(connection: &mut Connection, pk: &str) -> Answer {
    let item = json!({"id": pk, "pk": pk});
    let upsert = ("x-ms-documentdb-is-upsert", "true");
    let key = key(pk);
    connection.send("POST /dbs/d/colls/c/docs", &[upsert, (KEY, &key)], &item).await.unwrap()
}

/// A partition key in each of the two partitions, by partition.
pub(crate) async fn keys(connection: &mut Connection) -> [String; 2] {
    let mut found = [String::new(), String::new()];
    for nth in 0.. {
        let pk = format!("key-{nth}");
        let answer = write(connection, &pk).await;
        let range: usize = answer.header("x-ms-documentdb-partitionkeyrangeid").parse().unwrap();
        found[range] = pk;
        if found.iter().all(|pk| !pk.is_empty()) {
            return found;
        }
    }
    unreachable!("keys spread over the partitions")
}

pub(crate) const KEY: &str = "x-ms-documentdb-partitionkey";

pub(crate) fn key(pk: &str) -> String {
    json!([pk]).to_string()
}

pub(crate) async fn read(connection: &mut Connection, pk: &str) -> Result<Answer, hyper::Error> {
    let key = key(pk);
    connection.send(&format!("GET /dbs/d/colls/c/docs/{pk}"), &[(KEY, &key)], &Value::Null).await
}

/// Waits until a fault has struck so many requests.
pub(crate) async fn struck(emulator: &Emulator, id: FaultId, hits: u64) {
    let control = emulator.control();
    let is_so =
        || control.faults().iter().find(|active| active.id == id).is_some_and(|active| active.hits >= hits);
    within(async {
        while !is_so() {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

/// Something that must happen, however busy the machine is; not happening at all is what fails.
#[expect(clippy::disallowed_methods, reason = "tests have no door")]
pub(crate) async fn within<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(60), work).await.expect("it happens")
}

/// A request to the management API.
pub(crate) async fn manage(emulator: &Emulator, line: &str, body: &str) -> (u16, Value, HeaderMap) {
    let url = emulator.management_url().unwrap();
    let stream = TcpStream::connect(authority(url)).await.unwrap();
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
    let mut task = JoinSet::new();
    task.spawn(async move { drop(connection.await) });
    let (method, path) = line.split_once(' ').unwrap();
    let request = Request::builder().method(method).uri(path).header("host", authority(url));
    let request = request.body(Full::new(Bytes::copy_from_slice(body.as_bytes()))).unwrap();
    let (parts, body) = sender.send_request(request).await.unwrap().into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    (parts.status.as_u16(), serde_json::from_slice(&body).unwrap(), parts.headers)
}
