//! Two partitions that become one while a client runs.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use cosmonaut_driver::platform::TokioPlatform;
use cosmonaut_driver::transport::{
    Authority, BoxFuture, HttpClient, HttpClientFactory, HttpVersion, SendProgress, TransportError,
};
use cosmonaut_driver::{CosmosDriver, CosmosDriverRuntime, Credential};
use cosmonaut_wire::{EMULATOR_KEY, ResourcePath, headers};
use http::{Request, Response, header};

use crate::harness::{no_environment, read};
use crate::scripted::run;

const CONTAINER: &str =
    r#"{"id":"c","_rid":"1FAbAPmd4Rw=","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2}}"#;
const ACCOUNT: &str = r#"{"id":"a","writableLocations":[],"readableLocations":[],
    "userConsistencyPolicy":{"defaultConsistencyLevel":"Session"}}"#;
const TWO: &str = r#"{"PartitionKeyRanges":[{"id":"0","minInclusive":"","maxExclusive":"1F"},
    {"id":"1","minInclusive":"1F","maxExclusive":"FF"}]}"#;
const MERGED: &str = r#"{"PartitionKeyRanges":[
    {"id":"2","minInclusive":"","maxExclusive":"FF","parents":["0","1"]}]}"#;

/// A container of two partitions, which merge when the test says so.
#[derive(Default)]
struct Merging {
    is_merged: AtomicBool,
    /// The session tokens that reads of items have sent.
    tokens: Mutex<Vec<Option<String>>>,
}

impl Merging {
    fn answer(&self, request: &Request<Bytes>) -> Response<Bytes> {
        let is_merged = self.is_merged.load(Ordering::Relaxed);
        let reply = Response::builder();
        let (reply, body) = match request.uri().path() {
            "/" => (reply, ACCOUNT),
            "/dbs/d/colls/c" => (reply, CONTAINER),
            "/dbs/d/colls/c/pkranges" => {
                let known = request.headers().get(header::IF_NONE_MATCH).map(|etag| etag.as_bytes());
                match (known, is_merged) {
                    (None, _) => (reply.header(header::ETAG, "1"), TWO),
                    (Some(b"1"), true) => (reply.header(header::ETAG, "2"), MERGED),
                    (Some(_), _) => (reply.status(304), ""),
                }
            }
            path => {
                let token = request.headers().get(headers::SESSION_TOKEN);
                self.tokens.lock().unwrap().push(token.map(|token| token.to_str().unwrap().to_owned()));
                let is_known_to_be_merged = token.is_some_and(|token| token.as_bytes().starts_with(b"2:"));
                match (path, is_merged) {
                    (_, true) if !is_known_to_be_merged => {
                        (reply.status(410).header(headers::SUBSTATUS, 1002), "{}")
                    }
                    (_, true) => (reply.header(headers::SESSION_TOKEN, "2:0#10"), "{}"),
                    ("/dbs/d/colls/c/docs/low", false) => {
                        (reply.header(headers::SESSION_TOKEN, "0:0#5"), "{}")
                    }
                    (_, false) => (reply.header(headers::SESSION_TOKEN, "1:0#9"), "{}"),
                }
            }
        };
        reply.body(Bytes::from_static(body.as_bytes())).unwrap()
    }
}

struct Network(Arc<Merging>);

impl HttpClientFactory for Network {
    fn version<'a>(&'a self, _: &'a Authority) -> BoxFuture<'a, Result<HttpVersion, TransportError>> {
        Box::pin(std::future::ready(Ok(HttpVersion::Http2)))
    }

    fn create(&self, _: &Authority, _: HttpVersion) -> Arc<dyn HttpClient> {
        Arc::new(Self(Arc::clone(&self.0)))
    }
}

impl HttpClient for Network {
    fn send<'a>(
        &'a self,
        request: Request<Bytes>,
        _: &'a SendProgress,
    ) -> BoxFuture<'a, Result<Response<Bytes>, TransportError>> {
        Box::pin(std::future::ready(Ok(self.0.answer(&request))))
    }
}

fn driver(server: &Arc<Merging>) -> CosmosDriver {
    let runtime = CosmosDriverRuntime::builder()
        .environment(&no_environment)
        .platform(Arc::new(TokioPlatform::new()))
        .http_client_factory(Arc::new(Network(Arc::clone(server))))
        .build()
        .unwrap();
    let key = Credential::master_key(EMULATOR_KEY).unwrap();
    runtime.create_driver("http://account.test", key, Default::default()).unwrap()
}

#[tokio::test]
async fn a_merged_partition_is_found_and_continues_both_sessions() {
    let server = Arc::new(Merging::default());
    let driver = driver(&server);
    let path = ResourcePath::parse("/dbs/d/colls/c").unwrap();
    let rid = driver.container(&path).await.unwrap().rid;
    driver.adopt_session_token(rid, &"0:0#5,1:0#9".parse().unwrap());
    run(&driver, &read("low", "a")).await.unwrap();
    server.is_merged.store(true, Ordering::Relaxed);
    server.tokens.lock().unwrap().clear();
    run(&driver, &read("low", "a")).await.unwrap();
    let sent = server.tokens.lock().unwrap().clone();
    assert_eq!(sent.last().unwrap().as_deref(), Some("2:0#9"), "the most that either has shown: {sent:?}");
    assert_eq!(sent.len(), 2, "one answer says that the partition is gone: {sent:?}");
    let partitions = driver.partitions(&path, false).await.unwrap();
    let ids: Vec<_> = partitions.iter().map(|partition| partition.id.range().as_str()).collect();
    assert_eq!(ids, ["2"]);
}
