//! What a provider connects to, and how: set by hand, for the local emulator, or from the environment.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use cosmonaut::{ContainerClient, CosmosClient, RegionName};

use crate::codec::{Compression, PayloadCodecs};
use crate::connect_error::ConnectError;
use crate::hub::Hub;
use crate::lease::{CosmosLeaseProvider, InMemoryLeaseProvider, LeaseProvider, automatic_name};
use crate::retention::Retention;
use crate::setup::Throughput;

/// The environment variables of each setting, in the order in which they are looked at.
const ENDPOINT: [&str; 3] = ["COSMONAUT_ENDPOINT", "COSMOSDB_ENDPOINT", "COSMOS_ENDPOINT"];
const KEY: [&str; 3] = ["COSMONAUT_KEY", "COSMOSDB_KEY", "COSMOS_KEY"];
const DATABASE: [&str; 3] = ["COSMONAUT_DATABASE", "COSMOSDB_DATABASE", "COSMOS_DATABASE"];
const CONTAINER: [&str; 3] = ["COSMONAUT_CONTAINER", "COSMOSDB_CONTAINER", "COSMOS_CONTAINER"];
const HUB: [&str; 3] = ["COSMONAUT_HUB", "COSMOSDB_HUB", "COSMOS_HUB"];

/// The settings of a provider.
///
/// ```
/// use duroxide_cosmonaut::{CosmosProviderConfig, Leases};
///
/// let config = CosmosProviderConfig {
///     database: "shop".into(),
///     leases: Leases::Container { name: "worker-7".into(), lease: std::time::Duration::from_secs(15) },
///     ..CosmosProviderConfig::new("https://contoso.documents.azure.com", "a2V5")
/// };
/// ```
#[derive(Clone)]
pub struct CosmosProviderConfig {
    /// The address of the account.
    pub endpoint: String,
    /// A key of the account.
    pub key: String,
    /// A client to use instead of a new one for `endpoint` and `key`: with its own options, or signed in by
    /// Entra. If it reads where it does not write, set `remote_region_preferred` of its session retries, as the new
    /// one does: a turn reads what was written a moment ago.
    pub client: Option<CosmosClient>,
    /// The database.
    pub database: String,
    /// The container.
    pub container: String,
    /// The task hub: a set of instances of its own in the container, under a name of up to 64 letters, digits, `-`, `_` and
    /// `.`. Hubs never see, run, list, count or delete anything of each other, and may have instances of the same names. All
    /// processes that are to share instances have the same hub.
    ///
    /// ```
    /// use duroxide_cosmonaut::CosmosProviderConfig;
    ///
    /// let config = CosmosProviderConfig { hub: Some("orders".into()), ..CosmosProviderConfig::default() };
    /// ```
    pub hub: Option<String>,
    /// Whether database and container are made if they are not there. Without it connecting writes nothing at
    /// all: for tools that only look.
    pub create_if_absent: bool,
    /// How much throughput the container gets when it is made. One that is there keeps what it has.
    pub throughput: Throughput,
    /// On an account that writes in several regions: the one region that all requests go to, the same in all
    /// processes. A lock holds in the region in which it was written, so such an account is refused without this. While
    /// that region is away nothing moves; there is no failover to another. On an account that writes in one region
    /// it does nothing.
    ///
    /// A `client` of your own must be made with all other regions in `excluded_regions`.
    pub write_region: Option<RegionName>,
    /// Whether to connect although something is wrong with the account or the container; see
    /// [`ConnectError::findings`]. For tools that look at such a container or mend it: orchestrations that run there
    /// may be lost, repeated or stuck.
    pub tolerate_findings: bool,
    /// How the dispatch slots are shared with other processes.
    pub leases: Leases,
    /// How often deliveries that a crashed process owes are looked for. A container of many partitions is
    /// searched less often, so that a process with nothing to do stays cheap.
    pub reconciler_interval: Duration,
    /// How long a delivery is left to the process that owes it.
    pub reconciler_age_threshold: Duration,
    /// How many bytes of histories are kept in memory, so that a turn need not read them again.
    pub history_cache_bytes: usize,
    /// How long what has ended is kept. For ever, unless something is said.
    pub retention: Retention,
    /// Whether long inputs, outputs and other texts are stored compressed.
    pub compression: Compression,
    /// What else is done to these texts before they are stored, such as encrypting them.
    pub codecs: PayloadCodecs,
    /// Whether outputs, custom statuses and values whose codec is not among `codecs` read as `(encoded by NAME)` instead of
    /// being an error. For tools that only look; orchestrations never get such a text.
    pub describe_encoded: bool,
    /// Where metrics go, instead of to OpenTelemetry's global provider.
    #[cfg(feature = "opentelemetry")]
    pub meter_provider: Option<Arc<dyn opentelemetry::metrics::MeterProvider + Send + Sync>>,
    /// How long connecting may take, with all that is tried again.
    pub connect_timeout: Duration,
}

