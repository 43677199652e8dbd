//! Who may ask: whoever has the secret of the printed address, calls this server by its own name, and is no other page.
//!
//! The secret travels in a header and never in a cookie, so that no other page can make a browser send it along.

use http::request::Parts;
use http::{HeaderMap, Method, StatusCode, header};

use crate::answer::Refusal;

/// The header that has the secret.
pub(crate) const KEY: &str = "x-cosmonaut-key";

/// What is asked of everybody.
pub(crate) struct Session {
    secret: String,
    /// The names by which this server is called.
    names: [String; 3],
}

impl Session {
    pub(crate) fn new(secret: String, port: u16) -> Self {
        let names = ["127.0.0.1", "localhost", "[::1]"].map(|host| format!("{host}:{port}"));
        Self { secret, names }
    }

    pub(crate) fn secret(&self) -> &str {
        &self.secret
    }

    /// 421 if the request calls another server: a web page can make a name of its own lead to this machine.
    pub(crate) fn check_name(&self, request: &Parts) -> Result<(), Refusal> {
        let mut hosts = request.headers.get_all(header::HOST).iter();
        let host = hosts.next().and_then(|host| host.to_str().ok()).unwrap_or_default();
        let is_ours = |name: &str| self.names.iter().any(|known| known.eq_ignore_ascii_case(name));
        let uri = request.uri.authority().map(|authority| authority.as_str());
        if hosts.next().is_none() && is_ours(host) && uri.is_none_or(is_ours) {
            return Ok(());
        }
        let message = format!("this server is not called {host:?} (call it {})", self.names[0]);
        Err(Refusal::new(StatusCode::MISDIRECTED_REQUEST, "host", message))
    }

    /// 403 for what another page asks, 401 without the secret.
    pub(crate) fn check_caller(&self, request: &Parts) -> Result<(), Refusal> {
        let headers = &request.headers;
        if let Some(origin) = headers.get(header::ORIGIN) {
            let origin = origin.to_str().unwrap_or_default();
            let page = origin.strip_prefix("http://").unwrap_or_default();
            if !self.names.iter().any(|name| name.eq_ignore_ascii_case(page)) {
                let message = format!("requests from web pages of {origin:?} are not taken here");
                return Err(Refusal::new(StatusCode::FORBIDDEN, "origin", message));
            }
        }
        if let Some(site) = headers.get("sec-fetch-site")
            && site != "same-origin"
            && site != "none"
        {
            let message = "requests from other web pages are not taken here";
            return Err(Refusal::new(StatusCode::FORBIDDEN, "origin", message));
        }
        if self.has_secret(headers) {
            return Ok(());
        }
        let message =
            "the explorer does not know this window (open the address that it printed when it was started)";
        Err(Refusal::new(StatusCode::UNAUTHORIZED, "session", message))
    }

    fn has_secret(&self, headers: &HeaderMap) -> bool {
        let mut given = headers.get_all(KEY).iter();
        match (given.next(), given.next()) {
            (Some(given), None) => equal(given.as_bytes(), self.secret.as_bytes()),
            _ => false,
        }
    }
}

/// Whether this method changes nothing.
pub(crate) fn is_reading(method: &Method) -> bool {
    method == Method::GET || method == Method::HEAD
}

/// Compares in a time that says nothing about where they differ.
fn equal(left: &[u8], right: &[u8]) -> bool {
    let differences = left.iter().zip(right).fold(0, |all, (left, right)| all | (left ^ right));
    left.len() == right.len() && std::hint::black_box(differences) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_equal_texts_are_equal() {
        for (left, right, same) in
            [("ab", "ab", true), ("ab", "ac", false), ("ab", "a", false), ("", "a", false)]
        {
            assert_eq!(equal(left.as_bytes(), right.as_bytes()), same, "{left} {right}");
        }
    }
}
