//! Leases for a process that has the container for itself.

use std::time::Duration;

use async_trait::async_trait;
use duroxide::providers::ProviderError;

use super::{LeaseProvider, Slots};

/// All slots are this process's. Two processes that both use it get in each other's way, with no harm but
/// needless requests; [`CosmosLeaseProvider`](super::CosmosLeaseProvider) is for them.
#[derive(Clone, Copy, Debug, Default)]
pub struct InMemoryLeaseProvider;

/// There is nothing to renew; this only has to be long.
const SELDOM: Duration = Duration::from_secs(3600);

#[async_trait]
impl LeaseProvider for InMemoryLeaseProvider {
    fn owned(&self) -> Slots {
        Slots::all()
    }

    async fn renew(&self) -> Result<Duration, ProviderError> {
        Ok(SELDOM)
    }

    async fn release(&self) -> Result<(), ProviderError> {
        Ok(())
    }
}