/// How the dispatch slots are shared with other processes.
#[derive(Clone, Default)]
pub enum Leases {
    /// This process has the container for itself.
    #[default]
    InMemory,
    /// Shared through the container itself.
    Container {
        /// A name that no other process has at the same time.
        name: String,
        /// How long after its last sign of life the slots of a process are taken over.
        lease: Duration,
    },
    /// Shared in some other way, with processes of the same [`hub`](LeaseProvider::hub) as the provider.
    Custom(Arc<dyn LeaseProvider>),
}

impl Leases {
    /// Shared with the other processes that use the container, under a name that no other process has. The share of a
    /// process that dies is taken over after `lease`.
    ///
    /// ```
    /// use duroxide_cosmonaut::{CosmosProviderConfig, Leases};
    ///
    /// let leases = Leases::shared(std::time::Duration::from_secs(15));
    /// let config = CosmosProviderConfig { leases, ..CosmosProviderConfig::default() };
    /// ```
    pub fn shared(lease: Duration) -> Self {
        Self::Container { name: automatic_name(), lease }
    }

    /// Whether leases of one's own are for the hub of the provider.
    ///
    /// # Errors
    /// If they share the slots of another hub.
    pub(crate) fn check(&self, hub: &Hub) -> Result<(), ConnectError> {
        let Self::Custom(leases) = self else { return Ok(()) };
        if !leases.is_shared() || leases.hub() == hub.title() {
            return Ok(());
        }
        let called =
            |hub: Option<&str>| hub.map_or("the hub without a name".into(), |hub| format!("hub {hub:?}"));
        Err(ConnectError::new(format!(
            "the leases share the slots of {}, and the provider is of {} (see CosmosLeaseProvider::in_hub and \
             LeaseProvider::hub)",
            called(leases.hub()),
            called(hub.title())
        )))
    }

    pub(crate) fn provider(&self, container: &ContainerClient, hub: &Hub) -> Arc<dyn LeaseProvider> {
        match self {
            Self::InMemory => Arc::new(InMemoryLeaseProvider),
            Self::Container { name, lease } => {
                Arc::new(CosmosLeaseProvider::new(container.clone(), name, *lease).within(hub))
            }
            Self::Custom(provider) => Arc::clone(provider),
        }
    }
}

impl CosmosProviderConfig {
    /// An account, and otherwise what is usual.
    pub fn new(endpoint: impl Into<String>, key: impl Into<String>) -> Self {
        Self { endpoint: endpoint.into(), key: key.into(), ..Self::default() }
    }

    /// A client, and otherwise what is usual.
    pub fn with_client(client: CosmosClient) -> Self {
        Self { client: Some(client), ..Self::default() }
    }

    /// What the environment says: `COSMONAUT_ENDPOINT`, `COSMONAUT_KEY`, `COSMONAUT_DATABASE`, `COSMONAUT_CONTAINER` and
    /// `COSMONAUT_HUB`, or the same with `COSMOSDB_` or `COSMOS_` in front. The last three may be missing.
    ///
    /// # Errors
    /// If the endpoint or the key is missing.
    pub fn from_env() -> Result<Self, ConnectError> {
        Self::from_variables(|name| std::env::var(name).ok())
    }

    fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Result<Self, ConnectError> {
        let set =
            |names: [&str; 3]| names.iter().find_map(|name| variable(name).filter(|value| !value.is_empty()));
        let required = |names: [&str; 3]| {
            set(names).ok_or_else(|| {
                ConnectError::new(format!(
                    "{} is not set, nor is {} or {} (set one, or use CosmosProvider::emulator() for a local emulator)",
                    names[0], names[1], names[2]
                ))
            })
        };
        let config = Self::new(required(ENDPOINT)?, required(KEY)?);
        Ok(Self {
            database: set(DATABASE).unwrap_or(config.database),
            container: set(CONTAINER).unwrap_or(config.container),
            hub: set(HUB),
            ..config
        })
    }
}

impl Default for CosmosProviderConfig {
    fn default() -> Self {
        Self {
            endpoint: String::new(),
            key: String::new(),
            client: None,
            database: "duroxide".to_owned(),
            container: "duroxide".to_owned(),
            hub: None,
            create_if_absent: true,
            throughput: Throughput::default(),
            write_region: None,
            tolerate_findings: false,
            leases: Leases::InMemory,
            reconciler_interval: Duration::from_secs(2),
            reconciler_age_threshold: Duration::from_secs(2),
            history_cache_bytes: 64 << 20,
            retention: Retention::default(),
            compression: Compression::default(),
            codecs: PayloadCodecs::default(),
            describe_encoded: false,
            #[cfg(feature = "opentelemetry")]
            meter_provider: None,
            connect_timeout: Duration::from_secs(60),
        }
    }
}

impl fmt::Debug for CosmosProviderConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CosmosProviderConfig")
            .field("endpoint", &self.endpoint)
            .field("database", &self.database)
            .field("container", &self.container)
            .field("hub", &self.hub)
            .field("codecs", &self.codecs)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_the_environment_is_read() {
        let read = |variables: &[(&str, &str)]| {
            CosmosProviderConfig::from_variables(|name| {
                variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
            })
        };
        let long =
            read(&[("COSMOSDB_ENDPOINT", "http://a"), ("COSMOSDB_KEY", "k"), ("COSMOSDB_CONTAINER", "c")]);
        let long = long.unwrap();
        assert_eq!((&*long.endpoint, &*long.key), ("http://a", "k"));
        assert_eq!((&*long.database, &*long.container), ("duroxide", "c"));
        let short = read(&[("COSMOS_ENDPOINT", "http://a"), ("COSMOS_KEY", "k"), ("COSMOS_DATABASE", "d")]);
        let short = short.unwrap();
        assert_eq!((&*short.database, short.hub), ("d", None));
        let first = read(&[
            ("COSMOSDB_ENDPOINT", "http://b"),
            ("COSMONAUT_ENDPOINT", "http://a"),
            ("COSMONAUT_KEY", ""),
            ("COSMOS_KEY", "k"),
        ]);
        let first = first.unwrap();
        assert_eq!((&*first.endpoint, &*first.key), ("http://a", "k"), "an empty one is none");
        let named = read(&[("COSMOS_ENDPOINT", "http://a"), ("COSMOS_KEY", "k"), ("COSMOSDB_HUB", "h")]);
        assert_eq!(named.unwrap().hub.as_deref(), Some("h"));
        for (variables, named) in [
            (
                &[("COSMOSDB_KEY", "k")][..],
                "COSMONAUT_ENDPOINT is not set, nor is COSMOSDB_ENDPOINT or COSMOS_",
            ),
            (&[("COSMOSDB_ENDPOINT", "http://a"), ("COSMOSDB_KEY", "")], "COSMONAUT_KEY is not set"),
        ] {
            let error = read(variables).unwrap_err().to_string();
            assert!(error.contains(named), "{error}");
        }
    }

    #[test]
    fn the_key_is_not_shown() {
        assert!(!format!("{:?}", CosmosProviderConfig::new("http://a", "secret")).contains("secret"));
    }
}
