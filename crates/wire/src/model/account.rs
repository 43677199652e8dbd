//! The account as `GET /` describes it: its regions, its consistency, and what it can do.
//!
//! Which region a request goes to is decided elsewhere.

use serde::{Deserialize, Serialize};
use serde_json::Number;

use super::{ExtraMembers, JsonError, from_json};
use crate::{ConsistencyLevel, RegionName};

/// The body of an account.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AccountProperties {
    /// The account's name.
    pub id: String,
    /// The link to the account, empty for most.
    #[serde(rename = "_self", skip_serializing_if = "Option::is_none")]
    pub self_link: Option<String>,
    /// The account's host name, in place of a resource id.
    #[serde(rename = "_rid", skip_serializing_if = "Option::is_none")]
    pub rid: Option<String>,
    /// The link to media, which no longer exist.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub media: Option<String>,
    /// The link to replica addresses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub addresses: Option<String>,
    /// The link to the databases.
    #[serde(rename = "_dbs", skip_serializing_if = "Option::is_none")]
    pub databases_link: Option<String>,
    /// Where writes go, best first.
    pub writable_locations: Vec<AccountLocation>,
    /// Where reads go, best first.
    pub readable_locations: Vec<AccountLocation>,
    /// As written; see [`AccountProperties::has_multiple_write_locations`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enable_multiple_write_locations: Option<bool>,
    /// As written; see [`AccountProperties::has_per_partition_failover`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub enable_per_partition_failover_behavior: Option<bool>,
    /// Where the thin-client proxy takes writes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thin_client_writable_locations: Option<Vec<AccountLocation>>,
    /// Where the thin-client proxy takes reads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thin_client_readable_locations: Option<Vec<AccountLocation>>,
    /// Whether the account is backed up without a pause.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub continuous_backup_enabled: Option<bool>,
    /// Whether a write waits for several regions.
    #[serde(rename = "enableNRegionSynchronousCommit", skip_serializing_if = "Option::is_none")]
    pub enable_n_region_synchronous_commit: Option<bool>,
    /// How the account's data are replicated in a region.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_replication_policy: Option<ReplicationPolicy>,
    /// The consistency that requests get unless they ask for less.
    pub user_consistency_policy: ConsistencyPolicy,
    /// How the service's own data are replicated in a region.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_replication_policy: Option<ReplicationPolicy>,
    /// How reads are spread over the replicas of a region.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_policy: Option<ReadPolicy>,
    /// JSON within JSON; see [`AccountProperties::query_engine`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub query_engine_configuration: Option<String>,
    /// Members that this version does not know.
    #[serde(flatten)]
    pub extra: ExtraMembers,
}

impl AccountProperties {
    /// Reads the body of an account.
    ///
    /// Other than reading it as any type that can be read, this is compiled once, in this crate.
    pub fn parse(body: &[u8]) -> serde_json::Result<Self> {
        serde_json::from_slice(body)
    }

    /// An account with these regions and nothing else said.
    pub fn new(
        id: impl Into<String>,
        consistency: ConsistencyLevel,
        writable: Vec<AccountLocation>,
        readable: Vec<AccountLocation>,
    ) -> Self {
        Self {
            id: id.into(),
            self_link: None,
            rid: None,
            media: None,
            addresses: None,
            databases_link: None,
            writable_locations: writable,
            readable_locations: readable,
            enable_multiple_write_locations: None,
            enable_per_partition_failover_behavior: None,
            thin_client_writable_locations: None,
            thin_client_readable_locations: None,
            continuous_backup_enabled: None,
            enable_n_region_synchronous_commit: None,
            user_replication_policy: None,
            user_consistency_policy: ConsistencyPolicy::new(consistency),
            system_replication_policy: None,
            read_policy: None,
            query_engine_configuration: None,
            extra: ExtraMembers::new(),
        }
    }

    /// Whether every writable region takes writes at once; not if the account does not say.
    pub fn has_multiple_write_locations(&self) -> bool {
        self.enable_multiple_write_locations.unwrap_or(false)
    }

    /// Whether single partitions may fail over; not if the account does not say.
    pub fn has_per_partition_failover(&self) -> bool {
        self.enable_per_partition_failover_behavior.unwrap_or(false)
    }

