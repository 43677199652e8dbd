//! Connecting: it goes on when its caller has gone, nothing that was made is thrown away, and versions are
//! offered as they are used.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use cosmonaut_driver::platform::{Platform, TokioPlatform};
use cosmonaut_driver::transport::{BoxFuture, HttpVersion, Resolver, Trust};
use cosmonaut_driver::{
    CosmosDriver, CosmosDriverRuntime, CosmosResponse, Credential, Error, ErrorKind, OperationOptions,
    OperationType,
};
use cosmonaut_options::{ConnectionOptions, CosmosClientOptions, HttpProtocol, RequestOptions};
use cosmonaut_wire::EMULATOR_KEY;
use http::Response;
use http_body_util::Full;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_rustls::LazyConfigAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::server::Acceptor;

use crate::gateway::Gateway;
use crate::harness::{emulator, no_environment, operation, read, speaking, trust_in};
use crate::line::{Line, StillClock};

const DEADLINE: Duration = Duration::from_millis(100);

fn driver_at(clock: &Arc<StillClock>, url: &str, trust: Trust, protocol: HttpProtocol) -> CosmosDriver {
    driver_on(Arc::clone(clock) as Arc<dyn Platform>, url, trust, protocol)
}

fn driver_on(platform: Arc<dyn Platform>, url: &str, trust: Trust, protocol: HttpProtocol) -> CosmosDriver {
    let runtime = CosmosDriverRuntime::builder()
        .environment(&no_environment)
        .platform(platform)
        .trust(trust)
        .build()
        .unwrap();
    let key = Credential::master_key(EMULATOR_KEY).unwrap();
    runtime.create_driver(url, key, speaking(protocol)).unwrap()
}

fn start_read(
    driver: &CosmosDriver,
    timeout: Option<Duration>,
    reads: &mut JoinSet<Result<CosmosResponse, Error>>,
) {
    let driver = driver.clone();
    let request = RequestOptions { end_to_end_timeout: timeout, ..Default::default() };
    let options = OperationOptions { request, ..Default::default() };
    reads.spawn(async move { driver.execute_operation(&read("1", "a"), &options).await });
}

#[tokio::test]
async fn a_handshake_longer_than_the_deadline_is_ready_for_the_second_read() {
    let mut line = Line::new("http").await;
    let gateway = Gateway::start_behind(Some(&line.url)).await;
    gateway.open();
    line.lead_to(&gateway.url);
    let clock = StillClock::new();
    let driver = driver_at(&clock, &line.url, Trust::default(), HttpProtocol::Negotiated);
    line.hold();
    let mut reads = JoinSet::new();
    start_read(&driver, Some(DEADLINE), &mut reads);
    line.has_opened(1).await;
    clock.advance(DEADLINE);
    let error = reads.join_next().await.unwrap().unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::DeadlineExceeded, "{error:?}");
    line.release();
    start_read(&driver, Some(DEADLINE), &mut reads);
    reads.join_next().await.unwrap().unwrap().unwrap();
    assert_eq!(line.opened(), 1, "the handshake went on without its caller");
}

/// A server of HTTP/1.1 that answers from constants, and how often it was
/// connected to.
pub(crate) async fn plain_server() -> (String, watch::Receiver<usize>, JoinSet<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let (count, counted) = watch::channel(0);
    let (mut server, own) = (JoinSet::new(), url.clone());
    server.spawn(async move {
        let mut connections = JoinSet::new();
        while let Ok((stream, _)) = listener.accept().await {
            count.send_modify(|count| *count += 1);
            let own = own.clone();
            connections.spawn(async move {
                let service = service_fn(move |request: http::Request<hyper::body::Incoming>| {
                    std::future::ready(Ok::<_, std::convert::Infallible>(answer(request.uri().path(), &own)))
                });
                let server = hyper::server::conn::http1::Builder::new();
                let _ = server.serve_connection(TokioIo::new(stream), service).await;
            });
        }
    });
    (url, counted, server)
}

fn answer(path: &str, url: &str) -> Response<Full<Bytes>> {
    Response::new(Full::new(Bytes::from(body_for(path, url))))
}

