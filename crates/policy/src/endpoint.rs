//! A Cosmos DB endpoint: a region's address, or the account's own.
//!
//! Which endpoint a request goes to is decided in `routing`; connecting to it is the driver's business.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::IpAddr;
use std::sync::Arc;

use cosmonaut_wire::model::AccountLocation;
use cosmonaut_wire::{RegionName, ResourcePath};
use http::Uri;
use http::uri::{Authority, PathAndQuery, Scheme};

/// Whether an endpoint is one region's or the account's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EndpointKind {
    /// The account's own address, which leads to its hub region.
    Global,
    /// One region's address.
    Regional,
}

/// Where requests are sent. Cheap to clone; two endpoints are one if their addresses are.
///
/// ```
/// use cosmonaut_policy::CosmosEndpoint;
/// let west = CosmosEndpoint::regional("West US 2", "https://shop-westus2.documents.azure.com:443/")?;
/// assert_eq!(west, CosmosEndpoint::global("https://SHOP-westus2.documents.azure.com")?);
/// assert_eq!(west.to_string(), "West US 2 (https://shop-westus2.documents.azure.com)");
/// # Ok::<(), cosmonaut_policy::EndpointError>(())
/// ```
#[derive(Clone)]
pub struct CosmosEndpoint(Arc<Inner>);

struct Inner {
    region: Option<RegionName>,
    kind: EndpointKind,
    scheme: Scheme,
    /// In lower case, without the scheme's default port.
    authority: Authority,
    /// Of the address: every request looks endpoints up.
    hash: u64,
}

impl CosmosEndpoint {
    /// The account's own endpoint.
    pub fn global(url: &str) -> Result<Self, EndpointError> {
        Self::new(None, EndpointKind::Global, url)
    }

    /// The endpoint of a region.
    pub fn regional(region: impl Into<RegionName>, url: &str) -> Result<Self, EndpointError> {
        Self::new(Some(region.into()), EndpointKind::Regional, url)
    }

    /// The endpoint of a region as the account describes it.
    pub fn of_location(location: &AccountLocation) -> Result<Self, EndpointError> {
        Self::regional(location.name.clone(), &location.endpoint)
    }

