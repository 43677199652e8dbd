//! What an index could do for an order by a score: how documents are scored, where all of that is constant.

use super::{Aliases, DocPath};
use crate::ast::{ExprKind, OrderBy, Query};
use crate::constant::constant;
use crate::parameters::Parameters;
use crate::search::{Corpus, Metric, named_metric};
use crate::value::Value;

/// A score that documents are sorted by, the best first.
#[derive(Clone, Debug, PartialEq)]
pub enum ScoreOrder {
    /// How near the vector at a path is to another.
    Vector {
        /// The path.
        path: DocPath,
        /// The other vector.
        vector: Vec<f64>,
        /// How that is measured, if not as the container says.
        metric: Option<Metric>,
    },
    /// How well the text at a path fits terms.
    Text {
        /// The path.
        path: DocPath,
        /// The terms, each a string or an object with a term and a distance.
        terms: Vec<Value>,
        /// In how many documents each of them is.
        hits: Vec<f64>,
        /// What the text is compared with.
        corpus: Corpus,
    },
}

pub(super) fn score(query: &Query, aliases: &Aliases, parameters: &Parameters) -> Option<ScoreOrder> {
    let Some(OrderBy::Keys(keys)) = &query.order_by else { return None };
    let [key] = &keys[..] else { return None };
    let ExprKind::Call(_, arguments) = &key.expr.kind else { return None };
    let value = |at: usize| arguments.get(at).and_then(|argument| constant(argument, parameters));
    let path =
        |at: usize| arguments.get(at).and_then(|argument| aliases.path(argument)).filter(DocPath::is_single);
    if key.by_similarity {
        let (path, vector) = match path(0) {
            Some(path) => (path, value(1)?),
            None => (path(1)?, value(0)?),
        };
        let metric = named_metric(arguments, parameters);
        return Some(ScoreOrder::Vector { path, vector: numbers(&vector)?, metric });
    }
    if !key.is_score() || !key.descending || arguments.len() != 5 {
        return None;
    }
    let Value::Array(terms) = value(1)? else { return None };
    let corpus = Corpus { documents: value(2)?.as_f64()?, words: value(3)?.as_f64()? };
    let hits = numbers(&value(4)?)?;
    (terms.len() == hits.len()).then_some(ScoreOrder::Text { path: path(0)?, terms, hits, corpus })
}

fn numbers(value: &Value) -> Option<Vec<f64>> {
    match value {
        Value::Array(elements) => elements.iter().map(Value::as_f64).collect(),
        _ => None,
    }
}
