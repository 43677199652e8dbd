//! Containers by name, `DATABASE/CONTAINER`, and what there is instead of one that is not there.

use std::fmt;
use std::str::FromStr;

use cosmonaut::{ContainerClient, ContainerProperties, CosmosClient, Error, Items};
use serde::de::DeserializeOwned;

use crate::account::failed;
use crate::failure::Failure;

/// How many names a message has room for.
const NAMED: usize = 20;

/// The name of a container, as arguments have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ContainerName {
    pub(crate) database: String,
    pub(crate) container: String,
}

impl ContainerName {
    pub(crate) fn new(database: impl Into<String>, container: impl Into<String>) -> Self {
        Self { database: database.into(), container: container.into() }
    }

    pub(crate) fn of(&self, client: &CosmosClient) -> ContainerClient {
        client.database(&self.database).container(&self.container)
    }

    /// Why a call on this container failed; if it is not there, with what is.
    pub(crate) async fn failed(&self, client: &CosmosClient, error: &Error) -> Failure {
        if error.is_not_found() { self.missing(client).await } else { failed(error) }
    }

    /// That it is not there, and what is.
    pub(crate) async fn missing(&self, client: &CosmosClient) -> Failure {
        match self.alternatives(client).await {
            Ok(message) => Failure::Work(message),
            Err(error) => {
                Failure::Work(format!("there is no container {self}, nor a list of others: {error}"))
            }
        }
    }

    async fn alternatives(&self, client: &CosmosClient) -> Result<String, Error> {
        let Self { database, container } = self;
        match names(client.database(database).list_containers(), |found| found.id).await {
            Ok(found) => Ok(format!(
                "there is no container {container:?} in database {database:?}, which has {}",
                listed(&found)
            )),
            Err(error) if error.is_not_found() => {
                let found = names(client.list_databases(), |found| found.id).await?;
                Ok(format!("there is no database {database:?}: the account has {}", listed(&found)))
            }
            Err(error) => Err(error),
        }
    }
}

impl fmt::Display for ContainerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.database, self.container)
    }
}

impl FromStr for ContainerName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('/') {
            Some((database, container))
                if !database.is_empty() && !container.is_empty() && !container.contains('/') =>
            {
                Ok(Self::new(database, container))
            }
            _ => Err("expected DATABASE/CONTAINER, for example shop/orders".to_owned()),
        }
    }
}

/// A database and one of its containers, or that it has none.
pub(crate) struct Found {
    pub(crate) database: String,
    pub(crate) container: Option<ContainerProperties>,
}

impl Found {
    /// The container's name, if there is a container.
    pub(crate) fn name(self) -> Option<ContainerName> {
        let container = self.container?;
        Some(ContainerName::new(self.database, container.id))
    }
}

/// Every container of an account, database by database.
pub(crate) async fn all(client: &CosmosClient) -> Result<Vec<Found>, Error> {
    let mut found = Vec::new();
    for database in names(client.list_databases(), |database| database.id).await? {
        found.extend(of_database(client, &database).await?);
    }
    Ok(found)
}

/// Every container of a database, or that it has none.
pub(crate) async fn of_database(client: &CosmosClient, database: &str) -> Result<Vec<Found>, Error> {
    let of = |container| Found { database: database.to_owned(), container };
    let mut found = Vec::new();
    let mut containers = client.database(database).list_containers();
    while let Some(container) = containers.next().await {
        found.push(of(Some(container?)));
    }
    if found.is_empty() {
        found.push(of(None));
    }
    Ok(found)
}

async fn names<T: DeserializeOwned>(
    mut list: Items<T>,
    name: impl Fn(T) -> String,
) -> Result<Vec<String>, Error> {
    let mut names = Vec::new();
    while let Some(found) = list.next().await {
        names.push(name(found?));
    }
    Ok(names)
}

fn listed(names: &[String]) -> String {
    let shown = names.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
    match names.len() {
        0 => "none".to_owned(),
        count if count > NAMED => format!("{shown} and {} more", count - NAMED),
        _ => shown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_database_and_a_container() {
        assert_eq!("a/b".parse(), Ok(ContainerName::new("a", "b")));
        for text in ["", "a", "/", "a/", "/b", "a/b/c"] {
            assert!(text.parse::<ContainerName>().unwrap_err().contains("shop/orders"), "{text}");
        }
    }

    #[test]
    fn what_there_is_is_listed_as_far_as_there_is_room() {
        let names: Vec<_> = (0..22).map(|n| n.to_string()).collect();
        assert_eq!(listed(&[]), "none");
        assert_eq!(listed(&names[..2]), "0, 1");
        assert!(listed(&names).ends_with("18, 19 and 2 more"));
    }
}
