//! The functions of searches as nodes: what is constant in them is taken apart when the query is compiled.

use std::rc::Rc;

use super::error::EvalError;
use super::node::{Node, weighed};
use super::scope::Scope;
use super::val::Val;
use crate::raw::RawJson;
use crate::search::{Corpus, Language, Metric, Term, TermCount, Words, bm25, read_vector};

/// A call of a function of searches.
#[derive(Clone, Debug)]
pub(super) enum SearchNode {
    /// The distance between two vectors.
    Distance(Metric, [VectorNode; 2]),
    /// Whether a text has all of some terms, or any of them.
    Contains { text: TextNode, terms: Vec<TermNode>, all: bool },
    /// How many words a text has.
    WordCount(TextNode),
    /// How well a text fits terms.
    Score(TextNode, ScoreNode),
}

/// A vector: constant, or to be read.
#[derive(Clone, Debug)]
pub(super) enum VectorNode {
    Constant(Vec<f64>),
    Read(Node),
}

/// A text and its language.
#[derive(Clone, Debug)]
pub(super) struct TextNode {
    pub(super) text: Node,
    pub(super) language: Language,
}

/// What a text is scored by: constant, or to be read as terms, documents, words and hits.
#[derive(Clone, Debug)]
pub(super) enum ScoreNode {
    Constant(Scoring),
    Read(Vec<Node>),
}

/// What a text is scored by: all texts, and terms with how many documents have each.
#[derive(Clone, Debug)]
pub(super) struct Scoring {
    corpus: Corpus,
    terms: Vec<(Term, f64)>,
}

/// A term: constant, or to be read.
#[derive(Clone, Debug)]
pub(super) enum TermNode {
    Constant(Term),
    Read(Node),
}

impl SearchNode {
    /// Whether the greatest value is that of the document that fits best.
    pub(super) fn is_greatest_nearest(&self) -> bool {
        match self {
            SearchNode::Distance(metric, _) => metric.is_greatest_nearest(),
            SearchNode::Contains { .. } | SearchNode::WordCount(_) | SearchNode::Score(..) => true,
        }
    }

    pub(super) fn eval<'s>(&'s self, scope: &Scope<'s>) -> Result<Val<'s>, EvalError> {
        let found = match self {
            SearchNode::Distance(metric, vectors) => distance(*metric, vectors, scope)?.map(Val::Number),
            SearchNode::Contains { text, terms, all } => contains(text, terms, *all, scope)?.map(Val::Bool),
            SearchNode::WordCount(text) => text.words(scope)?.map(|words| Val::Number(words.len() as f64)),
            SearchNode::Score(text, scoring) => score(text, scoring, scope)?.map(Val::Number),
        };
        Ok(found.unwrap_or_default())
    }
}

fn distance(metric: Metric, vectors: &[VectorNode; 2], scope: &Scope<'_>) -> Result<Option<f64>, EvalError> {
    let [left, right] = vectors;
    Ok(match (left, right) {
        (VectorNode::Constant(left), VectorNode::Read(right)) => {
            vector(right, scope)?.and_then(|right| metric.between(left, &right))
        }
        (VectorNode::Read(left), VectorNode::Constant(right)) => {
            vector(left, scope)?.and_then(|left| metric.between(&left, right))
        }
        (VectorNode::Read(left), VectorNode::Read(right)) => {
            match (vector(left, scope)?, vector(right, scope)?) {
                (Some(left), Some(right)) => metric.between(&left, &right),
                _ => None,
            }
        }
        (VectorNode::Constant(left), VectorNode::Constant(right)) => metric.between(left, right),
    })
}

fn vector(node: &Node, scope: &Scope<'_>) -> Result<Option<Vec<f64>>, EvalError> {
    Ok(as_vector(&weighed(node.eval(scope)?, scope)?))
}

/// The vector that a value is.
pub(super) fn as_vector(value: &Val<'_>) -> Option<Vec<f64>> {
    match value {
        Val::Json(text) => read_vector(RawJson::new(text)),
        _ => None,
    }
}

