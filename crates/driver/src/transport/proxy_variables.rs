//! The proxies that the environment names, in the variables that most programs read.
//!
//! They are read once, and understood only if the options ask for them. Their values may hold a password, so that
//! nothing here shows them.

use std::fmt;

use cosmonaut_options::{ConnectionOptionsView, Environment};
use cosmonaut_policy::ProxyExceptions;
use http::Uri;

use super::endpoint::{Authority, InvalidEndpoint};
use super::proxy::{EnvironmentProxies, Proxy, ProxyCredentials, ProxyRoute};
use crate::error::Error;

/// For `https://` servers, for `http://` servers, for both, and the exceptions. The first that is set decides.
const HTTPS: [&str; 2] = ["HTTPS_PROXY", "https_proxy"];
const HTTP: [&str; 2] = ["HTTP_PROXY", "http_proxy"];
const ALL: [&str; 2] = ["ALL_PROXY", "all_proxy"];
const EXCEPTIONS: [&str; 2] = ["NO_PROXY", "no_proxy"];
/// Set where a web server runs this program for a request. `HTTP_PROXY` is then a header of that request, which
/// anybody can send.
const CGI_REQUEST: &str = "REQUEST_METHOD";

/// What besides the options decides about proxies. It holds secrets, so it has no `Debug`.
#[derive(Clone, Default)]
pub(crate) struct ProxySources {
    /// For proxies that come without credentials of their own.
    pub(crate) credentials: Option<ProxyCredentials>,
    pub(crate) variables: ProxyVariables,
}

/// What the environment says.
#[derive(Clone, Default)]
pub(crate) struct ProxyVariables {
    https: Option<Setting>,
    http: Option<Setting>,
    exceptions: String,
}

/// A variable that is set.
#[derive(Clone)]
struct Setting {
    name: &'static str,
    value: String,
}

/// A variable that names no proxy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InvalidProxyVariable {
    name: &'static str,
}

impl fmt::Display for InvalidProxyVariable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "environment variable {}: its value, which may hold a password and is not shown, is not a proxy's address \
             (try \"http://proxy.internal:3128\")",
            self.name
        )
    }
}

impl std::error::Error for InvalidProxyVariable {}

impl ProxySources {
    /// The proxy that the options name, or else those of the environment if the options ask for them.
    pub(crate) fn route(&self, options: &ConnectionOptionsView<'_>) -> Result<ProxyRoute, Error> {
        if let Some(named) = options.proxy() {
            let server = Authority::of(named.as_uri())?;
            return Ok(ProxyRoute::Through(Proxy { server, credentials: self.credentials.clone() }));
        }
        if !options.proxy_from_environment() {
            return Ok(ProxyRoute::Direct);
        }
        let proxies = self.variables.proxies(self.credentials.as_ref())?;
        Ok(ProxyRoute::ByEnvironment(std::sync::Arc::new(proxies)))
    }
}

impl ProxyVariables {
    /// Reads the variables. An empty one counts as not set.
    pub(crate) fn read(environment: &impl Environment) -> Self {
        let first = |names: [&'static str; 2]| {
            names.into_iter().find_map(|name| {
                let value = environment.var(name)?.to_string_lossy().trim().to_owned();
                (!value.is_empty()).then_some(Setting { name, value })
            })
        };
        let is_forged = |setting: &Setting| setting.name == HTTP[0] && environment.var(CGI_REQUEST).is_some();
        Self {
            https: first(HTTPS).or_else(|| first(ALL)),
            http: first(HTTP).filter(|setting| !is_forged(setting)).or_else(|| first(ALL)),
            exceptions: first(EXCEPTIONS).map(|setting| setting.value).unwrap_or_default(),
        }
    }

    fn proxies(
        &self,
        credentials: Option<&ProxyCredentials>,
    ) -> Result<EnvironmentProxies, InvalidProxyVariable> {
        let proxy = |setting: &Option<Setting>| -> Result<Option<Proxy>, InvalidProxyVariable> {
            let Some(Setting { name, value }) = setting else { return Ok(None) };
            let mut proxy = parse(value).ok_or(InvalidProxyVariable { name })?;
            proxy.credentials = proxy.credentials.or_else(|| credentials.cloned());
            Ok(Some(proxy))
        };
        Ok(EnvironmentProxies {
            https: proxy(&self.https)?,
            http: proxy(&self.http)?,
            exceptions: ProxyExceptions::parse(&self.exceptions),
        })
    }
}

/// A proxy as `[scheme://][user[:password]@]host[:port][/]`. Without a scheme it is reached in clear text.
fn parse(text: &str) -> Option<Proxy> {
    let (scheme, rest) = text.split_once("://").unwrap_or(("http", text));
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    let (user, host) = match rest.rsplit_once('@') {
        Some((user, host)) => (Some(user), host),
        None => (None, rest),
    };
    let uri = format!("{}://{host}", scheme.to_ascii_lowercase()).parse::<Uri>().ok()?;
    let is_base = matches!(uri.path(), "" | "/") && uri.query().is_none() && !host.is_empty();
    let server: Result<Authority, InvalidEndpoint> = Authority::of(&uri);
    let credentials = match user {
        Some(user) => Some(credentials(user)?),
        None => None,
    };
    is_base.then_some(Proxy { server: server.ok()?, credentials })
}

