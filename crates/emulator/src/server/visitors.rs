//! Who may call at all: by which names the emulator is called, and whose web pages may call it.
//!
//! A web page can make a name of its own lead to this machine, and then a browser sends it whatever the page asks for.
//! So names that are not the emulator's are refused, and so is every page that nobody has allowed.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use cosmonaut_wire::CosmosStatus;
use http::{HeaderMap, header};

use crate::Failure;

/// Whom a port answers.
#[derive(Clone, Debug)]
pub(crate) struct Visitors {
    /// Whether only this machine can reach the port, so that it is called by no other address.
    is_local: bool,
    /// The names besides those of this machine, in lower case; `*` is any.
    names: Vec<String>,
    /// The pages, as browsers name them: `http://localhost:3000`; `*` is any.
    pages: Vec<String>,
}

impl Visitors {
    /// Those who may call a port at the address `host`.
    pub(crate) fn new(host: &str, names: &[String], pages: &[String]) -> Self {
        let is_local = address(host).map_or(host.eq_ignore_ascii_case("localhost"), |ip| ip.is_loopback());
        let names = names.iter().map(|name| host_of(name.trim()).trim_end_matches('.'));
        let names = names.chain([host]).map(str::to_ascii_lowercase).collect();
        let pages = pages.iter().map(|page| page.trim_end_matches('/').to_ascii_lowercase()).collect();
        Self { is_local, names, pages }
    }

    /// 403 unless a request may be looked at; 400 if it calls the emulator by several names.
    pub(crate) fn check(&self, authority: Option<&str>, headers: &HeaderMap) -> Result<(), Failure> {
        if headers.get_all(header::HOST).iter().nth(1).is_some() {
            return Err(Failure::bad_request(
                "the request has the header Host twice (leave one of them out)",
            ));
        }
        // Browsers always say by which name they come; what says nothing is no browser.
        let takes_any = self.names.iter().any(|name| name == ANY);
        if let Some(called) = authority.filter(|called| !takes_any && !self.is_own_name(called)) {
            let host = host_of(called);
            return Err(refused(format!(
                "{host:?} is no name of this emulator (call it localhost, or allow the name with --allow-host {host})"
            )));
        }
        let Some(page) = headers.get(header::ORIGIN) else { return Ok(()) };
        let page = page.to_str().unwrap_or_default();
        if self.pages.iter().any(|allowed| allowed == "*" || allowed.eq_ignore_ascii_case(page)) {
            return Ok(());
        }
        Err(refused(format!(
            "requests from web pages of {page:?} are not taken here (leave the header Origin out, or allow the page with \
             --allow-origin {page})"
        )))
    }

    /// Whether an authority is the emulator's own name: one of this machine, or one that was given to it. If any name is let
    /// in, that does not make it one.
    pub(crate) fn is_own_name(&self, authority: &str) -> bool {
        let host = host_of(authority).trim_end_matches('.').to_ascii_lowercase();
        if is_of_this_machine(&host) || host != ANY && self.names.contains(&host) {
            return true;
        }
        // Nobody can make an address lead elsewhere. `is_local`: none but these leads here.
        address(&host).is_some_and(|ip| ip.is_loopback() || !self.is_local)
    }
}

/// The name that stands for all names.
const ANY: &str = "*";

/// Whether a name leads to this machine, whoever looks it up.
fn is_of_this_machine(host: &str) -> bool {
    host == "localhost" || host.ends_with(".localhost")
}

/// An authority without its port.
fn host_of(authority: &str) -> &str {
    match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => authority,
    }
}

fn address(host: &str) -> Option<IpAddr> {
    if let Some(inner) = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        return inner.parse::<Ipv6Addr>().ok().map(IpAddr::V6);
    }
    host.parse::<Ipv4Addr>().map(IpAddr::V4).or_else(|_| host.parse::<Ipv6Addr>().map(IpAddr::V6)).ok()
}

fn refused(message: String) -> Failure {
    Failure::new(CosmosStatus::FORBIDDEN, message)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn only_own_names_are_answered() {
        let names = ["cosmos".to_owned(), " Box.:8081".to_owned()];
        for (bound, host, allowed) in [
            ("127.0.0.1", "localhost:8081", true),
            ("127.0.0.1", "LOCALHOST", true),
            ("127.0.0.1", "account.localhost:1", true),
            ("127.0.0.1", "127.0.0.1:8081", true),
            ("127.0.0.1", "127.0.0.2", true),
            ("127.0.0.1", "[::1]:8081", true),
            ("127.0.0.1", "cosmos:8081", true),
            ("127.0.0.1", "Cosmos.", true),
            ("127.0.0.1", "evil.example:8081", false),
            ("127.0.0.1", "localhost.evil.example", false),
            ("127.0.0.1", "192.168.0.7", false),
            ("127.0.0.1", "", false),
            ("127.0.0.1", "localhost:", true),
            ("127.0.0.1", "localhost:evil.example", false),
            ("127.0.0.1", "localhost:80@evil.example", false),
            ("127.0.0.1", "box:8081", true),
            ("127.0.0.1", "box.", true),
            ("0.0.0.0", "192.168.0.7:8081", true),
            ("0.0.0.0", "[fe80::1]:8081", true),
            ("0.0.0.0", "evil.example", false),
            ("box.lan", "box.lan:8081", true),
            ("box.lan", "192.168.0.7", true),
        ] {
            let found = Visitors::new(bound, &names, &[]).check(Some(host), &HeaderMap::new());
            assert_eq!(found.is_ok(), allowed, "{host} at {bound}");
        }
        let any = Visitors::new("0.0.0.0", &["*".to_owned()], &[]);
        assert!(any.check(Some("evil.example"), &HeaderMap::new()).is_ok());
        assert!(any.check(None, &HeaderMap::new()).is_ok());
    }

    #[test]
    fn a_name_that_is_let_in_as_any_is_not_its_own() {
        let names = ["*".to_owned(), "cosmos".to_owned()];
        for (names, host, own) in [
            (&names[..], "cosmos:8081", true),
            (&names, "localhost:8081", true),
            (&names, "evil.example", false),
            (&names, "*", false),
            (&names[1..], "Cosmos.", true),
            (&names[1..], "127.0.0.1", true),
            (&names[1..], "evil.example", false),
        ] {
            assert_eq!(Visitors::new("0.0.0.0", names, &[]).is_own_name(host), own, "{names:?} {host}");
        }
    }

    #[test]
    fn only_allowed_pages_are_answered() {
        let allowed = Visitors::new("127.0.0.1", &[], &["http://localhost:3000/".to_owned()]);
        for (page, is_allowed) in
            [("http://localhost:3000", true), ("http://localhost:3001", false), ("null", false), ("", false)]
        {
            let headers = HeaderMap::from_iter([(header::ORIGIN, HeaderValue::from_static(page))]);
            assert_eq!(allowed.check(Some("localhost"), &headers).is_ok(), is_allowed, "{page}");
            assert!(Visitors::new("127.0.0.1", &[], &[]).check(None, &headers).is_err(), "{page}");
        }
    }
}
