//! Names and connections: whether there is a way to the account and its regions, and how long it is.

use std::time::Duration;

use tokio::net::{TcpStream, lookup_host};

use super::proxy::Way;
use super::report::{Kind, Level, Report};
use crate::runtime;

/// How long a connection may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often a region is connected to; the shortest time counts.
const TIMES: usize = 3;
/// What to do if the only way may be a proxy.
const UNUSED_PROXY: &str = "if the proxy that the environment names is the way out of here, set \
                            AZURE_COSMOS_PROXY_FROM_ENVIRONMENT=true; otherwise check the endpoint and firewalls";
/// What to do about a proxy.
const OTHER_PROXY: &str = "correct the proxy (HTTPS_PROXY, HTTP_PROXY, ALL_PROXY or the option proxy), or list the \
                           account in NO_PROXY";

/// The host and the port of an address.
pub(super) fn host_and_port(url: &str) -> Option<(String, u16)> {
    let (scheme, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?']).next()?;
    let usual = if scheme.eq_ignore_ascii_case("https") { 443 } else { 80 };
    let is_port = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if is_port(port) => (host, port.parse().ok()?),
        _ => (authority, usual),
    };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    (!host.is_empty()).then(|| (host.to_owned(), port))
}

/// Looks up the endpoint, or the proxy on the way to it, and connects to it. Whether something listens there.
pub(super) async fn endpoint(report: &mut Report, way: &Way, is_insecure: bool) -> bool {
    let is_tls = report.endpoint.starts_with("https://");
    let Some((host, port)) = host_and_port(&report.endpoint) else { return false };
    let is_local = matches!(&*host, "localhost" | "::1") || host.starts_with("127.");
    if !is_local && (!is_tls || is_insecure) {
        let what = format!("whoever is between here and {host} can read and change what is sent");
        report.add(Level::Warning, Kind::Tls, what, "use https and a certificate that is trusted");
    }
    report.proxy = way.to(&report.endpoint).map(str::to_owned);
    // What is behind a proxy has names that this machine need not know.
    let (host, port, what) = match report.proxy.as_deref() {
        None => (host, port, ""),
        Some(proxy) => match host_and_port(proxy) {
            Some((host, port)) => (host, port, "the proxy "),
            None => return true,
        },
    };
    let found = tokio::select! {
        found = lookup_host((host.as_str(), port)) => found.map(Iterator::collect::<Vec<_>>),
        () = runtime::sleep(PATIENCE) => Err(std::io::Error::other("nobody answers")),
    };
    match found {
        Ok(addresses) if !addresses.is_empty() => {
            report.addresses = addresses.iter().map(|address| address.ip().to_string()).collect();
            report.addresses.dedup();
        }
        Ok(_) | Err(_) => {
            let why = found.err().map_or_else(|| "it has no address".to_owned(), |error| error.to_string());
            let remedy = match &report.proxy {
                None if way.is_unused() => UNUSED_PROXY,
                None => {
                    "check the spelling of the endpoint, and whether this machine may look up names out there"
                }
                Some(_) => OTHER_PROXY,
            };
            let of = if what.is_empty() { "" } else { ", that of the proxy," };
            let what = format!("the name {host}{of} cannot be looked up: {why}");
            report.add(Level::Error, Kind::Name, what, remedy);
            return false;
        }
    }
    match connect(&host, port).await {
        Ok(_) => true,
        Err(problem) => {
            let remedy = match (&report.proxy, is_local) {
                (Some(_), _) => OTHER_PROXY,
                (None, true) => "start the account (`cosmonaut up`), or say where it is with --endpoint",
                (None, false) if way.is_unused() => UNUSED_PROXY,
                (None, false) => "check the port, and whether a firewall is between here and there",
            };
            let what = format!("{what}{host}:{port} cannot be connected to: {problem}");
            report.add(Level::Error, Kind::Connection, what, remedy);
            false
        }
    }
}

/// Connects to each region. How far one is behind a proxy cannot be told from here.
pub(super) async fn regions(report: &mut Report, way: &Way) {
    for at in 0..report.regions.len() {
        report.regions[at].by_proxy = way.to(&report.regions[at].endpoint).is_some();
        if report.regions[at].by_proxy {
            continue;
        }
        let Some((host, port)) = host_and_port(&report.regions[at].endpoint) else { continue };
        let mut best: Option<Duration> = None;
        let mut problem = None;
        for _ in 0..TIMES {
            match connect(&host, port).await {
                Ok(time) => best = Some(best.map_or(time, |best| best.min(time))),
                Err(why) => problem = Some(why),
            }
            if best.is_none() {
                break;
            }
        }
        report.regions[at].round_trip_ms = best.map(|time| time.as_secs_f64() * 1000.0);
        if let (None, Some(problem)) = (best, problem) {
            let name = report.regions[at].name.clone();
            let what = format!("the region {name} at {host}:{port} cannot be connected to: {problem}");
            let remedy =
                "without it, requests go to the others: let this machine reach all, or wait until it is back";
            report.add(Level::Warning, Kind::Region, what, remedy);
        }
    }
}

/// How long connecting takes.
async fn connect(host: &str, port: u16) -> Result<Duration, String> {
    let began = runtime::now();
    tokio::select! {
        connected = TcpStream::connect((host, port)) => match connected {
            Ok(_) => Ok(began.elapsed()),
            Err(error) => Err(error.to_string()),
        },
        () = runtime::sleep(PATIENCE) => Err(format!("no answer for {} s", PATIENCE.as_secs())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_a_host_and_a_port() {
        for (url, host, port) in [
            ("https://a.documents.azure.com/", "a.documents.azure.com", 443),
            ("http://127.0.0.1:8081", "127.0.0.1", 8081),
            ("http://[::1]:8081/", "::1", 8081),
            ("http://[::1]/", "::1", 80),
        ] {
            assert_eq!(host_and_port(url), Some((host.to_owned(), port)), "{url}");
        }
        assert_eq!(host_and_port("nothing"), None);
        assert_eq!(host_and_port("http://"), None);
    }
}
