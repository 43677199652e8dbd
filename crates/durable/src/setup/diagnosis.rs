//! A look at an account and a container that changes nothing: what is wrong, and what is in it.

use std::collections::BTreeMap;

use cosmonaut::{FeedScope, Query, ThroughputProperties};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Described, Finding, FindingLevel, inspect};
use crate::codec::Texts;
use crate::config::CosmosProviderConfig;
use crate::connect::reach;
use crate::connect_error::ConnectError;
use crate::hub::Hub;
use crate::store::Store;

/// What there is to say about a container and the account that it is in.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Diagnosis {
    /// The account's name.
    pub account: String,
    /// The regions that the account writes in.
    pub write_regions: Vec<String>,
    /// The account's default consistency.
    pub consistency: &'static str,
    /// The throughput: `{"manual": 400}`, `{"autoscale": 4000}`, or null if the container has none of its own or this
    /// identity may not see it.
    pub throughput: Value,
    /// What is wrong, errors first.
    pub findings: Vec<Finding>,
    /// How many documents there are of each kind, in all task hubs: `message` in the one without a name, `message@orders` in
    /// the one called `orders`.
    pub documents: BTreeMap<String, u64>,
}

impl Diagnosis {
    /// Whether the provider refuses to connect.
    pub fn has_errors(&self) -> bool {
        self.findings.iter().any(|finding| finding.level == FindingLevel::Error)
    }
}

#[derive(Deserialize)]
struct OfKind {
    kind: Option<String>,
    count: u64,
}

/// Looks at the account and the container of a configuration, and changes nothing.
///
/// ```no_run
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// let config = duroxide_cosmonaut::CosmosProviderConfig::from_env()?;
/// for finding in duroxide_cosmonaut::diagnose(&config).await?.findings {
///     println!("{finding}");
/// }
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// If the account cannot be reached, the container is not there, or its documents cannot be counted.
pub async fn diagnose(config: &CosmosProviderConfig) -> Result<Diagnosis, ConnectError> {
    let reached = reach(config).await?;
    let properties = reached.container().read().await.map_err(|error| reached.explained(error))?.into_value();
    // Not every identity may see it, and not every account has it.
    let throughput = reached.container().read_throughput().await.ok().and_then(|read| read.into_value());
    let described = Described { container: Some(&properties), throughput, ..reached.described() };
    Ok(Diagnosis {
        account: reached.account().id.clone(),
        write_regions: reached
            .account()
            .writable_locations
            .iter()
            .map(|region| region.name.to_string())
            .collect(),
        consistency: reached.account().user_consistency_policy.default_consistency_level.as_str(),
        throughput: match throughput {
            Some(ThroughputProperties::Manual { throughput }) => json!({ "manual": throughput }),
            Some(ThroughputProperties::Autoscale { max_throughput, .. }) => {
                json!({ "autoscale": max_throughput })
            }
            None => Value::Null,
        },
        findings: inspect(&described),
        documents: documents(config, reached.container()).await?,
    })
}

/// Counted by the service, not here.
async fn documents(
    config: &CosmosProviderConfig,
    container: &cosmonaut::ContainerClient,
) -> Result<BTreeMap<String, u64>, ConnectError> {
    let store = Store::new(container.clone(), Texts::default(), Hub::default());
    let call = store.call("diagnose", config.connect_timeout);
    let query = Query::new("SELECT c.type AS kind, COUNT(1) AS count FROM c GROUP BY c.type");
    let groups: Vec<OfKind> = store
        .query(&call, &query, &FeedScope::Container)
        .await
        .map_err(|error| ConnectError::new(format!("the documents cannot be counted: {error}")))?;
    let name = |kind: Option<String>| kind.unwrap_or_else(|| "(without a type)".to_owned());
    Ok(groups.into_iter().map(|group| (name(group.kind), group.count)).collect())
}
