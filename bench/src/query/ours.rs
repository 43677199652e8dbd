//! The work through this client, and the container that it is done on.

use cosmonaut::options::CreateContainerOptions;
use cosmonaut::{
    ContainerClient, ContainerProperties, CosmosClient, Credential, FeedScope, ThroughputProperties,
};
use serde_json::Value;

use super::work::{ITEMS, Work, document, wanted};
use super::{CONTAINER, DATABASE, Measured, Settings, repeated};
use crate::Result;

/// Throughput that makes five partitions.
const THROUGHPUT: u32 = 30_000;
const WRITERS: usize = 16;

pub(super) async fn filled(endpoint: &str, documents: u32) -> Result<ContainerClient> {
    let client = CosmosClient::new(endpoint, Credential::master_key(cosmonaut_wire::EMULATOR_KEY)?)?;
    client.create_database(DATABASE).await?;
    let database = client.database(DATABASE);
    let throughput = Some(ThroughputProperties::manual(THROUGHPUT));
    let options = CreateContainerOptions { throughput, ..Default::default() };
    database.create_container(ContainerProperties::new(CONTAINER, "/pk")).options(options).await?;
    let container = database.container(CONTAINER);
    let mut writers = tokio::task::JoinSet::new();
    for writer in 0..WRITERS as u32 {
        let container = container.clone();
        writers.spawn(async move {
            for n in (writer..documents).step_by(WRITERS) {
                let (key, item) = document(n);
                container.create_item(&*key, &item).await?;
            }
            Ok::<_, cosmonaut::Error>(())
        });
    }
    while let Some(written) = writers.join_next().await {
        written??;
    }
    Ok(container)
}

pub(super) async fn measure(
    container: &ContainerClient,
    work: Work,
    settings: &Settings,
) -> Result<Measured> {
    let wanted = wanted(settings.documents);
    match work {
        Work::Query(text) => {
            repeated(settings.time, async || {
                let rows = container.query_items::<Value>(text, FeedScope::Container).collect().await?;
                Ok(rows.len())
            })
            .await
        }
        Work::Page(text) => {
            let token = middle(container, text, settings.documents).await?;
            repeated(settings.time, async || {
                let query = container.query_items::<Value>(text, FeedScope::Container);
                let mut pages = query.max_item_count(ITEMS).continue_from(token.clone()).into_pages();
                Ok(pages.next().await.transpose()?.map_or(0, |page| page.items.len()))
            })
            .await
        }
        Work::ReadMany => {
            repeated(settings.time, async || {
                let pairs = wanted.iter().map(|(key, id)| (&**key, &**id));
                Ok(container.read_many::<Value>(pairs).await?.into_found().len())
            })
            .await
        }
        Work::ReadEach => {
            repeated(settings.time, async || {
                for (key, id) in &wanted {
                    container.read_item::<Value>(&**key, id).await?;
                }
                Ok(wanted.len())
            })
            .await
        }
    }
}

/// The token behind the first half of a query's rows.
async fn middle(container: &ContainerClient, text: &str, documents: u32) -> Result<String> {
    let query = container.query_items::<Value>(text, FeedScope::Container);
    let mut pages = query.max_item_count(ITEMS).into_pages();
    let mut token = None;
    for _ in 0..documents / ITEMS / 2 {
        token = pages.next().await.transpose()?.and_then(|page| page.continuation);
    }
    token.ok_or_else(|| "the query has no page behind its middle".into())
}
