//! The definition of a container, kept beside its items so that they find a container again.
//!
//! Stored procedures, triggers and functions are not in it.

use std::path::{Path, PathBuf};

use cosmonaut::options::CreateContainerOptions;
use cosmonaut::{ContainerProperties, CosmosClient, Error, ThroughputProperties};
use serde::{Deserialize, Serialize};

use super::checkpoint;
use super::form::stem;
use crate::account::failed;
use crate::container::ContainerName;
use crate::failure::Failure;

/// What the names of such files end with.
pub(crate) const SUFFIX: &str = ".container.json";

/// A container as a file has it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Definition {
    pub(crate) database: String,
    pub(crate) container: ContainerProperties,
    /// What was provisioned for it alone, if anything was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) throughput: Option<Throughput>,
}

/// Request units a second.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Throughput {
    Manual(u32),
    /// At most.
    Autoscale(u32),
}

impl Definition {
    /// Reads it from the account.
    pub(crate) async fn of(client: &CosmosClient, name: &ContainerName) -> Result<Self, Failure> {
        let container = name.of(client);
        let properties = match container.read().await {
            Ok(found) => found.into_value(),
            Err(error) => return Err(name.failed(client, &error).await),
        };
        // Some accounts have none to read, and without the right to it there is none to be seen.
        let throughput = match container.read_throughput().await {
            Ok(found) => found.into_value(),
            Err(error) if is_for_good(&error) => None,
            Err(error) => return Err(failed(&error)),
        };
        let throughput = throughput.map(|throughput| match throughput {
            ThroughputProperties::Manual { throughput } => Throughput::Manual(throughput),
            ThroughputProperties::Autoscale { max_throughput, .. } => Throughput::Autoscale(max_throughput),
        });
        Ok(Self { database: name.database.clone(), container: properties, throughput })
    }

    /// Writes it, without what belongs to the one container that it was read from.
    pub(crate) fn save(&self, path: &Path) -> Result<(), Failure> {
        let kept = Self { container: portable(self.container.clone()), ..self.clone() };
        let json = serde_json::to_string_pretty(&kept).expect("a definition has a JSON form");
        std::fs::write(path, json + "\n").map_err(|error| checkpoint::cannot("write", path, &error))
    }

    pub(crate) fn load(path: &Path) -> Result<Self, Failure> {
        let text = std::fs::read(path).map_err(|error| checkpoint::cannot("read", path, &error))?;
        serde_json::from_slice(&text).map_err(|error| {
            let shown = path.display();
            Failure::Usage(format!("{shown} is not the definition of a container: {error}"))
        })
    }

    /// Makes the container, and its database, under another name. Says whether it made one.
    pub(crate) async fn make(&self, client: &CosmosClient, name: &ContainerName) -> Result<(), Failure> {
        client.create_database_if_not_exists(&name.database).await.map_err(|error| failed(&error))?;
        let properties =
            ContainerProperties { id: name.container.clone(), ..portable(self.container.clone()) };
        let throughput = self.throughput.map(|throughput| match throughput {
            Throughput::Manual(amount) => ThroughputProperties::manual(amount),
            Throughput::Autoscale(most) => ThroughputProperties::autoscale(most, None),
        });
        let options = CreateContainerOptions { throughput, ..CreateContainerOptions::default() };
        let made =
            client.database(&name.database).create_container_if_not_exists(properties).options(options).await;
        made.map(drop).map_err(|error| failed(&error))
    }
}

fn is_for_good(error: &Error) -> bool {
    !error.is_transient() && error.status().is_some()
}

/// The properties without those that the service gives a container.
fn portable(properties: ContainerProperties) -> ContainerProperties {
    let ContainerProperties { mut extra, .. } = properties;
    extra.retain(|name, _| !name.starts_with('_'));
    ContainerProperties {
        rid: None,
        self_link: None,
        etag: None,
        timestamp: None,
        documents_link: None,
        stored_procedures_link: None,
        triggers_link: None,
        user_defined_functions_link: None,
        conflicts_link: None,
        extra,
        ..properties
    }
}

/// Where the definition of the items in a file is: `orders.container.json` beside `orders.jsonl.gz`.
pub(crate) fn beside(file: &Path) -> PathBuf {
    let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    file.with_file_name(format!("{}{SUFFIX}", stem(&name)))
}
