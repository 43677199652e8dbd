//! Servers that are none, or break off: a distinct error each, and never a hang.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use cosmonaut_driver::transport::{TransportErrorKind, Trust};
use cosmonaut_driver::{CosmosDriverRuntime, Credential, Error, ErrorKind, OperationOptions};
use cosmonaut_options::HttpProtocol;
use cosmonaut_wire::EMULATOR_KEY;
use http::Response;
use http_body_util::Full;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;

use crate::connecting::body_for;
use crate::harness::{no_environment, read, speaking};

async fn failure_at(url: &str, trust: Trust) -> Error {
    let runtime = CosmosDriverRuntime::builder().environment(&no_environment).trust(trust).build().unwrap();
    let key = Credential::master_key(EMULATOR_KEY).unwrap();
    let driver = runtime.create_driver(url, key, speaking(HttpProtocol::Negotiated)).unwrap();
    driver.initialize().await.unwrap_err()
}

/// A server that sends these bytes to everyone who says anything, and closes.
async fn saying(bytes: Vec<u8>) -> (String, JoinSet<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let mut server = JoinSet::new();
    server.spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut asked = [0; 4096];
            let _ = stream.read(&mut asked).await;
            let _ = stream.write_all(&bytes).await;
            let _ = stream.shutdown().await;
        }
    });
    (url, server)
}

#[tokio::test]
async fn what_is_no_gateway_is_named() {
    let head = |extra: &str, body: &str| format!("HTTP/1.1 200 OK\r\n{extra}\r\n{body}").into_bytes();
    let padding = "x".repeat(1024 * 1024);
    for (case, bytes, kind, words) in [
        (
            "not JSON",
            head("content-length: 5\r\n", "hello"),
            ErrorKind::InvalidResponse,
            "check the endpoint",
        ),
        (
            "another JSON",
            head("content-length: 2\r\n", "{}"),
            ErrorKind::InvalidResponse,
            "check the endpoint",
        ),
        (
            "a web page",
            b"HTTP/1.1 404 Not Found\r\ncontent-length: 6\r\n\r\n<html>".to_vec(),
            ErrorKind::NotFound,
            "not JSON",
        ),
        (
            "an oversized header",
            head(&format!("x: {padding}\r\ncontent-length: 0\r\n"), ""),
            ErrorKind::Transport(TransportErrorKind::TooLarge),
            "more than is accepted",
        ),
        (
            "closed mid-body",
            head("content-length: 100\r\n", "half"),
            ErrorKind::Transport(TransportErrorKind::Disconnected),
            "closed the connection",
        ),
        (
            "another protocol",
            b"SSH-2.0-OpenSSH_9.9\r\n".to_vec(),
            ErrorKind::Transport(TransportErrorKind::Protocol),
            "check that it is a Cosmos DB endpoint",
        ),
        (
            "closed at once",
            Vec::new(),
            ErrorKind::Transport(TransportErrorKind::Disconnected),
            "closed the connection",
        ),
    ] {
        let (url, _server) = saying(bytes).await;
        let error = failure_at(&url, Trust::default()).await;
        assert_eq!(error.kind(), kind, "{case}: {error}");
        assert!(error.to_string().contains(words), "{case}: {error}");
    }
}

#[tokio::test]
async fn an_oversized_header_over_http2_is_named() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let mut server = JoinSet::new();
    server.spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let service = service_fn(async |_| {
                let response = Response::builder().header("x", "y".repeat(300 * 1024));
                response.body(Full::new(Bytes::new()))
            });
            let builder = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
            let _ = builder.serve_connection(TokioIo::new(stream), service).await;
        }
    });
    let error = failure_at(&url, Trust::default()).await;
    assert_eq!(error.kind(), ErrorKind::Transport(TransportErrorKind::TooLarge), "{error:?}");
}

#[tokio::test]
async fn an_answer_that_is_cut_short_over_http2_is_asked_for_again() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let (own, mut server) = (url.clone(), JoinSet::new());
    server.spawn(async move {
        let (mut connections, documents) = (JoinSet::new(), Arc::new(AtomicUsize::new(0)));
        while let Ok((stream, _)) = listener.accept().await {
            let (own, documents) = (own.clone(), Arc::clone(&documents));
            connections.spawn(async move {
                let mut connection = h2::server::handshake(stream).await.unwrap();
                while let Some(Ok((request, mut respond))) = connection.accept().await {
                    let path = request.uri().path();
                    let body = body_for(path, &own);
                    let is_short = path.contains("/docs/") && documents.fetch_add(1, Ordering::Relaxed) == 0;
                    let length = body.len() + if is_short { 10 } else { 0 };
                    let head = Response::builder().header("content-length", length).body(()).unwrap();
                    let mut stream = respond.send_response(head, false).unwrap();
                    stream.send_data(Bytes::from(body), true).unwrap();
                }
            });
        }
    });
    let runtime = CosmosDriverRuntime::builder().environment(&no_environment).build().unwrap();
    let key = Credential::master_key(EMULATOR_KEY).unwrap();
    let driver = runtime.create_driver(&url, key, speaking(HttpProtocol::Http2)).unwrap();
    let answer = driver.execute_operation(&read("1", "a"), &OperationOptions::default()).await.unwrap();
    assert_eq!(answer.diagnostics().attempts().len(), 2);
}

#[tokio::test]
async fn an_expired_certificate_is_named() {
    let mut params = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    params.not_before = rcgen::date_time_ymd(2019, 1, 1);
    params.not_after = rcgen::date_time_ymd(2020, 1, 1);
    let key = rcgen::KeyPair::generate().unwrap();
    let certificate = params.self_signed(&key).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key.into())
        .unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://localhost:{}", listener.local_addr().unwrap().port());
    let mut server = JoinSet::new();
    server.spawn(async move {
        let acceptor = TlsAcceptor::from(Arc::new(config));
        while let Ok((stream, _)) = listener.accept().await {
            let _ = acceptor.accept(stream).await;
        }
    });
    // Trusted, so that its age is all that is wrong with it.
    let trust = Trust { roots: vec![certificate.der().clone()], accept_invalid: false };
    let error = failure_at(&url, trust).await;
    assert_eq!(error.kind(), ErrorKind::Transport(TransportErrorKind::Certificate), "{error}");
    assert!(error.to_string().contains("renew"), "{error}");
    assert!(format!("{error}").to_lowercase().contains("expired"), "{error}");
}
