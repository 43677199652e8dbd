//! A gateway that answers from constants over HTTP/2, holds requests back, and counts what each connection
//! carries.

use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use cosmonaut_driver::platform::{Platform, Task, TokioPlatform};
use cosmonaut_driver::transport::BoxFuture;
use cosmonaut_driver::{CosmosDriver, CosmosDriverRuntime, Credential};
use cosmonaut_options::CosmosClientOptions;
use cosmonaut_policy::Moment;
use cosmonaut_wire::EMULATOR_KEY;
use http::{Request, Response, StatusCode, header};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::json;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::harness::no_environment;

/// The machine's clock, set forward by a test.
pub(crate) struct SkewedPlatform {
    inner: TokioPlatform,
    ahead: Mutex<Duration>,
    cpu: Mutex<f64>,
}

impl SkewedPlatform {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self { inner: TokioPlatform::new(), ahead: Mutex::default(), cpu: Mutex::new(0.1) })
    }

    pub(crate) fn set_forward(&self, time: Duration) {
        *self.ahead.lock().unwrap() += time;
    }

    pub(crate) fn set_cpu_load(&self, load: f64) {
        *self.cpu.lock().unwrap() = load;
    }
}

impl Platform for SkewedPlatform {
    fn now(&self) -> Moment {
        self.inner.now() + *self.ahead.lock().unwrap()
    }

    fn time_of_day(&self) -> Duration {
        self.inner.time_of_day()
    }

    fn sleep(&self, time: Duration) -> BoxFuture<'static, ()> {
        self.inner.sleep(time)
    }

    fn spawn(&self, task: BoxFuture<'static, ()>) -> Task {
        self.inner.spawn(task)
    }

    fn random(&self) -> u64 {
        self.inner.random()
    }

    fn cpu_load(&self) -> Option<f64> {
        Some(*self.cpu.lock().unwrap())
    }
}

/// What a connection has carried.
#[derive(Default)]
pub(crate) struct Connection {
    active: AtomicUsize,
    pub(crate) peak: AtomicUsize,
    data_requests: AtomicUsize,
}

/// A gateway on a port of its own. Stops when dropped.
pub(crate) struct Gateway {
    shared: Arc<Shared>,
    pub(crate) url: String,
    _accepting: JoinSet<()>,
}

struct Shared {
    url: String,
    /// Whether requests for data are answered.
    open: watch::Sender<bool>,
    /// Requests for data that are held back.
    held: watch::Sender<usize>,
    connected: watch::Sender<usize>,
    connections: Mutex<Vec<Arc<Connection>>>,
    /// Whether the connection that first carries data never answers it.
    first_hangs: AtomicBool,
    hanging: Mutex<Option<Arc<Connection>>>,
}

impl Gateway {
    /// A gateway that holds requests for data back until it is opened.
    pub(crate) async fn start() -> Self {
        Self::start_behind(None).await
    }

    /// As [`start`](Self::start), for drivers that reach it by another URL.
    pub(crate) async fn start_behind(public_url: Option<&str>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let shared = Arc::new(Shared {
            url: public_url.unwrap_or(&url).to_owned(),
            open: watch::channel(false).0,
            held: watch::channel(0).0,
            connected: watch::channel(0).0,
            connections: Mutex::default(),
            first_hangs: AtomicBool::new(false),
            hanging: Mutex::default(),
        });
        let mut accepting = JoinSet::new();
        accepting.spawn(accept(listener, Arc::clone(&shared)));
        Self { shared, url, _accepting: accepting }
    }

    pub(crate) fn open(&self) {
        self.shared.open.send_replace(true);
    }

    /// From here on, the first connection that carries data never answers it.
    pub(crate) fn first_connection_hangs(&self) {
        self.shared.first_hangs.store(true, Ordering::Relaxed);
    }

    /// Waits until so many requests for data are held back.
    pub(crate) async fn holds(&self, count: usize) {
        self.shared.held.subscribe().wait_for(|held| *held == count).await.unwrap();
    }

    /// Waits until at most so many connections are open.
    pub(crate) async fn has_at_most(&self, connections: usize) {
        self.shared.connected.subscribe().wait_for(|open| *open <= connections).await.unwrap();
    }

