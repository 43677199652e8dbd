//! Where a copy comes from and where it goes.

use std::io::{self, Write};
use std::sync::Arc;

use cosmonaut::{ContainerClient, ContainerProperties, CosmosClient};

use super::Arguments;
use crate::account::{AccountArguments, failed};
use crate::container::ContainerName;
use crate::data::definition::Definition;
use crate::data::members::KeyFinder;
use crate::failure::Failure;

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

    /// Address and key in one [default: COSMONAUT_TO_CONNECTION_STRING]
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["to_endpoint", "to_key"])]
    to_connection_string: Option<String>,

    /// Take that server's certificate as it is: for emulators
    #[arg(long)]
    to_insecure: bool,
}

/// The containers.
pub(super) struct Places {
    pub(super) from: ContainerClient,
    pub(super) to: ContainerClient,
    pub(super) from_properties: ContainerProperties,
    pub(super) to_properties: ContainerProperties,
    /// Where the other container has its partition key.
    pub(super) keys: Arc<KeyFinder>,
}

impl Places {
    /// Finds both, or makes the one that is written like the one that is read.
    pub(super) async fn open(arguments: &Arguments) -> Result<Self, Failure> {
        let from_client = arguments.account.client()?;
        let to_client = arguments.to_account.client(&from_client)?;
        let definition = Definition::of(&from_client, &arguments.from).await?;
        let to_properties = find_or_make(&to_client, &arguments.to, &definition).await?;
        let from_properties = definition.container;
        let is_same_account = from_client.driver().endpoint() == to_client.driver().endpoint();
        if is_same_account && from_properties.rid == to_properties.rid {
            return Err(Failure::Usage(format!("{} cannot be copied to itself", arguments.from)));
        }
        let keys = KeyFinder::new(&to_properties.partition_key).map_err(Failure::Work)?;
        Ok(Self {
            from: arguments.from.of(&from_client),
            to: arguments.to.of(&to_client),
            from_properties,
            to_properties,
            keys: Arc::new(keys),
        })
    }
}

impl ToArguments {
    fn client(&self, from: &CosmosClient) -> Result<CosmosClient, Failure> {
        let variable = |name| std::env::var(name).ok().filter(|value: &String| !value.is_empty());
        let text = self.to_connection_string.clone();
        let text = text.or_else(|| variable(TO_CONNECTION_STRING).filter(|_| self.to_endpoint.is_none()));
        let key = self.to_key.clone().or_else(|| variable(TO_KEY));
        match (text, &self.to_endpoint) {
            (None, None) => Ok(from.clone()),
            (text, endpoint) => AccountArguments::second(endpoint.clone(), key, text, self.to_insecure)
                .client_without_variables()
                .map_err(of_second),
        }
    }
}

/// A failure in the words of the account that is written to.
fn of_second(failure: Failure) -> Failure {
    match failure {
        Failure::Usage(message) => {
            let message = message.replace("COSMONAUT_KEY", TO_KEY);
            Failure::Usage(message.replace("--connection-string", "--to-connection-string"))
        }
        other => other,
    }
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
    writeln!(io::stderr(), "made the container {name}")?;
    name.of(client).read().await.map(cosmonaut::Response::into_value).map_err(|error| failed(&error))
}
