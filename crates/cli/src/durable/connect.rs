//! The container of the orchestrations, which is looked at and never made.

use std::fmt;

use cosmonaut::CosmosClient;
use duroxide::providers::{InstanceInfo, ProviderAdmin, ProviderError};
use duroxide_cosmonaut::{Compression, ConnectError, CosmosProvider, CosmosProviderConfig, FindingKind};

use super::Arguments;
use crate::container::ContainerName;
use crate::failure::Failure;
use crate::variable;

/// The variables, as [`variable`](crate::variable) has them.
pub(super) const DATABASE: &str = "DATABASE";
pub(super) const CONTAINER: &str = "CONTAINER";
const HUB: &str = "HUB";

/// Where the orchestrations are.
pub(super) struct Place {
    /// Connecting with it changes nothing.
    pub(super) config: CosmosProviderConfig,
    pub(super) name: ContainerName,
    client: CosmosClient,
}

impl Place {
    pub(super) fn of(arguments: &Arguments) -> Result<Self, Failure> {
        let client = arguments.account.client()?;
        let usual = CosmosProviderConfig::with_client(client.clone());
        let config = CosmosProviderConfig {
            create_if_absent: false,
            database: named(&arguments.database, DATABASE).unwrap_or(usual.database.clone()),
            container: named(&arguments.container, CONTAINER).unwrap_or(usual.container.clone()),
            hub: named(&arguments.hub, HUB),
            write_region: arguments.write_region.as_deref().map(Into::into),
            // Nothing is run here: what is wrong is for `doctor` to say, and for the others to look at.
            tolerate_findings: true,
            describe_encoded: true,
            // What is sent from here is for processes of any version.
            compression: Compression::Off,
            ..usual
        };
        let name = ContainerName::new(&*config.database, &*config.container);
        Ok(Self { config, name, client })
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.config.hub {
            Some(hub) => write!(f, "hub {hub} of {}", self.name),
            None => write!(f, "{}", self.name),
        }
    }
}

/// A setting by its flag, or else by its variable.
pub(super) fn named(flag: &Option<String>, name: &str) -> Option<String> {
    flag.clone().or_else(|| variable::of_process(name))
}

/// Why a container could not be had; if it is not there, with what is.
pub(super) async fn unreachable(place: &Place, error: ConnectError) -> Failure {
    if !error.is_not_found() {
        return Failure::Work(error.to_string());
    }
    let hint = "(--database and --container say where the orchestrations are)";
    match place.name.missing(&place.client).await {
        Failure::Work(message) => Failure::Work(format!("{message} {hint}")),
        other => other,
    }
}

/// The provider, and where its instances are.
pub(super) struct Store {
    pub(super) provider: CosmosProvider,
    /// The container, and the hub in it.
    place: String,
}

impl Store {
    /// To look at what is stored.
    pub(super) async fn open(arguments: &Arguments) -> Result<Self, Failure> {
        let place = Place::of(arguments)?;
        match CosmosProvider::connect(place.config.clone()).await {
            Ok(provider) => Ok(Self { provider, place: place.to_string() }),
            Err(error) => Err(unreachable(&place, error).await),
        }
    }

    /// To change what is stored, which must go through the region that the runtimes use.
    pub(super) async fn open_to_change(arguments: &Arguments) -> Result<Self, Failure> {
        let place = Place::of(arguments)?;
        let strict = CosmosProviderConfig { tolerate_findings: false, ..place.config };
        let refusal = CosmosProvider::connect(strict).await.err();
        let findings = refusal.as_ref().map_or(&[][..], ConnectError::findings);
        match findings.iter().find(|finding| finding.kind == FindingKind::WriteRegions) {
            Some(finding) => Err(Failure::Work(format!(
                "{} (say --write-region and --prefer with the region that the runtimes use)",
                finding.what
            ))),
            None => Self::open(arguments).await,
        }
    }

    /// What is known of an instance; a failure if there is none of this name.
    pub(super) async fn existing(&self, instance: &str) -> Result<InstanceInfo, Failure> {
        let error = match self.provider.get_instance_info(instance).await {
            Ok(info) => return Ok(info),
            Err(error) => error,
        };
        match self.provider.list_executions(instance).await {
            Ok(executions) if executions.is_empty() => Err(self.no_such(instance)),
            Ok(_) | Err(_) => Err(failed(&error)),
        }
    }

    pub(super) fn no_such(&self, instance: &str) -> Failure {
        Failure::Work(format!(
            "there is no instance {instance:?} in {} that has had a turn (`cosmonaut durable list` shows which are \
             there)",
            self.place
        ))
    }
}

pub(super) fn failed(error: &ProviderError) -> Failure {
    Failure::Work(error.to_string())
}
