//! Query plans: what the server rewrote a query into, where to send it, and how to put the results together.
//!
//! Making a plan and following it are elsewhere.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::json::null_as_default;
use crate::{EffectivePartitionKey, EpkRange};

/// The answer to a request for a query plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PartitionedQueryExecutionInfo {
    /// The version of this shape.
    #[serde(rename = "partitionedQueryExecutionInfoVersion")]
    pub version: u32,
    /// How results are put together; written as `null` if a hybrid search says that instead.
    pub query_info: Option<QueryInfo>,
    /// The parts of the key space that can have results.
    pub query_ranges: Vec<QueryRange>,
    /// The parts of a hybrid search, for a query that is one; else written as `null`.
    pub hybrid_search_query_info: Option<HybridSearchQueryInfo>,
}

impl PartitionedQueryExecutionInfo {
    /// The version that this shape is.
    pub const VERSION: u32 = 2;

    /// A plan for a query that is not a hybrid search.
    pub fn new(query_info: QueryInfo, query_ranges: Vec<QueryRange>) -> Self {
        let (version, query_info) = (Self::VERSION, Some(query_info));
        Self { version, query_info, query_ranges, hybrid_search_query_info: None }
    }

    /// A plan for a hybrid search.
    pub fn hybrid(search: HybridSearchQueryInfo, query_ranges: Vec<QueryRange>) -> Self {
        let (version, hybrid_search_query_info) = (Self::VERSION, Some(search));
        Self { version, query_info: None, query_ranges, hybrid_search_query_info }
    }
}

/// How the results of one query from many partitions are put together.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct QueryInfo {
    /// Whether equal results are left out.
    #[serde(deserialize_with = "null_as_default")]
    pub distinct_type: DistinctType,
    /// `TOP`.
    pub top: Option<u64>,
    /// `OFFSET`.
    pub offset: Option<u64>,
    /// `LIMIT`.
    pub limit: Option<u64>,
    /// The directions of `ORDER BY`.
    #[serde(deserialize_with = "null_as_default")]
    pub order_by: Vec<SortOrder>,
    /// The expressions of `ORDER BY`, one for each direction.
    #[serde(deserialize_with = "null_as_default")]
    pub order_by_expressions: Vec<String>,
    /// The expressions of `GROUP BY`.
    #[serde(deserialize_with = "null_as_default")]
    pub group_by_expressions: Vec<String>,
    /// The names of a group's results.
    #[serde(deserialize_with = "null_as_default")]
    pub group_by_aliases: Vec<String>,
    /// The aggregates of a query without `GROUP BY`.
    #[serde(deserialize_with = "null_as_default")]
    pub aggregates: Vec<AggregateKind>,
    /// Which aggregate, if any, each of a group's results is.
    #[serde(deserialize_with = "null_as_default")]
    pub group_by_alias_to_aggregate_type: BTreeMap<String, Option<AggregateKind>>,
    /// The query to send to each partition; empty to send the original.
    #[serde(deserialize_with = "null_as_default")]
    pub rewritten_query: String,
    /// Whether the query is a `SELECT VALUE`.
    #[serde(deserialize_with = "null_as_default")]
    pub has_select_value: bool,
    /// Whether partitions answer in no order, so that all results are needed before the first is known.
    #[serde(deserialize_with = "null_as_default")]
    pub has_non_streaming_order_by: bool,
    /// Where the count of distinct results goes, if that is what is asked for.
    #[serde(rename = "dCountInfo")]
    pub d_count_info: Option<DCountInfo>,
}

/// Whether equal results are left out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum DistinctType {
    /// They are not.
    #[default]
    None,
    /// They are, and come one after the other.
    Ordered,
    /// They are, and come anywhere.
    Unordered,
}

/// A direction of `ORDER BY`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum SortOrder {
    /// The least first.
    Ascending,
    /// The greatest first.
    Descending,
}

/// An aggregate that is finished where results come together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum AggregateKind {
    /// `AVG`; its item is `{sum, count}`.
    Average,
    /// `COUNT`.
    Count,
    /// `COUNTIF`.
    CountIf,
    /// `MAX`.
    Max,
    /// `MIN`.
    Min,
    /// `SUM`.
    Sum,
    /// All values, as an array.
    MakeList,
    /// All distinct values, as an array.
    MakeSet,
}

/// Where the count of distinct results goes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DCountInfo {
    /// The member that holds it; empty for `SELECT VALUE`.
    #[serde(rename = "dCountAlias", default, deserialize_with = "null_as_default")]
    pub alias: String,
}

/// A part of the key space, between two effective partition keys.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QueryRange {
    /// Where it starts.
    pub min: EffectivePartitionKey,
    /// Where it ends.
    pub max: EffectivePartitionKey,
    /// Whether it holds its start.
    pub is_min_inclusive: bool,
    /// Whether it holds its end.
    pub is_max_inclusive: bool,
}

impl QueryRange {
    /// The whole key space.
    pub fn full() -> Self {
        EpkRange::FULL.into()
    }

