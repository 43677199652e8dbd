//! The callers' operations through this project's client.

use std::sync::Arc;
use std::time::Duration;

use cosmonaut::options::{CosmosClientOptions, PartitionFailoverOptions, RegionOptions, RetryOptions};
use cosmonaut::{ContainerClient, CosmosClient, Credential, DiagnosticsContext, Error, RawItem};
use cosmonaut_driver::transport::BoxFuture;
use cosmonaut_driver::{
    AccessToken, AttemptDiagnostics, AttemptOutcome, NextStep, TokenProvider, TokenRequest,
};
use cosmonaut_wire::EMULATOR_KEY;

use super::account::{CONTAINER, DATABASE, item};
use super::client::{Attempt, Client, Outcome};
use super::identity::Identity;
use super::{NEAREST, REGIONS};
use crate::Result;

/// Both clients look over moved partitions this often, so that a run need not last for minutes.
pub const SWEEP: Duration = Duration::from_secs(5);

#[derive(Clone)]
pub struct Ours(ContainerClient);

impl Client for Ours {
    const NAME: &'static str = "cosmonaut";

    async fn connect(url: &str, identity: Option<Arc<Identity>>) -> Result<Self> {
        let failover =
            PartitionFailoverOptions { failback_sweep_interval: Some(SWEEP), ..Default::default() };
        let options = CosmosClientOptions {
            regions: RegionOptions {
                application_region: Some(REGIONS[NEAREST].into()),
                ..Default::default()
            },
            retry: RetryOptions { partition_failover: Some(failover), ..Default::default() },
            ..Default::default()
        };
        let credential = match identity {
            Some(identity) => Credential::tokens(Arc::new(Tokens(identity))),
            None => Credential::master_key(EMULATOR_KEY)?,
        };
        let client = CosmosClient::builder().endpoint(url).credential(credential).options(options).build()?;
        client.connect().await?;
        Ok(Self(client.database(DATABASE).container(CONTAINER)))
    }

    async fn read(&self, number: usize) -> Outcome {
        let id = number.to_string();
        match self.0.read_item::<RawItem>(&*id, &id).await {
            Ok(read) => outcome(None, Some(read.diagnostics())),
            Err(error) => failed(&error),
        }
    }

    async fn write(&self, number: usize) -> Outcome {
        match self.0.upsert_item(number.to_string(), &item(number)).await {
            Ok(written) => outcome(None, Some(written.diagnostics())),
            Err(error) => failed(&error),
        }
    }
}

/// The driver keeps tokens itself.
struct Tokens(Arc<Identity>);

impl TokenProvider for Tokens {
    fn token<'a>(&'a self, _: TokenRequest<'a>) -> BoxFuture<'a, TokenResult> {
        Box::pin(async { Ok(AccessToken { secret: "bench".to_owned(), expires_on: self.0.token().await }) })
    }
}

type TokenResult = std::result::Result<AccessToken, Arc<dyn std::error::Error + Send + Sync>>;

fn failed(error: &Error) -> Outcome {
    let status = error.status().map(|status| format!(" {status}")).unwrap_or_default();
    outcome(Some(format!("{:?}{status}", error.kind())), error.diagnostics())
}

fn outcome(failure: Option<String>, diagnostics: Option<&DiagnosticsContext>) -> Outcome {
    let attempts = diagnostics.map_or(&[][..], DiagnosticsContext::attempts);
    let hedged =
        attempts.iter().any(|attempt| matches!(attempt.next, NextStep::HedgeTaken | NextStep::HedgeDropped));
    Outcome::new(failure, hedged, attempts.iter().map(attempt))
}

fn attempt(attempt: &AttemptDiagnostics) -> Attempt<'_> {
    let (answered, given_up) = match attempt.outcome {
        AttemptOutcome::Answered(status) => (status.code().is_success(), false),
        AttemptOutcome::Failed { .. } => (false, false),
        AttemptOutcome::DeadlineExceeded | AttemptOutcome::Cancelled | AttemptOutcome::LeftRunning => {
            (false, true)
        }
    };
    let region = attempt.endpoint.region().map(|region| region.as_str());
    Attempt { region, charge: attempt.request_charge.unwrap_or_default(), answered, given_up }
}
