//! `GET /`: the account, its regions by the address the client came by, and what its query engine allows.

use cosmonaut_wire::model::{AccountLocation, AccountProperties};
use cosmonaut_wire::{CosmosStatus, headers};

use super::Gateway;
use super::call::Call;
use super::metadata::json_body;
use super::reply::Reply;
use crate::Failure;
use crate::engine::{Consistency, Region, Topology};

/// The account's name. An emulator has one account, and clients do not look at its name.
const NAME: &str = "cosmonaut";

/// What clients want to know about the query engine before they send it anything. The limits are those of newer accounts,
/// which the emulator enforces; older accounts have lower ones.
const QUERY_ENGINE: &str = r#"{"maxSqlQueryInputLength":524288,"maxJoinsPerSqlQuery":10,"maxLogicalAndPerSqlQuery":2147483647,"maxLogicalOrPerSqlQuery":2147483647,"maxUdfRefPerSqlQuery":10,"maxInExpressionItemsCount":2147483647,"queryMaxInMemorySortDocumentCount":500,"maxQueryRequestTimeoutFraction":0.9,"sqlAllowNonFiniteNumbers":false,"sqlAllowAggregateFunctions":true,"sqlAllowSubQuery":true,"sqlAllowScalarSubQuery":true,"allowNewKeywords":true,"sqlAllowLike":true,"sqlAllowGroupByClause":true,"maxSpatialQueryCells":12,"spatialMaxGeometryPointCount":256,"sqlDisableOptimizationFlags":0,"sqlAllowTop":true,"enableSpatialIndexing":true}"#;

impl Gateway {
    pub(super) fn read_account(&self, call: &Call<'_>) -> Result<Reply, Failure> {
        let topology = self.engine.topology();
        let location = |region: &Region| self.location(region, call);
        let readable: Vec<_> = topology.regions.iter().filter_map(location).collect();
        let writable = if topology.multi_write {
            readable.clone()
        } else {
            location(topology.write_region()).into_iter().collect()
        };
        let mut account = AccountProperties::new(NAME, (&topology.consistency).into(), writable, readable);
        account.rid = Some(NAME.to_owned());
        account.self_link = Some(String::new());
        account.media = Some("//media/".to_owned());
        account.addresses = Some("//addresses/".to_owned());
        account.databases_link = Some("//dbs/".to_owned());
        account.enable_multiple_write_locations = Some(topology.multi_write);
        account.enable_per_partition_failover_behavior = Some(topology.partition_failover);
        if call.flag(&headers::USE_THIN_CLIENT) {
            self.add_framed(&mut account, &topology, call);
        }
        account.query_engine_configuration = Some(QUERY_ENGINE.to_owned());
        if let Consistency::BoundedStaleness { max_prefix, max_interval } = topology.consistency {
            let policy = &mut account.user_consistency_policy.extra;
            policy.insert("maxStalenessPrefix".to_owned(), max_prefix.into());
            policy.insert("maxIntervalInSeconds".to_owned(), max_interval.as_secs().into());
        }
        Ok(Reply::new(CosmosStatus::OK, json_body(&account)))
    }

    /// Where Gateway 2.0 is, which the service says to those who ask. Nothing if it is nowhere.
    fn add_framed(&self, account: &mut AccountProperties, topology: &Topology, call: &Call<'_>) {
        let location = |region: &Region| {
            let address = self.addresses.framed_of(region.id)?;
            Some(AccountLocation::new(region.name.clone(), call.origin.neighbour(address)))
        };
        let readable: Vec<_> = topology.regions.iter().filter_map(location).collect();
        if readable.is_empty() {
            return;
        }
        let takes_writes = |region: &&Region| topology.takes_writes(region.id);
        let writable = topology.regions.iter().filter(takes_writes).filter_map(location).collect();
        account.thin_client_readable_locations = Some(readable);
        account.thin_client_writable_locations = Some(writable);
    }

    /// A region at the address by which this client can reach it; none that is about to come or go.
    fn location(&self, region: &Region, call: &Call<'_>) -> Option<AccountLocation> {
        let address = self.addresses.of(region.id)?;
        let endpoint = if region.id == self.region && !self.is_global {
            call.origin.endpoint(address)
        } else {
            call.origin.neighbour(address)
        };
        Some(AccountLocation::new(region.name.clone(), endpoint))
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_query_engine_is_json() {
        assert!(serde_json::from_str::<serde_json::Value>(super::QUERY_ENGINE).is_ok());
    }
}
