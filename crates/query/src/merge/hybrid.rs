//! `ORDER BY RANK`: the counts of all partitions added up, and documents ranked by all of their scores together.
//!
//! Sending the queries, and in which order, is the caller's business.

use std::borrow::Cow;
use std::collections::HashSet;

use cosmonaut_wire::model::{HybridSearchQueryInfo, QueryInfo, SortOrder};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::MergeError;
use crate::plan::STATISTICS_PLACEHOLDER;

/// What is added to every rank, so that the first few do not count for too much.
const RANK_OFFSET: f64 = 60.0;

/// What all partitions have counted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Statistics {
    documents: f64,
    texts: Vec<TextStatistics>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
struct TextStatistics {
    #[serde(default)]
    total_word_count: f64,
    #[serde(default)]
    hit_counts: Vec<f64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct StatisticsRow {
    document_count: f64,
    #[serde(default)]
    full_text_statistics: Vec<TextStatistics>,
}

impl Statistics {
    /// Adds what one partition has answered to the statistics query.
    pub fn add(&mut self, row: &RawValue) -> Result<(), MergeError> {
        let counted: StatisticsRow =
            serde_json::from_str(row.get()).map_err(|error| MergeError::row(row, error))?;
        self.documents += counted.document_count;
        let texts = counted.full_text_statistics;
        self.texts.resize(self.texts.len().max(texts.len()), TextStatistics::default());
        for (known, more) in self.texts.iter_mut().zip(texts) {
            known.total_word_count += more.total_word_count;
            let hits = more.hit_counts;
            known.hit_counts.resize(known.hit_counts.len().max(hits.len()), 0.0);
            known.hit_counts.iter_mut().zip(hits).for_each(|(known, more)| *known += more);
        }
        Ok(())
    }

    /// Puts the numbers in place of their placeholders.
    ///
    /// Placeholders are numbered by score, or by score of a text; either way they come in the order of the statistics.
    pub fn fill(&self, components: &mut [QueryInfo]) {
        let placeholder = |what: &str| format!("{STATISTICS_PLACEHOLDER}{what}}}");
        let mut filled = vec![(placeholder("totaldocumentcount"), written(self.documents))];
        let mut texts = self.texts.iter();
        for nth in 0..components.len() {
            let words = placeholder(&format!("totalwordcount-{nth}"));
            if !components.iter().any(|component| component.rewritten_query.contains(&words)) {
                continue;
            }
            let Some(text) = texts.next() else { break };
            let hits: Vec<String> = text.hit_counts.iter().copied().map(written).collect();
            filled.push((words, written(text.total_word_count)));
            filled.push((placeholder(&format!("hitcountsarray-{nth}")), format!("[{}]", hits.join(","))));
        }
        let fill = |text: &mut String| {
            filled.iter().for_each(|(placeholder, number)| *text = text.replace(placeholder, number));
        };
        for component in components {
            fill(&mut component.rewritten_query);
            component.order_by_expressions.iter_mut().for_each(fill);
        }
    }
}

/// A count as it stands in a query.
fn written(count: f64) -> String {
    format!("{count}")
}

/// Documents on their way to one rank.
#[derive(Debug)]
pub struct Fusion {
    directions: Vec<SortOrder>,
    weights: Vec<f64>,
    skip: usize,
    take: usize,
    seen: HashSet<String>,
    found: Vec<Found>,
}

/// A document with its scores.
#[derive(Debug)]
struct Found {
    rid: String,
    scores: Vec<f64>,
    payload: Box<RawValue>,
}

/// A row of a query for a score: in full, or with the scores beside what is selected.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ScoredRow<'r> {
    #[serde(rename = "_rid", borrow, default)]
    rid: Cow<'r, str>,
    #[serde(default)]
    order_by_items: Vec<Item>,
    #[serde(borrow, default, deserialize_with = "present")]
    payload: Option<&'r RawValue>,
    component_scores: Option<Vec<f64>>,
}

#[derive(Deserialize)]
struct Item {
    item: Option<f64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Payload<'r> {
    #[serde(borrow, default, deserialize_with = "present")]
    payload: Option<&'r RawValue>,
    #[serde(default)]
    component_scores: Vec<f64>,
}

