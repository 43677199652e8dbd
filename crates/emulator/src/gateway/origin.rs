//! The address by which a client came, which is the address that the account tells it to come by.

use std::fmt;
use std::net::SocketAddr;

use http::header;
use http::request::Parts;

/// How the client's connection is protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scheme {
    Http,
    Https,
}

/// Where a client believes the emulator is. Behind a forwarded port or another name this is not where it listens.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin<'a> {
    pub(crate) scheme: Scheme,
    /// The host and port, where the client has named them.
    pub(crate) authority: Option<&'a str>,
    /// Where the client itself is, if it came over a socket.
    pub(crate) peer: Option<SocketAddr>,
}

impl<'a> Origin<'a> {
    /// HTTP/2 names the host in `:authority`, HTTP/1.1 in a header. One that cannot be read is the name of nobody.
    pub(crate) fn of(request: &'a Parts, scheme: Scheme, peer: Option<SocketAddr>) -> Self {
        let authority = match request.uri.authority() {
            Some(authority) => Some(authority.as_str()),
            None => request.headers.get(header::HOST).map(|host| host.to_str().unwrap_or_default()),
        };
        Self { scheme, authority, peer }
    }

    /// The address of the region that the client came to, which listens at `here`.
    pub(crate) fn endpoint(&self, here: SocketAddr) -> String {
        match self.authority() {
            Some(authority) => format!("{}://{authority}/", self.scheme),
            None => format!("{}://{here}/", self.scheme),
        }
    }

    /// The address of another region, which listens at `there`: the same host, as far as the client is concerned.
    pub(crate) fn neighbour(&self, there: SocketAddr) -> String {
        match self.authority().map(host) {
            Some(host) => format!("{}://{host}:{}/", self.scheme, there.port()),
            None => format!("{}://{there}/", self.scheme),
        }
    }

    fn authority(&self) -> Option<&str> {
        self.authority.filter(|authority| is_authority(authority))
    }
}

/// Whether it can only be a host and a port, so that nothing else gets into the answer.
fn is_authority(text: &str) -> bool {
    let allowed =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b':' | b'_' | b'[' | b']');
    !text.is_empty() && text.bytes().all(allowed)
}

/// An authority without its port. The colons in an address of version 6 are within brackets.
fn host(authority: &str) -> &str {
    match authority.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => host,
        _ => authority,
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Http => "http",
            Self::Https => "https",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_are_where_the_client_came_by() {
        let (here, there) = ("127.0.0.1:8081".parse().unwrap(), "127.0.0.1:8082".parse().unwrap());
        for (scheme, authority, own, other) in [
            (Scheme::Http, Some("localhost:9999"), "http://localhost:9999/", "http://localhost:8082/"),
            (Scheme::Https, Some("[::1]:8081"), "https://[::1]:8081/", "https://[::1]:8082/"),
            (Scheme::Https, Some("[::1]"), "https://[::1]/", "https://[::1]:8082/"),
            (Scheme::Http, Some("cosmos"), "http://cosmos/", "http://cosmos:8082/"),
            (Scheme::Http, Some("a/b?c"), "http://127.0.0.1:8081/", "http://127.0.0.1:8082/"),
            (Scheme::Http, Some(""), "http://127.0.0.1:8081/", "http://127.0.0.1:8082/"),
            (Scheme::Https, None, "https://127.0.0.1:8081/", "https://127.0.0.1:8082/"),
        ] {
            let origin = Origin { scheme, authority, peer: None };
            assert_eq!(origin.endpoint(here), own, "{authority:?}");
            assert_eq!(origin.neighbour(there), other, "{authority:?}");
        }
    }
}
