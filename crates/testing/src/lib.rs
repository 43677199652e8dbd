//! A Cosmos DB account in the process of the tests, and a database of its own for each test.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> cosmonaut::Result<()> {
//! let (mine, theirs) = (cosmonaut_testing::database().await?, cosmonaut_testing::database().await?);
//! assert_ne!(mine.id(), theirs.id());
//! assert_eq!(cosmonaut_testing::endpoint(), cosmonaut_testing::endpoint(), "the account is one");
//! # Ok(())
//! # }
//! ```

mod shared;

use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

use cosmonaut::{
    ContainerClient, ContainerProperties, CosmosClient, Credential, DatabaseClient, PartitionKeyDefinition,
    Result,
};

/// The address of the account that all tests of this process share, which is started if it has not been.
///
/// # Panics
/// If the account cannot be started.
pub fn endpoint() -> &'static str {
    &shared::account().endpoint
}

/// The key of that account.
///
/// # Panics
/// If the account cannot be started.
pub fn key() -> &'static str {
    &shared::account().key
}

/// A client of that account, of this test's own: its connections end with the test's runtime.
///
/// # Errors
/// What making a client can end in.
///
/// # Panics
/// If the account cannot be started.
pub fn client() -> Result<CosmosClient> {
    CosmosClient::new(endpoint(), Credential::master_key(key())?)
}

/// A new database, which no other test knows. It is gone with the process.
///
/// # Errors
/// What creating a database can end in.
///
/// # Panics
/// If the account cannot be started.
pub async fn database() -> Result<TestDatabase> {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let client = client()?;
    let id = format!("test-{}-{}", process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    client.create_database(&id).await?;
    let database = client.database(&id);
    Ok(TestDatabase { client, database })
}

/// The database of one test.
#[derive(Clone, Debug)]
pub struct TestDatabase {
    client: CosmosClient,
    database: DatabaseClient,
}

impl TestDatabase {
    /// The name.
    pub fn id(&self) -> &str {
        self.database.id()
    }

    /// The client of the account.
    pub fn client(&self) -> &CosmosClient {
        &self.client
    }

    /// The client of the database.
    pub fn database(&self) -> &DatabaseClient {
        &self.database
    }

    /// A new container with this partition key.
    ///
    /// # Errors
    /// What creating a container can end in.
    pub async fn container(
        &self,
        id: &str,
        partition_key: impl Into<PartitionKeyDefinition>,
    ) -> Result<ContainerClient> {
        self.database.create_container(ContainerProperties::new(id, partition_key)).await?;
        Ok(self.database.container(id))
    }
}

/// The program in the README of this crate.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct CrateReadme;
