//! The server's sockets: both versions of HTTP on one port, TLS, limits, and how it stops.

use std::sync::Arc;

use bytes::Bytes;
use cosmonaut_emulator::{Emulator, Tls};
use http::{Request, StatusCode, Version};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use crate::client::{Answer, request};
use crate::socket::within;

fn authority(emulator: &Emulator) -> &str {
    emulator.url().split('/').nth(2).unwrap()
}

async fn connect(emulator: &Emulator) -> TcpStream {
    TcpStream::connect(authority(emulator)).await.unwrap()
}

/// Turns a request without an address into one to the emulator.
fn addressed(emulator: &Emulator, request: Request<Bytes>) -> Request<Full<Bytes>> {
    let (mut parts, body) = request.into_parts();
    parts.uri = format!("{}{}", emulator.url().trim_end_matches('/'), parts.uri).parse().unwrap();
    Request::from_parts(parts, Full::new(body))
}

async fn over_http2<S>(emulator: &Emulator, stream: S, requests: Vec<Request<Bytes>>) -> Vec<Answer>
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
{
    let (sender, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    let mut tasks = JoinSet::new();
    tasks.spawn(async move { drop(connection.await) });
    // A client knows how many requests it may send at once only after the first answer.
    let mut warm_up = sender.clone();
    warm_up.send_request(addressed(emulator, request("GET /", &[], ""))).await.unwrap();
    let mut answers = JoinSet::new();
    for request in requests {
        let (request, mut sender) = (addressed(emulator, request), sender.clone());
        answers.spawn(async move {
            let response = sender.send_request(request).await.unwrap();
            assert_eq!(response.version(), Version::HTTP_2);
            let (parts, body) = response.into_parts();
            Answer::of(http::Response::from_parts(parts, body.collect().await.unwrap().to_bytes()))
        });
    }
    answers.join_all().await
}

#[tokio::test]
async fn one_port_speaks_http1_and_http2() {
    let emulator = Emulator::builder().start().await.unwrap();
    let (mut sender, connection) = http1::handshake(TokioIo::new(connect(&emulator).await)).await.unwrap();
    let mut tasks = JoinSet::new();
    tasks.spawn(async move { drop(connection.await) });
    // Twice on one connection: it is kept alive.
    for _ in 0..2 {
        let mut request = request("GET /", &[("host", authority(&emulator))], "").map(Full::new);
        *request.version_mut() = Version::HTTP_11;
        let response = sender.send_request(request).await.unwrap();
        assert_eq!((response.status(), response.version()), (StatusCode::OK, Version::HTTP_11));
        let body: serde_json::Value =
            serde_json::from_slice(&response.collect().await.unwrap().to_bytes()).unwrap();
        assert_eq!(body["writableLocations"][0]["databaseAccountEndpoint"], emulator.url());
    }
    // More at once than a connection may carry: the rest wait their turn.
    let many = (0..64).map(|_| request("GET /", &[], "")).collect();
    let answers = over_http2(&emulator, connect(&emulator).await, many).await;
    assert_eq!(answers.len(), 64);
    for answer in answers {
        assert_eq!(answer.code(), 200);
        assert_eq!(answer.body["writableLocations"][0]["databaseAccountEndpoint"], emulator.url());
    }
}

#[tokio::test]
async fn a_connection_carries_twenty_requests_at_once() {
    let emulator = Emulator::builder().start().await.unwrap();
    let mut stream = connect(&emulator).await;
    // The preface and an empty SETTINGS frame; the server's own SETTINGS come first in return.
    stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0").await.unwrap();
    let mut head = [0; 9];
    stream.read_exact(&mut head).await.unwrap();
    assert_eq!(head[3], 4, "a SETTINGS frame");
    let mut settings = vec![0; usize::from(u16::from_be_bytes([head[1], head[2]]))];
    stream.read_exact(&mut settings).await.unwrap();
    let streams = settings.chunks(6).find(|setting| setting[..2] == [0, 3]).expect("MAX_CONCURRENT_STREAMS");
    assert_eq!(streams[2..], [0, 0, 0, 20]);
}

#[tokio::test]
async fn tls_shows_a_certificate_that_is_kept_and_offers_http2() {
    let directory = std::env::temp_dir().join(format!("cosmonaut-tls-{}", std::process::id()));
    let start = || Emulator::builder().tls(Tls::Own).data(&directory).start();
    let emulator = start().await.unwrap();
    assert!(emulator.url().starts_with("https://"));
    let path = emulator.certificate().unwrap().to_owned();
    let kept = std::fs::read(&path).unwrap();

    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(&kept).unwrap()).unwrap();
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec()];
    let name = ServerName::try_from("localhost").unwrap();
    let stream = TlsConnector::from(Arc::new(config)).connect(name, connect(&emulator).await).await.unwrap();
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
    let answers = over_http2(&emulator, stream, vec![request("GET /", &[], "")]).await;
    assert_eq!(answers[0].body["writableLocations"][0]["databaseAccountEndpoint"], emulator.url());

    emulator.shutdown().await;
    let again = start().await.unwrap();
    assert_eq!(std::fs::read(again.certificate().unwrap()).unwrap(), kept, "another certificate");
    drop(again);
    std::fs::remove_dir_all(&directory).unwrap();
}

