//! The work through Microsoft's client, as far as it can do it.

use super::work::Work;
use super::{Measured, Settings};
use crate::Result;

#[cfg(feature = "peers")]
pub(super) use real::measure;

#[cfg(feature = "peers")]
mod real {
    use std::num::NonZeroU32;
    use std::pin::pin;

    use azure_data_cosmos::clients::ContainerClient;
    use azure_data_cosmos::feed::ContinuationToken;
    use azure_data_cosmos::options::{FeedOptions, MaxItemCountHint, QueryOptions};
    use azure_data_cosmos::{AccountEndpoint, AccountReference, CosmosClient, FeedScope, RoutingStrategy};
    use futures::TryStreamExt as _;
    use serde_json::Value;

    use super::super::work::{ITEMS, NOT_SUPPORTED, wanted};
    use super::super::{CONTAINER, DATABASE, repeated};
    use super::{Measured, Result, Settings, Work};

    pub(in super::super) async fn measure(
        endpoint: &str,
        work: Work,
        settings: &Settings,
    ) -> Result<Measured> {
        let endpoint: AccountEndpoint = endpoint.parse()?;
        let key = cosmonaut_wire::EMULATOR_KEY.to_owned();
        let account = AccountReference::with_authentication_key(endpoint, key);
        let near = RoutingStrategy::ProximityTo("East US".into());
        let client = CosmosClient::builder().build(account, near).await?;
        let container = client.database_client(DATABASE).container_client(CONTAINER, None).await?;
        match work {
            Work::Query(text) => {
                repeated(settings.time, async || {
                    let rows =
                        container.query_items::<Value>(text, FeedScope::full_container(), None).await?;
                    Ok(rows.try_collect::<Vec<_>>().await?.len())
                })
                .await
            }
            Work::Page(text) => {
                let token = middle(&container, text, settings.documents).await?;
                repeated(settings.time, async || {
                    let options = paged().with_continuation_token(token.clone());
                    let options = QueryOptions::default().with_feed_options(options);
                    let scope = FeedScope::full_container();
                    let rows = container.query_items::<Value>(text, scope, Some(options)).await?;
                    let mut pages = pin!(rows.into_pages());
                    Ok(pages.try_next().await?.map_or(0, |page| page.items().len()))
                })
                .await
            }
            Work::ReadMany => Err(NOT_SUPPORTED.into()),
            Work::ReadEach => {
                let wanted = wanted(settings.documents);
                repeated(settings.time, async || {
                    for (key, id) in &wanted {
                        container.read_item(key.clone(), id, None).await?.into_model::<Value>()?;
                    }
                    Ok(wanted.len())
                })
                .await
            }
        }
    }

    fn paged() -> FeedOptions {
        let size = NonZeroU32::new(ITEMS).expect("a page has rows");
        FeedOptions::default().with_max_item_count(MaxItemCountHint::Limit(size))
    }

    /// The token behind the first half of a query's rows.
    async fn middle(container: &ContainerClient, text: &str, documents: u32) -> Result<ContinuationToken> {
        let options = QueryOptions::default().with_feed_options(paged());
        let scope = FeedScope::full_container();
        let rows = container.query_items::<Value>(text.to_owned(), scope, Some(options)).await?;
        let mut pages = pin!(rows.into_pages());
        let mut read = 0;
        while read < documents as usize / 2 {
            let page = pages.try_next().await?.ok_or("the query has no page behind its middle")?;
            read += page.items().len();
        }
        Ok(pages.to_continuation_token()?)
    }
}

#[cfg(not(feature = "peers"))]
pub(super) async fn measure(_: &str, _: Work, _: &Settings) -> Result<Measured> {
    Err("this benchmark was built without the feature `peers`".into())
}
