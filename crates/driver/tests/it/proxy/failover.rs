//! A proxy that does not lead to one region: the others are tried, as for a region that is down.

use std::time::Duration;

use cosmonaut_driver::transport::TransportErrorKind;
use cosmonaut_driver::{AttemptDiagnostics, AttemptOutcome, DiagnosticsContext, ErrorKind};
use cosmonaut_options::CosmosClientOptions;

use super::server::{Conduct, ProxyServer, host_of};
use crate::regions::account::{Account, create, nearest, region, trail};
use crate::regions::clock::eventually;
use crate::regions::{EAST, NORTH, WEST};

fn nearest_through(proxy: &ProxyServer, region: &str) -> CosmosClientOptions {
    let mut options = nearest(region);
    options.connection.proxy = Some(proxy.url.parse().unwrap());
    // How soon a proxy that hangs is given up.
    options.connection.connect_timeout = Some(Duration::from_secs(1));
    options
}

/// Why the attempts in a region failed; none if there were none.
fn failures_in<'a>(
    diagnostics: &'a DiagnosticsContext,
    name: &'a str,
) -> impl Iterator<Item = Option<TransportErrorKind>> + 'a {
    let failed = |attempt: &AttemptDiagnostics| match attempt.outcome {
        AttemptOutcome::Failed { kind, .. } => kind,
        AttemptOutcome::Answered(_)
        | AttemptOutcome::DeadlineExceeded
        | AttemptOutcome::Cancelled
        | AttemptOutcome::LeftRunning => None,
    };
    diagnostics.attempts().iter().filter(move |attempt| region(attempt) == name).map(failed)
}

#[tokio::test]
async fn a_region_that_the_proxy_does_not_lead_to_is_failed_over_and_returned_to() {
    for (conduct, expected) in [
        (Conduct::Answer("403 Forbidden"), TransportErrorKind::Proxy),
        (Conduct::Answer("502 Bad Gateway"), TransportErrorKind::Proxy),
        (Conduct::Hang, TransportErrorKind::ConnectTimeout),
        (Conduct::Close, TransportErrorKind::Proxy),
        (Conduct::CloseInAnswer, TransportErrorKind::Proxy),
        (Conduct::CloseTunnel, TransportErrorKind::Disconnected),
        (Conduct::Garble, TransportErrorKind::Proxy),
        (Conduct::AnswerWithoutEnd, TransportErrorKind::Proxy),
    ] {
        let (account, proxy) = (Account::single_write().await, ProxyServer::start().await);
        account.client(nearest(EAST)).create("1", "a").await.unwrap();
        let west = account.emulator.region_url(WEST).unwrap();
        proxy.treat(&west, conduct);
        let client = account.client(nearest_through(&proxy, WEST));
        let answer = client.read("1", "a").await.unwrap_or_else(|error| panic!("{conduct:?}: {error:?}"));
        let diagnostics = answer.diagnostics();
        assert_eq!(trail(diagnostics).last().unwrap(), "East US 200", "{conduct:?}");
        let failures: Vec<_> = failures_in(diagnostics, WEST).collect();
        assert!(
            !failures.is_empty() && failures.iter().all(|kind| *kind == Some(expected)),
            "{conduct:?}: {failures:?}"
        );
        eventually("reads go straight to the east", async || {
            trail(client.read("1", "a").await.unwrap().diagnostics()) == ["East US 200"]
        })
        .await;

        proxy.treat(&west, Conduct::Lead);
        client.end_terms();
        eventually("reads return to the west", async || {
            trail(client.read("1", "a").await.unwrap().diagnostics()) == ["West US 200"]
        })
        .await;
    }
}

#[tokio::test]
async fn a_write_that_the_proxy_does_not_let_through_is_made_in_another_region() {
    let (account, proxy) = (Account::multi_write().await, ProxyServer::start().await);
    for down in [WEST, EAST] {
        proxy.treat(&account.emulator.region_url(down).unwrap(), Conduct::Answer("503 Busy"));
    }
    // The account is found by the address of the one region that is left.
    let north = account.emulator.region_url(NORTH).unwrap();
    let client = account.client_by(&north, nearest_through(&proxy, WEST));
    let made = client.run(create("1", "a")).await.unwrap();
    assert_eq!(trail(made.diagnostics()).last().unwrap(), "North Europe 201");
    assert_eq!(failures_in(made.diagnostics(), NORTH).collect::<Vec<_>>(), [None]);
    assert!(failures_in(made.diagnostics(), WEST).all(|kind| kind == Some(TransportErrorKind::Proxy)));
}

#[tokio::test]
async fn a_proxy_that_leads_nowhere_fails_the_operation_by_name() {
    let (account, proxy) = (Account::single_write().await, ProxyServer::start().await);
    let client = account.client(nearest_through(&proxy, WEST));
    client.create("1", "a").await.unwrap();
    client.driver.shutdown().await;
    for name in [EAST, WEST, NORTH] {
        proxy.treat(&account.emulator.region_url(name).unwrap(), Conduct::Answer("403 Forbidden"));
    }
    // Connections that are open already are none of the proxy's business any more.
    let fresh = account.client(nearest_through(&proxy, WEST));
    let error = fresh.read("1", "a").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Transport(TransportErrorKind::Proxy), "{error:?}");
    client.read("1", "a").await.unwrap();
}

#[tokio::test]
async fn a_proxy_that_wants_credentials_ends_the_operation_in_whichever_region() {
    let (account, proxy) = (Account::single_write().await, ProxyServer::start().await);
    account.client(nearest(EAST)).create("1", "a").await.unwrap();
    let west = account.emulator.region_url(WEST).unwrap();
    proxy.treat(&west, Conduct::Answer("407 Proxy Authentication Required"));
    let client = account.client(nearest_through(&proxy, WEST));
    client.driver.initialize().await.unwrap();
    proxy.take_asked();
    let error = client.read("1", "a").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Transport(TransportErrorKind::ProxyAuthentication), "{error:?}");
    assert!(error.to_string().contains("`proxy_credentials`"), "{error}");
    let asked = proxy.take_asked();
    assert!(asked.contains(&host_of(&west)), "{asked:?}");
}
