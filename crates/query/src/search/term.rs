//! What is looked for in a text: a word, words next to each other, or words that are almost the same.

use super::{Language, Words, edits};

/// The most letters in which a fuzzy term can differ from a word.
const MOST_EDITS: usize = 2;

/// What is looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
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
    pub fn count_in(&self, text: &Words) -> usize {
        let length = self.words.len();
        if length == 0 || length > text.len() {
            return 0;
        }
        let is_at = |start: usize| {
            (0..length).all(|place| text.get(start + place).is_some_and(|word| self.accepts(place, word)))
        };
        (0..=text.len() - length).filter(|start| is_at(*start)).count()
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
            assert_eq!(Term::new(term, Language::English).count_in(&text), count, "{term}");
        }
    }

    #[test]
    fn fuzzy_terms_find_words_that_differ_in_a_few_letters() {
        let text = Words::of("rad road blue", Language::English);
        for (term, edits, count) in
            [("red", 0, 0), ("red", 1, 1), ("red", 2, 2), ("rad blue", 1, 1), ("rad blue", 0, 0)]
        {
            let term = Term::fuzzy(term, edits, Language::English).unwrap();
            assert_eq!(term.count_in(&text), count, "{term:?}");
        }
        assert_eq!(Term::fuzzy("red", 3, Language::English), None);
    }
}