fn credentials(user_info: &str) -> Option<ProxyCredentials> {
    let (user, password) = user_info.split_once(':').unwrap_or((user_info, ""));
    ProxyCredentials::basic(&unescaped(user)?, &unescaped(password)?).ok()
}

/// A text with its `%41` as `A`; `None` if they are malformed.
fn unescaped(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, others)) = rest.split_first() {
        if first != b'%' {
            bytes.push(first);
            rest = others;
            continue;
        }
        let (digits, others) = others.split_at_checked(2)?;
        let is_hex = digits.iter().all(u8::is_ascii_hexdigit);
        let digits = std::str::from_utf8(digits).ok().filter(|_| is_hex)?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = others;
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsString;

    fn read(pairs: &[(&str, &str)]) -> ProxyVariables {
        ProxyVariables::read(&|name: &str| {
            pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value))
        })
    }

    #[test]
    fn a_proxy_is_read_with_or_without_scheme_port_and_credentials() {
        let with = |user: &str, password: &str| Some(ProxyCredentials::basic(user, password).unwrap());
        for (text, expected) in [
            ("http://proxy:3128", Some(("http://proxy:3128", None))),
            ("http://proxy:3128/", Some(("http://proxy:3128", None))),
            ("HTTPS://proxy", Some(("https://proxy:443", None))),
            ("proxy:3128", Some(("http://proxy:3128", None))),
            ("proxy", Some(("http://proxy:80", None))),
            ("http://[::1]:3128", Some(("http://[::1]:3128", None))),
            ("http://me:hunter2@proxy:1", Some(("http://proxy:1", with("me", "hunter2")))),
            ("me:hunter2@proxy:1", Some(("http://proxy:1", with("me", "hunter2")))),
            ("http://me@proxy:1", Some(("http://proxy:1", with("me", "")))),
            ("http://me:a%40b%3ac@proxy:1", Some(("http://proxy:1", with("me", "a@b:c")))),
            ("http://me:p@ss@proxy:1", Some(("http://proxy:1", with("me", "p@ss")))),
            ("http://me:%4@proxy:1", None),
            ("http://me:%+1@proxy:1", None),
            ("http://a%3Ab:c@proxy:1", None),
            ("socks5://proxy:1080", None),
            ("http://proxy/path", None),
            ("http://proxy?q", None),
            ("http://", None),
            ("http://proxy:port", None),
            ("", None),
        ] {
            let expected = expected.map(|(server, credentials)| (server.to_owned(), credentials));
            let found = parse(text).map(|proxy| (proxy.server.to_string(), proxy.credentials));
            assert_eq!(found, expected, "{text:?}");
        }
    }

    #[test]
    fn variables_are_read_in_order_and_by_scheme() {
        for (pairs, https, http) in [
            (&[][..], None, None),
            (&[("HTTPS_PROXY", "a"), ("https_proxy", "b")], Some("a"), None),
            (&[("HTTPS_PROXY", ""), ("https_proxy", "b")], Some("b"), None),
            (&[("http_proxy", "a")], None, Some("a")),
            (&[("ALL_PROXY", "a"), ("HTTP_PROXY", "b")], Some("a"), Some("b")),
            (&[("all_proxy", "a")], Some("a"), Some("a")),
            (&[("HTTP_PROXY", "a"), ("REQUEST_METHOD", "GET")], None, None),
            (&[("http_proxy", "a"), ("REQUEST_METHOD", "GET")], None, Some("a")),
        ] {
            let proxies = read(pairs).proxies(None).unwrap();
            let host = |proxy: Option<Proxy>| proxy.map(|proxy| proxy.server.host().to_owned());
            let expected = (https.map(str::to_owned), http.map(str::to_owned));
            assert_eq!((host(proxies.https), host(proxies.http)), expected, "{pairs:?}");
        }
    }

    #[test]
    fn credentials_apart_are_for_proxies_without_their_own() {
        let apart = ProxyCredentials::basic("apart", "1").unwrap();
        let own = ProxyCredentials::basic("own", "2").unwrap();
        let variables = read(&[("HTTPS_PROXY", "own:2@a"), ("HTTP_PROXY", "b"), ("NO_PROXY", "c.example")]);
        let proxies = variables.proxies(Some(&apart)).unwrap();
        assert_eq!(proxies.https.unwrap().credentials, Some(own));
        assert_eq!(proxies.http.unwrap().credentials, Some(apart));
        assert!(proxies.exceptions.cover("c.example", 443));
    }

    #[test]
    fn a_variable_that_names_no_proxy_is_named_and_not_shown() {
        let error = read(&[("https_proxy", "socks5://me:hunter2@a")]).proxies(None).unwrap_err().to_string();
        assert!(error.contains("variable https_proxy") && !error.contains("hunter2"), "{error}");
    }
}
