//! `GET /`: the account, its region by the address the client came by, and what its query engine allows.

use cosmonaut_wire::model::{AccountLocation, AccountProperties};
use cosmonaut_wire::{ConsistencyLevel, CosmosStatus};

use super::Gateway;
use super::call::Call;
use super::metadata::json_body;
use super::reply::Reply;
use crate::Failure;

/// The account's name. An emulator has one account, and clients do not look at its name.
const NAME: &str = "cosmonaut";

/// What clients want to know about the query engine before they send it anything.
const QUERY_ENGINE: &str = r#"{"maxSqlQueryInputLength":262144,"maxJoinsPerSqlQuery":5,"maxLogicalAndPerSqlQuery":500,"maxLogicalOrPerSqlQuery":500,"maxUdfRefPerSqlQuery":10,"maxInExpressionItemsCount":16000,"queryMaxInMemorySortDocumentCount":500,"maxQueryRequestTimeoutFraction":0.9,"sqlAllowNonFiniteNumbers":false,"sqlAllowAggregateFunctions":true,"sqlAllowSubQuery":true,"sqlAllowScalarSubQuery":true,"allowNewKeywords":true,"sqlAllowLike":true,"sqlAllowGroupByClause":true,"maxSpatialQueryCells":12,"spatialMaxGeometryPointCount":256,"sqlDisableOptimizationFlags":0,"sqlAllowTop":true,"enableSpatialIndexing":false}"#;

impl Gateway {
    pub(super) fn read_account(&self, call: &Call<'_>) -> Result<Reply, Failure> {
        let location = AccountLocation::new(self.region_name.clone(), call.origin.endpoint(&self.endpoint));
        let mut account =
            AccountProperties::new(NAME, ConsistencyLevel::Session, vec![location.clone()], vec![location]);
        account.rid = Some(NAME.to_owned());
        account.self_link = Some(String::new());
        account.media = Some("//media/".to_owned());
        account.addresses = Some("//addresses/".to_owned());
        account.databases_link = Some("//dbs/".to_owned());
        account.enable_multiple_write_locations = Some(false);
        account.enable_per_partition_failover_behavior = Some(false);
        account.query_engine_configuration = Some(QUERY_ENGINE.to_owned());
        Ok(Reply::new(CosmosStatus::OK, json_body(&account)))
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_query_engine_is_json() {
        assert!(serde_json::from_str::<serde_json::Value>(super::QUERY_ENGINE).is_ok());
    }
}
