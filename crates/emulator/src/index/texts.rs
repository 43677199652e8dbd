//! The words of the texts at a path: which documents have which, and how often.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use cosmonaut_query::raw::RawJson;
use cosmonaut_query::search::{Corpus, Language, Term, TermCount, Words, bm25};
use cosmonaut_query::value::Value;

use super::path::IndexPath;
use super::scores::Bounded;
use super::vectors::value_at;

/// Documents with how often each has something, by number.
type Counts = Vec<(u64, u32)>;

/// The texts at one path.
#[derive(Debug, Default)]
#[cfg_attr(test, derive(PartialEq))]
pub(crate) struct Texts {
    path: IndexPath,
    language: Language,
    /// Which documents have a word, and how often.
    words: BTreeMap<Box<str>, Counts>,
    /// How many words the text of each document has.
    lengths: BTreeMap<u64, u32>,
}

/// In how many documents a term is.
pub(crate) enum Hits {
    /// In so many.
    Exactly(usize),
    /// In some of these, each of which has all words of the term.
    Among(Vec<u64>, Phrase),
}

/// Words that have to stand next to each other.
pub(crate) struct Phrase {
    path: IndexPath,
    language: Language,
    term: Term,
}

impl Phrase {
    /// Whether a document has them so. `go_on` is asked now and then, and its error ends the search.
    pub(crate) fn is_in<E>(&self, body: &[u8], go_on: impl Fn() -> Result<(), E>) -> Result<bool, E> {
        go_on()?;
        let text = value_at(RawJson::new(body), &self.path).and_then(RawJson::as_str);
        let Some(text) = text else { return Ok(false) };
        Ok(self.term.count_in(&Words::of(&text, self.language), |_| go_on())? > 0)
    }
}

impl Texts {
    pub(super) fn new(path: IndexPath, language: Language) -> Texts {
        Texts { path, language, ..Texts::default() }
    }

    pub(super) fn path(&self) -> &IndexPath {
        &self.path
    }

    /// Adds the text of a document, if it has one, and returns how many different words it has.
    pub(super) fn insert(&mut self, body: RawJson<'_>, number: u64) -> usize {
        let Some(words) = self.read(body) else { return 0 };
        self.lengths.insert(number, u32::try_from(words.len()).unwrap_or(u32::MAX));
        let counted = counted(&words);
        for (word, count) in &counted {
            match self.words.get_mut(*word) {
                Some(documents) => {
                    let place = documents.partition_point(|(known, _)| *known < number);
                    documents.insert(place, (number, *count));
                }
                None => {
                    self.words.insert((*word).into(), vec![(number, *count)]);
                }
            }
        }
        counted.len()
    }

    /// Takes out the text of a document that was inserted with this body.
    pub(super) fn remove(&mut self, body: RawJson<'_>, number: u64) -> usize {
        let Some(words) = self.read(body) else { return 0 };
        self.lengths.remove(&number);
        let counted = counted(&words);
        for word in counted.keys() {
            if let Some(documents) = self.words.get_mut(*word) {
                if let Ok(place) = documents.binary_search_by_key(&number, |(known, _)| *known) {
                    documents.remove(place);
                }
                if documents.is_empty() {
                    self.words.remove(*word);
                }
            }
        }
        counted.len()
    }

    fn read(&self, body: RawJson<'_>) -> Option<Words> {
        value_at(body, &self.path)?.as_str().map(|text| Words::of(&text, self.language))
    }

    /// The documents that may have all of these terms, or any of them; sorted. `None` if one of them is no term.
    pub(crate) fn having(&self, terms: &[Value], all: bool) -> Option<Vec<u64>> {
        let terms = terms.iter().map(|term| self.term(term)).collect::<Option<Vec<_>>>()?;
        let mut sets = terms.iter().map(|term| self.with_term(term));
        let joined = match all {
            true => {
                let first = sets.next()?;
                sets.fold(first, |known, next| in_both(&known, &next))
            }
            // One after the other they would be gone through as often as there are terms.
            false => in_any(sets.flat_map(Cow::into_owned).collect()),
        };
        Some(joined.iter().map(|(number, _)| *number).collect())
    }

