//! Looking for terms in an index of texts, a slice at a time.
//!
//! Between two slices the index may change. What is found then holds for documents that nobody writes meanwhile; whoever
//! asks looks at the others for itself.

use std::collections::BTreeSet;
use std::ops::Bound;

use cosmonaut_query::search::{Corpus, Language, Term, TermCount, bm25};
use cosmonaut_query::value::Value;

use super::path::IndexPath;
use super::scores::Bounded;
use super::texts::{Counts, Phrase, Texts};
use crate::failure::Failure;

/// How many words or documents are looked at in a slice.
///
/// Few in tests, so that their small containers are searched in several slices.
const SLICE: usize = if cfg!(test) { 2 } else { 4096 };

/// With so many words, only the rarest of them are looked up: those that have them are tested again anyway.
const MOST_PLACES: usize = if cfg!(test) { 2 } else { 16 };

/// How many bytes the words may have that fuzzy terms accept. Where they have more, no index is asked.
const MOST_ACCEPTED: usize = 16 << 20;

/// So much longer a list is not copied, but sought in.
const MUCH_LONGER: usize = 16;

/// Why a search ends without a result.
#[derive(Debug)]
pub(crate) enum Ended {
    /// The index cannot tell.
    Unknown,
    /// Nobody waits any more.
    Failed(Failure),
}

impl From<Failure> for Ended {
    fn from(failure: Failure) -> Ended {
        Ended::Failed(failure)
    }
}

impl Ended {
    /// Nothing for what an index cannot tell.
    pub(crate) fn known<T>(result: Result<T, Ended>) -> Result<Option<T>, Failure> {
        match result {
            Ok(known) => Ok(Some(known)),
            Err(Ended::Unknown) => Ok(None),
            Err(Ended::Failed(failure)) => Err(failure),
        }
    }
}

/// Where the index is. Others write between two looks.
pub(crate) trait Source {
    fn look<T>(&mut self, look: impl FnOnce(&Texts) -> T) -> Result<T, Ended>;
}

/// In how many documents a term is.
pub(crate) enum Hits {
    /// In so many.
    Exactly(usize),
    /// In some of these, each of which has all words of the term.
    Among(Vec<u64>, Phrase),
}

/// Words of which a text has one, and about in how many documents they are.
#[derive(Default)]
struct Place {
    words: Vec<Box<str>>,
    documents: usize,
}

/// The documents that may have all of these terms, or any of them; sorted.
pub(crate) fn documents(
    source: &mut impl Source,
    terms: &[Value],
    language: Language,
    all: bool,
) -> Result<Vec<u64>, Ended> {
    let terms: BTreeSet<Term> = terms.iter().map(|term| read(term, language)).collect::<Result<_, _>>()?;
    let numbers = |counts: Counts| counts.into_iter().map(|(number, _)| number).collect();
    if all {
        let mut places = Vec::new();
        for term in &terms {
            if term.words().is_empty() {
                return Ok(Vec::new());
            }
            places.extend(places_of(source, term)?);
            keep_rarest(&mut places);
        }
        return with_places(source, places).map(numbers);
    }
    let (mut single, mut found, mut room) = (Place::default(), Counts::new(), SLICE);
    for term in &terms {
        let places = places_of(source, term)?;
        if term.words().len() == 1 {
            single.words.extend(places.into_iter().flat_map(|place| place.words));
            continue;
        }
        found.extend(with_places(source, places)?);
        if found.len() > room {
            found = in_any(found);
            room = 2 * found.len() + SLICE;
        }
    }
    single.words.sort_unstable();
    single.words.dedup();
    found.extend(with_place(source, &single)?);
    Ok(numbers(in_any(found)))
}