    /// The endpoint that a region of the account would have by the naming rule of Azure: the region, without
    /// spaces and in lower case, follows the account's name.
    ///
    /// `None` for a host that does not begin with an account's name, such as an address, `localhost` or one of
    /// fewer than three labels, and for a region whose name cannot be part of a host name.
    ///
    /// ```
    /// use cosmonaut_policy::CosmosEndpoint;
    /// let account = CosmosEndpoint::global("https://shop.documents.azure.com")?;
    /// let west = CosmosEndpoint::regional_name(&account, &"West US 2".into()).unwrap();
    /// assert_eq!(west.authority(), "shop-westus2.documents.azure.com");
    /// # Ok::<(), cosmonaut_policy::EndpointError>(())
    /// ```
    pub fn regional_name(global: &Self, region: &RegionName) -> Option<Self> {
        let authority = global.authority();
        let (account, domain) = authority.host().split_once('.')?;
        let labels: Vec<&str> = domain.split('.').collect();
        let is_address = authority.host().parse::<IpAddr>().is_ok() || authority.host().starts_with('[');
        let is_local = labels.last().is_some_and(|last| *last == "localhost");
        if is_address || is_local || labels.len() < 2 || account.is_empty() || labels.contains(&"") {
            return None;
        }
        let suffix: String =
            region.as_str().chars().filter(|c| !c.is_whitespace()).map(|c| c.to_ascii_lowercase()).collect();
        if suffix.is_empty() || !suffix.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            return None;
        }
        let scheme = global.scheme();
        Self::regional(region.clone(), &format!("{scheme}://{account}-{suffix}.{domain}:{}", global.port()))
            .ok()
    }

    fn new(region: Option<RegionName>, kind: EndpointKind, url: &str) -> Result<Self, EndpointError> {
        let error = || EndpointError::new(url, Problem::Malformed);
        let uri: Uri = url.trim().parse().map_err(|_| error())?;
        let is_base = matches!(uri.path(), "" | "/") && uri.query().is_none();
        let (Some(scheme), Some(authority), true) = (uri.scheme(), uri.authority(), is_base) else {
            return Err(error());
        };
        let default_port = match scheme.as_str() {
            "https" => 443,
            "http" => 80,
            _ => return Err(error()),
        };
        if authority.as_str().contains('@') || authority.host().is_empty() {
            return Err(error());
        }
        if authority.port_u16().is_none() && authority.as_str() != authority.host() {
            return Err(error());
        }
        let host = authority.host().to_ascii_lowercase();
        let authority = match authority.port_u16() {
            Some(port) if port != default_port => format!("{host}:{port}"),
            _ => host,
        };
        let authority = Authority::try_from(authority).map_err(|_| error())?;
        let scheme = scheme.clone();
        let mut hasher = DefaultHasher::new();
        (&scheme, &authority).hash(&mut hasher);
        Ok(Self(Arc::new(Inner { region, kind, scheme, authority, hash: hasher.finish() })))
    }

    /// The region; `None` for the account's own endpoint.
    pub fn region(&self) -> Option<&RegionName> {
        self.0.region.as_ref()
    }

    /// Whether this is one region's endpoint or the account's.
    pub fn kind(&self) -> EndpointKind {
        self.0.kind
    }

    /// `https` or `http`.
    pub fn scheme(&self) -> &Scheme {
        &self.0.scheme
    }

    /// Host and, unless it is the scheme's own, port.
    pub fn authority(&self) -> &Authority {
        &self.0.authority
    }

    /// The port to connect to.
    pub fn port(&self) -> u16 {
        let default = if self.0.scheme == Scheme::HTTPS { 443 } else { 80 };
        self.0.authority.port_u16().unwrap_or(default)
    }

    /// The address of a resource here. Allocates the path alone.
    pub fn uri(&self, path: &ResourcePath) -> Uri {
        self.uri_of(PathAndQuery::try_from(path.as_str()).expect("a resource path is escaped"))
    }

    /// The address of a path here.
    pub fn uri_of(&self, path: PathAndQuery) -> Uri {
        let mut parts = http::uri::Parts::default();
        parts.scheme = Some(self.0.scheme.clone());
        parts.authority = Some(self.0.authority.clone());
        parts.path_and_query = Some(path);
        Uri::from_parts(parts).expect("scheme, authority and path make a URI")
    }

    /// Refuses an endpoint that requests would reach without encryption, unless that is harmless or allowed.
    ///
    /// # Errors
    /// An `http://` endpoint that is not [local](is_local_host), unless the rule allows it. Tokens are never sent
    /// there: whoever reads a token on the way can use it.
    pub fn check_clear_text(&self, rule: ClearTextRule) -> Result<(), EndpointError> {
        if self.0.scheme == Scheme::HTTPS || is_local_host(self.0.authority.host()) {
            return Ok(());
        }
        let problem = match (rule.sends_tokens, rule.allow_public) {
            (true, _) => Problem::TokenInClearText,
            (false, false) => Problem::ClearText,
            (false, true) => return Ok(()),
        };
        Err(EndpointError::new(&self.to_string(), problem))
    }

    /// What makes it this endpoint.
    fn address(&self) -> (&str, &str) {
        (self.0.scheme.as_str(), self.0.authority.as_str())
    }

    /// Whether the endpoint is in one of these regions. The account's own is in none.
    pub(crate) fn is_in(&self, regions: &[RegionName]) -> bool {
        self.region().is_some_and(|region| regions.contains(region))
    }
}

impl PartialEq for CosmosEndpoint {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.address() == other.address()
    }
}

impl Eq for CosmosEndpoint {}

/// By address, so that collections of endpoints have one order in every run.
impl Ord for CosmosEndpoint {
    fn cmp(&self, other: &Self) -> Ordering {
        self.address().cmp(&other.address())
    }
}

impl PartialOrd for CosmosEndpoint {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Hash for CosmosEndpoint {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.0.hash);
    }
}

