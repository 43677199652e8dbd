//! Regions, accounts and callers in trouble, under virtual time: a network that does as a test says, and a file for each
//! kind of trouble.

mod account;
mod doubt;
mod legs;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use cosmonaut_driver::transport::{
    Authority, BoxFuture, HttpClient, HttpClientFactory, HttpVersion, RequestSentStatus, SendProgress,
    TransportError, TransportErrorKind,
};
use cosmonaut_driver::{
    CosmosDriver, CosmosDriverRuntime, CosmosOperation, Credential, ErrorKind, OperationOptions,
    OperationType,
};
use cosmonaut_options::{
    CosmosClientOptions, HedgingOptions, HedgingThreshold, RegionOptions, RequestOptions,
};
use cosmonaut_policy::{Access, Precondition};
use cosmonaut_wire::{EMULATOR_KEY, PartitionKey, RegionName, headers};
use http::{HeaderValue, Request, Response, header};
use serde_json::{Value, json};

use crate::harness::{no_environment, operation, read};
use crate::scripted::{VirtualPlatform, account, run};

/// What a region does.
#[derive(Clone, Copy, Debug)]
enum Do {
    /// After so many milliseconds.
    Say(u64, u16, u32),
    Fail(u64, TransportErrorKind, RequestSentStatus),
    /// 200, from this partition.
    From(&'static str),
    Hang,
}

const fn ok() -> Do {
    Do::Say(0, 200, 0)
}

type Script = dyn Fn(&Net, &str, &Request<Bytes>) -> Option<Do> + Send + Sync;

/// Regions that do as a test says. `None` from the script: the account, the container and its partition answer as
/// they should, and everything else with 200.
struct Net {
    account: Mutex<Value>,
    script: Mutex<Arc<Script>>,
    /// `METHOD region`, of requests for neither the account nor a container's description.
    calls: Mutex<Vec<String>>,
    account_reads: AtomicUsize,
}

impl Net {
    fn new(
        regions: &[&str],
        multi_write: bool,
        script: impl Fn(&Self, &str, &Request<Bytes>) -> Option<Do> + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self {
            account: Mutex::new(account(regions, multi_write)),
            script: Mutex::new(Arc::new(script)),
            calls: Mutex::default(),
            account_reads: AtomicUsize::new(0),
        })
    }

    fn now(&self, script: impl Fn(&Self, &str, &Request<Bytes>) -> Option<Do> + Send + Sync + 'static) {
        *self.script.lock().unwrap() = Arc::new(script);
    }

    fn calls(&self) -> Vec<String> {
        std::mem::take(&mut self.calls.lock().unwrap())
    }

    fn runtime(self: &Arc<Self>) -> CosmosDriverRuntime {
        CosmosDriverRuntime::builder()
            .environment(&no_environment)
            .platform(VirtualPlatform::new())
            .http_client_factory(Arc::new(Factory(Arc::clone(self))))
            .build()
            .unwrap()
    }

    fn driver(self: &Arc<Self>, options: CosmosClientOptions) -> CosmosDriver {
        let key = Credential::master_key(EMULATOR_KEY).unwrap();
        self.runtime().create_driver("http://global.test", key, options).unwrap()
    }
}

struct Factory(Arc<Net>);

impl HttpClientFactory for Factory {
    fn version<'a>(&'a self, _: &'a Authority) -> BoxFuture<'a, Result<HttpVersion, TransportError>> {
        Box::pin(std::future::ready(Ok(HttpVersion::Http2)))
    }

    fn create(&self, server: &Authority, _: HttpVersion) -> Arc<dyn HttpClient> {
        let region = server.host().split('.').next().unwrap().to_owned();
        Arc::new(Client(Arc::clone(&self.0), region))
    }
}

struct Client(Arc<Net>, String);

