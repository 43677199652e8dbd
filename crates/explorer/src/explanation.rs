//! What the client says about a query, as JSON.

use cosmonaut::{AttemptOutcome, DiagnosticsContext, Index, PartitionExplanation, QueryExplanation};
use serde_json::{Value, json};

/// The explanation of a query, as `cosmonaut query --explain` prints it and the page shows it.
pub fn explanation(explained: &QueryExplanation) -> Value {
    let index = |index: &Index| json!({ "paths": index.paths, "impact": index.impact });
    let indexes = explained.indexes().map(|indexes| {
        json!({
            "used": indexes.used.iter().map(index).collect::<Vec<_>>(),
            "potential": indexes.potential.iter().map(index).collect::<Vec<_>>(),
        })
    });
    json!({
        "plannedBy": if explained.not_understood.is_some() { "service" } else { "client" },
        "notUnderstood": explained.not_understood,
        "sent": explained.sent,
        "plan": explained.plan,
        "merged": explained.is_merged,
        "partitionsRuledOut": explained.ruled_out,
        "partitions": explained.partitions.iter().map(partition).collect::<Vec<_>>(),
        "indexes": indexes,
        "requestCharge": explained.request_charge(),
    })
}

fn partition(partition: &PartitionExplanation) -> Value {
    let metrics = partition.metrics.as_ref().map(|metrics| {
        json!({
            "totalMs": metrics.total_time.as_secs_f64() * 1000.0,
            "retrievedDocuments": metrics.retrieved_documents,
            "retrievedBytes": metrics.retrieved_bytes,
            "outputDocuments": metrics.output_documents,
            "outputBytes": metrics.output_bytes,
            "indexHitRatio": metrics.index_hit_ratio,
        })
    });
    json!({
        "id": partition.id,
        "range": partition.range,
        "rows": partition.rows,
        "hasMore": partition.has_more,
        "requestCharge": partition.request_charge,
        "elapsedMs": partition.diagnostics.elapsed().as_secs_f64() * 1000.0,
        "regions": regions(&partition.diagnostics),
        "metrics": metrics,
    })
}

/// The region of every attempt that was answered, in order.
pub(crate) fn regions(context: &DiagnosticsContext) -> Vec<&str> {
    let answered =
        context.attempts().iter().filter(|attempt| matches!(attempt.outcome, AttemptOutcome::Answered(_)));
    answered.filter_map(|attempt| attempt.endpoint.region()).map(|region| region.as_str()).collect()
}