/// In how many documents a term is.
pub(crate) fn hits(
    source: &mut impl Source,
    path: &IndexPath,
    term: &Value,
    language: Language,
) -> Result<Hits, Ended> {
    let term = read(term, language)?;
    let places = places_of(source, &term)?;
    let found = match &places[..] {
        [only] if term.words().len() == 1 && only.words.len() == 1 => {
            return Ok(Hits::Exactly(only.documents));
        }
        _ => with_places(source, places)?,
    };
    if term.words().len() < 2 {
        return Ok(Hits::Exactly(found.len()));
    }
    let numbers = found.into_iter().map(|(number, _)| number).collect();
    Ok(Hits::Among(numbers, Phrase::new(path.clone(), language, term)))
}

/// Every document with a text, by number, with a score that its own does not exceed.
pub(crate) fn bounds(
    source: &mut impl Source,
    terms: &[Value],
    hits: &[f64],
    corpus: Corpus,
    language: Language,
) -> Result<Vec<Bounded>, Ended> {
    let lengths = lengths(source)?;
    let mut bounds: Vec<Bounded> =
        lengths.iter().map(|(number, _)| Bounded { bound: 0.0, number: *number }).collect();
    let mut last: Option<(Term, Counts)> = None;
    for (term, hits) in terms.iter().zip(hits) {
        let term = read(term, language)?;
        let found = match last.take() {
            Some((known, found)) if known == term => found,
            Some(_) | None => {
                let places = places_of(source, &term)?;
                with_places(source, places)?
            }
        };
        // Terms are added in their order, as the query adds them, so that the sums are the same to the last digit.
        let mut from = 0;
        for (number, occurrences) in &found {
            from += lengths[from..].partition_point(|(known, _)| known < number);
            let (Some((known, length)), Some(bounded)) = (lengths.get(from), bounds.get_mut(from)) else {
                break;
            };
            if known == number {
                let count = TermCount { occurrences: f64::from(*occurrences), hits: *hits };
                bounded.bound += bm25(corpus, f64::from(*length), [count]);
            }
        }
        last = Some((term, found));
    }
    Ok(bounds)
}

/// How many words the text of each document has, by number.
fn lengths(source: &mut impl Source) -> Result<Counts, Ended> {
    let mut lengths = Counts::new();
    loop {
        let after = lengths.last().map_or(Bound::Unbounded, |(number, _)| Bound::Excluded(*number));
        let slice = source.look(|texts| texts.lengths_after(after).take(SLICE).collect::<Vec<_>>())?;
        if slice.is_empty() {
            return Ok(lengths);
        }
        lengths.extend(slice);
    }
}

/// The term that a value is: a string, or an object that describes one.
fn read(value: &Value, language: Language) -> Result<Term, Ended> {
    if let Value::String(text) = value {
        return Ok(Term::new(text, language));
    }
    let (Some(Value::String(text)), Some(distance)) = (value.get("term"), value.get("distance")) else {
        return Err(Ended::Unknown);
    };
    let distance = distance.as_f64().filter(|distance| distance.fract() == 0.0 && *distance >= 0.0);
    distance.and_then(|distance| Term::fuzzy(text, distance as usize, language)).ok_or(Ended::Unknown)
}

/// What a text with a term has, at each of its places; for long terms at the rarest.
fn places_of(source: &mut impl Source, term: &Term) -> Result<Vec<Place>, Ended> {
    let mut places = Vec::new();
    if term.is_fuzzy() {
        for place in 0..term.words().len() {
            places.push(accepted(source, term, place)?);
            keep_rarest(&mut places);
        }
        return Ok(places);
    }
    let mut words: Vec<&str> = term.words().iter().collect();
    words.sort_unstable();
    words.dedup();
    for words in words.chunks(SLICE) {
        places.extend(source.look(|texts| {
            let place = |word: &&str| {
                let documents = texts.with(word).len();
                // A word that no text has is not looked for again.
                let words = if documents == 0 { Vec::new() } else { vec![Box::from(*word)] };
                Place { words, documents }
            };
            words.iter().map(place).collect::<Vec<_>>()
        })?);
        keep_rarest(&mut places);
    }
    Ok(places)
}

