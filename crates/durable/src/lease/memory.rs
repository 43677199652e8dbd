//! Leases for a process that has the container for itself.

use std::time::Duration;

use async_trait::async_trait;
use duroxide::providers::ProviderError;

use super::{LeaseProvider, Role, Slots};

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

    fn is_shared(&self) -> bool {
        false
    }

    async fn renew(&self, _: Role) -> Result<Duration, ProviderError> {
        Ok(SELDOM)
    }

    async fn release(&self) -> Result<(), ProviderError> {
        Ok(())
    }
}
