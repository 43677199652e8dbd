//! Two value types of the connection options: the HTTP version, and a proxy's address.
//!
//! Nothing here connects.

use std::fmt;
use std::str::FromStr;

use http::Uri;

use crate::value::render_as_display;
use crate::{EnvValue, Expected};

/// Which HTTP version the driver speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum HttpProtocol {
    /// HTTP/2 where the server offers it, otherwise HTTP/1.1.
    #[default]
    Negotiated,
    /// HTTP/2 only.
    Http2,
    /// HTTP/1.1 only.
    Http1,
}

impl fmt::Display for HttpProtocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Negotiated => "negotiated",
            Self::Http2 => "http2",
            Self::Http1 => "http1",
        })
    }
}

impl EnvValue for HttpProtocol {
    fn parse(text: &str) -> Result<Self, Expected> {
        match text.trim().to_ascii_lowercase().as_str() {
            "negotiated" => Ok(Self::Negotiated),
            "http2" => Ok(Self::Http2),
            "http1" => Ok(Self::Http1),
            _ => Err(Expected::new("an HTTP version (try \"negotiated\", \"http2\" or \"http1\")")),
        }
    }
}

/// The address of an HTTP proxy, without credentials: options hold no secrets.
///
/// ```
/// use cosmonaut_options::ProxyUri;
/// assert!("http://proxy.internal:3128".parse::<ProxyUri>().is_ok());
/// assert!("http://user:password@proxy.internal".parse::<ProxyUri>().is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ProxyUri(Uri);

impl ProxyUri {
    /// The address.
    pub const fn as_uri(&self) -> &Uri {
        &self.0
    }
}

/// Why a text is not a proxy's address. The text is left out of the message: it may hold a password.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProxyUriError {
    /// It is not `http://host:port` or `https://host:port`.
    Malformed,
    /// It carries a user name or a password.
    Credentials,
}

impl fmt::Display for ProxyUriError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Malformed => "a proxy is given by scheme and host (try \"http://proxy.internal:3128\")",
            Self::Credentials => "a proxy's address may not carry a user name or password (try it without)",
        })
    }
}

impl std::error::Error for ProxyUriError {}

impl FromStr for ProxyUri {
    type Err = ProxyUriError;

    fn from_str(text: &str) -> Result<Self, ProxyUriError> {
        if text.contains('@') {
            return Err(ProxyUriError::Credentials);
        }
        let uri = text.trim().parse::<Uri>().map_err(|_| ProxyUriError::Malformed)?;
        let well_formed = matches!(uri.scheme_str(), Some("http" | "https"))
            && uri.host().is_some_and(|host| !host.is_empty())
            && matches!(uri.path(), "" | "/")
            && uri.query().is_none();
        if well_formed { Ok(Self(uri)) } else { Err(ProxyUriError::Malformed) }
    }
}

impl fmt::Display for ProxyUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl EnvValue for ProxyUri {
    fn parse(text: &str) -> Result<Self, Expected> {
        text.parse().map_err(|error| match error {
            ProxyUriError::Malformed => {
                Expected::new("a proxy's address (try \"http://proxy.internal:3128\")")
            }
            ProxyUriError::Credentials => {
                Expected::concealing("a proxy's address without user name and password")
            }
        })
    }
}

render_as_display!(HttpProtocol, ProxyUri);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_is_a_scheme_and_a_host() {
        for (text, expected) in [
            ("http://proxy:3128", None),
            ("https://10.0.0.1/", None),
            ("http://[::1]:3128", None),
            ("proxy:3128", Some(ProxyUriError::Malformed)),
            ("socks5://proxy", Some(ProxyUriError::Malformed)),
            ("http://proxy/path", Some(ProxyUriError::Malformed)),
            ("http://proxy/?q", Some(ProxyUriError::Malformed)),
            ("", Some(ProxyUriError::Malformed)),
            ("http://user@proxy", Some(ProxyUriError::Credentials)),
            ("user:secret@not a uri", Some(ProxyUriError::Credentials)),
        ] {
            assert_eq!(text.parse::<ProxyUri>().err(), expected, "{text:?}");
        }
    }
}
