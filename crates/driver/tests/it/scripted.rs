//! A network of regions that answer as a test says, under virtual time: nothing sleeps, and nothing is a
//! race.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use cosmonaut_driver::platform::{Platform, Task};
use cosmonaut_driver::transport::{
    Authority, BoxFuture, HttpClient, HttpClientFactory, HttpVersion, RequestSentStatus, SendProgress,
    TransportError, TransportErrorKind,
};
use cosmonaut_driver::{
    CosmosDriver, CosmosDriverRuntime, CosmosDriverRuntimeBuilder, CosmosOperation, CosmosResponse,
    Credential, Error, OperationOptions,
};
use cosmonaut_options::CosmosClientOptions;
use cosmonaut_policy::Moment;
use cosmonaut_wire::{EMULATOR_KEY, headers};
use http::{HeaderValue, Method, Request, Response, header};
use serde_json::{Value, json};

use crate::harness::no_environment;

/// Tokio's clock, which a test can stop.
pub(crate) struct VirtualPlatform {
    started: tokio::time::Instant,
    random: AtomicUsize,
}

#[expect(clippy::disallowed_methods, reason = "this is the door that tests come in by")]
impl VirtualPlatform {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { started: tokio::time::Instant::now(), random: AtomicUsize::new(1) })
    }
}

#[expect(clippy::disallowed_methods, reason = "this is the door that tests come in by")]
impl Platform for VirtualPlatform {
    fn now(&self) -> Moment {
        Moment::after_start(self.started.elapsed())
    }

    fn time_of_day(&self) -> Duration {
        Duration::from_secs(1_700_000_000) + self.started.elapsed()
    }

    fn sleep(&self, time: Duration) -> BoxFuture<'static, ()> {
        Box::pin(crate::waiting::sleep(time))
    }

    fn spawn(&self, task: BoxFuture<'static, ()>) -> Task {
        let handle = tokio::spawn(task).abort_handle();
        Task::new(move || handle.abort())
    }

    fn random(&self) -> u64 {
        (self.random.fetch_add(1, Ordering::Relaxed) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }
}

