//! What a partition says about how it found its rows: the query metrics and the index utilisation headers.
//!
//! Both are for people who tune queries, so what cannot be read is left out and never an error.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Deserializer};

/// What it took to make one answer.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct QueryMetrics {
    /// How long the service worked on it.
    pub total_time: Duration,
    /// How many documents were loaded.
    pub retrieved_documents: u64,
    /// How many bytes these have.
    pub retrieved_bytes: u64,
    /// How many rows came of them.
    pub output_documents: u64,
    /// How many bytes these have.
    pub output_bytes: u64,
    /// The share of loaded documents that were of use, from 0 to 1: an index that fits the filter makes it 1.
    pub index_hit_ratio: f64,
}

impl QueryMetrics {
    /// Reads `name=value;name=value`. Names that are not known here are left out.
    pub(super) fn parse(header: &str) -> Self {
        let mut metrics = Self::default();
        for (name, value) in header.split(';').filter_map(|part| part.split_once('=')) {
            let count = || value.trim().parse::<u64>().unwrap_or_default();
            let number = || value.trim().parse::<f64>().ok().filter(|number| number.is_finite());
            match name.trim() {
                "totalExecutionTimeInMs" => {
                    let seconds = number().unwrap_or_default() / 1000.0;
                    metrics.total_time = Duration::try_from_secs_f64(seconds).unwrap_or_default();
                }
                "retrievedDocumentCount" => metrics.retrieved_documents = count(),
                "retrievedDocumentSize" => metrics.retrieved_bytes = count(),
                "outputDocumentCount" => metrics.output_documents = count(),
                "outputDocumentSize" => metrics.output_bytes = count(),
                "indexUtilizationRatio" => metrics.index_hit_ratio = number().unwrap_or_default(),
                _ => {}
            }
        }
        metrics
    }
}

/// Which indexes a query used, and which it would use if the container had them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct IndexUse {
    /// Those that it used.
    pub used: Vec<Index>,
    /// Those that would help it.
    pub potential: Vec<Index>,
}

/// An index, as an indexing policy names it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Index {
    /// The path, or the paths and directions of a composite index.
    pub paths: Vec<String>,
    /// How much it matters to the query, in the service's words: `High` or `Low`; empty if it does not say.
    pub impact: String,
}

impl IndexUse {
    /// Reads JSON in Base64; `None` if it is something else.
    pub(super) fn parse(header: &str) -> Option<Self> {
        let report: Report = serde_json::from_slice(&STANDARD.decode(header.trim()).ok()?).ok()?;
        let all = |single: Vec<Reported>, composite: Vec<Reported>| {
            single
                .into_iter()
                .chain(composite)
                .map(Index::from)
                .filter(|index| !index.paths.is_empty())
                .collect()
        };
        Some(Self {
            used: all(report.utilized_single_indexes, report.utilized_composite_indexes),
            potential: all(report.potential_single_indexes, report.potential_composite_indexes),
        })
    }

    /// Adds what another partition says, each index once.
    pub(super) fn merge(&mut self, other: &Self) {
        for (into, from) in [(&mut self.used, &other.used), (&mut self.potential, &other.potential)] {
            for index in from {
                if !into.iter().any(|known| known.paths == index.paths) {
                    into.push(index.clone());
                }
            }
        }
    }
}

/// What the service writes.
#[derive(Deserialize, Default)]
#[serde(rename_all = "PascalCase", default)]
struct Report {
    #[serde(deserialize_with = "null_is_none_of_them")]
    utilized_single_indexes: Vec<Reported>,
    #[serde(deserialize_with = "null_is_none_of_them")]
    potential_single_indexes: Vec<Reported>,
    #[serde(deserialize_with = "null_is_none_of_them")]
    utilized_composite_indexes: Vec<Reported>,
    #[serde(deserialize_with = "null_is_none_of_them")]
    potential_composite_indexes: Vec<Reported>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "PascalCase", default)]
struct Reported {
    index_spec: Option<String>,
    index_specs: Option<Vec<String>>,
    index_impact_score: Option<String>,
}

fn null_is_none_of_them<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Reported>, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

impl From<Reported> for Index {
    fn from(reported: Reported) -> Self {
        Self {
            paths: reported
                .index_spec
                .into_iter()
                .chain(reported.index_specs.into_iter().flatten())
                .collect(),
            impact: reported.index_impact_score.unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn metrics_are_read_by_name() {
        let header = "totalExecutionTimeInMs=1.50;x=y;retrievedDocumentCount=20;retrievedDocumentSize=2000;\
                      outputDocumentCount=5;outputDocumentSize=500;indexUtilizationRatio=0.25;odd";
        let metrics = QueryMetrics::parse(header);
        assert_eq!(metrics.total_time, Duration::from_micros(1500));
        assert_eq!((metrics.retrieved_documents, metrics.retrieved_bytes), (20, 2000));
        assert_eq!((metrics.output_documents, metrics.output_bytes), (5, 500));
        assert_eq!(metrics.index_hit_ratio, 0.25);
        let odd = QueryMetrics::parse("totalExecutionTimeInMs=-1;indexUtilizationRatio=NaN");
        assert_eq!(odd, QueryMetrics::default());
    }

    #[test]
    fn indexes_are_read_and_each_is_told_once() {
        let encode = |json: &str| STANDARD.encode(json);
        let mut all = IndexUse::parse(&encode(
            r#"{"UtilizedSingleIndexes":[{"FilterExpression":"","IndexSpec":"/a/?","IndexImpactScore":"High"}],
                "PotentialSingleIndexes":null,
                "UtilizedCompositeIndexes":[{"IndexSpecs":["/a ASC","/b DESC"]}]}"#,
        ))
        .unwrap();
        let index = |paths: &[&str], impact: &str| Index {
            paths: paths.iter().map(|path| (*path).to_owned()).collect(),
            impact: impact.to_owned(),
        };
        assert_eq!(all.used, [index(&["/a/?"], "High"), index(&["/a ASC", "/b DESC"], "")]);
        let other = r#"{"UtilizedSingleIndexes":[{"IndexSpec":"/a/?"},{}],
                        "PotentialSingleIndexes":[{"IndexSpec":"/c/?","IndexImpactScore":"Low"}]}"#;
        all.merge(&IndexUse::parse(&encode(other)).unwrap());
        assert_eq!(all.used.len(), 2);
        assert_eq!(all.potential, [index(&["/c/?"], "Low")]);
        assert_eq!(IndexUse::parse("no base64!"), None);
        assert_eq!(IndexUse::parse(&encode("[]x")), None);
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_left_out(text in "[ -~]{0,60}") {
            prop_assert!(QueryMetrics::parse(&text).index_hit_ratio.is_finite());
            drop(IndexUse::parse(&text));
            drop(IndexUse::parse(&STANDARD.encode(&text)));
        }
    }
}
