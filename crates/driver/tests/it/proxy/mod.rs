//! Through HTTP proxies: in clear text and over TLS, with and without credentials, named by option and by the
//! environment.

mod environment;
mod failover;
mod server;

use cosmonaut_driver::transport::{TransportErrorKind, Trust};
use cosmonaut_driver::{
    CosmosDriver, CosmosDriverRuntime, CosmosDriverRuntimeBuilder, Credential, Error, ErrorKind,
};
use cosmonaut_emulator::Emulator;
use cosmonaut_options::{ConnectionOptions, CosmosClientOptions};

use self::server::{Conduct, ProxyServer, host_of};
use crate::harness::{emulator, no_environment, trust_in};

/// As RFC 7617 has it, for the user `Aladdin` with the password `open sesame`.
const OPEN_SESAME: &str = "proxy-authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==";

fn builder(trust: Trust) -> CosmosDriverRuntimeBuilder {
    CosmosDriverRuntime::builder().environment(&no_environment).trust(trust)
}

fn through(proxy: &str) -> CosmosClientOptions {
    let connection = ConnectionOptions { proxy: Some(proxy.parse().unwrap()), ..Default::default() };
    CosmosClientOptions { connection, ..Default::default() }
}

fn driver(
    builder: CosmosDriverRuntimeBuilder,
    emulator: &Emulator,
    options: CosmosClientOptions,
) -> Result<CosmosDriver, Error> {
    let key = Credential::master_key(emulator.key()).unwrap();
    builder.build()?.create_driver(emulator.url(), key, options)
}

/// Trust in the emulator and in the proxy.
fn trust_in_both(emulator: &Emulator, proxy: &ProxyServer) -> Trust {
    let mut trust = trust_in(emulator);
    trust.roots.extend(proxy.certificate.clone());
    trust
}

async fn initialize(emulator: &Emulator, proxy: &ProxyServer) -> Result<(), Error> {
    driver(builder(trust_in_both(emulator, proxy)), emulator, through(&proxy.url))?.initialize().await
}

#[tokio::test]
async fn requests_go_through_the_proxy() {
    for tls in [false, true] {
        for proxy in [ProxyServer::start().await, ProxyServer::start_with_tls().await] {
            let emulator = emulator(tls).await;
            initialize(&emulator, &proxy).await.unwrap_or_else(|error| panic!("{}: {error}", proxy.url));
            let asked = proxy.take_asked();
            let there = host_of(emulator.url());
            assert!(!asked.is_empty() && asked.iter().all(|host| *host == there), "{asked:?}");
        }
    }
}

#[tokio::test]
async fn a_proxy_that_refuses_is_named() {
    let (emulator, proxy) = (emulator(false).await, ProxyServer::start().await);
    proxy.treat(emulator.url(), Conduct::Answer("403 Forbidden"));
    let error = initialize(&emulator, &proxy).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Transport(TransportErrorKind::Proxy), "{error}");
    assert!(error.to_string().contains(&format!("the proxy {} answered 403", proxy.url)), "{error}");
}

#[tokio::test]
async fn a_proxy_over_tls_is_trusted_as_a_server_is() {
    let (emulator, proxy) = (emulator(true).await, ProxyServer::start_with_tls().await);
    let only_emulator = builder(trust_in(&emulator));
    let driver = driver(only_emulator, &emulator, through(&proxy.url)).unwrap();
    let error = driver.initialize().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Transport(TransportErrorKind::Certificate), "{error}");
    assert!(error.to_string().contains(&proxy.url), "{error}");
    assert!(proxy.take_asked().is_empty(), "it is told nothing");
}

#[tokio::test]
async fn a_proxy_is_shown_the_credentials_that_were_handed_over() {
    for proxy in [ProxyServer::start().await, ProxyServer::start_with_tls().await] {
        let emulator = emulator(false).await;
        proxy.want(OPEN_SESAME);
        let trust = trust_in_both(&emulator, &proxy);
        let with = builder(trust).proxy_credentials("Aladdin", "open sesame");
        driver(with, &emulator, through(&proxy.url)).unwrap().initialize().await.unwrap();
    }
}

#[tokio::test]
async fn a_proxy_that_wants_other_credentials_is_final_and_no_secret_is_shown() {
    let (emulator, proxy) = (emulator(false).await, ProxyServer::start().await);
    proxy.want(OPEN_SESAME);
    for (credentials, hint) in
        [(None, "was given no user name"), (Some(("Aladdin", "closed")), "that it was given")]
    {
        let mut builder = builder(Trust::default());
        if let Some((user, password)) = credentials {
            builder = builder.proxy_credentials(user, password);
        }
        let driver = driver(builder, &emulator, through(&proxy.url)).unwrap();
        let error = driver.initialize().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Transport(TransportErrorKind::ProxyAuthentication), "{error}");
        assert_eq!(proxy.take_asked().len(), 1, "it is not asked again");
        let said = format!("{error} {error:?} {driver:?}");
        assert!(said.contains("`proxy_credentials`") && said.contains(hint), "{said}");
        // The last is `Aladdin:closed` in base64.
        for secret in ["Aladdin", "closed", "QWxhZGRpbjpjbG9zZWQ="] {
            assert!(!said.contains(secret), "{said}");
        }
    }
    let error = builder(Trust::default()).proxy_credentials("a:b", "c").build().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Configuration, "{error}");
}