fn keep_rarest(places: &mut Vec<Place>) {
    places.sort_by_key(|place| place.documents);
    places.truncate(MOST_PLACES);
}

/// The words that a term accepts at a place.
fn accepted(source: &mut impl Source, term: &Term, place: usize) -> Result<Place, Ended> {
    let (mut found, mut bytes) = (Place::default(), 0);
    let mut last: Option<Box<str>> = None;
    loop {
        let after = last.take();
        last = source.look(|texts| {
            let after = after.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
            let mut left = SLICE;
            for (word, documents) in texts.words_after(after) {
                if term.accepts(place, word) {
                    bytes += word.len() + size_of::<Box<str>>();
                    found.documents += documents.len();
                    found.words.push(word.into());
                }
                // Long words take longer to look at.
                left = left.saturating_sub(1 + word.len() / 16);
                if left == 0 {
                    return Some(word.into());
                }
            }
            None
        })?;
        if bytes > MOST_ACCEPTED {
            return Err(Ended::Unknown);
        }
        if last.is_none() {
            return Ok(found);
        }
    }
}

/// The documents that have a word of each place, and how often at most. The rarest place comes first.
fn with_places(source: &mut impl Source, mut places: Vec<Place>) -> Result<Counts, Ended> {
    places.sort_by_key(|place| place.documents);
    let mut places = places.iter();
    let Some(first) = places.next() else { return Ok(Counts::new()) };
    let mut known = with_place(source, first)?;
    for place in places {
        if known.is_empty() {
            break;
        }
        match &place.words[..] {
            [word] if place.documents / MUCH_LONGER > known.len() => only_with(source, &mut known, word)?,
            _ => in_both(&mut known, &with_place(source, place)?),
        }
    }
    Ok(known)
}

/// The documents that have one of the words, by number, and how often they have them.
fn with_place(source: &mut impl Source, place: &Place) -> Result<Counts, Ended> {
    let (mut found, mut room) = (Counts::new(), SLICE);
    // The word that is gone through, and from which document on.
    let (mut nth, mut from) = (0, 0);
    while nth < place.words.len() {
        source.look(|texts| {
            let mut left = SLICE;
            while left > 0
                && let Some(word) = place.words.get(nth)
            {
                let documents = texts.with(word);
                let rest = &documents[documents.partition_point(|(number, _)| *number < from)..];
                let slice = &rest[..rest.len().min(left)];
                found.extend_from_slice(slice);
                left = left.saturating_sub(slice.len().max(1));
                match slice.last() {
                    Some((last, _)) if slice.len() < rest.len() => from = last + 1,
                    Some(_) | None => (nth, from) = (nth + 1, 0),
                }
            }
        })?;
        if place.words.len() > 1 && found.len() > room {
            found = in_any(found);
            room = 2 * found.len() + SLICE;
        }
    }
    Ok(if place.words.len() > 1 { in_any(found) } else { found })
}

/// Keeps what has a word, and how often at most.
fn only_with(source: &mut impl Source, known: &mut Counts, word: &str) -> Result<(), Ended> {
    for slice in known.chunks_mut(SLICE) {
        source.look(|texts| {
            let documents = texts.with(word);
            for (number, count) in slice {
                *count = (*count).min(count_of(documents, *number));
            }
        })?;
    }
    known.retain(|(_, count)| *count > 0);
    Ok(())
}

fn count_of(documents: &[(u64, u32)], number: u64) -> u32 {
    let place = documents.binary_search_by_key(&number, |(known, _)| *known);
    place.ok().and_then(|place| documents.get(place)).map_or(0, |(_, count)| *count)
}

/// Keeps what both have, and how often at most.
fn in_both(known: &mut Counts, other: &[(u64, u32)]) {
    for (number, count) in known.iter_mut() {
        *count = (*count).min(count_of(other, *number));
    }
    known.retain(|(_, count)| *count > 0);
}

