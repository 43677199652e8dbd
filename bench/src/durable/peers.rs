//! The providers of others, with their own defaults. Built by the feature `peer-providers`, which `peers` includes.

#[cfg(not(feature = "peer-providers"))]
pub use absent::{cdb, sqlite};
#[cfg(feature = "peer-providers")]
pub use present::{cdb, sqlite};

#[cfg(feature = "peer-providers")]
mod present {
    use std::path::Path;
    use std::sync::Arc;

    use duroxide::providers::Provider;
    use duroxide::providers::sqlite::SqliteProvider;
    use duroxide_cdb::{CosmosDBProvider, CosmosDBProviderConfig};

    use super::super::account::Account;
    use crate::Result;

    /// Its slots have to be dealt out to exactly as many dispatchers as there are.
    pub async fn cdb(account: &Account, dispatchers: usize) -> Result<Arc<dyn Provider>> {
        let dispatchers = u32::try_from(dispatchers)?;
        let config = CosmosDBProviderConfig {
            endpoint: account.url().to_owned(),
            key: account.key().to_owned(),
            orch_concurrency: dispatchers,
            worker_concurrency: dispatchers,
            ..CosmosDBProviderConfig::default()
        };
        Ok(Arc::new(CosmosDBProvider::new_with_config(config).await?))
    }

    pub async fn sqlite(file: &Path) -> Result<Arc<dyn Provider>> {
        let url = format!("sqlite:{}?mode=rwc", file.display());
        Ok(Arc::new(SqliteProvider::new(&url, None).await?))
    }
}

#[cfg(not(feature = "peer-providers"))]
mod absent {
    use std::path::Path;
    use std::sync::Arc;

    use duroxide::providers::Provider;

    use super::super::account::Account;
    use crate::Result;

    const ABSENT: &str = "this benchmark was built without the feature `peer-providers`";

    pub async fn cdb(_: &Account, _: usize) -> Result<Arc<dyn Provider>> {
        Err(ABSENT.into())
    }

    pub async fn sqlite(_: &Path) -> Result<Arc<dyn Provider>> {
        Err(ABSENT.into())
    }
}