/// What a gateway with the container `/dbs/d/colls/c` says.
pub(crate) fn body_for(path: &str, url: &str) -> String {
    let here = serde_json::json!([{"name": "here", "databaseAccountEndpoint": url}]);
    let body = match path {
        "/" => serde_json::json!({
            "id": "a", "writableLocations": here, "readableLocations": here,
            "userConsistencyPolicy": {"defaultConsistencyLevel": "Session"},
        }),
        "/dbs/d/colls/c" => serde_json::json!({
            "id": "c", "_rid": "1FAbAPmd4Rw=",
            "partitionKey": {"paths": ["/pk"], "kind": "Hash", "version": 2},
        }),
        "/dbs/d/colls/c/pkranges" => serde_json::json!({
            "_rid": "1FAbAPmd4Rw=",
            "PartitionKeyRanges": [{"id": "0", "minInclusive": "", "maxExclusive": "FF"}],
        }),
        _ => serde_json::json!({"id": "1"}),
    };
    body.to_string()
}

/// As a hedge does that lost.
#[tokio::test]
async fn a_caller_that_is_dropped_while_it_connects_leaves_a_warm_connection() {
    for protocol in [HttpProtocol::Http1, HttpProtocol::Http2, HttpProtocol::Negotiated] {
        // The handshake that takes long is that of TLS, held up on the line.
        let emulator = emulator(true).await;
        let mut line = Line::new("https").await;
        line.lead_to(emulator.url());
        let clock = StillClock::new();
        let driver = driver_at(&clock, &line.url, trust_in(&emulator), protocol);
        line.hold();
        let first = driver.clone();
        let mut attempt = JoinSet::new();
        attempt.spawn(async move { first.initialize().await.is_ok() });
        line.has_opened(1).await;
        line.hears_more_than(0).await;
        attempt.shutdown().await;
        line.release();
        driver.initialize().await.unwrap();
        assert_eq!(line.opened(), 1, "{protocol:?}: the connection was not thrown away");
    }
}

#[tokio::test]
async fn the_connection_that_showed_the_version_carries_the_first_request() {
    for (tls, scheme) in [(false, "http"), (true, "https")] {
        let emulator = emulator(tls).await;
        let mut line = Line::new(scheme).await;
        line.lead_to(emulator.url());
        let clock = StillClock::new();
        let driver = driver_at(&clock, &line.url, trust_in(&emulator), HttpProtocol::Negotiated);
        driver.initialize().await.unwrap();
        assert_eq!(line.opened(), 1, "{scheme}");
    }
}

struct Fixed(Vec<IpAddr>);

impl Resolver for Fixed {
    fn resolve<'a>(&'a self, _: &'a str) -> BoxFuture<'a, std::io::Result<Vec<IpAddr>>> {
        Box::pin(std::future::ready(Ok(self.0.clone())))
    }
}

#[tokio::test]
async fn another_address_is_tried_where_one_refuses() {
    let (url, _, _server) = plain_server().await;
    let port = url.trim_end_matches('/').rsplit(':').next().unwrap();
    let addresses = vec![IpAddr::V6(Ipv6Addr::LOCALHOST), IpAddr::V4(Ipv4Addr::LOCALHOST)];
    let runtime = CosmosDriverRuntime::builder()
        .environment(&no_environment)
        .resolver(Arc::new(Fixed(addresses)))
        .build()
        .unwrap();
    let key = Credential::master_key(EMULATOR_KEY).unwrap();
    let named = format!("http://account.test:{port}");
    let driver = runtime.create_driver(&named, key, speaking(HttpProtocol::Http1)).unwrap();
    driver.initialize().await.unwrap();
}

/// A TLS server that notes what it is offered, and speaks one version that a test can change.
struct TlsServer {
    url: String,
    trust: Trust,
    offers: Arc<Mutex<Vec<Vec<String>>>>,
    speaks: watch::Sender<&'static str>,
    _accepting: JoinSet<()>,
}

