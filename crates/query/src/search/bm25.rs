//! How well a text fits terms: BM25, with the usual constants.

/// How soon more of the same word stops to count for more.
const K1: f64 = 1.2;
/// How much the length of a text counts.
const B: f64 = 0.75;

/// All texts that a text is compared with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Corpus {
    /// How many documents there are.
    pub documents: f64,
    /// How many words their texts have together.
    pub words: f64,
}

/// A term in a text and in all of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TermCount {
    /// How often the text has it.
    pub occurrences: f64,
    /// How many documents have it.
    pub hits: f64,
}

/// The score of a text of so many words.
pub fn bm25(corpus: Corpus, length: f64, terms: impl IntoIterator<Item = TermCount>) -> f64 {
    let average = corpus.words / corpus.documents;
    let relative = if average > 0.0 { length / average } else { 1.0 };
    let damping = K1 * (1.0 - B + B * relative);
    let score = |term: TermCount| {
        if term.occurrences <= 0.0 {
            return 0.0;
        }
        // More hits than documents are possible where the two were counted at different moments.
        let rarity = ((corpus.documents - term.hits).max(0.0) + 0.5) / (term.hits + 0.5);
        rarity.ln_1p() * term.occurrences * (K1 + 1.0) / (term.occurrences + damping)
    };
    terms.into_iter().map(score).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn score(length: f64, occurrences: f64, hits: f64) -> f64 {
        bm25(Corpus { documents: 10.0, words: 100.0 }, length, [TermCount { occurrences, hits }])
    }

    #[test]
    fn a_score_is_that_of_the_formula() {
        let rarity = (1.0f64 + (10.0 - 2.0 + 0.5) / (2.0 + 0.5)).ln();
        assert!((score(10.0, 3.0, 2.0) - rarity * 3.0 * 2.2 / (3.0 + 1.2)).abs() < 1e-12);
        assert!((score(20.0, 1.0, 2.0) - rarity * 2.2 / (1.0 + 1.2 * (0.25 + 0.75 * 2.0))).abs() < 1e-12);
    }

    #[test]
    fn rare_terms_many_occurrences_and_short_texts_score_more() {
        assert!(score(10.0, 2.0, 1.0) > score(10.0, 1.0, 1.0));
        assert!(score(10.0, 1.0, 1.0) > score(10.0, 1.0, 9.0));
        assert!(score(5.0, 1.0, 1.0) > score(20.0, 1.0, 1.0));
        assert_eq!(score(10.0, 0.0, 3.0), 0.0);
        assert!(score(10.0, 1.0, 11.0) > 0.0);
    }

    #[test]
    fn no_documents_are_no_error() {
        let nothing = Corpus { documents: 0.0, words: 0.0 };
        assert!(bm25(nothing, 0.0, [TermCount { occurrences: 1.0, hits: 0.0 }]).is_finite());
    }
}
