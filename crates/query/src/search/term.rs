//! What is looked for in a text: a word, words next to each other, or words that are almost the same.

use super::{Language, Words, edits};

/// The most letters in which a fuzzy term can differ from a word.
const MOST_EDITS: usize = 2;

/// What looking at a pair of words counts as, in bytes.
const LOOK: usize = 4;

/// How many bytes are compared before somebody is told.
const LOOKED_AT_ONCE: usize = 1 << 12;

/// What is looked for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Term {
    words: Words,
    edits: usize,
}

impl Term {
    /// A word, or several that have to stand next to each other in this order.
    pub fn new(text: &str, language: Language) -> Term {
        Term { words: Words::of(text, language), edits: 0 }
    }

    /// The same, of which each word may differ in some letters; none if in more than two.
    pub fn fuzzy(text: &str, edits: usize, language: Language) -> Option<Term> {
        (edits <= MOST_EDITS).then(|| Term { words: Words::of(text, language), edits })
    }

    /// The words, reduced to their stems.
    pub fn words(&self) -> &Words {
        &self.words
    }

    /// Whether words may differ.
    pub fn is_fuzzy(&self) -> bool {
        self.edits > 0
    }

    /// Whether a word of a text is what is looked for at a place.
    pub fn accepts(&self, place: usize, word: &str) -> bool {
        self.words.get(place).is_some_and(|wanted| edits::is_within(wanted, word, self.edits))
    }

    /// How often a text has it; a term without words is in no text.
    ///
    /// A term of many words that a text repeats is compared again and again, so `work` is told of what was gone through,
    /// in bytes, and its error ends the count.
    pub fn count_in<E>(
        &self,
        text: &Words,
        mut work: impl FnMut(usize) -> Result<(), E>,
    ) -> Result<usize, E> {
        let length = self.words.len();
        let Some(last) = text.len().checked_sub(length).filter(|_| length > 0) else { return Ok(0) };
        let (mut count, mut compared) = (0, 0);
        for start in 0..=last {
            let mut place = 0;
            while place < length
                && let Some(word) = text.get(start + place)
                && let Some(wanted) = self.words.get(place)
            {
                // The words of most pairs differ in their first letters, but for fuzzy ones all have to be looked at.
                compared += if self.is_fuzzy() { LOOK + word.len() * (2 * self.edits + 1) } else { LOOK };
                if !edits::is_within(wanted, word, self.edits) {
                    break;
                }
                compared += word.len();
                place += 1;
            }
            count += usize::from(place == length);
            if compared >= LOOKED_AT_ONCE {
                work(std::mem::take(&mut compared))?;
            }
        }
        work(compared)?;
        Ok(count)
    }

    /// The same, however long it takes.
    #[cfg(test)]
    pub(crate) fn count(&self, text: &Words) -> usize {
        let Ok(count) = self.count_in(text, |_| Ok::<(), std::convert::Infallible>(()));
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_are_counted() {
        let text = Words::of("Red bicycles. A red bicycle, and a blue one; bicycle reds", Language::English);
        for (term, count) in [
            ("bicycle", 3),
            ("BICYCLES", 3),
            ("red bicycle", 2),
            ("bicycle red", 2),
            ("blue bicycle", 1),
            ("blue red", 0),
            ("the", 0),
            ("", 0),
        ] {
            assert_eq!(Term::new(term, Language::English).count(&text), count, "{term}");
        }
    }

    #[test]
    fn fuzzy_terms_find_words_that_differ_in_a_few_letters() {
        let text = Words::of("rad road blue", Language::English);
        for (term, edits, count) in
            [("red", 0, 0), ("red", 1, 1), ("red", 2, 2), ("rad blue", 1, 1), ("rad blue", 0, 0)]
        {
            let term = Term::fuzzy(term, edits, Language::English).unwrap();
            assert_eq!(term.count(&text), count, "{term:?}");
        }
        assert_eq!(Term::fuzzy("red", 3, Language::English), None);
    }

    #[test]
    fn a_phrase_that_a_text_repeats_ends_when_it_is_told_to() {
        let text = Words::of(&"red ".repeat(10_000), Language::English);
        let term = Term::new(&"red ".repeat(5_000), Language::English);
        let mut told = Vec::new();
        let counted = term.count_in(&text, |bytes| {
            told.push(bytes);
            if told.len() < 3 { Ok(()) } else { Err("enough") }
        });
        assert_eq!(counted, Err("enough"));
        // One attempt at most is gone through between two looks.
        assert!(told.iter().all(|bytes| (LOOKED_AT_ONCE..100_000).contains(bytes)), "{told:?}");
    }
}
