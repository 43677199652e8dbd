//! Single streams and single requests: refused, queued, given up, empty, or read slowly.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use cosmonaut_driver::platform::{Platform, TokioPlatform};
use cosmonaut_driver::transport::{
    Authority, HttpClient, HttpClientConfig, HttpClientFactory as _, HttpVersion, HyperClientFactory,
    RequestSentStatus, SendProgress, TransportError, TransportErrorKind,
};
use cosmonaut_options::HttpProtocol;
use http::{Method, Request, Response};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use crate::line::StillClock;

/// A client of a server, and what is sent to it.
pub(crate) struct Peer {
    pub(crate) client: Arc<dyn HttpClient>,
    server: Authority,
}

impl Peer {
    pub(crate) fn new(listener: &TcpListener, version: HttpVersion, config: HttpClientConfig) -> Self {
        Self::on(Arc::new(TokioPlatform::new()), listener, version, config)
    }

    fn on(
        platform: Arc<dyn Platform>,
        listener: &TcpListener,
        version: HttpVersion,
        config: HttpClientConfig,
    ) -> Self {
        let url = format!("http://{}", listener.local_addr().unwrap());
        Self::at(platform, &url, version, config)
    }

    pub(crate) fn at(
        platform: Arc<dyn Platform>,
        url: &str,
        version: HttpVersion,
        config: HttpClientConfig,
    ) -> Self {
        let server = Authority::of(&url.parse().unwrap()).unwrap();
        let factory = HyperClientFactory::new(config, platform).unwrap();
        Self { client: factory.create(&server, version), server }
    }

    pub(crate) async fn send(&self, method: Method) -> Result<Response<Bytes>, TransportError> {
        self.client.send(self.request(method, Bytes::new()), &SendProgress::new()).await
    }

    pub(crate) fn request(&self, method: Method, body: Bytes) -> Request<Bytes> {
        Request::builder().method(method).uri(format!("{}/x", self.server)).body(body).unwrap()
    }
}

pub(crate) async fn listen() -> TcpListener {
    TcpListener::bind("127.0.0.1:0").await.unwrap()
}

pub(crate) fn reply() -> Response<()> {
    Response::builder().status(200).body(()).unwrap()
}

#[tokio::test]
async fn a_refused_stream_was_not_sent_and_the_connection_goes_on() {
    let listener = listen().await;
    let peer = Peer::new(&listener, HttpVersion::Http2, HttpClientConfig::default());
    let mut server = JoinSet::new();
    server.spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let mut connection = h2::server::handshake(stream).await.unwrap();
        let mut count = 0;
        while let Some(Ok((_, mut respond))) = connection.accept().await {
            count += 1;
            match count {
                1 => respond.send_reset(h2::Reason::REFUSED_STREAM),
                _ => drop(respond.send_response(reply(), true)),
            }
        }
    });
    let error = peer.send(Method::POST).await.unwrap_err();
    assert_eq!((error.kind(), error.sent()), (TransportErrorKind::Disconnected, RequestSentStatus::NotSent));
    assert!(peer.send(Method::POST).await.is_ok(), "over the same connection, as there is only one");
}

#[tokio::test]
async fn a_refused_stream_counts_once_against_its_shard_and_is_repeated() {
    use cosmonaut_driver::{CosmosDriverRuntime, Credential, OperationOptions, OperationType};
    let listener = listen().await;
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let (own, refused) = (url.clone(), Arc::new(AtomicUsize::new(0)));
    let refusals = Arc::clone(&refused);
    let mut server = JoinSet::new();
    server.spawn(async move {
        let mut connections = JoinSet::new();
        while let Ok((stream, _)) = listener.accept().await {
            let (own, refused) = (own.clone(), Arc::clone(&refusals));
            connections.spawn(async move {
                let mut connection = h2::server::handshake(stream).await.unwrap();
                while let Some(Ok((request, mut respond))) = connection.accept().await {
                    let is_data = request.uri().path().ends_with("/docs");
                    if is_data && refused.fetch_add(1, Ordering::Relaxed) == 0 {
                        respond.send_reset(h2::Reason::REFUSED_STREAM);
                        continue;
                    }
                    let body = crate::connecting::body_for(request.uri().path(), &own);
                    let mut stream = respond.send_response(reply(), false).unwrap();
                    stream.send_data(Bytes::from(body), true).unwrap();
                }
            });
        }
    });
    let runtime =
        CosmosDriverRuntime::builder().environment(&crate::harness::no_environment).build().unwrap();
    let key = Credential::master_key(cosmonaut_wire::EMULATOR_KEY).unwrap();
    let driver = runtime.create_driver(&url, key, crate::harness::speaking(HttpProtocol::Http2)).unwrap();
    let create = crate::harness::operation(OperationType::Create, "/dbs/d/colls/c/docs")
        .with_body(r#"{"id":"1","pk":"a"}"#.to_owned())
        .with_target(cosmonaut_wire::PartitionKey::from("a"));
    let response = driver.execute_operation(&create, &OperationOptions::default()).await.unwrap();
    assert_eq!(refused.load(Ordering::Relaxed), 2, "a create is repeated, as it was not seen");
    let attempts = response.diagnostics().attempts();
    let endpoint = driver.location().unwrap().account.preferred_write_endpoints()[0].clone();
    let shards = driver.shards(&endpoint);
    let first = shards.iter().find(|shard| Some(shard.id) == attempts[0].shard).unwrap();
    assert_eq!(first.consecutive_failures, 1);
}

#[tokio::test]
async fn requests_beyond_what_the_server_allows_wait_for_a_stream() {
    let listener = listen().await;
    let peer = Arc::new(Peer::new(&listener, HttpVersion::Http2, HttpClientConfig::default()));
    let mut server = JoinSet::new();
    let peak = Arc::new(AtomicUsize::new(0));
    let most = Arc::clone(&peak);
    server.spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let mut connection =
            h2::server::Builder::new().max_concurrent_streams(4).handshake::<_, Bytes>(stream).await.unwrap();
        let (mut open, mut count) = (Vec::new(), 0);
        while let Some(Ok((_, respond))) = connection.accept().await {
            open.push(respond);
            count += 1;
            most.fetch_max(open.len(), Ordering::Relaxed);
            // The first comes before the driver knows the limit.
            if open.len() == 4 || count == 1 {
                open.drain(..).for_each(|mut respond| drop(respond.send_response(reply(), true)));
            }
        }
    });
    assert!(peer.send(Method::GET).await.is_ok());
    let mut all = JoinSet::new();
    for _ in 0..40 {
        let peer = Arc::clone(&peer);
        all.spawn(async move { peer.send(Method::GET).await.is_ok() });
    }
    assert!(all.join_all().await.into_iter().all(|is_ok| is_ok), "none is refused");
    assert_eq!(peak.load(Ordering::Relaxed), 4);
}