    /// The connections so far that have carried data.
    pub(crate) fn data_connections(&self) -> Vec<Arc<Connection>> {
        let all = self.shared.connections.lock().unwrap();
        all.iter().filter(|one| one.data_requests.load(Ordering::Relaxed) > 0).cloned().collect()
    }

    pub(crate) fn driver(
        &self,
        platform: &Arc<SkewedPlatform>,
        options: CosmosClientOptions,
    ) -> CosmosDriver {
        let runtime = CosmosDriverRuntime::builder()
            .environment(&no_environment)
            .platform(Arc::clone(platform) as Arc<dyn Platform>)
            .build()
            .unwrap();
        runtime.create_driver(&self.url, Credential::master_key(EMULATOR_KEY).unwrap(), options).unwrap()
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let (shared, connection) = (Arc::clone(&shared), Arc::new(Connection::default()));
        shared.connections.lock().unwrap().push(Arc::clone(&connection));
        connections.spawn(async move {
            shared.connected.send_modify(|open| *open += 1);
            let answering = Arc::clone(&shared);
            let service =
                service_fn(move |request| answer(Arc::clone(&answering), Arc::clone(&connection), request));
            let mut server = http2::Builder::new(TokioExecutor::new());
            // Far more than the driver may use, so that keeping to its limit is its own doing.
            server.max_concurrent_streams(1000);
            let _ = server.serve_connection(TokioIo::new(stream), service).await;
            shared.connected.send_modify(|open| *open -= 1);
        });
        while connections.try_join_next().is_some() {}
    }
}

async fn answer(
    shared: Arc<Shared>,
    connection: Arc<Connection>,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let text = |body: String| Response::new(Full::new(Bytes::from(body)));
    Ok(match request.uri().path() {
        "/" => {
            let here = json!([{"name": "here", "databaseAccountEndpoint": shared.url}]);
            let account = json!({
                "id": "a", "writableLocations": here, "readableLocations": here,
                "userConsistencyPolicy": {"defaultConsistencyLevel": "Session"},
            });
            text(account.to_string())
        }
        "/dbs/d/colls/c" => text(
            r#"{"id":"c","_rid":"1FAbAPmd4Rw=","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2}}"#
                .to_owned(),
        ),
        "/dbs/d/colls/c/pkranges" if request.headers().contains_key(header::IF_NONE_MATCH) => {
            let mut response = text(String::new());
            *response.status_mut() = StatusCode::NOT_MODIFIED;
            response
        }
        "/dbs/d/colls/c/pkranges" => {
            let mut response = text(
                r#"{"_rid":"1FAbAPmd4Rw=","PartitionKeyRanges":[{"id":"0","minInclusive":"","maxExclusive":"FF"}]}"#
                    .to_owned(),
            );
            response.headers_mut().insert(header::ETAG, header::HeaderValue::from_static("\"1\""));
            response
        }
        _ => {
            shared.hold(&connection).await;
            text(r#"{"id":"1"}"#.to_owned())
        }
    })
}

impl Shared {
    async fn hold(&self, connection: &Arc<Connection>) {
        let active = connection.active.fetch_add(1, Ordering::Relaxed) + 1;
        connection.peak.fetch_max(active, Ordering::Relaxed);
        connection.data_requests.fetch_add(1, Ordering::Relaxed);
        let held = Held::enter(&self.held, connection);
        let hangs = self.first_hangs.load(Ordering::Relaxed) && {
            let mut hanging = self.hanging.lock().unwrap();
            Arc::ptr_eq(hanging.get_or_insert_with(|| Arc::clone(connection)), connection)
        };
        if hangs {
            std::future::pending::<()>().await;
        }
        let _ = self.open.subscribe().wait_for(|open| *open).await;
        drop(held);
    }
}

/// Counts a request that is held back, also if its stream is reset.
struct Held<'a>(&'a watch::Sender<usize>, &'a Connection);

impl<'a> Held<'a> {
    fn enter(count: &'a watch::Sender<usize>, connection: &'a Connection) -> Self {
        count.send_modify(|held| *held += 1);
        Self(count, connection)
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|held| *held -= 1);
        self.1.active.fetch_sub(1, Ordering::Relaxed);
    }
}
