//! Proxies that the environment names: only if the options ask for them.

use std::ffi::OsString;

use cosmonaut_driver::{CosmosDriverRuntime, Error, ErrorKind};
use cosmonaut_emulator::Emulator;
use cosmonaut_options::{ConnectionOptions, CosmosClientOptions};

use super::server::{ProxyServer, host_of};
use super::{OPEN_SESAME, driver, through, trust_in_both};
use crate::harness::emulator_of_rest;

/// Whether the proxy was asked by a driver that has these variables.
async fn is_asked(
    proxy: &ProxyServer,
    emulator: &Emulator,
    variables: &[(&str, String)],
    options: CosmosClientOptions,
) -> Result<bool, Error> {
    let environment = |name: &str| {
        let found = variables.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| OsString::from(value))
    };
    let builder =
        CosmosDriverRuntime::builder().environment(&environment).trust(trust_in_both(emulator, proxy));
    proxy.take_asked();
    driver(builder, emulator, options)?.initialize().await?;
    Ok(!proxy.take_asked().is_empty())
}

fn by_environment(asked_for: bool) -> CosmosClientOptions {
    let connection = ConnectionOptions { proxy_from_environment: Some(asked_for), ..Default::default() };
    CosmosClientOptions { connection, ..Default::default() }
}

#[tokio::test]
async fn the_environments_proxy_is_used_by_scheme_and_only_if_asked_for() {
    let proxy = ProxyServer::start().await;
    let (clear, safe) = (emulator_of_rest(false).await, emulator_of_rest(true).await);
    let here = || proxy.url.clone();
    let host = host_of(clear.url());
    for (emulator, variables, options, expected) in [
        (&clear, vec![("HTTP_PROXY", here())], by_environment(false), false),
        (&clear, vec![("HTTP_PROXY", here())], CosmosClientOptions::default(), false),
        (&clear, vec![("HTTP_PROXY", here())], by_environment(true), true),
        (&clear, vec![("HTTPS_PROXY", here())], by_environment(true), false),
        (&safe, vec![("HTTPS_PROXY", here())], by_environment(true), true),
        (&safe, vec![("https_proxy", here())], by_environment(true), true),
        (&safe, vec![("HTTP_PROXY", here())], by_environment(true), false),
        (&safe, vec![("ALL_PROXY", here())], by_environment(true), true),
        (&clear, vec![("ALL_PROXY", here()), ("NO_PROXY", host)], by_environment(true), false),
        (&safe, vec![("ALL_PROXY", here()), ("NO_PROXY", "*".into())], by_environment(true), false),
        (
            &clear,
            vec![("HTTP_PROXY", here()), ("AZURE_COSMOS_PROXY_FROM_ENVIRONMENT", "true".into())],
            CosmosClientOptions::default(),
            true,
        ),
        // What the options name comes first, and the environment's exceptions are none of its business.
        (
            &clear,
            vec![("HTTP_PROXY", "http://127.0.0.1:1".into()), ("NO_PROXY", "*".into())],
            through(&proxy.url),
            true,
        ),
    ] {
        let found = is_asked(&proxy, emulator, &variables, options).await;
        assert_eq!(found.unwrap(), expected, "{} {variables:?}", emulator.url());
    }
}

#[tokio::test]
async fn credentials_in_a_variable_are_used_and_never_shown() {
    let (proxy, emulator) = (ProxyServer::start().await, emulator_of_rest(false).await);
    proxy.want(OPEN_SESAME);
    let with = |user: &str| vec![("HTTP_PROXY", proxy.url.replace("http://", &format!("http://{user}@")))];
    let right = with("Aladdin:open%20sesame");
    assert!(is_asked(&proxy, &emulator, &right, by_environment(true)).await.unwrap());
    for (variables, kind) in [
        (with("Aladdin:hunter2"), None),
        (vec![("HTTP_PROXY", "socks5://Aladdin:hunter2@proxy".to_owned())], Some(ErrorKind::Configuration)),
    ] {
        let error = is_asked(&proxy, &emulator, &variables, by_environment(true)).await.unwrap_err();
        if let Some(kind) = kind {
            assert_eq!(error.kind(), kind, "{error}");
        }
        let said = format!("{error} {error:?}");
        assert!(!said.contains("hunter2") && !said.contains("Aladdin"), "{said}");
    }
    let malformed = [("HTTP_PROXY", "socks5://x".to_owned())];
    let unused = is_asked(&proxy, &emulator, &malformed, by_environment(false)).await;
    assert!(!unused.unwrap(), "a variable that nobody asked for is no error");
}