impl HttpClient for Client {
    fn send<'a>(
        &'a self,
        request: Request<Bytes>,
        progress: &'a SendProgress,
    ) -> BoxFuture<'a, Result<Response<Bytes>, TransportError>> {
        Box::pin(async move {
            let Self(net, region) = self;
            let path = request.uri().path().to_owned();
            let is_metadata = path == "/"
                || path == "/dbs/d/colls/c" && request.method() == http::Method::GET
                || path.ends_with("/pkranges");
            if !is_metadata {
                net.calls.lock().unwrap().push(format!("{} {region}", request.method()));
            }
            let script = Arc::clone(&net.script.lock().unwrap());
            let wait = |millis| async move {
                if millis > 0 {
                    crate::waiting::sleep(Duration::from_millis(millis)).await;
                }
            };
            match script(net, region, &request) {
                Some(Do::Say(millis, code, sub_status)) => {
                    progress.hand_over();
                    wait(millis).await;
                    Ok(reply(code, sub_status, "{\"id\":\"1\"}"))
                }
                Some(Do::Fail(millis, kind, sent)) => {
                    if sent.may_have_arrived() {
                        progress.hand_over();
                    }
                    wait(millis).await;
                    Err(TransportError::new(kind, sent, format!("http://{region}.test")))
                }
                Some(Do::From(partition)) => {
                    let mut response = reply(200, 0, "{}");
                    let value = HeaderValue::from_static(partition);
                    response.headers_mut().insert(headers::PARTITION_KEY_RANGE_ID, value);
                    Ok(response)
                }
                Some(Do::Hang) => {
                    progress.hand_over();
                    std::future::pending().await
                }
                None if path == "/" => {
                    net.account_reads.fetch_add(1, Ordering::Relaxed);
                    let account = net.account.lock().unwrap().to_string();
                    Ok(reply(200, 0, &account))
                }
                None if path.ends_with("/pkranges") => {
                    if request.headers().contains_key(header::IF_NONE_MATCH) {
                        return Ok(reply(304, 0, ""));
                    }
                    let ranges = json!({
                        "_rid": "1FAbAPmd4Rw=", "_count": 1,
                        "PartitionKeyRanges": [{"id": "0", "minInclusive": "", "maxExclusive": "FF"}],
                    });
                    let mut response = reply(200, 0, &ranges.to_string());
                    response.headers_mut().insert(header::ETAG, HeaderValue::from_static("\"1\""));
                    Ok(response)
                }
                None if is_metadata => {
                    let container = json!({
                        "id": "c", "_rid": "1FAbAPmd4Rw=",
                        "partitionKey": {"paths": ["/pk"], "kind": "Hash", "version": 2},
                    });
                    Ok(reply(200, 0, &container.to_string()))
                }
                None => Ok(reply(200, 0, "{\"id\":\"1\"}")),
            }
        })
    }
}

fn reply(code: u16, sub_status: u32, body: &str) -> Response<Bytes> {
    Response::builder()
        .status(code)
        .header(headers::SUBSTATUS, sub_status)
        .body(Bytes::copy_from_slice(body.as_bytes()))
        .unwrap()
}

fn is_doc(request: &Request<Bytes>) -> bool {
    request.uri().path().contains("/docs")
}

fn write(kind: OperationType) -> CosmosOperation {
    let path = match kind {
        OperationType::Create | OperationType::Upsert => "/dbs/d/colls/c/docs",
        _ => "/dbs/d/colls/c/docs/1",
    };
    operation(kind, path).with_body("{}").with_target(PartitionKey::from("a"))
}

fn guarded_replace() -> CosmosOperation {
    write(OperationType::Replace).with_precondition(Precondition::IfMatch(HeaderValue::from_static("\"1\"")))
}

fn hedging_after(millis: u64) -> CosmosClientOptions {
    let hedging_threshold = Some(HedgingThreshold::Static(Duration::from_millis(millis)));
    CosmosClientOptions {
        hedging: HedgingOptions { hedging_threshold, ..Default::default() },
        ..Default::default()
    }
}

fn not_hedging() -> CosmosClientOptions {
    CosmosClientOptions {
        hedging: HedgingOptions { hedging_enabled: Some(false), ..Default::default() },
        ..Default::default()
    }
}

fn within(millis: u64) -> OperationOptions {
    OperationOptions {
        request: RequestOptions {
            end_to_end_timeout: Some(Duration::from_millis(millis)),
            ..Default::default()
        },
        ..Default::default()
    }
}

#[expect(clippy::disallowed_methods, reason = "the clock is virtual")]
async fn timed<T>(work: impl Future<Output = T>) -> (T, Duration) {
    let began = tokio::time::Instant::now();
    let result = work.await;
    (result, began.elapsed())
}
