//! The container of the orchestrations, which is looked at and never made.

use duroxide::providers::{InstanceInfo, ProviderAdmin, ProviderError};
use duroxide_cosmonaut::{CosmosProvider, CosmosProviderConfig};

use super::Arguments;
use crate::account::variable;
use crate::container::ContainerName;
use crate::failure::Failure;

const DATABASE: [&str; 2] = ["COSMOSDB_DATABASE", "COSMOS_DATABASE"];
const CONTAINER: [&str; 2] = ["COSMOSDB_CONTAINER", "COSMOS_CONTAINER"];

/// The provider, and where its instances are.
pub(super) struct Store {
    pub(super) provider: CosmosProvider,
    place: ContainerName,
}

impl Store {
    pub(super) async fn open(arguments: &Arguments) -> Result<Self, Failure> {
        let client = arguments.account.client()?;
        let usual = CosmosProviderConfig {
            create_if_absent: false,
            ..CosmosProviderConfig::with_client(client.clone())
        };
        let named = |flag: &Option<String>, names| flag.clone().or_else(|| variable(names));
        let config = CosmosProviderConfig {
            database: named(&arguments.database, DATABASE).unwrap_or(usual.database),
            container: named(&arguments.container, CONTAINER).unwrap_or(usual.container),
            ..usual
        };
        let place = ContainerName::new(&*config.database, &*config.container);
        match CosmosProvider::connect(config).await {
            Ok(provider) => Ok(Self { provider, place }),
            Err(error) if error.is_not_found() => {
                let hint = "(--database and --container say where the orchestrations are)";
                Err(match place.missing(&client).await {
                    Failure::Work(message) => Failure::Work(format!("{message} {hint}")),
                    other => other,
                })
            }
            Err(error) => Err(Failure::Work(error.to_string())),
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