/// What at least one of several has that stand one behind the other here, and how often together.
fn in_any(mut all: Counts) -> Counts {
    all.sort_unstable();
    all.dedup_by(|(next, more), (number, count)| {
        let same = next == number;
        if same {
            *count = count.saturating_add(*more);
        }
        same
    });
    all
}

#[cfg(test)]
mod tests {
    use cosmonaut_query::raw::RawJson;

    use super::super::path::Step;

    use super::*;

    /// An index that nobody writes to; and how often it was looked at.
    struct Quiet<'t>(&'t Texts, usize);

    impl Source for Quiet<'_> {
        fn look<T>(&mut self, look: impl FnOnce(&Texts) -> T) -> Result<T, Ended> {
            self.1 += 1;
            Ok(look(self.0))
        }
    }

    fn texts(each: impl IntoIterator<Item = String>) -> Texts {
        let mut texts = Texts::new(IndexPath(vec![Step::Member("t".into())]), Language::English);
        for (number, text) in (0..).zip(each) {
            texts.insert(RawJson::new(format!(r#"{{"t":"{text}"}}"#).as_bytes()), number);
        }
        texts
    }

    fn term(text: &str) -> Value {
        Value::from(text)
    }

    #[test]
    fn equal_terms_are_looked_for_once() {
        let texts = texts((0..50).map(|n| format!("red {n}")));
        let mut looks = Vec::new();
        for count in [1, 10_000] {
            let mut quiet = Quiet(&texts, 0);
            let found = documents(&mut quiet, &vec![term("red"); count], Language::English, false).unwrap();
            assert_eq!(found, (0..50).collect::<Vec<_>>());
            looks.push(quiet.1);
        }
        assert_eq!(looks[0], looks[1]);
    }

    #[test]
    fn a_list_of_many_terms_takes_room_by_the_documents() {
        let words: Vec<String> = (0..200).map(|n| format!("word{n}")).collect();
        let texts = texts((0..30).map(|_| words.join(" ")));
        let place = Place { words: words.iter().map(|word| word.as_str().into()).collect(), documents: 6000 };
        struct Watched<'t>(&'t Texts, usize);
        impl Source for Watched<'_> {
            fn look<T>(&mut self, look: impl FnOnce(&Texts) -> T) -> Result<T, Ended> {
                self.1 += 1;
                Ok(look(self.0))
            }
        }
        let mut watched = Watched(&texts, 0);
        let found = with_place(&mut watched, &place).unwrap();
        assert!(watched.1 >= 3000, "{} slices", watched.1);
        assert_eq!(found, (0..30).map(|number| (number, 200)).collect::<Vec<_>>());
        assert!(found.capacity() < 200, "room for {}", found.capacity());
    }

    #[test]
    fn long_fuzzy_searches_end_when_they_are_told_to() {
        struct Unwanted<'t>(&'t Texts, usize);
        impl Source for Unwanted<'_> {
            fn look<T>(&mut self, look: impl FnOnce(&Texts) -> T) -> Result<T, Ended> {
                self.1 += 1;
                if self.1 > 5 {
                    return Err(Ended::Failed(Failure::bad_request("nobody waits")));
                }
                Ok(look(self.0))
            }
        }
        let texts = texts((0..100).map(|n| format!("word{n}")));
        let fuzzy = Value::from_json(br#"{"term":"word","distance":2}"#).unwrap();
        for all in [true, false] {
            let mut unwanted = Unwanted(&texts, 0);
            let ended = documents(&mut unwanted, std::slice::from_ref(&fuzzy), Language::English, all);
            assert!(matches!(ended, Err(Ended::Failed(_))), "{ended:?}");
        }
        let (corpus, hits) = (Corpus { documents: 100.0, words: 100.0 }, [100.0]);
        let ended = bounds(&mut Unwanted(&texts, 0), &[fuzzy], &hits, corpus, Language::English);
        assert!(matches!(ended, Err(Ended::Failed(_))), "{ended:?}");
    }
}