#[tokio::test]
async fn a_certificate_that_is_none_is_refused_by_name() {
    let tls = Tls::Files { certificate: "no/such.pem".into(), key: "no/such.key".into() };
    let error = Emulator::builder().tls(tls).start().await.unwrap_err().to_string();
    assert!(error.contains("no/such.pem"), "{error}");
}

#[tokio::test]
async fn too_large_a_body_is_413_without_being_read() {
    let emulator = Emulator::builder().auth(false).start().await.unwrap();
    let mut stream = connect(&emulator).await;
    stream
        .write_all(b"POST /dbs HTTP/1.1\r\nhost: localhost\r\ncontent-length: 90000000\r\n\r\n")
        .await
        .unwrap();
    let mut answer = vec![0; 12];
    stream.read_exact(&mut answer).await.unwrap();
    assert_eq!(answer, b"HTTP/1.1 413");
}

#[tokio::test]
async fn a_stop_lets_requests_under_way_finish() {
    let emulator = Emulator::builder().auth(false).start().await.unwrap();
    let address = authority(&emulator).to_owned();
    let mut stream = connect(&emulator).await;
    stream
        .write_all(
            b"POST /dbs HTTP/1.1\r\nhost: localhost\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\n",
        )
        .await
        .unwrap();
    // The server asks for the body, so the request is under way.
    let mut head = vec![0; 12];
    stream.read_exact(&mut head).await.unwrap();
    assert_eq!(head, b"HTTP/1.1 100");
    let mut stopping = JoinSet::new();
    stopping.spawn(emulator.shutdown());
    tokio::task::yield_now().await;
    stream.write_all(b"{}").await.unwrap();
    let mut rest = String::new();
    stream.read_to_string(&mut rest).await.unwrap();
    assert!(rest.contains("HTTP/1.1 400"), "{rest}");
    within(stopping.join_all()).await;
    assert!(TcpStream::connect(address).await.is_err());
}

#[tokio::test]
async fn dropping_it_stops_it() {
    let emulator = Emulator::builder().start().await.unwrap();
    let address = authority(&emulator).to_owned();
    let mut stream = connect(&emulator).await;
    stream.write_all(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
    stream.read_u8().await.unwrap();
    drop(emulator);
    let mut rest = Vec::new();
    // The connection ends, whichever way.
    let _ = stream.read_to_end(&mut rest).await;
    assert!(TcpStream::connect(address).await.is_err());
}

#[tokio::test]
async fn a_port_in_use_is_named() {
    let first = Emulator::builder().start().await.unwrap();
    let port = authority(&first).rsplit(':').next().unwrap().parse().unwrap();
    let error = Emulator::builder().port(port).start().await.unwrap_err().to_string();
    assert!(error.contains(&format!("127.0.0.1:{port}")) && error.contains("another port"), "{error}");
}
