//! The words of the texts at a path: which documents have which, and how often. Looking for them is in `text_search`.

use std::collections::BTreeMap;
use std::ops::Bound;

use cosmonaut_query::raw::RawJson;
use cosmonaut_query::search::{Language, Term, Words};

use super::path::IndexPath;
use super::vectors::value_at;

/// Documents with how often each has something, by number.
pub(super) type Counts = Vec<(u64, u32)>;

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
    /// How many words these are together.
    total: u64,
}

/// Words that have to stand next to each other.
pub(crate) struct Phrase {
    path: IndexPath,
    language: Language,
    term: Term,
}

impl Phrase {
    pub(super) fn new(path: IndexPath, language: Language, term: Term) -> Phrase {
        Phrase { path, language, term }
    }

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

    /// The language by which texts are taken apart here.
    pub(super) fn language(&self) -> Language {
        self.language
    }

    /// Adds the text of a document, if it has one, and returns how many different words it has.
    pub(super) fn insert(&mut self, body: RawJson<'_>, number: u64) -> usize {
        let Some(words) = self.read(body) else { return 0 };
        let length = u32::try_from(words.len()).unwrap_or(u32::MAX);
        let before = self.lengths.insert(number, length).unwrap_or_default();
        self.total = (self.total + u64::from(length)).saturating_sub(before.into());
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
        let length = self.lengths.remove(&number).unwrap_or_default();
        self.total = self.total.saturating_sub(length.into());
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

    /// How many words all texts have together.
    pub(crate) fn total_words(&self) -> u64 {
        self.total
    }

    /// The documents with a word, by number, and how often they have it.
    pub(super) fn with(&self, word: &str) -> &[(u64, u32)] {
        self.words.get(word).map_or(&[], Vec::as_slice)
    }

    /// The words after one, and which documents have them.
    pub(super) fn words_after(&self, after: Bound<&str>) -> impl Iterator<Item = (&str, &[(u64, u32)])> {
        let words = self.words.range::<str, _>((after, Bound::Unbounded));
        words.map(|(word, documents)| (&**word, documents.as_slice()))
    }

    /// How many words the texts of documents have, in the order of their numbers.
    pub(super) fn lengths_after(&self, after: Bound<u64>) -> impl Iterator<Item = (u64, u32)> {
        self.lengths.range((after, Bound::Unbounded)).map(|(number, length)| (*number, *length))
    }
}

fn counted(words: &Words) -> BTreeMap<&str, u32> {
    let mut counted = BTreeMap::new();
    for word in words.iter() {
        *counted.entry(word).or_default() += 1;
    }
    counted
}
