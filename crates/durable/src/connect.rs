//! Reaching the account, and finding the container or making it.
//!
//! What is wrong with them is judged in `setup`; here it is asked for, and an error ends the attempt.

use std::sync::Arc;
use std::time::Duration;

use cosmonaut::options::{
    CosmosClientOptions, CreateContainerOptions, RegionOptions, RequestOptions, RetryOptions,
    SessionRetryOptions,
};
use cosmonaut::{
    AccountProperties, ConsistencyLevel, ContainerClient, ContainerProperties, CosmosClient, Credential,
    Error, ErrorKind, RegionName, TimeToLive,
};
use tokio::time::Instant;

use crate::clock;
use crate::config::CosmosProviderConfig;
use crate::connect_error::ConnectError;
use crate::hub::Hub;
use crate::setup::{Described, Finding, FindingKind, FindingLevel, Throughput, inspect, properties};

/// An account that has answered, and the way to its container.
pub(crate) struct Reached<'a> {
    config: &'a CosmosProviderConfig,
    client: CosmosClient,
    container: ContainerClient,
    account: Arc<AccountProperties>,
    asks_for_session: bool,
    deadline: Instant,
}

/// The container of a configuration, made if it is not there and may be.
pub(crate) async fn connect(config: &CosmosProviderConfig) -> Result<ContainerClient, ConnectError> {
    let reached = reach(config).await?;
    // No container is made in an account that will not do.
    reached.judge(None)?;
    let mut properties = find_or_make(&reached).await.map_err(|error| reached.explained(error))?;
    if properties.default_ttl.is_none() && config.create_if_absent {
        properties = properties.with_default_ttl(TimeToLive::NoExpiry);
        retry(reached.deadline, || reached.container.replace(properties.clone()))
            .await
            .map_err(|error| reached.explained(error))?;
    }
    reached.judge(Some(&properties))?;
    Ok(reached.container)
}

/// Reads the account of a configuration, by a client that goes where it says.
pub(crate) async fn reach(config: &CosmosProviderConfig) -> Result<Reached<'_>, ConnectError> {
    Hub::new(config.hub.as_deref()).map_err(ConnectError::new)?;
    let explained = |error| ConnectError::explained(config, error);
    let deadline = clock::instant() + config.connect_timeout;
    let first = match &config.client {
        Some(client) => client.clone(),
        None => open(config, Vec::new(), None).map_err(explained)?,
    };
    let account = retry(deadline, || first.account()).await.map_err(explained)?;
    let excluded = excluded_regions(&account, config.write_region.as_ref());
    let consistency = &account.user_consistency_policy.default_consistency_level;
    let session = (*consistency == ConsistencyLevel::BoundedStaleness).then_some(ConsistencyLevel::Session);
    let (client, asks_for_session) = match &config.client {
        Some(_) => (first, false),
        None if excluded.is_empty() && session.is_none() => (first, false),
        None => (open(config, excluded, session).map_err(explained)?, session.is_some()),
    };
    let container = client.database(&config.database).container(&config.container);
    let reached = Reached { config, client, container, account, asks_for_session, deadline };
    reached.check_binding().await?;
    Ok(reached)
}

impl Reached<'_> {
    pub(crate) fn account(&self) -> &AccountProperties {
        &self.account
    }

    pub(crate) fn container(&self) -> &ContainerClient {
        &self.container
    }

    pub(crate) fn explained(&self, error: Error) -> ConnectError {
        ConnectError::explained(self.config, error)
    }

    /// The account, for a judgement.
    pub(crate) fn described(&self) -> Described<'_> {
        Described {
            account: &self.account,
            container: None,
            throughput: None,
            bound_to: self.config.write_region.as_ref(),
            asks_for_session: self.asks_for_session,
        }
    }

    /// Logs what is not as it should be; an error if the provider cannot work with it.
    fn judge(&self, container: Option<&ContainerProperties>) -> Result<(), ConnectError> {
        let (errors, warnings): (Vec<Finding>, Vec<Finding>) =
            inspect(&Described { container, ..self.described() })
                .into_iter()
                .partition(|finding| finding.level == FindingLevel::Error);
        // What concerns the account is told once, with what concerns the container.
        if container.is_some() {
            warnings.iter().for_each(|finding| tracing::warn!(kind = ?finding.kind, "{finding}"));
        }
        // Without its partition key nothing can even be read.
        let is_usable = errors.iter().all(|finding| finding.kind != FindingKind::PartitionKey);
        match errors.is_empty() || (self.config.tolerate_findings && is_usable) {
            true => Ok(()),
            false => Err(ConnectError::refused(self.config, errors)),
        }
    }

    /// A client that was given cannot be bound to a region here: it must be already.
    async fn check_binding(&self) -> Result<(), ConnectError> {
        let (Some(_), Some(region)) = (&self.config.client, &self.config.write_region) else { return Ok(()) };
        if !self.account.has_multiple_write_locations() {
            return Ok(());
        }
        let read = retry(self.deadline, || self.container.read()).await;
        let diagnostics = match &read {
            Ok(response) => Some(response.diagnostics()),
            Err(error) => error.diagnostics(),
        };
        let last = diagnostics.and_then(|context| context.attempts().last());
        match last.and_then(|attempt| attempt.endpoint.region()) {
            Some(asked) if asked != region => Err(ConnectError::new(format!(
                "the client asks {asked}, and write_region is {region} (make the client with all other regions in \
                 excluded_regions, or give endpoint and key instead of a client)"
            ))),
            Some(_) | None => Ok(()),
        }
    }
}

