//! The queries through Microsoft's client.

use std::time::Duration;

use super::Measured;
use crate::Result;

#[cfg(feature = "peers")]
pub(super) use real::measure;

#[cfg(feature = "peers")]
mod real {
    use azure_data_cosmos::{AccountEndpoint, AccountReference, CosmosClient, FeedScope, RoutingStrategy};
    use futures::TryStreamExt as _;
    use serde_json::Value;

    use super::super::{CONTAINER, DATABASE, repeated};
    use super::{Duration, Measured, Result};

    pub(in super::super) async fn measure(endpoint: &str, text: &str, time: Duration) -> Result<Measured> {
        let endpoint: AccountEndpoint = endpoint.parse()?;
        let key = cosmonaut_wire::EMULATOR_KEY.to_owned();
        let account = AccountReference::with_authentication_key(endpoint, key);
        let near = RoutingStrategy::ProximityTo("East US".into());
        let client = CosmosClient::builder().build(account, near).await?;
        let container = client.database_client(DATABASE).container_client(CONTAINER, None).await?;
        repeated(time, async || {
            let rows = container.query_items::<Value>(text, FeedScope::full_container(), None).await?;
            Ok(rows.try_collect::<Vec<_>>().await?.len())
        })
        .await
    }
}

#[cfg(not(feature = "peers"))]
pub(super) async fn measure(_: &str, _: &str, _: Duration) -> Result<Measured> {
    Err("this benchmark was built without the feature `peers`".into())
}