    /// One key.
    pub fn point(key: EffectivePartitionKey) -> Self {
        Self { min: key.clone(), max: key, is_min_inclusive: true, is_max_inclusive: true }
    }
}

impl From<EpkRange> for QueryRange {
    fn from(range: EpkRange) -> Self {
        Self { min: range.min, max: range.max, is_min_inclusive: true, is_max_inclusive: false }
    }
}

/// A search that runs several queries and ranks their results together.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HybridSearchQueryInfo {
    /// The query that counts words and documents, whose results the others are given.
    #[serde(deserialize_with = "null_as_default")]
    pub global_statistics_query: String,
    /// The queries, one for each thing to rank by.
    #[serde(deserialize_with = "null_as_default")]
    pub component_query_infos: Vec<QueryInfo>,
    /// The same queries without what the user selects.
    #[serde(deserialize_with = "null_as_default")]
    pub component_without_payload_query_infos: Vec<QueryInfo>,
    /// The query that fetches what the user selects.
    pub projection_query_info: Option<QueryInfo>,
    /// How much each query's rank counts; all the same if there are none.
    #[serde(deserialize_with = "null_as_default")]
    pub component_weights: Vec<f64>,
    /// How many results to leave out.
    pub skip: Option<u64>,
    /// How many results to give.
    pub take: Option<u64>,
    /// Whether the statistics query must run first.
    #[serde(deserialize_with = "null_as_default")]
    pub requires_global_statistics: bool,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_plan_is_written_with_every_member_even_if_null() {
        let mut info = QueryInfo { rewritten_query: "SELECT 1".to_owned(), ..QueryInfo::default() };
        info.order_by.push(SortOrder::Ascending);
        info.order_by_expressions.push("c.x".to_owned());
        let plan = PartitionedQueryExecutionInfo::new(info, vec![QueryRange::full()]);
        let expected = json!({
            "partitionedQueryExecutionInfoVersion": 2,
            "queryInfo": {
                "distinctType": "None", "top": null, "offset": null, "limit": null,
                "orderBy": ["Ascending"], "orderByExpressions": ["c.x"], "groupByExpressions": [],
                "groupByAliases": [], "aggregates": [], "groupByAliasToAggregateType": {},
                "rewrittenQuery": "SELECT 1", "hasSelectValue": false, "hasNonStreamingOrderBy": false,
                "dCountInfo": null,
            },
            "hybridSearchQueryInfo": null,
            "queryRanges": [{"min": "", "max": "FF", "isMinInclusive": true, "isMaxInclusive": false}],
        });
        assert_eq!(serde_json::to_value(&plan).unwrap(), expected);
        assert_eq!(serde_json::from_value::<PartitionedQueryExecutionInfo>(expected).unwrap(), plan);
    }

    #[test]
    fn a_grouped_plan_survives_a_round_trip() {
        let info = json!({
            "distinctType": "Unordered", "top": 5, "offset": 1, "limit": 2, "orderBy": [],
            "orderByExpressions": [], "groupByExpressions": ["c.a"], "groupByAliases": ["a", "n"],
            "aggregates": ["Average", "CountIf", "MakeSet"],
            "groupByAliasToAggregateType": {"a": null, "n": "Count"}, "rewrittenQuery": "q",
            "hasSelectValue": true, "hasNonStreamingOrderBy": true, "dCountInfo": {"dCountAlias": "$1"},
        });
        let read: QueryInfo = serde_json::from_value(info.clone()).unwrap();
        assert_eq!(read.group_by_alias_to_aggregate_type["n"], Some(AggregateKind::Count));
        assert_eq!(serde_json::to_value(&read).unwrap(), info);
    }

    #[test]
    fn members_that_a_server_leaves_out_or_nulls_read_as_nothing() {
        let read: QueryInfo =
            serde_json::from_value(json!({"orderBy": null, "rewrittenQuery": null})).unwrap();
        assert_eq!(read, QueryInfo::default());
    }

    #[test]
    fn an_aggregate_that_cannot_be_finished_is_refused() {
        assert!(serde_json::from_value::<QueryInfo>(json!({"aggregates": ["Median"]})).is_err());
    }

    #[test]
    fn a_hybrid_plan_survives_a_round_trip() {
        let search = HybridSearchQueryInfo {
            component_query_infos: vec![QueryInfo::default(); 2],
            component_weights: vec![1.0, -0.5],
            take: Some(10),
            requires_global_statistics: true,
            ..HybridSearchQueryInfo::default()
        };
        let plan =
            PartitionedQueryExecutionInfo::hybrid(search, vec![QueryRange::point("05C1".parse().unwrap())]);
        let written = serde_json::to_value(&plan).unwrap();
        assert_eq!(written["queryInfo"], json!(null));
        assert_eq!(written["hybridSearchQueryInfo"]["skip"], json!(null));
        assert_eq!(serde_json::from_value::<PartitionedQueryExecutionInfo>(written).unwrap(), plan);
    }
}
