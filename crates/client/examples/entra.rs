//! Entra instead of an account key: requests are signed with tokens, here those of the Azure CLI.
//!
//! `az login`, give yourself the role "Cosmos DB Built-in Data Contributor" on the account, and then
//! `cargo run -p cosmonaut --example entra -- https://ACCOUNT.documents.azure.com DATABASE CONTAINER`
//!
//! With the feature `azure-core` any credential of the `azure_identity` crate does the same in one line:
//! `Credential::azure(DeveloperToolsCredential::new(None)?)`.

use std::error::Error;
use std::pin::Pin;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use cosmonaut::{AccessToken, CosmosClient, Credential, TokenProvider, TokenRequest};

/// The tokens of whoever is signed in to the Azure CLI. The client keeps each, and asks for
/// the next in the background.
struct AzureCli;

type Failure = Arc<dyn Error + Send + Sync>;

impl TokenProvider for AzureCli {
    fn token<'a>(
        &'a self,
        request: TokenRequest<'a>,
    ) -> Pin<Box<dyn Future<Output = Result<AccessToken, Failure>> + Send + 'a>> {
        let scope = request.scope.to_owned();
        Box::pin(async move {
            let asked = tokio::task::spawn_blocking(move || ask_cli(&scope)).await;
            asked.map_err(|error| Arc::new(error) as Failure)?
        })
    }
}

fn ask_cli(scope: &str) -> Result<AccessToken, Failure> {
    let failed = |message: String| Arc::new(std::io::Error::other(message)) as Failure;
    let output = Command::new("az")
        .args(["account", "get-access-token", "--output", "json", "--scope", scope])
        .output()
        .map_err(|error| failed(format!("az cannot be run (is the Azure CLI installed?): {error}")))?;
    if !output.status.success() {
        return Err(failed(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
    }
    let answer: serde_json::Value =
        serde_json::from_slice(&output.stdout).map_err(|error| failed(error.to_string()))?;
    match (answer["accessToken"].as_str(), answer["expires_on"].as_u64()) {
        (Some(secret), Some(seconds)) => {
            Ok(AccessToken { secret: secret.to_owned(), expires_on: Duration::from_secs(seconds) })
        }
        _ => Err(failed("az gave no token with its expiry (update the Azure CLI)".to_owned())),
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [endpoint, database, container] = arguments.as_slice() else {
        return Err("usage: entra ENDPOINT DATABASE CONTAINER".into());
    };
    let client = CosmosClient::new(endpoint, Credential::tokens(Arc::new(AzureCli)))?;
    // Databases and containers are made with a key, or by the portal: roles for data do not cover them.
    let container = client.database(database).container(container);
    let properties = container.read().await?.into_value();
    println!("{} is partitioned by {:?}", properties.id, properties.partition_key.paths);
    Ok(())
}