/// What a region does with a request for data.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    Status(u16, u32),
    /// With a header.
    With(u16, &'static str, String),
    /// With several.
    WithAll(u16, Vec<(&'static str, String)>),
    /// With a body of any bytes.
    Body(u16, Vec<u8>),
    After(Duration, u16),
    /// With a sub-status.
    AfterWith(Duration, u16, u32),
    Hang,
    Refuse,
    RefuseAfter(Duration),
    ResetAfterSend,
}

type Script = dyn Fn(&str, &Request<Bytes>) -> Answer + Send + Sync;

/// Regions, what they do, and what was asked of them.
pub(crate) struct Network {
    pub(crate) account: Mutex<Value>,
    script: Mutex<Arc<Script>>,
    /// `GET west` and so on, data requests only.
    pub(crate) calls: Mutex<Vec<String>>,
    pub(crate) account_reads: AtomicUsize,
    pub(crate) under_way: AtomicUsize,
    /// Whether account reads are refused too, as by a region that is down.
    pub(crate) down: Mutex<Vec<String>>,
    /// Whether the account is never answered for.
    pub(crate) account_hangs: AtomicBool,
}

/// The account document: the first region takes writes, or all do.
pub(crate) fn account(regions: &[&str], multi_write: bool) -> Value {
    let locations: Vec<Value> = regions
        .iter()
        .map(|region| json!({"name": region, "databaseAccountEndpoint": format!("http://{region}.test/")}))
        .collect();
    let writable = if multi_write { locations.clone() } else { locations[..1].to_vec() };
    json!({
        "id": "scripted",
        "writableLocations": writable,
        "readableLocations": locations,
        "enableMultipleWriteLocations": multi_write,
        "userConsistencyPolicy": {"defaultConsistencyLevel": "Session"},
    })
}

impl Network {
    pub(crate) fn new(
        regions: &[&str],
        multi_write: bool,
        script: impl Fn(&str, &Request<Bytes>) -> Answer + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self {
            account: Mutex::new(account(regions, multi_write)),
            script: Mutex::new(Arc::new(script)),
            calls: Mutex::default(),
            account_reads: AtomicUsize::new(0),
            under_way: AtomicUsize::new(0),
            down: Mutex::default(),
            account_hangs: AtomicBool::new(false),
        })
    }

    /// What regions do from here on.
    pub(crate) fn now(&self, script: impl Fn(&str, &Request<Bytes>) -> Answer + Send + Sync + 'static) {
        *self.script.lock().unwrap() = Arc::new(script);
    }

    pub(crate) fn take_calls(&self) -> Vec<String> {
        std::mem::take(&mut self.calls.lock().unwrap())
    }

    /// A driver on this network.
    pub(crate) fn driver(self: &Arc<Self>, options: CosmosClientOptions) -> CosmosDriver {
        self.driver_at("http://global.test", options)
    }

    /// A driver that knows the account by this endpoint. The first label of a host names the region.
    pub(crate) fn driver_at(self: &Arc<Self>, endpoint: &str, options: CosmosClientOptions) -> CosmosDriver {
        let key = Credential::master_key(EMULATOR_KEY).unwrap();
        self.runtime().build().unwrap().create_driver(endpoint, key, options).unwrap()
    }

    /// A driver on this network that signs with this credential.
    pub(crate) fn driver_with(
        self: &Arc<Self>,
        credential: Credential,
        platform: Arc<dyn Platform>,
        options: CosmosClientOptions,
    ) -> CosmosDriver {
        let runtime = self.runtime_on(platform).build().unwrap();
        runtime.create_driver("http://global.test", credential, options).unwrap()
    }

    /// A driver of a runtime on a network.
    pub(crate) fn driver_of(
        runtime: CosmosDriverRuntimeBuilder,
        options: CosmosClientOptions,
    ) -> CosmosDriver {
        let key = Credential::master_key(EMULATOR_KEY).unwrap();
        runtime.build().unwrap().create_driver("http://global.test", key, options).unwrap()
    }

    /// What a runtime on this network is built from.
    pub(crate) fn runtime(self: &Arc<Self>) -> CosmosDriverRuntimeBuilder {
        self.runtime_on(VirtualPlatform::new())
    }

    fn runtime_on(self: &Arc<Self>, platform: Arc<dyn Platform>) -> CosmosDriverRuntimeBuilder {
        CosmosDriverRuntime::builder()
            .environment(&no_environment)
            .platform(platform)
            .http_client_factory(Arc::new(Factory(Arc::clone(self))))
    }

    async fn answer(
        &self,
        region: &str,
        request: &Request<Bytes>,
        progress: &SendProgress,
    ) -> Result<Response<Bytes>, TransportError> {
        let fail = |kind, sent| Err(TransportError::new(kind, sent, format!("http://{region}.test")));
        if self.down.lock().unwrap().iter().any(|down| down == region) {
            return fail(TransportErrorKind::Unreachable, RequestSentStatus::NotSent);
        }
        if request.uri().path() == "/" && self.account_hangs.load(Ordering::Relaxed) {
            progress.hand_over();
            std::future::pending::<()>().await;
        }
        if let Some(response) = self.metadata(request) {
            return Ok(response);
        }
        self.calls.lock().unwrap().push(format!("{} {region}", request.method()));
        let script = Arc::clone(&self.script.lock().unwrap());
        let answer = script(region, request);
        let _guard = UnderWay::enter(&self.under_way);
        match answer {
            Answer::Status(code, sub_status) => Ok(reply(code, sub_status, "{\"id\":\"1\"}")),
            Answer::With(code, name, value) => Ok(reply_with(code, [(name, value)])),
            Answer::WithAll(code, headers) => Ok(reply_with(code, headers)),
            Answer::Body(code, body) => Ok(reply(code, 0, "").map(|_| Bytes::from(body))),
            Answer::After(delay, code) => {
                progress.hand_over();
                crate::waiting::sleep(delay).await;
                Ok(reply(code, 0, "{\"id\":\"1\"}"))
            }
            Answer::AfterWith(delay, code, sub_status) => {
                progress.hand_over();
                crate::waiting::sleep(delay).await;
                Ok(reply(code, sub_status, "{}"))
            }
            Answer::Hang => {
                progress.hand_over();
                std::future::pending().await
            }
            Answer::Refuse => fail(TransportErrorKind::Unreachable, RequestSentStatus::NotSent),
            Answer::RefuseAfter(delay) => {
                crate::waiting::sleep(delay).await;
                fail(TransportErrorKind::Unreachable, RequestSentStatus::NotSent)
            }
            Answer::ResetAfterSend => fail(TransportErrorKind::Disconnected, RequestSentStatus::Unknown),
        }
    }

    /// The account, the container `/dbs/d/colls/c`, and its one partition.
    fn metadata(&self, request: &Request<Bytes>) -> Option<Response<Bytes>> {
        if request.method() != Method::GET {
            return None;
        }
        match request.uri().path() {
            "/" => {
                self.account_reads.fetch_add(1, Ordering::Relaxed);
                Some(reply(200, 0, &self.account.lock().unwrap().to_string()))
            }
            "/dbs/d/colls/c" => {
                let container = json!({
                    "id": "c", "_rid": "1FAbAPmd4Rw=",
                    "partitionKey": {"paths": ["/pk"], "kind": "Hash", "version": 2},
                });
                Some(reply(200, 0, &container.to_string()))
            }
            "/dbs/d/colls/c/pkranges" if request.headers().contains_key(header::IF_NONE_MATCH) => {
                Some(reply(304, 0, ""))
            }
            "/dbs/d/colls/c/pkranges" => {
                let ranges = json!({
                    "_rid": "1FAbAPmd4Rw=", "_count": 1,
                    "PartitionKeyRanges": [{"id": "0", "minInclusive": "", "maxExclusive": "FF"}],
                });
                let mut response = reply(200, 0, &ranges.to_string());
                response.headers_mut().insert(header::ETAG, HeaderValue::from_static("\"1\""));
                Some(response)
            }
            _ => None,
        }
    }
}

fn reply(code: u16, sub_status: u32, body: &str) -> Response<Bytes> {
    Response::builder()
        .status(code)
        .header(headers::SUBSTATUS, sub_status)
        .header(headers::REQUEST_CHARGE, "1.5")
        .body(Bytes::copy_from_slice(body.as_bytes()))
        .unwrap()
}

fn reply_with(code: u16, headers: impl IntoIterator<Item = (&'static str, String)>) -> Response<Bytes> {
    let mut response = reply(code, 0, "{}");
    for (name, value) in headers {
        response.headers_mut().insert(name, HeaderValue::try_from(value).unwrap());
    }
    response
}

/// Counts what is under way, also if it is dropped.
struct UnderWay<'a>(&'a AtomicUsize);

impl<'a> UnderWay<'a> {
    fn enter(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

struct Factory(Arc<Network>);

impl HttpClientFactory for Factory {
    fn version<'a>(&'a self, _: &'a Authority) -> BoxFuture<'a, Result<HttpVersion, TransportError>> {
        Box::pin(std::future::ready(Ok(HttpVersion::Http2)))
    }

    fn create(&self, server: &Authority, _: HttpVersion) -> Arc<dyn HttpClient> {
        let region = server.host().split('.').next().unwrap().to_owned();
        Arc::new(Client { network: Arc::clone(&self.0), region })
    }
}

struct Client {
    network: Arc<Network>,
    region: String,
}

impl HttpClient for Client {
    fn send<'a>(
        &'a self,
        request: Request<Bytes>,
        progress: &'a SendProgress,
    ) -> BoxFuture<'a, Result<Response<Bytes>, TransportError>> {
        Box::pin(async move { self.network.answer(&self.region, &request, progress).await })
    }
}

pub(crate) async fn run(driver: &CosmosDriver, operation: &CosmosOperation) -> Result<CosmosResponse, Error> {
    driver.execute_operation(operation, &OperationOptions::default()).await
}
