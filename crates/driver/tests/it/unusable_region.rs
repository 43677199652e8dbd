//! One region cannot be spoken to in safety, and another can: the operation is answered there.

use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use cosmonaut_driver::transport::Trust;
use cosmonaut_driver::{CosmosDriverRuntime, Credential, OperationOptions};
use cosmonaut_options::{CosmosClientOptions, RegionOptions};
use cosmonaut_wire::EMULATOR_KEY;
use http::{Request, Response};
use http_body_util::Full;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rustls::pki_types::CertificateDer;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;

use crate::connecting::body_for;
use crate::harness::{no_environment, read};
use crate::streams::listen;

/// What is wrong with the region that comes first.
#[derive(Clone, Copy, Debug)]
enum Fault {
    /// As a load balancer answers that has no server behind it.
    ClearText,
    Expired,
    OtherName,
}

fn identity(name: &str, is_expired: bool) -> (TlsAcceptor, CertificateDer<'static>) {
    let mut params = rcgen::CertificateParams::new(vec![name.to_owned()]).unwrap();
    if is_expired {
        params.not_before = rcgen::date_time_ymd(2019, 1, 1);
        params.not_after = rcgen::date_time_ymd(2020, 1, 1);
    }
    let key = rcgen::KeyPair::generate().unwrap();
    let certificate = params.self_signed(&key).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key.into())
        .unwrap();
    (TlsAcceptor::from(Arc::new(config)), certificate.der().clone())
}

fn url_of(listener: &TcpListener) -> String {
    format!("https://localhost:{}/", listener.local_addr().unwrap().port())
}

/// A region in order, whose account is this.
async fn serve(listener: TcpListener, acceptor: TlsAcceptor, account: String) {
    let (url, mut connections) = (url_of(&listener), JoinSet::new());
    while let Ok((stream, _)) = listener.accept().await {
        let (acceptor, account, url) = (acceptor.clone(), account.clone(), url.clone());
        connections.spawn(async move {
            let Ok(stream) = acceptor.accept(stream).await else { return };
            let service = service_fn(move |request: Request<hyper::body::Incoming>| {
                let body = match request.uri().path() {
                    "/" => account.clone(),
                    path => body_for(path, &url),
                };
                std::future::ready(Ok::<_, Infallible>(Response::new(Full::new(Bytes::from(body)))))
            });
            let server = hyper::server::conn::http1::Builder::new();
            let _ = server.serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

async fn fail(listener: TcpListener, acceptor: TlsAcceptor, fault: Fault) {
    while let Ok((mut stream, _)) = listener.accept().await {
        match fault {
            Fault::ClearText => {
                let _ = stream.read(&mut [0; 4096]).await;
                let page = b"HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n";
                let _ = stream.write_all(page).await;
            }
            Fault::Expired | Fault::OtherName => drop(acceptor.accept(stream).await),
        }
    }
}

#[tokio::test]
async fn a_region_that_cannot_be_trusted_is_left_for_the_next() {
    for fault in [Fault::ClearText, Fault::Expired, Fault::OtherName] {
        let (good, bad) = (listen().await, listen().await);
        let (good_url, bad_url) = (url_of(&good), url_of(&bad));
        let (good_identity, root) = identity("localhost", false);
        let (bad_identity, bad_root) = match fault {
            Fault::ClearText | Fault::Expired => identity("localhost", true),
            Fault::OtherName => identity("elsewhere", false),
        };
        let place = |name: &str, url: &str| serde_json::json!({"name": name, "databaseAccountEndpoint": url});
        let account = serde_json::json!({
            "id": "a",
            "writableLocations": [place("East US", &good_url)],
            "readableLocations": [place("East US", &good_url), place("West US", &bad_url)],
            "userConsistencyPolicy": {"defaultConsistencyLevel": "Eventual"},
        });
        let mut servers = JoinSet::new();
        servers.spawn(serve(good, good_identity, account.to_string()));
        servers.spawn(fail(bad, bad_identity, fault));
        let trust = Trust { roots: vec![root, bad_root], accept_invalid: false };
        let runtime =
            CosmosDriverRuntime::builder().environment(&no_environment).trust(trust).build().unwrap();
        let preferred_regions = Some(vec!["West US".into(), "East US".into()]);
        let regions = RegionOptions { preferred_regions, ..Default::default() };
        let key = Credential::master_key(EMULATOR_KEY).unwrap();
        let options = CosmosClientOptions { regions, ..Default::default() };
        let driver = runtime.create_driver(&good_url, key, options).unwrap();
        let answer = driver.execute_operation(&read("1", "a"), &OperationOptions::default()).await;
        assert!(answer.is_ok(), "{fault:?}: {:?}", answer.map(drop));
    }
}
