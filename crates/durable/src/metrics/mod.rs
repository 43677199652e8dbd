//! What the provider tells OpenTelemetry: nothing, unless the feature `opentelemetry` is on.
//!
//! | instrument | what it says |
//! | --- | --- |
//! | `duroxide.provider.turns` | turns of orchestrations that ended, by `outcome`: `committed`, `lock_lost`, `failed`, `abandoned` |
//! | `duroxide.provider.activities` | the same for activities |
//! | `duroxide.provider.schedule_to_start` | how long turns and activities have waited before they were handed out for the first time, in seconds, by `queue` |
//! | `duroxide.provider.redeliveries` | turns and activities that were handed out again, by `queue` |
//! | `duroxide.provider.lock_losses` | locks that had ended when they were to be prolonged or used, by `queue` |
//! | `duroxide.provider.requests`, `.request_charge` | what the container was asked, and what that cost, by `purpose`: `calls`, `waiting` |
//! | `duroxide.provider.retries` | requests that were sent once more because the service could not answer, by `purpose` |
//! | `duroxide.provider.backlog`, `.backlog.age` | what could be worked on now, and for how long the oldest has waited, by `queue` |
//!
//! Names of instances, orchestrations and activities are in none of them.

#[cfg(feature = "opentelemetry")]
mod instruments;

use std::sync::Arc;
use std::time::Duration;

use duroxide::providers::ProviderError;

use crate::admin::Backlog;
use crate::config::CosmosProviderConfig;
use crate::core::Core;
use crate::lease::LeaseProvider;

/// Which queue something came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QueueName {
    /// Turns of orchestrations.
    Orchestrator,
    /// Activities.
    Worker,
}

/// How the work on something ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    Committed,
    LockLost,
    Failed,
    Abandoned,
}

/// How an acknowledgement ended.
pub(crate) fn ending(result: &Result<(), ProviderError>) -> Ending {
    match result {
        Ok(()) => Ending::Committed,
        Err(error) if is_lock_lost(error) => Ending::LockLost,
        Err(_) => Ending::Failed,
    }
}

/// Whether an error says that a lock has ended.
fn is_lock_lost(error: &ProviderError) -> bool {
    error.message == crate::orchestration::lost_lock(&error.operation).message
}

/// Hears what the calls of a provider come to. Who hears nothing implements nothing.
pub(crate) trait Metrics: Send + Sync + 'static {
    /// Something was handed out, for the so-manieth time, after it has waited for so long, if that is known.
    fn fetched(&self, _queue: QueueName, _attempt: u32, _waited: Option<Duration>) {}

    /// The work on something ended.
    fn ended(&self, _queue: QueueName, _ending: Ending) {}

    /// A lock was to be prolonged.
    fn renewed(&self, _queue: QueueName, _result: &Result<(), ProviderError>) {}

    /// The backlog was counted.
    fn counted(&self, _backlog: Backlog) {}

    /// From now on the backlog is counted from time to time.
    fn start(&self, _core: &Arc<Core>, _leases: &Arc<dyn LeaseProvider>) {}
}

/// Whoever hears of a provider.
#[cfg(feature = "opentelemetry")]
pub(crate) fn listener(config: &CosmosProviderConfig, core: &Arc<Core>) -> Arc<dyn Metrics> {
    Arc::new(instruments::Instruments::new(config.meter_provider.as_ref(), core))
}

/// Whoever hears of a provider: nobody.
#[cfg(not(feature = "opentelemetry"))]
pub(crate) fn listener(_: &CosmosProviderConfig, _: &Arc<Core>) -> Arc<dyn Metrics> {
    struct Nobody;
    impl Metrics for Nobody {}
    Arc::new(Nobody)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_lock_is_told_from_other_failures() {
        for (result, expected) in [
            (Ok(()), Ending::Committed),
            (Err(crate::orchestration::lost_lock("ack")), Ending::LockLost),
            (Err(ProviderError::retryable("ack", "the service is busy")), Ending::Failed),
            (Err(ProviderError::permanent("ack", "a name is reserved")), Ending::Failed),
        ] {
            assert_eq!(ending(&result), expected, "{result:?}");
        }
    }
}
