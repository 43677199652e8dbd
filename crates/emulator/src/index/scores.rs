//! Indexes that give documents a score, or a bound of it: of vectors and of texts.

use cosmonaut_query::Setting;
use cosmonaut_query::raw::RawJson;
use cosmonaut_query::search::{Corpus, Language, Metric};
use cosmonaut_query::value::Value;
use cosmonaut_wire::model::IndexingPolicy;

use super::path::{IndexPath, Tail};
use super::texts::Texts;
use super::vectors::Vectors;
use crate::failure::Failure;

/// A document, and a score that its own does not exceed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bounded {
    pub(crate) bound: f64,
    pub(crate) number: u64,
}

/// What documents are scored by; the best score is the greatest.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Score {
    Vector { path: IndexPath, vector: Vec<f64>, metric: Metric },
    Text { path: IndexPath, language: Language, terms: Vec<Value>, hits: Vec<f64>, corpus: Corpus },
}

impl Score {
    pub(crate) fn path(&self) -> &IndexPath {
        match self {
            Score::Vector { path, .. } | Score::Text { path, .. } => path,
        }
    }
}

/// The vector and text indexes of a policy.
#[derive(Debug, Default)]
#[cfg_attr(test, derive(PartialEq))]
pub(super) struct Scores {
    vectors: Vec<Vectors>,
    texts: Vec<Texts>,
}

impl Scores {
    /// Those that a policy names. There are none if nothing is indexed: what is asked of them is then found by looking at
    /// all documents.
    pub(super) fn new(policy: &IndexingPolicy, on: bool, setting: &Setting) -> Result<Scores, Failure> {
        let mut scores = Scores::default();
        for index in policy.vector_indexes.iter().flatten() {
            scores.vectors.push(Vectors::new(bare(&index.path)?));
        }
        for index in policy.full_text_indexes.iter().flatten() {
            let names = cosmonaut_query::member_path(&index.path).unwrap_or_default();
            scores.texts.push(Texts::new(bare(&index.path)?, setting.language_at(&names)));
        }
        Ok(if on { scores } else { Scores::default() })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.vectors.is_empty() && self.texts.is_empty()
    }

    /// Adds a document and returns how many of its values are indexed here.
    pub(super) fn insert(&mut self, body: RawJson<'_>, number: u64) -> usize {
        let vectors: usize = self.vectors.iter_mut().map(|vectors| vectors.insert(body, number)).sum();
        vectors + self.texts.iter_mut().map(|texts| texts.insert(body, number)).sum::<usize>()
    }

    /// Takes out a document that was inserted with this body.
    pub(super) fn remove(&mut self, body: RawJson<'_>, number: u64) -> usize {
        let vectors: usize = self.vectors.iter_mut().map(|vectors| vectors.remove(body, number)).sum();
        vectors + self.texts.iter_mut().map(|texts| texts.remove(body, number)).sum::<usize>()
    }

    /// The index of the texts at a path, if it takes them apart by the rules of a language. It does not while a policy that
    /// names another one is replaced, or for a query that was read before.
    pub(super) fn texts_at(&self, path: &IndexPath, language: Language) -> Option<&Texts> {
        self.texts.iter().find(|texts| texts.path() == path && texts.language() == language)
    }

    /// The index of the vectors at a path.
    pub(super) fn vectors_at(&self, path: &IndexPath) -> Option<&Vectors> {
        self.vectors.iter().find(|vectors| vectors.path() == path)
    }
}

fn bare(text: &str) -> Result<IndexPath, Failure> {
    match IndexPath::parse(text)? {
        (path, Tail::Bare | Tail::Value) => Ok(path),
        (_, Tail::Subtree) => Err(Failure::bad_request(format!(
            "The indexing path '{text}' could not be accepted: an index over vectors or text takes no wildcard."
        ))),
    }
}
