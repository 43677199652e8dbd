//! Where a copy comes from and where it goes.

use std::sync::Arc;

use cosmonaut::{ContainerClient, ContainerProperties, CosmosClient};

use super::Arguments;
use crate::account::{AccountArguments, failed};
use crate::container::ContainerName;
use crate::data::apply::Target;
use crate::data::definition::Definition;
use crate::data::members::KeyFinder;
use crate::failure::Failure;
use crate::screen::note;

/// The variables of the other account.
const TO_KEY: &str = "COSMONAUT_TO_KEY";
const TO_CONNECTION_STRING: &str = "COSMONAUT_TO_CONNECTION_STRING";

/// The arguments that say which account is written to.
#[derive(clap::Args)]
#[command(next_help_heading = "Account that is written to")]
pub(super) struct ToArguments {
    /// Its address, if it is another account
    #[arg(long, value_name = "URL")]
    to_endpoint: Option<String>,

    /// Its key; others on this machine can see arguments, so rather set COSMONAUT_TO_KEY
    #[arg(long, value_name = "KEY", requires = "to_endpoint")]
    to_key: Option<String>,

    /// Address and key in one; others on this machine can see arguments, so rather set COSMONAUT_TO_CONNECTION_STRING
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["to_endpoint", "to_key"])]
    to_connection_string: Option<String>,

    /// An account of the configuration file
    #[arg(long, value_name = "NAME", conflicts_with_all = ["to_endpoint", "to_key", "to_connection_string"])]
    to_profile: Option<String>,

    /// Take that server's certificate as it is: for emulators
    #[arg(long)]
    to_insecure: bool,
}

/// The containers.
pub(super) struct Places {
    pub(super) from: ContainerClient,
    pub(super) to: Target,
    pub(super) from_properties: ContainerProperties,
    pub(super) to_properties: ContainerProperties,
    /// Where both have their partition key.
    pub(super) keys: Arc<KeyFinder>,
}

impl Places {
    /// Finds both, or makes the one that is written like the one that is read.
    pub(super) async fn open(arguments: &Arguments) -> Result<Self, Failure> {
        let from_client = arguments.account.client()?;
        let to_client = arguments.to_account.client(&arguments.account, &from_client)?;
        let definition = Definition::of(&from_client, &arguments.from).await?;
        let to_properties = find_or_make(&to_client, &arguments.to, &definition).await?;
        let from_properties = definition.container;
        let is_same = from_properties.rid == to_properties.rid
            && (from_client.driver().endpoint() == to_client.driver().endpoint()
                || (from_properties.etag == to_properties.etag
                    && account(&from_client).await? == account(&to_client).await?));
        if is_same {
            return Err(Failure::Usage(format!("{} cannot be copied to itself", arguments.from)));
        }
        same_keys(arguments, &from_properties, &to_properties)?;
        let keys = KeyFinder::new(&to_properties.partition_key).map_err(Failure::Work)?;
        Ok(Self {
            from: arguments.from.of(&from_client),
            to: Target::new(arguments.to.of(&to_client), &to_properties),
            from_properties,
            to_properties,
            keys: Arc::new(keys),
        })
    }
}

impl ToArguments {
    fn client(&self, first: &AccountArguments, from: &CosmosClient) -> Result<CosmosClient, Failure> {
        if let Some(name) = &self.to_profile {
            return first.second_profile(name.clone(), self.to_insecure).client_without_variables();
        }
        let variable = |name| std::env::var(name).ok().filter(|value: &String| !value.is_empty());
        let text = self.to_connection_string.clone();
        let text = text.or_else(|| variable(TO_CONNECTION_STRING).filter(|_| self.to_endpoint.is_none()));
        let key = self.to_key.clone().or_else(|| variable(TO_KEY));
        match (text, &self.to_endpoint) {
            (None, None) => Ok(from.clone()),
            (text, endpoint) => {
                first.second(endpoint.clone(), key, text, self.to_insecure).client_without_variables()
            }
        }
    }
}

/// That both have their partition key in the same place. By another key items that are told apart in FROM may be one in TO,
/// and an item whose key changes would stay under its old one.
fn same_keys(
    arguments: &Arguments,
    from: &ContainerProperties,
    to: &ContainerProperties,
) -> Result<(), Failure> {
    let segments = |of: &ContainerProperties| of.partition_key.path_segments().ok();
    if segments(from) == segments(to) {
        return Ok(());
    }
    let paths = |of: &ContainerProperties| of.partition_key.paths.join(", ");
    Err(Failure::Usage(format!(
        "{} has the partition key {}, and {} has {}: a copy cannot change keys (use `cosmonaut export` and `cosmonaut \
         import`)",
        arguments.from,
        paths(from),
        arguments.to,
        paths(to)
    )))
}

/// The name of an account, which is the same by whatever address it was reached.
async fn account(client: &CosmosClient) -> Result<String, Failure> {
    client.account().await.map(|account| account.id.clone()).map_err(|error| failed(&error))
}

async fn find_or_make(
    client: &CosmosClient,
    name: &ContainerName,
    definition: &Definition,
) -> Result<ContainerProperties, Failure> {
    match name.of(client).read().await {
        Ok(found) => return Ok(found.into_value()),
        Err(error) if error.is_not_found() => {}
        Err(error) => return Err(failed(&error)),
    }
    definition.make(client, name).await?;
    note(&format!("made the container {name}"));
    name.of(client).read().await.map(cosmonaut::Response::into_value).map_err(|error| failed(&error))
}