fn contains(
    text: &TextNode,
    terms: &[TermNode],
    all: bool,
    scope: &Scope<'_>,
) -> Result<Option<bool>, EvalError> {
    let Some(words) = text.words(scope)? else { return Ok(None) };
    let mut found = all;
    for term in terms {
        let read;
        let term = match term {
            TermNode::Constant(term) => term,
            TermNode::Read(node) => match as_term(&weighed(node.eval(scope)?, scope)?, text.language) {
                Some(term) => {
                    read = term;
                    &read
                }
                None => return Ok(None),
            },
        };
        // Once the answer is known, the other terms only have to be terms.
        if found == all {
            found = term.count_in(&words, |bytes| scope.run.work(bytes))? > 0;
        }
    }
    Ok(Some(found))
}

fn score(text: &TextNode, scoring: &ScoreNode, scope: &Scope<'_>) -> Result<Option<f64>, EvalError> {
    let Some(words) = text.words(scope)? else { return Ok(None) };
    Ok(match scoring {
        ScoreNode::Constant(scoring) => Some(scoring.score(&words, scope)?),
        ScoreNode::Read(nodes) => {
            let mut values = Vec::with_capacity(nodes.len());
            for node in nodes {
                values.push(weighed(node.eval(scope)?, scope)?);
            }
            Scoring::of(&values, text.language).map(|scoring| scoring.score(&words, scope)).transpose()?
        }
    })
}

impl Scoring {
    /// From an array of terms, two numbers, and an array with a number for each term; none of anything else.
    pub(super) fn of(values: &[Val<'_>], language: Language) -> Option<Scoring> {
        let [terms, documents, words, hits] = values else { return None };
        let corpus = Corpus { documents: documents.as_f64()?, words: words.as_f64()? };
        let terms = terms.elements()?.map(|term| as_term(&Val::from_raw(term), language));
        let hits = hits.elements()?.map(|count| Val::from_raw(count).as_f64());
        let (terms, hits) = (terms.collect::<Option<Vec<_>>>()?, hits.collect::<Option<Vec<_>>>()?);
        (terms.len() == hits.len()).then(|| Scoring { corpus, terms: terms.into_iter().zip(hits).collect() })
    }

    fn score(&self, words: &Words, scope: &Scope<'_>) -> Result<f64, EvalError> {
        let mut counts = Vec::with_capacity(self.terms.len());
        for (term, hits) in &self.terms {
            let occurrences = term.count_in(words, |bytes| scope.run.work(bytes))? as f64;
            counts.push(TermCount { occurrences, hits: *hits });
        }
        Ok(bm25(self.corpus, words.len() as f64, counts))
    }
}

/// The term that a value is: a string, or an object with a term and in how many letters it may differ.
pub(super) fn as_term(value: &Val<'_>, language: Language) -> Option<Term> {
    if let Val::Str(text) = value {
        return Some(Term::new(text, language));
    }
    let (term, distance) = (value.borrow().member("term"), value.borrow().member("distance"));
    let (Val::Str(term), Some(distance)) = (term, distance.as_f64()) else { return None };
    if distance.fract() != 0.0 || distance < 0.0 {
        return None;
    }
    Term::fuzzy(&term, distance as usize, language)
}

impl TextNode {
    /// The words; none if it is no text. A text of the document is taken apart once, however often it is asked for.
    fn words(&self, scope: &Scope<'_>) -> Result<Option<Rc<Words>>, EvalError> {
        let slot = match self.text {
            Node::Path(slot) => Some(slot),
            _ => None,
        };
        let known = |(known, _): &&(usize, Rc<Words>)| Some(*known) == slot;
        if let Some((_, words)) = scope.run.words.borrow().iter().find(known) {
            return Ok(Some(Rc::clone(words)));
        }
        let Val::Str(text) = weighed(self.text.eval(scope)?, scope)? else { return Ok(None) };
        let words = Rc::new(Words::of(&text, self.language));
        if let Some(slot) = slot {
            scope.run.words.borrow_mut().push((slot, Rc::clone(&words)));
        }
        Ok(Some(words))
    }
}
