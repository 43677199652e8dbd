//! Why a provider could not be connected, and what to change.

use std::fmt;

use cosmonaut::{Error, ErrorKind};

use crate::config::CosmosProviderConfig;
use crate::setup::{Finding, PARTITION_KEY};

/// Why a provider could not be connected.
#[derive(Debug)]
pub struct ConnectError {
    message: String,
    findings: Vec<Finding>,
    source: Option<Error>,
}

impl ConnectError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), findings: Vec::new(), source: None }
    }

    /// That the account or the container will not do.
    pub(crate) fn refused(config: &CosmosProviderConfig, findings: Vec<Finding>) -> Self {
        let told: Vec<_> = findings.iter().map(Finding::to_string).collect();
        let CosmosProviderConfig { database, container, .. } = config;
        let message = format!("container {container:?} of database {database:?}: {}", told.join("; "));
        Self { message, findings, source: None }
    }

    pub(crate) fn explained(config: &CosmosProviderConfig, error: Error) -> Self {
        let CosmosProviderConfig { database, container, endpoint, .. } = config;
        let remedy = match error.kind() {
            ErrorKind::Unauthorized | ErrorKind::Credential => {
                "the account does not accept this key (check COSMONAUT_KEY; keys differ from account to account)".into()
            }
            ErrorKind::Forbidden => format!(
                "this identity lacks rights (give it a role that reads and writes data, such as \"Cosmos DB Built-in \
                 Data Contributor\"; if it may not create or change containers, create {container:?} in database \
                 {database:?} with the partition key {PARTITION_KEY} and a default time to live of -1 beforehand: \
                 `cosmonaut durable definition` prints it)"
            ),
            ErrorKind::Transport | ErrorKind::DeadlineExceeded => {
                let account = if endpoint.is_empty() { "the account" } else { endpoint };
                format!("{account} cannot be reached (check the address; a local emulator is started by `cosmonaut up`)")
            }
            ErrorKind::Throttled | ErrorKind::Unavailable | ErrorKind::OutcomeUnknown => {
                "the account has no capacity at the moment (try again, or raise its throughput)".into()
            }
            ErrorKind::NotFound if !config.create_if_absent => "it is not there".into(),
            _ => "it cannot be used as it is".into(),
        };
        let message = format!("container {container:?} of database {database:?}: {remedy}: {error}");
        Self { message, findings: Vec::new(), source: Some(error) }
    }

    /// Whether the container is not there, and was not to be made.
    pub fn is_not_found(&self) -> bool {
        self.source.as_ref().is_some_and(Error::is_not_found)
    }

    /// What is wrong with the account or the container, if that is why.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ConnectError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_ref().map(|error| error as _)
    }
}
