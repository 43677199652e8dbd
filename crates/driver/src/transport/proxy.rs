//! Proxies: which one leads to a server, what it is told about who asks, and the tunnel through it.
//!
//! A tunnel that a proxy refuses is a failure of the one region that it was to lead to. Which hosts need no proxy and
//! what an answer means is decided by the policy; the variables of the environment are read in `proxy_variables`.

use std::fmt;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use cosmonaut_policy::{ProxyExceptions, TunnelAnswer, read_tunnel_answer};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::connector::{Stream, encrypt, not_sent};
use super::endpoint::Authority;
use super::error::{TransportError, TransportErrorKind};
use super::tls::{LazyTls, Offer, Trust};

/// The longest head that a proxy may answer with, in bytes.
const LONGEST_ANSWER: usize = 8 * 1024;

/// A user name and password for proxies. They are never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct ProxyCredentials {
    /// User name and password as they are sent, in base64.
    basic: Arc<str>,
}

/// A user name that cannot be told from its password.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidProxyUser;

impl fmt::Display for InvalidProxyUser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "a user name for a proxy contains a colon, which separates it from its password (use another)",
        )
    }
}

impl std::error::Error for InvalidProxyUser {}

impl ProxyCredentials {
    /// A user name and password, for the `Basic` scheme.
    ///
    /// # Errors
    /// A user name with a colon in it.
    pub fn basic(user: &str, password: &str) -> Result<Self, InvalidProxyUser> {
        if user.contains(':') {
            return Err(InvalidProxyUser);
        }
        Ok(Self { basic: BASE64.encode(format!("{user}:{password}")).into() })
    }
}

impl fmt::Debug for ProxyCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ProxyCredentials(…)")
    }
}

/// A proxy, and what it is told about who asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proxy {
    /// The proxy itself, in clear text or over TLS.
    pub server: Authority,
    /// Who asks, for a proxy that wants to know.
    pub credentials: Option<ProxyCredentials>,
}

/// Which proxy leads to a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ProxyRoute {
    /// None: connections are made to the server itself.
    #[default]
    Direct,
    /// This one, to every server.
    Through(Proxy),
    /// Whichever the environment names for the server, if it names one.
    ByEnvironment(Arc<EnvironmentProxies>),
}

/// The proxies that the environment names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnvironmentProxies {
    /// The way to `https://` servers.
    pub https: Option<Proxy>,
    /// The way to `http://` servers.
    pub http: Option<Proxy>,
    /// Which servers are reached without a proxy.
    pub exceptions: ProxyExceptions,
}

impl ProxyRoute {
    /// The proxy that leads to a server, if one does.
    pub fn to(&self, server: &Authority) -> Option<&Proxy> {
        match self {
            Self::Direct => None,
            Self::Through(proxy) => Some(proxy),
            Self::ByEnvironment(proxies) if proxies.exceptions.cover(server.host(), server.port()) => None,
            Self::ByEnvironment(proxies) => {
                if server.is_tls() {
                    proxies.https.as_ref()
                } else {
                    proxies.http.as_ref()
                }
            }
        }
    }
}

/// Makes tunnels.
pub(super) struct Tunnels {
    route: ProxyRoute,
    /// For proxies that are reached over TLS. A tunnel is asked for in HTTP/1.1, so that alone is offered.
    tls: LazyTls,
}

impl Tunnels {
    /// # Errors
    /// A further root that is no certificate.
    pub(super) fn new(route: ProxyRoute, trust: Trust) -> Result<Self, rustls::Error> {
        Ok(Self { route, tls: LazyTls::new(trust)? })
    }

    /// The proxy that leads to a server, if one does.
    pub(super) fn proxy_to(&self, server: &Authority) -> Option<&Proxy> {
        self.route.to(server)
    }

    /// Makes a connection to a proxy into one to a server.
    pub(super) async fn open(
        &self,
        mut stream: Stream,
        proxy: &Proxy,
        to: &Authority,
    ) -> Result<Stream, TransportError> {
        if proxy.server.is_tls() {
            stream = Stream::Tls(Box::new(encrypt(&self.tls, Offer::Http1, stream, &proxy.server).await?));
        }
        let refused = |kind, detail: &dyn fmt::Display| {
            not_sent(kind, to).caused_by(format!("the proxy {} {detail}", proxy.server))
        };
        let head = match ask(&mut stream, proxy.credentials.as_ref(), to).await {
            Ok(Some(head)) => head,
            Ok(None) => return Err(refused(TransportErrorKind::Proxy, &"answered without an end")),
            Err(error) => return Err(refused(TransportErrorKind::Proxy, &format_args!("failed: {error}"))),
        };
        // The proxy's own words are left out: it might repeat what it was told.
        match read_tunnel_answer(&head) {
            TunnelAnswer::Open => Ok(stream),
            TunnelAnswer::CredentialsRefused => {
                let detail = match proxy.credentials {
                    Some(_) => "answered 407 to the user name and password that it was given",
                    None => "answered 407, and was given no user name and password",
                };
                Err(refused(TransportErrorKind::ProxyAuthentication, &detail))
            }
            TunnelAnswer::Refused(code) => {
                Err(refused(TransportErrorKind::Proxy, &format_args!("answered {code}")))
            }
            TunnelAnswer::NotHttp => {
                Err(refused(TransportErrorKind::Proxy, &"did not answer in HTTP/1 (is it an HTTP proxy?)"))
            }
        }
    }
}

