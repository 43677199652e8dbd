//! Finding the container, or making it, and saying clearly why that does not work.

use std::fmt;
use std::time::Duration;

use cosmonaut::model::{IndexedPath, IndexingMode};
use cosmonaut::options::{CosmosClientOptions, RetryOptions, SessionRetryOptions};
use cosmonaut::{
    ContainerClient, ContainerProperties, CosmosClient, Credential, Error, ErrorKind, IndexingPolicy,
    TimeToLive,
};
use tokio::time::Instant;

use crate::clock;
use crate::config::CosmosProviderConfig;

/// By what documents are spread. Fixed for ever: a container cannot change it.
const PARTITION_KEY: &str = "/instanceId";

/// What queries search and sort by. Everything else, above all the bodies, is not indexed.
const INDEXED: [&str; 18] = [
    "/type/?",
    "/instanceId/?",
    "/slot/?",
    "/visibleAt/?",
    "/lock/until/?",
    "/stage/token/?",
    "/execution/?",
    "/events/?",
    "/session/?",
    "/owner/?",
    "/until/?",
    "/state/exists/?",
    "/state/status/?",
    "/state/parent/?",
    "/state/createdAt/?",
    "/state/completedAt/?",
    "/state/execution/?",
    "/state/events/?",
];

/// Why a provider could not be connected.
#[derive(Debug)]
pub struct ConnectError {
    message: String,
    source: Option<Error>,
}

impl ConnectError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), source: None }
    }

    fn explained(config: &CosmosProviderConfig, error: Error) -> Self {
        let CosmosProviderConfig { database, container, endpoint, .. } = config;
        let remedy = match error.kind() {
            ErrorKind::Unauthorized | ErrorKind::Credential => {
                "the account does not accept this key (check COSMOSDB_KEY; keys differ from account to account)".into()
            }
            ErrorKind::Forbidden => format!(
                "this identity lacks rights (give it a role that reads and writes data, such as \"Cosmos DB Built-in \
                 Data Contributor\"; if it may not create containers, create {container:?} in database {database:?} \
                 with the partition key {PARTITION_KEY} and a default time to live of -1 beforehand)"
            ),
            ErrorKind::Transport | ErrorKind::DeadlineExceeded => {
                format!("{endpoint} cannot be reached (check the address; a local emulator is started by `cosmonaut up`)")
            }
            ErrorKind::Throttled | ErrorKind::Unavailable | ErrorKind::OutcomeUnknown => {
                "the account has no capacity at the moment (try again, or raise its throughput)".into()
            }
            ErrorKind::NotFound if !config.create_if_absent => "it is not there".into(),
            _ => "it cannot be used as it is".into(),
        };
        let message = format!("container {container:?} of database {database:?}: {remedy}: {error}");
        Self { message, source: Some(error) }
    }

    /// Whether the container is not there, and was not to be made.
    pub fn is_not_found(&self) -> bool {
        self.source.as_ref().is_some_and(Error::is_not_found)
    }
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ConnectError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_ref().map(|error| error as _)
    }
}

/// The container of a configuration, made if it is not there and may be.
pub(crate) async fn connect(config: &CosmosProviderConfig) -> Result<ContainerClient, ConnectError> {
    let explained = |error| ConnectError::explained(config, error);
    let client = match &config.client {
        Some(client) => client.clone(),
        None => open(config).map_err(explained)?,
    };
    let deadline = clock::instant() + config.connect_timeout;
    let container = client.database(&config.database).container(&config.container);
    let properties = find_or_make(&client, config, deadline).await.map_err(explained)?;
    let paths = &properties.partition_key.paths;
    if *paths != [PARTITION_KEY] {
        return Err(ConnectError::new(format!(
            "container {:?} of database {:?} has the partition key {paths:?}, not {PARTITION_KEY:?} (use another \
             container: a partition key cannot be changed)",
            config.container, config.database
        )));
    }
    if properties.default_ttl.is_none() && config.create_if_absent {
        let properties = properties.with_default_ttl(TimeToLive::NoExpiry);
        retry(deadline, || container.replace(properties.clone(), None)).await.map_err(explained)?;
    }
    Ok(container)
}

fn open(config: &CosmosProviderConfig) -> Result<CosmosClient, Error> {
    // A turn reads what was written a moment ago: where a region lags, the one that took the write has it sooner.
    let session =
        SessionRetryOptions { remote_region_preferred: Some(true), ..SessionRetryOptions::default() };
    let options = CosmosClientOptions {
        retry: RetryOptions { session_retry: Some(session), ..RetryOptions::default() },
        ..CosmosClientOptions::default()
    };
    CosmosClient::new(&config.endpoint, Credential::master_key(&config.key)?, Some(options))
}

/// A container that is there is only read, so that an identity without the right to make one can use it.
async fn find_or_make(
    client: &CosmosClient,
    config: &CosmosProviderConfig,
    deadline: Instant,
) -> Result<ContainerProperties, Error> {
    let database = client.database(&config.database);
    let container = database.container(&config.container);
    match retry(deadline, || container.read(None)).await {
        Ok(found) => return Ok(found.into_value()),
        Err(error) if error.is_not_found() && config.create_if_absent => {}
        Err(error) => return Err(error),
    }
    retry(deadline, || client.create_database_if_absent(&config.database, None)).await?;
    let wanted = properties(&config.container);
    let made = retry(deadline, || database.create_container_if_absent(wanted.clone(), None)).await?;
    Ok(made.into_value())
}

fn properties(container: &str) -> ContainerProperties {
    let policy = IndexingPolicy {
        indexing_mode: Some(IndexingMode::Consistent),
        included_paths: Some(INDEXED.map(IndexedPath::new).to_vec()),
        excluded_paths: Some(vec![IndexedPath::new("/*")]),
        ..IndexingPolicy::default()
    };
    ContainerProperties::new(container, PARTITION_KEY)
        .with_indexing_policy(policy)
        .with_default_ttl(TimeToLive::NoExpiry)
}

/// Tries again what may go better later, beyond what the client itself does, until the deadline.
async fn retry<T, F: Future<Output = Result<T, Error>>>(
    deadline: Instant,
    mut call: impl FnMut() -> F,
) -> Result<T, Error> {
    let mut pause = Duration::from_millis(100);
    loop {
        let error = match call().await {
            Ok(answer) => return Ok(answer),
            Err(error) => error,
        };
        let passing = matches!(
            error.kind(),
            ErrorKind::Throttled
                | ErrorKind::SessionNotAvailable
                | ErrorKind::Unavailable
                | ErrorKind::OutcomeUnknown
                | ErrorKind::DeadlineExceeded
        );
        let wait = error.retry_after().unwrap_or(pause);
        if !passing || clock::instant() + wait >= deadline {
            return Err(error);
        }
        tracing::warn!(%error, "connecting is tried again");
        clock::sleep(wait).await;
        pause = (pause * 2).min(Duration::from_secs(5));
    }
}
