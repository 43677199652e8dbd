//! What is between this machine and a server: nothing, or a proxy that the options or the environment name.
//!
//! The driver decides which proxy it takes; this says the same of it, without user names and passwords.

use cosmonaut::CosmosClient;
use cosmonaut_policy::ProxyExceptions;

use super::network::host_and_port;

/// The variables by which a proxy is named: for `https://`, for `http://`, and for both.
const HTTPS: [&str; 4] = ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];
const HTTP: [&str; 4] = ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"];
const EXCEPTIONS: [&str; 2] = ["NO_PROXY", "no_proxy"];

/// The proxies that there are.
#[derive(Debug, Default)]
pub(super) struct Way {
    /// To every server.
    named: Option<String>,
    https: Option<String>,
    http: Option<String>,
    exceptions: ProxyExceptions,
    /// Whether the environment names a proxy, and the options do not ask for it.
    is_unused: bool,
}

impl Way {
    /// As a client goes.
    pub(super) fn of(client: &CosmosClient) -> Self {
        let groups = client.driver().explain_options();
        let option = |path: &str| {
            let options = groups.iter().filter(|group| group.name == "ConnectionOptions");
            let mut options = options.flat_map(|group| &group.options);
            options.find(|explained| explained.option.path == path).and_then(|found| found.value.clone())
        };
        let by_environment = option("proxy_from_environment").as_deref() == Some("true");
        Self::read(option("proxy"), by_environment, |name| std::env::var(name).ok())
    }

    fn read(named: Option<String>, by_environment: bool, set: impl Fn(&str) -> Option<String>) -> Self {
        let first = |names: &[&str]| {
            let values = names.iter().filter_map(|name| set(name));
            values.map(|value| value.trim().to_owned()).find(|value| !value.is_empty())
        };
        if named.is_some() || !by_environment {
            let is_unused = named.is_none() && (first(&HTTPS).is_some() || first(&HTTP).is_some());
            return Self { named, is_unused, ..Self::default() };
        }
        Self {
            named: None,
            is_unused: false,
            https: first(&HTTPS).map(|value| shown(&value)),
            http: first(&HTTP).map(|value| shown(&value)),
            exceptions: ProxyExceptions::parse(&first(&EXCEPTIONS).unwrap_or_default()),
        }
    }

    /// Whether there would be a proxy, if the options asked for it.
    pub(super) fn is_unused(&self) -> bool {
        self.is_unused
    }

    /// The proxy on the way to a server, if there is one.
    pub(super) fn to(&self, endpoint: &str) -> Option<&str> {
        if self.named.is_some() {
            return self.named.as_deref();
        }
        let (host, port) = host_and_port(endpoint)?;
        let proxy = if endpoint.starts_with("https://") { &self.https } else { &self.http };
        proxy.as_deref().filter(|_| !self.exceptions.cover(&host, port))
    }
}

/// The address of a proxy without who asks.
fn shown(value: &str) -> String {
    let (scheme, rest) = value.split_once("://").unwrap_or(("http", value));
    let host = rest.rsplit_once('@').map_or(rest, |(_, host)| host);
    format!("{scheme}://{}", host.trim_end_matches('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_is_the_one_that_is_named_or_that_of_the_environment_but_for_its_exceptions() {
        let variables = [
            ("HTTPS_PROXY", "http://user:secret@proxy:3128/"),
            ("all_proxy", "other:1"),
            ("NO_PROXY", "localhost,.internal"),
        ];
        let set = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        let named = Some("http://named:1".to_owned());
        for (named, by_environment, endpoint, proxy) in [
            (None, true, "https://a.documents.azure.com/", Some("http://proxy:3128")),
            (None, true, "http://a.example:8081", Some("http://other:1")),
            (None, true, "http://localhost:8081", None),
            (None, true, "https://x.internal", None),
            (None, false, "https://a.documents.azure.com/", None),
            (named, true, "http://localhost:8081", Some("http://named:1")),
        ] {
            let way = Way::read(named, by_environment, set);
            assert_eq!(way.to(endpoint), proxy, "{endpoint}");
            assert_eq!(way.is_unused(), !by_environment, "{endpoint}");
        }
    }
}