/// Keeps `null` apart from a member that is not there.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

impl Fusion {
    /// For the rows of all queries of a search.
    pub fn new(search: &HybridSearchQueryInfo) -> Fusion {
        let direction = |info: &QueryInfo| info.order_by.first().copied().unwrap_or(SortOrder::Descending);
        let count = |count: Option<u64>, otherwise| {
            count.map_or(otherwise, |count| usize::try_from(count).unwrap_or(usize::MAX))
        };
        Fusion {
            directions: search.component_query_infos.iter().map(direction).collect(),
            weights: search.component_weights.clone(),
            skip: count(search.skip, 0),
            take: count(search.take, usize::MAX),
            seen: HashSet::new(),
            found: Vec::new(),
        }
    }

    /// Takes a row of any of the queries. A document that was seen is passed over, and so is a row that selects nothing.
    pub fn add(&mut self, row: &RawValue) -> Result<(), MergeError> {
        let failed = |error: serde_json::Error| MergeError::row(row, error);
        let ScoredRow { rid, order_by_items, payload, component_scores } =
            serde_json::from_str(row.get()).map_err(failed)?;
        let (payload, mut scores) = match (payload, component_scores) {
            (payload, Some(scores)) => (payload, scores),
            (Some(payload), None) => {
                let inner: Payload<'_> = serde_json::from_str(payload.get()).map_err(failed)?;
                (inner.payload, inner.component_scores)
            }
            (None, None) => (None, Vec::new()),
        };
        let Some(payload) = payload else { return Ok(()) };
        if scores.is_empty() {
            scores.extend(order_by_items.first().map(|item| item.item.unwrap_or_else(|| self.worst(0))));
        }
        if scores.len() != self.directions.len() {
            return Err(MergeError::row(row, "it has another number of scores than the plan"));
        }
        if self.seen.insert(rid.clone().into_owned()) {
            self.found.push(Found { rid: rid.into_owned(), scores, payload: payload.to_owned() });
        }
        Ok(())
    }

    fn worst(&self, component: usize) -> f64 {
        match self.directions.get(component) {
            Some(SortOrder::Ascending) => f64::MAX,
            Some(SortOrder::Descending) | None => f64::MIN,
        }
    }

    /// What is selected of the documents, the best first.
    pub fn finish(mut self) -> Vec<Box<RawValue>> {
        self.found.sort_by(|a, b| a.rid.cmp(&b.rid));
        let mut fused = vec![0.0; self.found.len()];
        for component in 0..self.directions.len() {
            let weight = self.weights.get(component).copied().unwrap_or(1.0);
            for (score, rank) in fused.iter_mut().zip(self.ranks(component)) {
                *score += weight / (RANK_OFFSET + rank as f64);
            }
        }
        let mut ranked: Vec<(f64, Found)> = fused.into_iter().zip(self.found).collect();
        ranked.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        ranked.into_iter().skip(self.skip).take(self.take).map(|(_, found)| found.payload).collect()
    }

