//! The same operations through `azure_data_cosmos`. Built by the feature `peers`.

#[cfg(not(feature = "peers"))]
pub use absent::Peer;
#[cfg(feature = "peers")]
pub use present::Peer;

const NAME: &str = "azure_data_cosmos";

#[cfg(feature = "peers")]
mod present {
    use std::sync::Arc;
    use std::time::{Duration, SystemTime, UNIX_EPOCH};

    use azure_core::credentials::{AccessToken, TokenCredential, TokenRequestOptions};
    use azure_core::time::OffsetDateTime;
    use azure_data_cosmos::diagnostics::DiagnosticsContext;
    use azure_data_cosmos::models::ItemResponse;
    use azure_data_cosmos::options::{BinaryEncodingOptions, PartitionFailoverOptions};
    use azure_data_cosmos::{
        AccountEndpoint, AccountReference, ContainerClient, CosmosClient, CosmosError, RoutingStrategy,
    };
    use azure_data_cosmos_driver::diagnostics::{ExecutionContext, RequestDiagnostics};
    use cosmonaut_wire::EMULATOR_KEY;

    use super::super::account::{CONTAINER, DATABASE, item};
    use super::super::client::{Attempt, Client, Outcome};
    use super::super::identity::{AHEAD, Identity};
    use super::super::ours::SWEEP;
    use super::super::{NEAREST, REGIONS};
    use crate::Result;

    #[derive(Clone)]
    pub struct Peer(ContainerClient);

    impl Client for Peer {
        const NAME: &'static str = super::NAME;

        async fn connect(url: &str, identity: Option<Arc<Identity>>) -> Result<Self> {
            let endpoint: AccountEndpoint = url.parse()?;
            let account = match identity {
                Some(identity) => {
                    let credential = Tokens { identity, kept: tokio::sync::RwLock::default() };
                    AccountReference::with_credential(endpoint, Arc::new(credential))
                }
                None => AccountReference::with_authentication_key(endpoint, EMULATOR_KEY.to_owned()),
            };
            let failover = PartitionFailoverOptions::builder().with_failback_sweep_interval(SWEEP).build()?;
            // The emulator speaks JSON as text only.
            let text = BinaryEncodingOptions::new().with_enabled(false);
            let client = CosmosClient::builder()
                .with_partition_failover_options(failover)
                .with_binary_encoding_options(text)
                .build(account, RoutingStrategy::ProximityTo(REGIONS[NEAREST].into()))
                .await?;
            Ok(Self(client.database_client(DATABASE).container_client(CONTAINER, None).await?))
        }

        async fn read(&self, number: usize) -> Outcome {
            let id = number.to_string();
            outcome(self.0.read_item(id.clone(), &id, None).await)
        }

        async fn write(&self, number: usize) -> Outcome {
            let id = number.to_string();
            outcome(self.0.upsert_item(id.clone(), &id, item(number), None).await)
        }
    }

    /// The peer asks its credential for each request, so that keeping tokens is the credential's business. This one
    /// does as those of `azure_identity` do: from five minutes before the end on, whoever asks waits for the next.
    struct Tokens {
        identity: Arc<Identity>,
        kept: tokio::sync::RwLock<Option<AccessToken>>,
    }

    impl std::fmt::Debug for Tokens {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("Tokens")
        }
    }

    #[async_trait::async_trait]
    impl TokenCredential for Tokens {
        async fn get_token(
            &self,
            _: &[&str],
            _: Option<TokenRequestOptions<'_>>,
        ) -> azure_core::Result<AccessToken> {
            let fresh = |kept: &Option<AccessToken>| kept.clone().filter(|token| !is_due(token));
            if let Some(token) = fresh(&*self.kept.read().await) {
                return Ok(token);
            }
            let mut kept = self.kept.write().await;
            if let Some(token) = fresh(&kept) {
                return Ok(token);
            }
            let token = AccessToken::new("bench", OffsetDateTime::UNIX_EPOCH + self.identity.token().await);
            *kept = Some(token.clone());
            Ok(token)
        }
    }

    fn is_due(token: &AccessToken) -> bool {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
        token.expires_on <= OffsetDateTime::UNIX_EPOCH + now + AHEAD
    }

    fn outcome(result: std::result::Result<ItemResponse, CosmosError>) -> Outcome {
        match result {
            Ok(response) => told(None, Some(&response.diagnostics())),
            Err(error) => told(Some(error.status().to_string()), error.diagnostics().as_deref()),
        }
    }

    fn told(failure: Option<String>, diagnostics: Option<&DiagnosticsContext>) -> Outcome {
        let requests = diagnostics.map(DiagnosticsContext::requests).unwrap_or_default();
        let hedged = requests.iter().any(|request| request.execution_context() == ExecutionContext::Hedging);
        Outcome::new(failure, hedged, requests.iter().map(attempt))
    }

    fn attempt(request: &RequestDiagnostics) -> Attempt<'_> {
        Attempt {
            region: request.region().map(AsRef::as_ref),
            charge: request.request_charge().value(),
            answered: request.status().is_success(),
            given_up: request.completed_at().is_none(),
        }
    }
}

#[cfg(not(feature = "peers"))]
mod absent {
    use std::sync::Arc;

    use super::super::client::{Client, Outcome};
    use super::super::identity::Identity;
    use crate::Result;

    /// Stands where the peer would, and says why it is not there.
    #[derive(Clone)]
    pub enum Peer {}

    impl Client for Peer {
        const NAME: &'static str = super::NAME;

        async fn connect(_: &str, _: Option<Arc<Identity>>) -> Result<Self> {
            Err("this benchmark was built without the feature `peers`".into())
        }

        async fn read(&self, _: usize) -> Outcome {
            match *self {}
        }

        async fn write(&self, _: usize) -> Outcome {
            match *self {}
        }
    }
}
