//! Query plans, and which queries cannot be answered without one.

use std::collections::BTreeSet;

use cosmonaut_query::Setting;
use cosmonaut_wire::CosmosStatus;
use cosmonaut_wire::model::{
    AggregateKind, DistinctType, HybridSearchQueryInfo, PartitionedQueryExecutionInfo, QueryInfo, QuerySpec,
};

use super::compiled::{self, Compiled};
use super::parts::Parts;
use super::request::QueryRequest;
use crate::Failure;
use crate::engine::Container;

/// What a client can put together from the results of several partitions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueryFeatures(BTreeSet<String>);

impl QueryFeatures {
    /// From the value of `x-ms-cosmos-supported-query-features`: names with commas between them.
    pub fn from_header(text: &str) -> QueryFeatures {
        QueryFeatures(
            text.split(',').map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect(),
        )
    }

    /// Whether a client says that it can do this. One that says nothing at all is believed to know what it does.
    fn has(&self, feature: &str) -> bool {
        self.0.is_empty() || self.0.iter().any(|known| known.eq_ignore_ascii_case(feature))
    }
}

/// The plan of a query: what to send to each partition, and how to put the results together.
pub fn plan(
    container: &Container,
    spec: &QuerySpec,
    supported: &QueryFeatures,
) -> Result<PartitionedQueryExecutionInfo, Failure> {
    let (query, parameters) = compiled::read(spec)?;
    let properties = container.properties();
    let setting = Setting::of(&properties);
    let plan = compiled::planned(&query, &parameters, &properties.partition_key, &setting)?;
    let needed = plan.query_info.as_ref().map(needed);
    let needed = needed.or_else(|| plan.hybrid_search_query_info.as_ref().map(needed_to_fuse));
    if let Some(needed) = needed {
        let missing: Vec<_> = needed.into_iter().filter(|feature| !supported.has(feature)).collect();
        if !missing.is_empty() {
            return Err(unsupported(&missing));
        }
    }
    Ok(plan)
}

/// What a client is told that does not list what the plan needs.
fn unsupported(missing: &[&str]) -> Failure {
    let message = match missing.contains(&"NonValueAggregate") {
        // As the service spells it.
        true => "Cross partition query only supports 'VALUE <AggreateFunc>' for aggregates.".to_owned(),
        false => {
            let names = missing.join(", ");
            format!(
                "Query contains the following features, which the calling client does not support: {names}"
            )
        }
    };
    let errors = serde_json::json!({"Errors": [message]});
    Failure::new(CosmosStatus::CROSS_PARTITION_QUERY_NOT_SERVABLE, format!("Message: {errors}"))
}

/// What a client must be able to do to follow a plan, by the service's names.
fn needed(info: &QueryInfo) -> Vec<&'static str> {
    let named = || info.group_by_alias_to_aggregate_type.values().flatten();
    let aggregate =
        |kinds: &[AggregateKind]| info.aggregates.iter().chain(named()).any(|kind| kinds.contains(kind));
    // Aggregates that are members of a row come as a group of everything.
    let non_value = info.group_by_expressions.is_empty() && named().next().is_some();
    [
        ("Aggregate", !info.aggregates.is_empty() || non_value),
        ("NonValueAggregate", non_value),
        ("CountIf", aggregate(&[AggregateKind::CountIf])),
        ("ListAndSetAggregate", aggregate(&[AggregateKind::MakeList, AggregateKind::MakeSet])),
        ("Distinct", info.distinct_type != DistinctType::None),
        ("DCount", info.d_count_info.is_some()),
        ("GroupBy", !info.group_by_expressions.is_empty()),
        ("OrderBy", !info.order_by.is_empty()),
        ("MultipleOrderBy", info.order_by.len() > 1),
        ("NonStreamingOrderBy", info.has_non_streaming_order_by),
        ("OffsetAndLimit", info.offset.is_some() || info.limit.is_some()),
        ("Top", info.top.is_some()),
    ]
    .into_iter()
    .filter_map(|(feature, needed)| needed.then_some(feature))
    .collect()
}