impl fmt::Display for CosmosEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { region, kind: _, scheme, authority, hash: _ } = &*self.0;
        match region {
            Some(region) => write!(f, "{region} ({scheme}://{authority})"),
            None => write!(f, "{scheme}://{authority}"),
        }
    }
}

impl fmt::Debug for CosmosEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// What may be sent without encryption to a host that is not local.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClearTextRule {
    /// Whether the user allows it.
    pub allow_public: bool,
    /// Whether requests carry tokens, which are good for whoever reads them, rather than signatures.
    pub sends_tokens: bool,
}

/// Whether a host is this machine or in a private network, by its address or its name.
///
/// Names that resolvers read as an address, such as `134744072`, are not local: they can lead anywhere.
pub fn is_local_host(host: &str) -> bool {
    const LOCAL_DOMAINS: [&str; 4] = ["localhost", "local", "internal", "test"];
    let host = host.trim_start_matches('[').trim_end_matches(']');
    if let Ok(address) = host.parse::<IpAddr>() {
        return is_local_address(address);
    }
    let name = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
    match name.rsplit_once('.') {
        Some((_, domain)) => LOCAL_DOMAINS.contains(&domain),
        None => name.starts_with(|first: char| first.is_ascii_alphabetic()),
    }
}

fn is_local_address(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => v4.is_loopback() || v4.is_private() || v4.is_link_local(),
        IpAddr::V6(v6) => match v6.to_ipv4_mapped() {
            Some(v4) => is_local_address(v4.into()),
            None => v6.is_loopback() || v6.is_unique_local() || v6.is_unicast_link_local(),
        },
    }
}

/// An address that is no Cosmos DB endpoint, or one that may not be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndpointError {
    /// Without what stands before an `@`.
    shown: String,
    problem: Problem,
}

impl EndpointError {
    fn new(url: &str, problem: Problem) -> Self {
        // A password in the address must not reach a log, by whichever way the error is shown.
        let shown = url.rsplit_once('@').map_or(url, |(_, rest)| rest);
        Self { shown: shown.to_owned(), problem }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Problem {
    Malformed,
    ClearText,
    TokenInClearText,
}

impl fmt::Display for EndpointError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { shown, problem } = self;
        match problem {
            Problem::Malformed => write!(
                f,
                "{shown:?} is not an endpoint: it takes http or https, a host and perhaps a port, and nothing else (try \
                 \"https://account.documents.azure.com:443/\")"
            ),
            Problem::ClearText => write!(
                f,
                "{shown} is a public host, and http:// would let others read and change what is sent there (use \
                 https://, or set `allow_clear_text` if the network is protected)"
            ),
            Problem::TokenInClearText => write!(
                f,
                "{shown} is a public host, and a token is never sent there over http:// (use https://)"
            ),
        }
    }
}

