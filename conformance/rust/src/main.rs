//! Microsoft's Rust client against the emulator at `COSMOS_ENDPOINT`: each check uses what the client offers and looks at
//! what came back. Arguments select the checks whose names contain one of them.

mod checks;

use std::process::ExitCode;

use azure_data_cosmos::models::{ContainerProperties, PartitionKeyDefinition};
use azure_data_cosmos::{AccountEndpoint, AccountReference, ContainerClient, CosmosClient, RoutingStrategy};

/// Whatever makes a check fail.
pub type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

/// A client, and a database of its own.
pub struct Account {
    client: CosmosClient,
    database: String,
}

impl Account {
    async fn open() -> Outcome<Self> {
        let endpoint: AccountEndpoint = std::env::var("COSMOS_ENDPOINT")?.parse()?;
        let account = AccountReference::with_authentication_key(endpoint, std::env::var("COSMOS_KEY")?);
        let near = RoutingStrategy::ProximityTo("East US".into());
        let client = CosmosClient::builder().build(account, near).await?;
        let database = format!("rust-{}", std::process::id());
        client.create_database(&database, None).await?;
        Ok(Self { client, database })
    }

    /// A fresh container with these partition key paths.
    pub async fn container(&self, name: &str, key: PartitionKeyDefinition) -> Outcome<ContainerClient> {
        let database = self.client.database_client(self.database.as_str());
        database.create_container(ContainerProperties::new(name.to_owned(), key), None).await?;
        Ok(database.container_client(name, None).await?)
    }
}

#[tokio::main]
async fn main() -> Outcome<ExitCode> {
    let parts: Vec<String> = std::env::args().skip(1).collect();
    let account = Account::open().await?;
    let (mut passed, mut failed) = (0, 0);
    for (name, check) in checks::ALL {
        if !parts.is_empty() && !parts.iter().any(|part| name.contains(part.as_str())) {
            continue;
        }
        match check(&account).await {
            Ok(()) => passed += 1,
            Err(error) => {
                failed += 1;
                println!("FAILED {name}\n{error}");
            }
        }
    }
    account.client.database_client(account.database.as_str()).delete(None).await?;
    println!("rust: {passed} passed, {failed} failed");
    // A selection may leave nothing for this client; the others say so if nothing at all was chosen.
    Ok(if failed == 0 && (passed > 0 || !parts.is_empty()) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