/// What a client must be able to do to put the scores of a search together.
fn needed_to_fuse(search: &HybridSearchQueryInfo) -> Vec<&'static str> {
    let weighted = (!search.component_weights.is_empty()).then_some("WeightedRankFusion");
    std::iter::once("HybridSearch").chain(weighted).collect()
}

/// Fails if the results of several partitions would have to be put together here, which is the client's part.
pub(super) fn check_servable(
    request: &QueryRequest,
    compiled: &Compiled,
    parts: &Parts,
    plan: Result<PartitionedQueryExecutionInfo, Failure>,
) -> Result<(), Failure> {
    if parts.partitions <= 1 {
        return Ok(());
    }
    let program = &compiled.program;
    let cut = program.limit().is_some() || program.offset() > 0;
    if request.cross_partition && program.is_streaming() && !cut {
        return Ok(());
    }
    Err(needs_client(request, plan))
}

/// Why a query that needs the results of several partitions put together is not answered.
pub(super) fn needs_client(
    request: &QueryRequest,
    plan: Result<PartitionedQueryExecutionInfo, Failure>,
) -> Failure {
    if !request.cross_partition {
        return Failure::bad_request(
            "Cross partition query is required but disabled. Please set x-ms-documentdb-query-enablecrosspartition to \
             true, specify x-ms-documentdb-partitionkey, or revise your query to avoid this exception.",
        );
    }
    let plan = match plan {
        Ok(plan) => plan,
        Err(failure) => return failure,
    };
    let mut failure = Failure::new(
        CosmosStatus::CROSS_PARTITION_QUERY_NOT_SERVABLE,
        "The provided cross partition query can not be directly served by the gateway: ask for its query plan, run that \
         against each partition, and merge the results.",
    );
    failure.additional_info = serde_json::to_string(&plan).ok();
    failure
}

#[cfg(test)]
mod tests {
    use cosmonaut_wire::model::ContainerProperties;

    use super::*;
    use crate::SystemWorld;

    #[test]
    fn clients_name_what_they_can_do() {
        let features = QueryFeatures::from_header("Aggregate, CompositeAggregate,Distinct , OrderBy");
        for (feature, known) in [("Aggregate", true), ("orderby", true), ("GroupBy", false), ("Order", false)]
        {
            assert_eq!(features.has(feature), known, "{feature}");
        }
        assert!(QueryFeatures::from_header(" , ").has("GroupBy"));
    }

    #[test]
    fn a_client_that_cannot_follow_a_plan_is_told_so() {
        for (missing, message) in [
            (&["GroupBy"][..], "which the calling client does not support: GroupBy"),
            (&["Aggregate", "NonValueAggregate"], "only supports 'VALUE <AggreateFunc>' for aggregates."),
        ] {
            let failure = unsupported(missing);
            assert_eq!(failure.status, CosmosStatus::CROSS_PARTITION_QUERY_NOT_SERVABLE);
            assert!(failure.message.contains(message), "{failure}");
        }
    }

    #[test]
    fn plans_need_what_their_clauses_need() {
        let properties = ContainerProperties::new("c", "/pk");
        for (text, features) in [
            ("SELECT * FROM c", ""),
            ("SELECT VALUE COUNT(1) FROM c", "Aggregate"),
            ("SELECT COUNT(1) AS n FROM c", "Aggregate NonValueAggregate"),
            ("SELECT VALUE COUNTIF(c.a) FROM c", "Aggregate CountIf"),
            ("SELECT DISTINCT VALUE c.a FROM c", "Distinct"),
            ("SELECT c.a, COUNT(1) AS n FROM c GROUP BY c.a", "GroupBy"),
            ("SELECT TOP 1 * FROM c ORDER BY c.a", "OrderBy Top"),
            ("SELECT * FROM c ORDER BY c.a, c.b OFFSET 1 LIMIT 2", "OrderBy MultipleOrderBy OffsetAndLimit"),
        ] {
            let compiled = Compiled::new(&QuerySpec::new(text), &properties, &SystemWorld::new()).unwrap();
            let plan = compiled.plan(&properties.partition_key).unwrap();
            assert_eq!(needed(&plan.query_info.unwrap()).join(" "), features, "{text}");
        }
    }
}