    /// The rank of each document by one score, from 1. Equal scores share a rank, and the next score has the next.
    fn ranks(&self, component: usize) -> Vec<usize> {
        let score = |found: &Found| found.scores.get(component).copied().unwrap_or(self.worst(component));
        let mut scores: Vec<f64> = self.found.iter().map(score).collect();
        scores.sort_by(f64::total_cmp);
        scores.dedup();
        let rank = |found: &Found| {
            let place = scores.partition_point(|known| *known < score(found));
            match self.directions.get(component) {
                Some(SortOrder::Ascending) => place + 1,
                Some(SortOrder::Descending) | None => scores.len() - place,
            }
        };
        self.found.iter().map(rank).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn raw(json: &Value) -> Box<RawValue> {
        RawValue::from_string(json.to_string()).unwrap()
    }

    fn component(order: SortOrder, text: &str) -> QueryInfo {
        QueryInfo { order_by: vec![order], rewritten_query: text.to_owned(), ..QueryInfo::default() }
    }

    #[test]
    fn counts_of_partitions_add_up_and_fill_either_numbering() {
        let row = |documents, words, hits: [u32; 2]| {
            let texts = json!([{"totalWordCount": words, "hitCounts": hits}]);
            raw(&json!({"documentCount": documents, "fullTextStatistics": texts}))
        };
        let mut statistics = Statistics::default();
        statistics.add(&row(3, 40, [1, 2])).unwrap();
        statistics.add(&row(2, 60, [2, 3])).unwrap();
        let at = |what: &str| format!("{STATISTICS_PLACEHOLDER}{what}}}");
        for number in ["0", "1"] {
            let text = at("totaldocumentcount")
                + " "
                + &at(&format!("totalwordcount-{number}"))
                + " "
                + &at(&format!("hitcountsarray-{number}"));
            let mut components =
                [component(SortOrder::Descending, "v"), component(SortOrder::Descending, &text)];
            statistics.fill(&mut components);
            assert_eq!(components[1].rewritten_query, "5 100 [3,5]", "{number}");
        }
        assert!(statistics.add(&raw(&json!({}))).is_err());
    }

    /// The payloads in their order, of documents with these scores.
    fn fused(search: &HybridSearchQueryInfo, scores: &[(&str, &[f64])]) -> Vec<String> {
        let mut fusion = Fusion::new(search);
        for (rid, scores) in scores {
            let payload = json!({"payload": rid, "componentScores": scores});
            let row = raw(&json!({"_rid": rid, "orderByItems": [{"item": scores[0]}], "payload": payload}));
            fusion.add(&row).unwrap();
            fusion.add(&row).unwrap();
        }
        fusion.finish().iter().map(|row| row.get().trim_matches('"').to_owned()).collect()
    }

    fn search(directions: &[SortOrder], weights: &[f64]) -> HybridSearchQueryInfo {
        HybridSearchQueryInfo {
            component_query_infos: directions.iter().map(|order| component(*order, "")).collect(),
            component_weights: weights.to_vec(),
            ..HybridSearchQueryInfo::default()
        }
    }

    #[test]
    fn ranks_are_dense_weighted_and_directed() {
        use SortOrder::{Ascending, Descending};
        let scores: &[(&str, &[f64])] =
            &[("a", &[3.0, 1.0]), ("b", &[2.0, 2.0]), ("c", &[2.0, 3.0]), ("d", &[1.0, -1.0])];
        for (directions, weights, expected) in [
            // a: 1/61 + 1/63, b: 1/62 + 1/62, c: 1/62 + 1/61, d: 1/63 + 1/64.
            (&[Descending, Descending][..], &[][..], "cabd"),
            (&[Descending, Descending], &[1.0, 0.1], "acbd"),
            (&[Ascending, Ascending], &[1.0, 1.0], "dabc"),
            (&[Descending, Descending], &[0.0, 0.0], "abcd"),
        ] {
            assert_eq!(fused(&search(directions, weights), scores).concat(), expected, "{weights:?}");
        }
        let window =
            HybridSearchQueryInfo { skip: Some(1), take: Some(2), ..search(&[Descending, Descending], &[]) };
        assert_eq!(fused(&window, scores).concat(), "ab");
    }

    #[test]
    fn rows_come_in_any_of_their_forms() {
        let one = search(&[SortOrder::Descending], &[]);
        let mut fusion = Fusion::new(&one);
        for row in [
            json!({"_rid": "a", "orderByItems": [{"item": 1}], "payload": {"payload": 1, "componentScores": []}}),
            json!({"_rid": "b", "payload": 2, "componentScores": [2]}),
            json!({"_rid": "c", "orderByItems": [{}], "payload": {"payload": null, "componentScores": []}}),
            json!({"_rid": "d", "orderByItems": [{"item": 9}], "payload": {"componentScores": [9]}}),
        ] {
            fusion.add(&raw(&row)).unwrap();
        }
        assert!(fusion.add(&raw(&json!({"_rid": "e", "payload": 1, "componentScores": [1, 2]}))).is_err());
        let rows: Vec<_> = fusion.finish().iter().map(|row| row.get().to_owned()).collect();
        assert_eq!(rows, ["2", "1", "null"]);
    }
}