impl TlsServer {
    async fn start() -> Self {
        let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
        let trust = Trust { roots: vec![made.cert.der().clone()], accept_invalid: false };
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], made.signing_key.into())
            .unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("https://{}/", listener.local_addr().unwrap());
        let (offers, speaks) = (Arc::<Mutex<Vec<Vec<String>>>>::default(), watch::channel("http/1.1").0);
        let (noted, speaking, own) = (Arc::clone(&offers), speaks.clone(), url.clone());
        let mut accepting = JoinSet::new();
        accepting.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let (noted, speaking, own, config) =
                    (Arc::clone(&noted), speaking.clone(), own.clone(), config.clone());
                connections.spawn(async move {
                    let hello = LazyConfigAcceptor::new(Acceptor::default(), stream).await.unwrap();
                    let offered: Vec<String> = hello
                        .client_hello()
                        .alpn()
                        .into_iter()
                        .flatten()
                        .map(|protocol| String::from_utf8(protocol.to_vec()).unwrap())
                        .collect();
                    noted.lock().unwrap().push(offered);
                    let version = *speaking.borrow();
                    let mut config = config;
                    config.alpn_protocols = vec![version.as_bytes().to_vec()];
                    let Ok(stream) = hello.into_stream(Arc::new(config)).await else { return };
                    let service = service_fn(move |request: http::Request<hyper::body::Incoming>| {
                        std::future::ready(Ok::<_, std::convert::Infallible>(answer(
                            request.uri().path(),
                            &own,
                        )))
                    });
                    let mut changed = speaking.subscribe();
                    let changed = changed.wait_for(|speaks| *speaks != version);
                    if version == "h2" {
                        let server = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
                        let _ = server.serve_connection(TokioIo::new(stream), service).await;
                    } else {
                        let server = hyper::server::conn::http1::Builder::new();
                        tokio::select! {
                            _ = server.serve_connection(TokioIo::new(stream), service) => {}
                            _ = changed => {}
                        }
                    }
                });
            }
        });
        Self { url, trust, offers, speaks, _accepting: accepting }
    }

    fn driver(&self, protocol: HttpProtocol) -> CosmosDriver {
        // Retries wait, so time must pass.
        driver_on(Arc::new(TokioPlatform::new()), &self.url, self.trust.clone(), protocol)
    }

    fn take_offers(&self) -> Vec<Vec<String>> {
        std::mem::take(&mut self.offers.lock().unwrap())
    }
}

#[tokio::test]
async fn the_pool_of_http1_offers_nothing_else_and_notices_when_the_server_changes() {
    let server = TlsServer::start().await;
    let forced = server.driver(HttpProtocol::Http1);
    forced.initialize().await.unwrap();
    assert_eq!(server.take_offers(), [["http/1.1"]]);

    let driver = server.driver(HttpProtocol::Negotiated);
    driver.initialize().await.unwrap();
    assert_eq!(server.take_offers(), [["h2", "http/1.1"]], "which one connection settles");
    let mut reads = JoinSet::new();
    (0..4).for_each(|_| start_read(&driver, None, &mut reads));
    assert!(reads.join_all().await.iter().all(Result::is_ok));
    server.take_offers();

    server.speaks.send_replace("h2");
    let response = driver.execute_operation(&read("1", "a"), &OperationOptions::default()).await.unwrap();
    let last = response.diagnostics().attempts().last().unwrap();
    assert_eq!(last.protocol, Some(cosmonaut_driver::transport::HttpVersion::Http2));
    let offers = server.take_offers();
    assert!(offers.contains(&vec!["http/1.1".to_owned()]), "{offers:?}");
    assert_eq!(offers.last().unwrap(), &["h2", "http/1.1"]);
}

#[tokio::test]
async fn an_attempt_says_when_its_parts_were_over() {
    let emulator = emulator(true).await;
    let mut line = Line::new("https").await;
    line.lead_to(emulator.url());
    let clock = StillClock::new();
    let connection = ConnectionOptions { http_protocol: Some(HttpProtocol::Http2), ..Default::default() };
    let runtime = CosmosDriverRuntime::builder()
        .environment(&no_environment)
        .platform(Arc::clone(&clock) as Arc<dyn Platform>)
        .trust(trust_in(&emulator))
        .build()
        .unwrap();
    let key = Credential::master_key(emulator.key()).unwrap();
    let options = CosmosClientOptions { connection, ..Default::default() };
    let driver = runtime.create_driver(&line.url, key, options).unwrap();
    // Reading the account made a connection. The operation needs another.
    driver.initialize().await.unwrap();
    line.fall_silent();
    line.misses_pings(&clock, line.opened()).await;
    let list = crate::harness::operation(cosmonaut_driver::OperationType::ReadFeed, "/dbs");
    let first = driver.execute_operation(&list, &OperationOptions::default()).await.unwrap();
    let timeline = first.diagnostics().attempts()[0].timeline;
    let zero = Some(Duration::ZERO);
    let all = cosmonaut_driver::transport::Timeline {
        resolved: zero,
        connected: zero,
        secured: zero,
        sent: zero,
        first_byte: zero,
        done: zero,
    };
    assert_eq!(timeline, all, "the clock stands still");
    clock.advance(Duration::from_millis(10));
    let second = driver.execute_operation(&list, &OperationOptions::default()).await.unwrap();
    let known =
        cosmonaut_driver::transport::Timeline { resolved: None, connected: None, secured: None, ..all };
    assert_eq!(second.diagnostics().attempts()[0].timeline, known, "it waited for no connection");
    let json = second.diagnostics().to_json();
    assert_eq!(json["attempts"][0]["timeline"]["firstByte"], 0.0);
}

