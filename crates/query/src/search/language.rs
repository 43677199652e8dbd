//! Languages of texts, and what is done to a word of each.

use super::{stemmer, stop_words};

/// The language of a text.
///
/// English words are stemmed and its most common words passed over. Words of the other languages are taken as they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Language {
    /// `en-US`.
    #[default]
    English,
    /// `de-DE`, `es-ES`, `fr-FR`, `it-IT`, `pt-PT` or `pt-BR`.
    Other,
}

/// The languages of the service other than English.
const OTHERS: [&str; 6] = ["de-DE", "es-ES", "fr-FR", "it-IT", "pt-PT", "pt-BR"];

impl Language {
    /// The language of a name, in any case; none if the service has no such language.
    pub fn of_name(name: &str) -> Option<Language> {
        if name.eq_ignore_ascii_case("en-US") {
            return Some(Language::English);
        }
        OTHERS.iter().any(|other| other.eq_ignore_ascii_case(name)).then_some(Language::Other)
    }

    /// Turns a word in lower case into what is compared; `false` if the word is passed over.
    pub(super) fn reduce(self, word: &mut String) -> bool {
        match self {
            Language::English if stop_words::is_english(word) => false,
            Language::English => {
                stemmer::stem(word);
                true
            }
            Language::Other => true,
        }
    }
}