impl std::error::Error for EndpointError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_are_one_if_their_addresses_are() {
        for (a, b, same) in [
            ("https://a.example", "https://a.example:443/", true),
            ("http://A.example:80", "http://a.EXAMPLE/", true),
            ("https://a.example", "http://a.example", false),
            ("http://a.example:8081", "http://a.example:8082", false),
        ] {
            let (one, two) = (CosmosEndpoint::global(a).unwrap(), CosmosEndpoint::regional("r", b).unwrap());
            assert_eq!(one == two, same, "{a} and {b}");
        }
    }

    #[test]
    fn a_regions_name_follows_the_accounts() {
        for (account, region, expected) in [
            (
                "https://acct.documents.azure.com:443/",
                "West US 2",
                Some("https://acct-westus2.documents.azure.com"),
            ),
            (
                "https://ACCT.documents.azure.cn",
                "chinaeast2",
                Some("https://acct-chinaeast2.documents.azure.cn"),
            ),
            ("http://a.b.example:8081", "North Europe", Some("http://a-northeurope.b.example:8081")),
            ("https://account.example", "East US", None),
            ("https://localhost:8081", "East US", None),
            ("https://a.b.localhost", "East US", None),
            ("https://127.0.0.1:8081", "East US", None),
            ("https://[::1]:8081", "East US", None),
            ("https://acct.documents.azure.com", "", None),
            ("https://acct.documents.azure.com", "a/b", None),
            ("https://acct.documents.azure.com", "Zürich", None),
        ] {
            let derived =
                CosmosEndpoint::regional_name(&CosmosEndpoint::global(account).unwrap(), &region.into());
            let address = derived.as_ref().map(|one| format!("{}://{}", one.scheme(), one.authority()));
            assert_eq!(address.as_deref(), expected, "{account}, {region}");
            assert_eq!(derived.and_then(|one| one.region().cloned()), expected.map(|_| region.into()));
        }
    }

    #[test]
    fn what_is_no_endpoint_is_named_without_its_password() {
        for url in [
            "",
            "a.example",
            "ftp://a.example",
            "https://a.example/path",
            "https://a.example/?q",
            "https://",
            "https://a:99999",
        ] {
            assert!(CosmosEndpoint::global(url).is_err(), "{url:?}");
        }
        let error = CosmosEndpoint::global("https://user:secret@a.example").unwrap_err();
        for shown in [error.to_string(), format!("{error:?}")] {
            assert!(shown.contains("a.example") && !shown.contains("secret"), "{shown}");
        }
    }

    #[test]
    fn hosts_are_local_by_address_or_name() {
        for (host, expected) in [
            ("127.0.0.1", true),
            ("127.8.8.8", true),
            ("10.1.2.3", true),
            ("172.31.0.1", true),
            ("192.168.0.1", true),
            ("169.254.1.1", true),
            ("[::1]", true),
            ("[fd00::1]", true),
            ("[fe80::1]", true),
            ("[::ffff:10.0.0.1]", true),
            ("8.8.8.8", false),
            ("172.32.0.1", false),
            ("0.0.0.0", false),
            ("[2001:db8::1]", false),
            ("[::ffff:8.8.8.8]", false),
            ("localhost", true),
            ("LOCALHOST.", true),
            ("emulator", true),
            ("west.localhost", true),
            ("nas.local", true),
            ("metadata.google.internal", true),
            ("east.test", true),
            ("shop.documents.azure.com", false),
            ("localhost.example.com", false),
            ("notlocal", true),
            ("example.notlocal", false),
            // A resolver reads these as 8.8.8.8.
            ("134744072", false),
            ("0x08080808", false),
            ("8.526344", false),
        ] {
            assert_eq!(is_local_host(host), expected, "{host}");
        }
    }

    #[test]
    fn clear_text_needs_a_local_host_or_permission_and_tokens_always_a_local_host() {
        let rule = |allow_public, sends_tokens| ClearTextRule { allow_public, sends_tokens };
        for (url, rule, refusal) in [
            ("https://shop.example", rule(false, true), None),
            ("http://127.0.0.1:8081", rule(false, true), None),
            ("http://west.test", rule(false, true), None),
            ("http://shop.example", rule(false, false), Some("allow_clear_text")),
            ("http://shop.example", rule(true, false), None),
            ("http://shop.example", rule(false, true), Some("a token is never sent there")),
            ("http://shop.example", rule(true, true), Some("a token is never sent there")),
        ] {
            let found = CosmosEndpoint::regional("West US", url).unwrap().check_clear_text(rule);
            match (found.map_err(|error| error.to_string()), refusal) {
                (Ok(()), None) => {}
                (Err(error), Some(part)) => {
                    assert!(
                        error.contains(part) && error.contains("West US (http://shop.example)"),
                        "{error}"
                    );
                }
                (found, _) => panic!("{url} {rule:?}: {found:?}"),
            }
        }
    }

    #[test]
    fn a_resource_has_an_address_on_an_endpoint() {
        let endpoint = CosmosEndpoint::global("http://127.0.0.1:8081/").unwrap();
        let path = ResourcePath::parse("/dbs/a b").unwrap();
        assert_eq!(endpoint.uri(&path), "http://127.0.0.1:8081/dbs/a%20b");
        assert_eq!(endpoint.port(), 8081);
        assert_eq!(CosmosEndpoint::global("https://[::1]").unwrap().port(), 443);
    }
}