/// Asks for a tunnel, and returns the head of the answer; `None` if it is too long.
async fn ask(
    stream: &mut Stream,
    credentials: Option<&ProxyCredentials>,
    to: &Authority,
) -> std::io::Result<Option<Vec<u8>>> {
    stream.write_all(connect_request(credentials, to).as_bytes()).await?;
    stream.flush().await?;
    let mut head = Vec::new();
    // A byte at a time: whatever follows the blank line belongs to the tunnel.
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() == LONGEST_ANSWER {
            return Ok(None);
        }
        head.push(stream.read_u8().await?);
    }
    Ok(Some(head))
}

fn connect_request(credentials: Option<&ProxyCredentials>, to: &Authority) -> String {
    let target = match to.host().contains(':') {
        true => format!("[{}]:{}", to.host(), to.port()),
        false => format!("{}:{}", to.host(), to.port()),
    };
    let mut request = format!("CONNECT {target} HTTP/1.1\r\nhost: {target}\r\n");
    if let Some(ProxyCredentials { basic }) = credentials {
        request.push_str(&format!("proxy-authorization: Basic {basic}\r\n"));
    }
    request.push_str("\r\n");
    request
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(url: &str) -> Authority {
        Authority::of(&url.parse().unwrap()).unwrap()
    }

    fn proxy(url: &str) -> Proxy {
        Proxy { server: server(url), credentials: None }
    }

    #[test]
    fn the_route_is_chosen_by_scheme_and_exceptions() {
        let environment = ProxyRoute::ByEnvironment(Arc::new(EnvironmentProxies {
            https: Some(proxy("http://secure:1")),
            http: None,
            exceptions: ProxyExceptions::parse("near.example"),
        }));
        let fixed = ProxyRoute::Through(proxy("http://fixed:1"));
        for (route, url, expected) in [
            (&ProxyRoute::Direct, "https://a.example", None),
            (&fixed, "https://a.example", Some("http://fixed:1")),
            (&fixed, "http://near.example", Some("http://fixed:1")),
            (&environment, "https://a.example", Some("http://secure:1")),
            (&environment, "http://a.example", None),
            (&environment, "https://near.example", None),
        ] {
            let found = route.to(&server(url)).map(|proxy| proxy.server.to_string());
            assert_eq!(found.as_deref(), expected, "{url}");
        }
    }

    #[test]
    fn a_tunnel_is_asked_for_with_credentials_if_there_are_any() {
        let open_sesame = ProxyCredentials::basic("Aladdin", "open sesame").unwrap();
        for (credentials, url, expected) in [
            (None, "https://a.example", "CONNECT a.example:443 HTTP/1.1\r\nhost: a.example:443\r\n\r\n"),
            (None, "http://[::1]:9", "CONNECT [::1]:9 HTTP/1.1\r\nhost: [::1]:9\r\n\r\n"),
            (
                // The example of RFC 7617.
                Some(&open_sesame),
                "http://a:9",
                "CONNECT a:9 HTTP/1.1\r\nhost: a:9\r\n\
                 proxy-authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==\r\n\r\n",
            ),
        ] {
            assert_eq!(connect_request(credentials, &server(url)), expected);
        }
    }

    #[test]
    fn credentials_are_told_apart_but_not_shown() {
        let [one, other] =
            ["hunter2", "hunter3"].map(|password| ProxyCredentials::basic("me", password).unwrap());
        assert_ne!(one, other);
        let with = Proxy { credentials: Some(one), ..proxy("http://p:1") };
        assert_eq!(
            format!("{with:?}"),
            "Proxy { server: http://p:1, credentials: Some(ProxyCredentials(…)) }"
        );
        assert_eq!(ProxyCredentials::basic("a:b", "c"), Err(InvalidProxyUser));
    }
}
