//! The address by which a client came, which is the address that the account tells it to come by.

use std::fmt;

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
}

impl Origin<'_> {
    /// The address as an account's list of regions writes it, or `fallback` if the client has named no host.
    pub(crate) fn endpoint(&self, fallback: &str) -> String {
        match self.authority.filter(|authority| is_authority(authority)) {
            Some(authority) => format!("{}://{authority}/", self.scheme),
            None => fallback.to_owned(),
        }
    }
}

/// Whether it can only be a host and a port, so that nothing else gets into the answer.
fn is_authority(text: &str) -> bool {
    let allowed =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b':' | b'_' | b'[' | b']');
    !text.is_empty() && text.bytes().all(allowed)
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
    fn the_account_is_where_the_client_came_by() {
        let fallback = "http://127.0.0.1:8081/";
        for (scheme, authority, expected) in [
            (Scheme::Http, Some("localhost:9999"), "http://localhost:9999/"),
            (Scheme::Https, Some("[::1]:8081"), "https://[::1]:8081/"),
            (Scheme::Http, Some("a/b?c"), fallback),
            (Scheme::Http, Some(""), fallback),
            (Scheme::Https, None, fallback),
        ] {
            assert_eq!(Origin { scheme, authority }.endpoint(fallback), expected, "{authority:?}");
        }
    }
}
