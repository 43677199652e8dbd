//! The account that the examples use: the one that `COSMOS_CONNECTION_STRING` names, or else an emulator in this
//! process, which is gone when the example ends.

use std::error::Error;

use cosmonaut::{ConnectionString, CosmosClient, CosmosDriverRuntimeBuilder, Credential, Trust};
use cosmonaut_emulator::Emulator;

/// An account to try things on.
pub(crate) struct Account {
    connection: ConnectionString,
    /// Stopped when dropped.
    _emulator: Option<Emulator>,
}

impl Account {
    /// The account that the environment names, or an emulator.
    pub(crate) async fn open() -> Result<Self, Box<dyn Error>> {
        match std::env::var("COSMOS_CONNECTION_STRING") {
            Ok(text) => Ok(Self { connection: text.parse()?, _emulator: None }),
            Err(_) => Self::emulated().await,
        }
    }

    /// An emulator in this process, with three regions.
    pub(crate) async fn emulated() -> Result<Self, Box<dyn Error>> {
        let emulator = Emulator::builder().regions(["East US", "West US", "North Europe"]).start().await?;
        let text = format!("AccountEndpoint={};AccountKey={};", emulator.url(), emulator.key());
        Ok(Self { connection: text.parse()?, _emulator: Some(emulator) })
    }

    /// A client of a runtime; the default one is what `CosmosClient::new` uses.
    pub(crate) fn client(&self, runtime: CosmosDriverRuntimeBuilder) -> Result<CosmosClient, Box<dyn Error>> {
        self.client_with(runtime, Credential::master_key(self.connection.key())?)
    }

    /// As [`client`](Self::client), with another credential than the account's key.
    pub(crate) fn client_with(
        &self,
        runtime: CosmosDriverRuntimeBuilder,
        credential: Credential,
    ) -> Result<CosmosClient, Box<dyn Error>> {
        let trust = Trust { accept_invalid: self.connection.accepts_any_certificate(), ..Trust::default() };
        let runtime = runtime.trust(trust).build()?;
        Ok(CosmosClient::builder()
            .runtime(&runtime)
            .endpoint(self.connection.endpoint())
            .credential(credential)
            .build()?)
    }
}
