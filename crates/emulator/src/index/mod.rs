//! The index of one replica: which documents hold which value at which path.
//!
//! It is derived from the documents and follows every write. It answers with document numbers and may answer with too
//! many (never too few), so whoever asks checks each document again. It holds no document and knows no query text.

mod composite;
mod keyed_numbers;
mod lookup;
mod number_set;
mod path;
mod policy;
mod postings;
mod scores;
mod short;
mod spatial;
mod term;
mod terms;
#[cfg(test)]
pub(crate) mod tests;
pub(crate) mod text_search;
mod texts;
mod vectors;

use std::sync::Arc;

use cosmonaut_query::Setting;
use cosmonaut_query::raw::RawJson;
use cosmonaut_query::search::Language;
use cosmonaut_query::spatial::{Rectangle, Surface};
use cosmonaut_wire::model::{ContainerProperties, IndexingPolicy};

pub(crate) use composite::{Composite, OrderPart};
pub(crate) use keyed_numbers::{KeyRange, KeyedNumbers};
pub(crate) use lookup::{Filter, Found, Numbers, TextFilter, Used, numbers_of, only_span, span_at, span_of};
pub(crate) use path::{IndexPath, Step};
pub(crate) use policy::is_root;
pub(crate) use postings::PostingsRef;
pub(crate) use scores::{Bounded, Score};
pub(crate) use spatial::has_old_index;
pub(crate) use term::{Term, sort_key};
pub(crate) use terms::{PathTerms, Span};
pub(crate) use text_search::{Ended, Hits, Source};
pub(crate) use texts::{Phrase, Texts};
pub(crate) use vectors::Vectors;

use crate::engine::Document;
use crate::failure::Failure;
use composite::Composites;
use policy::Rules;
use scores::Scores;
use spatial::Shapes;

/// The index of one replica.
#[derive(Debug)]
pub(crate) struct Index {
    rules: Rules,
    root: PathTerms,
    composites: Composites,
    shapes: Shapes,
    scores: Scores,
    /// Whether no work is divided among threads.
    one_thread: bool,
}

/// What the index knows of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coverage {
    /// Every value there is in the index.
    Indexed,
    /// The policy leaves it out.
    Excluded,
    /// A system member that the service indexes but nobody searches by, left out to save memory.
    Unkept,
}

impl Index {
    /// An empty index that follows the policies of a container; fails with what is wrong with them.
    pub(crate) fn of(properties: &ContainerProperties) -> Result<Index, Failure> {
        let policy = properties.indexing_policy.clone().unwrap_or_default();
        Index::in_setting(&policy, &Setting::of(properties))
    }

    /// An empty index that follows `policy`, over documents of which nothing more is said.
    #[cfg(test)]
    pub(crate) fn new(policy: &IndexingPolicy) -> Result<Index, Failure> {
        Index::in_setting(policy, &Setting::default())
    }

    fn in_setting(policy: &IndexingPolicy, setting: &Setting) -> Result<Index, Failure> {
        let rules = Rules::new(policy)?;
        let composites = Composites::new(policy, rules.is_on())?;
        let shapes = Shapes::new(policy, rules.is_on())?;
        let scores = Scores::new(policy, rules.is_on(), setting)?;
        let root = PathTerms::new(rules.start());
        Ok(Index { rules, root, composites, shapes, scores, one_thread: false })
    }

    /// The same index; all of its work is done by the thread that asks for it if `one_thread` says so.
    pub(crate) fn with_one_thread(self, one_thread: bool) -> Index {
        Index { one_thread, ..self }
    }

    /// Adds a document and returns how many values of it are indexed.
    pub(crate) fn insert(&mut self, number: u64, body: &[u8]) -> usize {
        if !self.rules.is_on() {
            return 0;
        }
        let body = RawJson::new(body);
        self.root.insert(body, number, &self.rules)
            + self.composites.insert(body, number)
            + self.shapes.insert(body, number)
            + self.scores.insert(body, number)
    }