/// The regions that must not be used, so that all writes meet in one.
fn excluded_regions(account: &AccountProperties, bound_to: Option<&RegionName>) -> Vec<RegionName> {
    let Some(bound_to) = bound_to.filter(|_| account.has_multiple_write_locations()) else {
        return Vec::new();
    };
    let all = account.readable_locations.iter().chain(&account.writable_locations);
    let mut others: Vec<RegionName> = Vec::new();
    for location in all {
        if location.name != *bound_to && !others.contains(&location.name) {
            others.push(location.name.clone());
        }
    }
    others
}

fn open(
    config: &CosmosProviderConfig,
    excluded: Vec<RegionName>,
    consistency_level: Option<ConsistencyLevel>,
) -> Result<CosmosClient, Error> {
    // A turn reads what was written a moment ago: where a region lags, the one that took the write has it sooner.
    let session =
        SessionRetryOptions { remote_region_preferred: Some(true), ..SessionRetryOptions::default() };
    let excluded_regions = (!excluded.is_empty()).then_some(excluded);
    // A region that the account gets later is not excluded, but comes after the one that is wanted.
    let preferred_regions =
        excluded_regions.as_ref().and(config.write_region.clone()).map(|region| vec![region]);
    let options = CosmosClientOptions {
        retry: RetryOptions { session_retry: Some(session), ..RetryOptions::default() },
        request: RequestOptions { excluded_regions, consistency_level, ..RequestOptions::default() },
        regions: RegionOptions { preferred_regions, ..RegionOptions::default() },
        ..CosmosClientOptions::default()
    };
    CosmosClient::builder()
        .endpoint(&config.endpoint)
        .credential(Credential::master_key(&config.key)?)
        .options(options)
        .build()
}

/// A container that is there is only read, so that an identity without the right to make one can use it.
async fn find_or_make(reached: &Reached<'_>) -> Result<ContainerProperties, Error> {
    let Reached { config, client, container, deadline, .. } = reached;
    match retry(*deadline, || container.read()).await {
        Ok(found) => return Ok(found.into_value()),
        Err(error) if error.is_not_found() && config.create_if_absent => {}
        Err(error) => return Err(error),
    }
    retry(*deadline, || client.create_database_if_not_exists(&config.database)).await?;
    let database = client.database(&config.database);
    // A throughput that cannot be read is none: an account without any refuses the question.
    let shared = match config.throughput {
        Throughput::Automatic => retry(*deadline, || database.read_throughput()).await.ok(),
        Throughput::Autoscale(_) | Throughput::Manual(_) | Throughput::Unset => None,
    };
    let throughput = config.throughput.asked_for(shared.is_some_and(|shared| shared.value().is_some()));
    let wanted = properties(&config.container);
    let make = |throughput| {
        let options = CreateContainerOptions { throughput, ..CreateContainerOptions::default() };
        database.create_container_if_not_exists(wanted.clone()).options(options)
    };
    let made = match retry(*deadline, || make(throughput)).await {
        Err(error) if throughput.is_some() && may_do_without(config.throughput, &error) => {
            tracing::warn!(%error, "the container is made without a throughput of its own");
            retry(*deadline, || make(None)).await?
        }
        made => made?,
    };
    Ok(made.into_value())
}

/// Whether a container that could not be made is tried without throughput. A serverless account takes none; its
/// description does not say so, and the refusal has no status of its own. If no throughput was asked for by name, any
/// refusal is reason enough: an account may have a limit, and not every server knows autoscale.
fn may_do_without(asked: Throughput, error: &Error) -> bool {
    match asked {
        Throughput::Automatic => matches!(error.kind(), ErrorKind::BadRequest | ErrorKind::Forbidden),
        Throughput::Autoscale(_) | Throughput::Manual(_) => {
            error.kind() == ErrorKind::BadRequest && error.to_string().to_lowercase().contains("serverless")
        }
        Throughput::Unset => false,
    }
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

#[cfg(test)]
mod tests {
    use cosmonaut::model::AccountLocation;

    use super::*;

    #[test]
    fn all_other_regions_are_left_out_where_several_write() {
        let locations = |names: &[&str]| -> Vec<_> {
            names.iter().map(|name| AccountLocation::new(*name, format!("https://{name}.example"))).collect()
        };
        for (case, multi_write, bound_to, expected) in [
            ("not bound", true, None, &[][..]),
            ("one region writes", false, Some("East US"), &[]),
            ("bound", true, Some("eastus"), &["West US", "North Europe"]),
        ] {
            let (writes, reads) =
                (locations(&["East US", "West US"]), locations(&["East US", "North Europe", "West US"]));
            let mut account = AccountProperties::new("a", ConsistencyLevel::Session, writes, reads);
            account.enable_multiple_write_locations = Some(multi_write);
            let mut excluded = excluded_regions(&account, bound_to.map(RegionName::from).as_ref());
            let mut expected: Vec<_> = expected.iter().map(|name| RegionName::from(*name)).collect();
            excluded.sort_by(|a, b| a.as_str().cmp(b.as_str()));
            expected.sort_by(|a, b| a.as_str().cmp(b.as_str()));
            assert_eq!(excluded, expected, "{case}");
        }
    }
}