#[tokio::test]
async fn a_server_that_was_silent_once_is_asked_again_what_it_speaks() {
    let emulator = emulator(false).await;
    let mut line = Line::new("http").await;
    line.lead_to(emulator.url());
    let clock = StillClock::new();
    let driver = driver_at(&clock, &line.url, Trust::default(), HttpProtocol::Negotiated);
    line.hold();
    let (own, mut first) = (driver.clone(), JoinSet::new());
    first.spawn(async move { own.initialize().await });
    line.hears_more_than(0).await;
    clock.advance(Duration::from_millis(2100));
    line.has_opened(2).await;
    line.release();
    first.join_next().await.unwrap().unwrap().unwrap();
    let list = operation(OperationType::ReadFeed, "/dbs");
    let mut versions = Vec::new();
    for _ in 0..100 {
        let answer = driver.execute_operation(&list, &OperationOptions::default()).await.unwrap();
        versions.extend(answer.diagnostics().attempts()[0].protocol);
        if versions.last() == Some(&HttpVersion::Http2) {
            break;
        }
        // A sweep, and what it has begun.
        clock.advance(Duration::from_secs(10));
        for _ in 0..200 {
            tokio::task::yield_now().await;
        }
    }
    assert_eq!(versions.first(), Some(&HttpVersion::Http1), "no request waits for a server that may be slow");
    assert_eq!(versions.last(), Some(&HttpVersion::Http2));
}

/// A caller asks an endpoint for its version, gives up and never comes back.
#[tokio::test]
async fn a_connection_that_nobody_came_back_for_is_closed() {
    let server = TlsServer::start().await;
    let mut line = Line::new("https").await;
    line.lead_to(&server.url);
    let clock = StillClock::new();
    let driver = driver_at(&clock, &line.url, server.trust.clone(), HttpProtocol::Negotiated);
    line.hold();
    let (own, mut first) = (driver.clone(), JoinSet::new());
    first.spawn(async move { own.initialize().await.is_ok() });
    line.hears_more_than(0).await;
    first.shutdown().await;
    // What reads the account in the background goes too, but not the connections.
    driver.shutdown().await;
    line.release();
    // The last word of the handshake.
    line.hears_more_than(1).await;
    let passing = async {
        for _ in 0..12 {
            clock.advance(Duration::from_secs(10));
            for _ in 0..200 {
                tokio::task::yield_now().await;
            }
        }
    };
    tokio::select! {
        () = line.has_closed(1) => {}
        () = passing => panic!("it is open after two minutes"),
    }
}

/// The runtime in which a connection was being made goes away, and a client in another asks.
#[test]
fn an_attempt_to_connect_that_ended_with_its_runtime_is_made_anew() {
    for protocol in [HttpProtocol::Http2, HttpProtocol::Http1, HttpProtocol::Negotiated] {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        // Nobody answers its handshake.
        let url = format!("https://localhost:{}", listener.local_addr().unwrap().port());
        let (tell, accepted) = std::sync::mpsc::channel();
        std::thread::spawn(move || listener.incoming().try_for_each(|stream| tell.send(stream)));
        let mut held = Vec::new();
        let driver = std::sync::OnceLock::new();
        for _ in 0..2 {
            let tokio = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            tokio.block_on(async {
                let driver = driver
                    .get_or_init(|| driver_at(&StillClock::new(), &url, Trust::default(), protocol))
                    .clone();
                let mut reads = JoinSet::new();
                start_read(&driver, None, &mut reads);
                let stream = loop {
                    match accepted.try_recv() {
                        Ok(stream) => break stream,
                        Err(_) => tokio::task::yield_now().await,
                    }
                };
                held.push(stream);
            });
        }
    }
}

#[tokio::test]
async fn the_number_of_connections_follows_demand_not_processors() {
    let gateway = Gateway::start().await;
    let clock = StillClock::new();
    let driver = driver_at(&clock, &gateway.url, Trust::default(), HttpProtocol::Negotiated);
    driver.initialize().await.unwrap();
    let mut reads = JoinSet::new();
    (0..256).for_each(|_| start_read(&driver, None, &mut reads));
    // No time passes and nothing sweeps: the requests themselves make the connections that they need.
    gateway.holds(256).await;
    let connections = gateway.data_connections().len();
    assert_eq!(connections, 256 / 16);
    gateway.open();
    assert!(reads.join_all().await.iter().all(Result::is_ok));
}
