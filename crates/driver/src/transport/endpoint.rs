//! What a connection is made to: scheme, host and port.

use std::fmt;
use std::sync::Arc;

use cosmonaut_policy::CosmosEndpoint;
use http::Uri;
use http::uri::Scheme;

/// Scheme, host and port of a server. Cheap to clone; the key of everything kept per server.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Authority {
    is_tls: bool,
    port: u16,
    host: Arc<str>,
    /// `scheme://host:port`, for messages.
    shown: Arc<str>,
}

/// A URL that is no endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidEndpoint {
    url: String,
    problem: &'static str,
}

impl fmt::Display for InvalidEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "endpoint {:?} {} (expected https://host[:port], such as https://localhost:8081)",
            self.url, self.problem
        )
    }
}

impl std::error::Error for InvalidEndpoint {}

impl Authority {
    /// The server of a URL.
    pub fn of(uri: &Uri) -> Result<Self, InvalidEndpoint> {
        let invalid = |problem| InvalidEndpoint { url: shown_without_user(uri), problem };
        let authority = uri.authority().ok_or_else(|| invalid("has no host"))?;
        if authority.as_str().contains('@') {
            return Err(invalid("has a user name in it"));
        }
        let is_tls = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            _ => return Err(invalid("is neither http:// nor https://")),
        };
        if authority.port_u16().is_none() && authority.as_str() != authority.host() {
            return Err(invalid("has a port that is none"));
        }
        let port = authority.port_u16().unwrap_or(if is_tls { 443 } else { 80 });
        Ok(Self::new(is_tls, authority.host(), port))
    }

    /// The server of an endpoint.
    pub fn of_endpoint(endpoint: &CosmosEndpoint) -> Self {
        let is_tls = *endpoint.scheme() == Scheme::HTTPS;
        Self::new(is_tls, endpoint.authority().host(), endpoint.port())
    }

    fn new(is_tls: bool, host: &str, port: u16) -> Self {
        let shown = format!("{}://{host}:{port}", if is_tls { "https" } else { "http" });
        let host = host.trim_start_matches('[').trim_end_matches(']');
        Self { is_tls, port, host: host.into(), shown: shown.into() }
    }

    /// Whether the connection is encrypted.
    pub fn is_tls(&self) -> bool {
        self.is_tls
    }

    /// The host, without brackets around an IPv6 address.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.port
    }

    pub(super) fn shown(&self) -> &Arc<str> {
        &self.shown
    }
}

fn shown_without_user(uri: &Uri) -> String {
    let text = uri.to_string();
    match (text.find("://"), text.rfind('@')) {
        (Some(scheme), Some(user)) if scheme < user => format!("{}…{}", &text[..scheme + 3], &text[user..]),
        _ => text,
    }
}

impl fmt::Display for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.shown)
    }
}

impl fmt::Debug for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_name_servers() {
        for (url, expected) in [
            ("https://a.documents.azure.com", Ok(("a.documents.azure.com", 443, true))),
            ("http://localhost:8081/", Ok(("localhost", 8081, false))),
            ("https://[::1]:9", Ok(("::1", 9, true))),
            ("localhost:8081", Err("is neither")),
            ("ftp://a", Err("is neither")),
            ("http://a:99999", Err("has a port that is none")),
            ("/dbs", Err("has no host")),
        ] {
            let found = Authority::of(&url.parse().unwrap());
            match expected {
                Ok((host, port, is_tls)) => {
                    let found = found.unwrap();
                    assert_eq!((found.host(), found.port(), found.is_tls()), (host, port, is_tls), "{url}");
                }
                Err(part) => assert!(found.unwrap_err().to_string().contains(part), "{url}"),
            }
        }
    }

    #[test]
    fn a_password_in_a_url_is_refused_and_not_repeated() {
        let error = Authority::of(&"https://user:s3cret@host".parse().unwrap()).unwrap_err();
        assert!(!error.to_string().contains("s3cret"), "{error}");
    }
}