    /// How many words all texts have together.
    pub(crate) fn total_words(&self) -> usize {
        self.lengths.values().map(|length| *length as usize).sum()
    }

    /// In how many documents a term is; none if it is no term.
    pub(crate) fn hits(&self, term: &Value) -> Option<Hits> {
        let term = self.term(term)?;
        let found = self.with_term(&term);
        if term.words().len() < 2 {
            return Some(Hits::Exactly(found.len()));
        }
        let phrase = Phrase { path: self.path.clone(), language: self.language, term };
        Some(Hits::Among(found.iter().map(|(number, _)| *number).collect(), phrase))
    }

    /// Every document with a text, with a score that its own does not exceed. `None` if a term is none.
    pub(super) fn bounds(&self, terms: &[Value], hits: &[f64], corpus: Corpus) -> Option<Vec<Bounded>> {
        let mut found: HashMap<u64, Vec<TermCount>> = HashMap::new();
        for (term, hits) in terms.iter().zip(hits) {
            for (number, occurrences) in self.with_term(&self.term(term)?).iter().copied() {
                let count = TermCount { occurrences: f64::from(occurrences), hits: *hits };
                found.entry(number).or_default().push(count);
            }
        }
        let bound = |(number, length): (&u64, &u32)| {
            let counts = found.remove(number).unwrap_or_default();
            Bounded { bound: bm25(corpus, f64::from(*length), counts), number: *number }
        };
        Some(self.lengths.iter().map(bound).collect())
    }

    /// The documents that may have a term, and how often at most.
    fn with_term(&self, term: &Term) -> Cow<'_, [(u64, u32)]> {
        let mut words = (0..term.words().len()).map(|place| self.with_word(term, place));
        let Some(first) = words.next() else { return Cow::Borrowed(&[]) };
        words.fold(first, |known, next| in_both(&known, &next))
    }

    /// The documents with a word that the term accepts at a place, and how often they have it.
    fn with_word(&self, term: &Term, place: usize) -> Cow<'_, [(u64, u32)]> {
        if !term.is_fuzzy() {
            let word = term.words().get(place).unwrap_or_default();
            return Cow::Borrowed(self.words.get(word).map_or(&[], Vec::as_slice));
        }
        let accepted = self.words.iter().filter(|(word, _)| term.accepts(place, word));
        let accepted: Vec<&[(u64, u32)]> = accepted.map(|(_, documents)| &documents[..]).collect();
        match accepted[..] {
            [only] => Cow::Borrowed(only),
            _ => in_any(accepted.concat()),
        }
    }

    fn term(&self, value: &Value) -> Option<Term> {
        if let Value::String(text) = value {
            return Some(Term::new(text, self.language));
        }
        let (Some(Value::String(text)), Some(distance)) = (value.get("term"), value.get("distance")) else {
            return None;
        };
        let distance = distance.as_f64().filter(|distance| distance.fract() == 0.0 && *distance >= 0.0)?;
        Term::fuzzy(text, distance as usize, self.language)
    }
}

/// What both have, and how often at most.
fn in_both<'a>(a: &[(u64, u32)], b: &[(u64, u32)]) -> Cow<'a, [(u64, u32)]> {
    let other =
        |number: u64| b.binary_search_by_key(&number, |(known, _)| *known).ok().and_then(|at| b.get(at));
    let both = a.iter().filter_map(|(number, count)| Some((*number, (*count).min(other(*number)?.1))));
    Cow::Owned(both.collect())
}

/// What at least one of several has that stand one behind the other here, and how often together.
fn in_any<'a>(mut all: Counts) -> Cow<'a, [(u64, u32)]> {
    all.sort_unstable();
    all.dedup_by(|(next, more), (number, count)| {
        let same = next == number;
        if same {
            *count = count.saturating_add(*more);
        }
        same
    });
    Cow::Owned(all)
}

fn counted(words: &Words) -> BTreeMap<&str, u32> {
    let mut counted = BTreeMap::new();
    for word in words.iter() {
        *counted.entry(word).or_default() += 1;
    }
    counted
}
