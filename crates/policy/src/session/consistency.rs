//! What a read waits for: the request's strategy or level, checked against what the account offers.

use std::fmt;

use cosmonaut_options::RequestOptionsView;
use cosmonaut_wire::{ConsistencyLevel, ReadConsistencyStrategy, headers};
use http::{HeaderMap, HeaderValue};

use crate::CosmosOperation;

/// The consistency in force for an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadConsistency {
    /// Whether the session's token decides what a read may return.
    pub uses_session: bool,
    /// The level to ask for, if it is not the account's own.
    pub level: Option<ConsistencyLevel>,
    /// The strategy to ask for; the default asks for nothing.
    pub strategy: ReadConsistencyStrategy,
}

/// A consistency that the account does not offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConsistencyError {
    asked: &'static str,
    offered: ConsistencyLevel,
    remedy: &'static str,
}

impl fmt::Display for ConsistencyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { asked, offered, remedy } = self;
        write!(f, "{asked} reads are not possible: the account's consistency is {offered} ({remedy})")
    }
}

impl std::error::Error for ConsistencyError {}

/// The consistency in force for an operation: its strategy if it names one, else its level, else the
/// account's.
///
/// Writes ask for nothing, as they are always made at the account's level.
///
/// # Errors
/// If a read asks for a level above the account's, or for [`ReadConsistencyStrategy::GlobalStrong`] on an
/// account that is not strong.
pub fn resolve_read_consistency(
    operation: &CosmosOperation,
    options: &RequestOptionsView<'_>,
    account: ConsistencyLevel,
) -> Result<ReadConsistency, ConsistencyError> {
    let strategy = options.read_consistency_strategy().unwrap_or(ReadConsistencyStrategy::Default);
    if !operation.is_read_only() {
        let level = options.consistency_level().unwrap_or(account);
        return Ok(ReadConsistency {
            uses_session: level == ConsistencyLevel::Session || strategy == ReadConsistencyStrategy::Session,
            level: None,
            strategy: ReadConsistencyStrategy::Default,
        });
    }
    // The level is named beside the strategy where the account offers it, for gateways that do not know
    // strategies.
    let beside = |level: ConsistencyLevel| (level != account && account.is_at_least(level)).then_some(level);
    let (uses_session, level) = match strategy {
        ReadConsistencyStrategy::Default => {
            let level = options.consistency_level();
            check_level(level, account)?;
            let in_force = level.unwrap_or(account);
            (in_force == ConsistencyLevel::Session, level.filter(|level| *level != account))
        }
        ReadConsistencyStrategy::Eventual => (false, beside(ConsistencyLevel::Eventual)),
        ReadConsistencyStrategy::Session => (true, beside(ConsistencyLevel::Session)),
        ReadConsistencyStrategy::LatestCommitted => (false, None),
        ReadConsistencyStrategy::GlobalStrong if account == ConsistencyLevel::Strong => (false, None),
        ReadConsistencyStrategy::GlobalStrong => {
            let remedy = "make the account's default Strong, or read with LatestCommitted";
            return Err(ConsistencyError { asked: "GlobalStrong", offered: account, remedy });
        }
    };
    Ok(ReadConsistency { uses_session, level, strategy })
}

fn check_level(level: Option<ConsistencyLevel>, account: ConsistencyLevel) -> Result<(), ConsistencyError> {
    match level {
        Some(level) if !account.is_at_least(level) => Err(ConsistencyError {
            asked: level.as_str(),
            offered: account,
            remedy: "ask for that or less, or raise the account's default",
        }),
        Some(_) | None => Ok(()),
    }
}

impl ReadConsistency {
    pub(super) fn write_headers(self, into: &mut HeaderMap) {
        if let Some(level) = self.level {
            into.insert(headers::CONSISTENCY_LEVEL, HeaderValue::from_static(level.as_str()));
        }
        if self.strategy != ReadConsistencyStrategy::Default {
            let strategy = HeaderValue::from_static(self.strategy.as_str());
            into.insert(headers::READ_CONSISTENCY_STRATEGY, strategy);
        }
    }
}