#[tokio::test]
async fn over_http2_a_body_comes_whole_however_little_the_server_takes_at_once() {
    for (length, expected) in [(0, Some("0")), (1, Some("1")), (3 << 20, Some("3145728"))] {
        let listener = listen().await;
        let peer = Peer::new(&listener, HttpVersion::Http2, HttpClientConfig::default());
        let mut server = JoinSet::new();
        server.spawn(async move {
            let (stream, _) = listener.accept().await.unwrap();
            let mut connection = h2::server::handshake(stream).await.unwrap();
            let (request, mut respond) = connection.accept().await.unwrap().unwrap();
            let said = request.headers().get("content-length").map(|said| said.to_str().unwrap().to_owned());
            let reading = async move {
                let (mut body, mut read) = (request.into_body(), 0);
                while let Some(Ok(data)) = body.data().await {
                    read += data.len();
                    body.flow_control().release_capacity(data.len()).unwrap();
                }
                respond.send_response(reply(), true).unwrap();
                read
            };
            tokio::pin!(reading);
            let read = loop {
                tokio::select! {
                    read = &mut reading => break read,
                    _ = connection.accept() => {}
                }
            };
            while let Some(Ok(_)) = connection.accept().await {}
            (said, read)
        });
        let request = peer.request(Method::POST, vec![7; length].into());
        peer.client.send(request, &SendProgress::new()).await.unwrap();
        drop(peer);
        let (said, read) = server.join_next().await.unwrap().unwrap();
        assert_eq!((said.as_deref(), read), (expected, length));
    }
}

#[tokio::test]
async fn an_answer_before_the_body_was_read_counts_and_one_that_is_cut_does_not() {
    for is_cut in [false, true] {
        let listener = listen().await;
        let peer = Peer::new(&listener, HttpVersion::Http2, HttpClientConfig::default());
        let mut server = JoinSet::new();
        server.spawn(async move {
            let (stream, _) = listener.accept().await.unwrap();
            let mut connection = h2::server::handshake(stream).await.unwrap();
            let (_request, mut respond) = connection.accept().await.unwrap().unwrap();
            let mut body = respond.send_response(reply(), false).unwrap();
            body.send_data(Bytes::from_static(b"the beginning"), !is_cut).unwrap();
            if is_cut {
                // Otherwise the data would not go out before the end of the stream.
                std::future::poll_fn(|context| {
                    let _ = connection.poll_accept(context);
                    Poll::Ready(())
                })
                .await;
                body.send_reset(h2::Reason::CANCEL);
            }
            while let Some(Ok(_)) = connection.accept().await {}
        });
        let request = peer.request(Method::POST, vec![7; 1 << 20].into());
        let answer = peer.client.send(request, &SendProgress::new()).await;
        match is_cut {
            false => assert_eq!(answer.unwrap().into_body(), "the beginning"),
            true => {
                let error = answer.unwrap_err();
                assert_eq!(error.kind(), TransportErrorKind::Disconnected, "{error}");
            }
        }
    }
}

/// The head of the next request on a connection.
async fn head(stream: &mut BufReader<TcpStream>) -> Vec<String> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await.unwrap();
        match line.trim() {
            "" => return lines,
            line => lines.push(line.to_lowercase()),
        }
    }
}

