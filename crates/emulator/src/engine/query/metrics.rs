//! What a page says about how it was made: the query metrics and the index utilisation headers.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cosmonaut_query::eval::Rows;
use serde_json::{Value, json};

use super::page::Tally;
use super::request::IndexMetrics;
use crate::index::IndexPath;

/// How long a page took, in microseconds.
#[derive(Clone, Copy, Default)]
pub(super) struct Times {
    pub(super) compile: u64,
    pub(super) total: u64,
}

/// The value of `x-ms-documentdb-query-metrics`.
///
/// Times that are not measured apart are part of the execution time and given as 0.
pub(super) fn header(tally: &Tally, rows: &Rows, times: Times) -> String {
    let ms = |micros: u64| micros as f64 / 1000.0;
    let retrieved = tally.cost.documents;
    let ratio = if retrieved == 0 { 1.0 } else { tally.matched as f64 / retrieved as f64 };
    let execution = ms(times.total.saturating_sub(times.compile));
    format!(
        "totalExecutionTimeInMs={:.2};queryCompileTimeInMs={:.2};queryLogicalPlanBuildTimeInMs=0.00;\
         queryPhysicalPlanBuildTimeInMs=0.00;queryOptimizationTimeInMs=0.00;VMExecutionTimeInMs={execution:.2};\
         indexLookupTimeInMs=0.00;documentLoadTimeInMs=0.00;systemFunctionExecuteTimeInMs=0.00;\
         userFunctionExecuteTimeInMs=0.00;retrievedDocumentCount={retrieved};retrievedDocumentSize={};\
         outputDocumentCount={};outputDocumentSize={};writeOutputTimeInMs=0.00;indexUtilizationRatio={ratio:.2}",
        ms(times.total),
        ms(times.compile),
        tally.cost.loaded_bytes,
        rows.len(),
        rows.byte_len(),
    )
}

/// The value of `x-ms-cosmos-index-utilization`.
pub(super) fn index_utilization(tally: &Tally, shape: IndexMetrics) -> String {
    match shape {
        IndexMetrics::Base64 => in_base64(tally),
        IndexMetrics::UriEncoded => uri_encoded(&short_report(tally)),
    }
}

/// What newer clients read.
fn short_report(tally: &Tally) -> String {
    let single = |paths: &[IndexPath], shapes: &[IndexPath]| {
        specs(paths, shapes).map(|spec| json!({"IndexSpec": spec})).collect::<Vec<_>>()
    };
    let composite: Vec<_> = tally.composite.iter().map(|specs| json!({"IndexSpecs": specs})).collect();
    let used = json!({"SingleIndexes": single(&tally.used.paths, &tally.used.shapes), "CompositeIndexes": composite});
    let potential = single(&tally.used.missed, &tally.used.missed_shapes);
    let missed = json!({"SingleIndexes": potential, "CompositeIndexes": []});
    // Members have an order, as the service writes them.
    format!(r#"{{"Utilized":{used},"Potential":{missed}}}"#)
}

fn uri_encoded(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                encoded.push(char::from(byte))
            }
            byte => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

fn in_base64(tally: &Tally) -> String {
    let single = |paths: &[IndexPath], shapes: &[IndexPath]| {
        specs(paths, shapes).map(|spec| single_index(&spec)).collect::<Vec<_>>()
    };
    let composite = tally
        .composite
        .iter()
        .map(|specs| json!({"IndexSpecs": specs, "IndexPreciseSet": true, "IndexImpactScore": "High"}));
    let report = json!({
        "UtilizedSingleIndexes": single(&tally.used.paths, &tally.used.shapes),
        "PotentialSingleIndexes": single(&tally.used.missed, &tally.used.missed_shapes),
        "UtilizedCompositeIndexes": composite.collect::<Vec<_>>(),
        "PotentialCompositeIndexes": [],
    });
    STANDARD.encode(report.to_string())
}

/// Paths as policies write them: to values, and to shapes.
fn specs(paths: &[IndexPath], shapes: &[IndexPath]) -> impl Iterator<Item = String> {
    let values = paths.iter().map(|path| format!("{path}/?"));
    values.chain(shapes.iter().map(|path| format!("{path}/*")))
}

fn single_index(spec: &str) -> Value {
    json!({
        "FilterExpression": "",
        "IndexSpec": spec,
        "FilterPreciseSet": true,
        "IndexPreciseSet": true,
        "IndexImpactScore": "High",
    })
}