    /// The limits of the query engine, if the account says them.
    pub fn query_engine(&self) -> Result<Option<QueryEngineConfiguration>, JsonError> {
        let text = self.query_engine_configuration.as_deref().filter(|text| !text.trim().is_empty());
        text.map(|text| from_json("queryEngineConfiguration", text.as_bytes())).transpose()
    }
}

/// A region of the account, and where it answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AccountLocation {
    /// The region.
    pub name: RegionName,
    /// Its address: `https://account-westus2.documents.azure.com:443/`.
    #[serde(rename = "databaseAccountEndpoint")]
    pub endpoint: String,
    /// Members that this version does not know.
    #[serde(flatten)]
    pub extra: ExtraMembers,
}

impl AccountLocation {
    /// The region `name` at `endpoint`.
    pub fn new(name: impl Into<RegionName>, endpoint: impl Into<String>) -> Self {
        Self { name: name.into(), endpoint: endpoint.into(), extra: ExtraMembers::new() }
    }
}

/// The consistency that requests get unless they ask for less.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConsistencyPolicy {
    /// The level.
    pub default_consistency_level: ConsistencyLevel,
    /// Members that this version does not know.
    #[serde(flatten)]
    pub extra: ExtraMembers,
}

impl ConsistencyPolicy {
    /// The level by itself.
    pub fn new(default_consistency_level: ConsistencyLevel) -> Self {
        Self { default_consistency_level, extra: ExtraMembers::new() }
    }
}

/// How data are replicated in a region.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReplicationPolicy {
    /// The fewest replicas with which a partition takes writes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_replica_set_size: Option<u32>,
    /// The most replicas a partition has. The service spells this member with a small `s`.
    #[serde(rename = "maxReplicasetSize", skip_serializing_if = "Option::is_none")]
    pub max_replica_set_size: Option<u32>,
    /// Whether a write is acknowledged before its replicas have it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub async_replication: Option<bool>,
    /// Members that this version does not know.
    #[serde(flatten)]
    pub extra: ExtraMembers,
}

/// How reads are spread over the replicas of a region.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReadPolicy {
    /// The weight of the primary replica.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub primary_read_coefficient: Option<Number>,
    /// The weight of each other replica.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secondary_read_coefficient: Option<Number>,
    /// Members that this version does not know.
    #[serde(flatten)]
    pub extra: ExtraMembers,
}

/// The limits of the query engine. Those without a field are in `extra`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QueryEngineConfiguration {
    /// The longest query text, in characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_sql_query_input_length: Option<u64>,
    /// The most joins in a query.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_joins_per_sql_query: Option<u64>,
    /// The most calls of user-defined functions in a query.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_udf_ref_per_sql_query: Option<u64>,
    /// The most values in an `IN` list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_in_expression_items_count: Option<u64>,
    /// Other limits and switches.
    #[serde(flatten)]
    pub extra: ExtraMembers,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account() -> AccountProperties {
        let west = AccountLocation::new("West US 2", "https://a-westus2.documents.azure.com:443/");
        AccountProperties::new("a", ConsistencyLevel::Session, vec![west.clone()], vec![west])
    }

    #[test]
    fn what_an_account_does_not_say_is_off() {
        assert!(!account().has_multiple_write_locations());
        assert!(!account().has_per_partition_failover());
        assert_eq!(account().query_engine().unwrap(), None);
    }

    #[test]
    fn the_query_engine_is_read_from_json_within_json() {
        let mut account = account();
        account.query_engine_configuration =
            Some(r#"{"maxSqlQueryInputLength":262144,"sqlAllowTop":true}"#.to_owned());
        let engine = account.query_engine().unwrap().unwrap();
        assert_eq!(engine.max_sql_query_input_length, Some(262_144));
        assert_eq!(engine.extra["sqlAllowTop"], true);

        account.query_engine_configuration = Some(r#"{"maxJoinsPerSqlQuery":"five"}"#.to_owned());
        assert_eq!(account.query_engine().unwrap_err().member(), "maxJoinsPerSqlQuery");
    }
}