#[tokio::test]
async fn over_http1_a_request_without_a_body_says_so_where_one_is_usual() {
    for (method, expected) in
        [(Method::POST, true), (Method::PUT, true), (Method::GET, false), (Method::DELETE, false)]
    {
        let listener = listen().await;
        let peer = Peer::new(&listener, HttpVersion::Http1, HttpClientConfig::default());
        let (tell, mut told) = mpsc::unbounded_channel();
        let mut server = JoinSet::new();
        server.spawn(async move {
            let (stream, _) = listener.accept().await.unwrap();
            let mut stream = BufReader::new(stream);
            tell.send(head(&mut stream).await).unwrap();
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await.unwrap();
        });
        peer.send(method.clone()).await.unwrap();
        let said = told.recv().await.unwrap();
        assert_eq!(said.contains(&"content-length: 0".to_owned()), expected, "{method}: {said:?}");
        assert!(!said.iter().any(|line| line.starts_with("transfer-encoding")), "{method}: {said:?}");
    }
}

#[tokio::test]
async fn a_caller_that_goes_away_frees_its_place() {
    // Over HTTP/1.1 the only connection; over HTTP/2 the only stream that the server allows.
    for version in [HttpVersion::Http1, HttpVersion::Http2] {
        let listener = listen().await;
        let config = HttpClientConfig { pool_max_connections: 1, ..Default::default() };
        let peer = Arc::new(Peer::new(&listener, version, config));
        let asked = watch::channel(0).0;
        let (mut server, count) = (JoinSet::new(), asked.clone());
        server.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                connections.spawn(answer_all_but_the_first(stream, version, count.clone()));
            }
        });
        let hanging = Arc::clone(&peer);
        let mut waiting = JoinSet::new();
        waiting.spawn(async move { hanging.send(Method::GET).await.is_ok() });
        asked.subscribe().wait_for(|asked| *asked == 1).await.unwrap();
        waiting.shutdown().await;
        assert!(peer.send(Method::GET).await.is_ok(), "{version:?}");
    }
}

async fn answer_all_but_the_first(stream: TcpStream, version: HttpVersion, asked: watch::Sender<usize>) {
    let next = || {
        asked.send_modify(|asked| *asked += 1);
        *asked.borrow()
    };
    match version {
        HttpVersion::Http1 => {
            let mut stream = BufReader::new(stream);
            head(&mut stream).await;
            if next() == 1 {
                std::future::pending::<()>().await;
            }
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await.unwrap();
        }
        HttpVersion::Http2 => {
            let mut builder = h2::server::Builder::new();
            let mut connection =
                builder.max_concurrent_streams(1).handshake::<_, Bytes>(stream).await.unwrap();
            let mut held = Vec::new();
            while let Some(Ok((_, mut respond))) = connection.accept().await {
                match next() {
                    1 => held.push(respond),
                    _ => drop(respond.send_response(reply(), true)),
                }
            }
        }
    }
}

/// A large body that tells how much of it was taken.
struct Counted {
    left: usize,
    taken: watch::Sender<usize>,
}

impl hyper::body::Body for Counted {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<hyper::body::Frame<Bytes>, Infallible>>> {
        const PART: usize = 64 * 1024;
        if self.left == 0 {
            return Poll::Ready(None);
        }
        self.left -= PART;
        self.taken.send_modify(|taken| *taken += PART);
        Poll::Ready(Some(Ok(hyper::body::Frame::data(Bytes::from_static(&[b'x'; PART])))))
    }
}

#[tokio::test]
async fn a_caller_that_pauses_stalls_no_answer() {
    // More than sockets and windows hold.
    const LARGE: usize = 48 * 1024 * 1024;
    for version in [HttpVersion::Http1, HttpVersion::Http2] {
        let listener = listen().await;
        let clock = StillClock::new();
        let platform = Arc::clone(&clock) as Arc<dyn Platform>;
        let peer = Peer::on(platform, &listener, version, HttpClientConfig::default());
        let taken = watch::channel(0).0;
        let (mut server, counter) = (JoinSet::new(), taken.clone());
        server.spawn(async move {
            let (stream, _) = listener.accept().await.unwrap();
            let service = service_fn(move |_: Request<hyper::body::Incoming>| {
                let body = Counted { left: LARGE, taken: counter.clone() };
                std::future::ready(Ok::<_, Infallible>(Response::new(body)))
            });
            let io = TokioIo::new(stream);
            let _ = match version {
                HttpVersion::Http1 => {
                    hyper::server::conn::http1::Builder::new().serve_connection(io, service).await
                }
                HttpVersion::Http2 => {
                    let builder = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
                    builder.serve_connection(io, service).await
                }
            };
        });
        let mut sending = Box::pin(peer.send(Method::GET));
        // Polled until some of the answer has been taken in, and then not any more.
        while *taken.borrow() < LARGE / 4 {
            let once = std::future::poll_fn(|context| Poll::Ready(sending.as_mut().poll(context)));
            assert!(once.await.is_pending());
            tokio::task::yield_now().await;
        }
        taken.subscribe().wait_for(|taken| *taken == LARGE).await.unwrap();
        assert_eq!(sending.await.unwrap().body().len(), LARGE, "{version:?}");
    }
}