    /// Adds many documents to an empty index, faster than one after the other: two threads read them if there may be
    /// two, of which this one does something else first.
    pub(crate) fn fill(&mut self, documents: &[Arc<Document>], first: impl FnOnce()) {
        if !self.rules.is_on() {
            return first();
        }
        // What is done first takes as long as a third of the documents.
        let (more, fewer) = documents.split_at(documents.len() - documents.len() / 3);
        let (rules, root) = (&self.rules, &mut self.root);
        let (composites, shapes) = (&mut self.composites, &mut self.shapes);
        let scores = &mut self.scores;
        let others = || {
            first();
            let mut rest = PathTerms::new(rules.start());
            gather(&mut rest, fewer, rules);
            if !(composites.is_empty() && shapes.is_empty() && scores.is_empty()) {
                each_indexed(documents, |number, body| {
                    composites.insert(body, number);
                    shapes.insert(body, number);
                    scores.insert(body, number);
                });
            }
            rest
        };
        if self.one_thread {
            gather(root, more, rules);
            root.absorb(others());
            return root.settle_all();
        }
        let rest = std::thread::scope(|scope| {
            scope.spawn(|| gather(root, more, rules));
            others()
        });
        self.root.absorb(rest);
        self.root.settle();
    }

    /// Takes out a document that was inserted with this body, and returns how many values of it were indexed.
    pub(crate) fn remove(&mut self, number: u64, body: &[u8]) -> usize {
        if !self.rules.is_on() {
            return 0;
        }
        let body = RawJson::new(body);
        self.root.remove(body, number, &self.rules)
            + self.composites.remove(body, number)
            + self.shapes.remove(body, number)
            + self.scores.remove(body, number)
    }

    /// Whether the values at `path` are indexed.
    pub(crate) fn coverage(&self, path: &[Step]) -> Coverage {
        self.rules.coverage(path)
    }

    /// The values at `path`; none if no document has one, or the path is not indexed.
    pub(crate) fn at(&self, path: &[Step]) -> Option<&PathTerms> {
        path.iter().try_fold(&self.root, |terms, step| terms.child(step))
    }

    /// Whether shapes at `path`, as they lie on a surface, are in a spatial index.
    pub(crate) fn covers_shapes(&self, path: &[Step], surface: Surface) -> bool {
        self.shapes.covers(path, surface)
    }

    /// The documents whose shapes at `path` may touch one of the rectangles, sorted; none if they are more than `most`.
    pub(crate) fn touching(&self, path: &[Step], rectangles: &[Rectangle], most: usize) -> Option<Vec<u64>> {
        self.shapes.touching(path, rectangles, most)
    }

    /// The terms that documents of the index have at a path, whether the path is indexed or not: all are read for it.
    pub(crate) fn list<'d>(
        &self,
        path: &IndexPath,
        documents: impl Iterator<Item = &'d Document>,
    ) -> PathTerms {
        let (mut listed, mut text) = (PathTerms::new(self.rules.start()), Vec::new());
        for document in documents.filter(|document| document.indexed) {
            document.write_text(&mut text);
            let found = path.0.iter().try_fold(RawJson::new(&text), |value, step| match step {
                Step::Member(name) => value.member(name),
                Step::Element => None,
            });
            if let Some(term) = found.and_then(Term::of_raw) {
                listed.gather_term(term, document.number);
            }
        }
        listed.settle_all();
        listed
    }

    /// The composite index that serves this order, and whether it is to be read backwards.
    pub(crate) fn composite(&self, order: &[OrderPart]) -> Option<(&Composite, bool)> {
        self.composites.serving(order)
    }

    /// The index of the texts at a path, if there is one for their language.
    pub(crate) fn texts(&self, path: &IndexPath, language: Language) -> Option<&Texts> {
        self.scores.texts_at(path, language)
    }

    /// Whether an index holds what is scored.
    pub(crate) fn holds(&self, score: &Score) -> bool {
        match score {
            Score::Vector { path, .. } => self.scores.vectors_at(path).is_some(),
            Score::Text { path, language, .. } => self.scores.texts_at(path, *language).is_some(),
        }
    }

    /// The index of the vectors at a path, if there is one.
    pub(crate) fn vectors(&self, path: &IndexPath) -> Option<&Vectors> {
        self.scores.vectors_at(path)
    }
}

fn gather(root: &mut PathTerms, documents: &[Arc<Document>], rules: &Rules) {
    each_indexed(documents, |number, body| root.gather(body, number, rules));
}

fn each_indexed(documents: &[Arc<Document>], mut take: impl FnMut(u64, RawJson<'_>)) {
    let mut text = Vec::new();
    for document in documents.iter().filter(|document| document.indexed) {
        document.write_text(&mut text);
        take(document.number, RawJson::new(&text));
    }
}

/// Two indexes are equal if they answer every lookup alike.
#[cfg(test)]
impl PartialEq for Index {
    fn eq(&self, other: &Index) -> bool {
        self.root == other.root
            && self.composites == other.composites
            && self.shapes == other.shapes
            && self.scores == other.scores
    }
}
