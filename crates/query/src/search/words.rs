//! The words of a text: in lower case, without those that are passed over, each reduced to its stem.

use super::Language;

/// The words of a text, in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Words {
    letters: String,
    /// Where each word ends.
    ends: Vec<usize>,
}

impl Words {
    /// Takes a text apart at everything but letters and digits.
    pub fn of(text: &str, language: Language) -> Words {
        let mut words = Words::default();
        let mut word = String::new();
        for part in text.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty()) {
            word.clear();
            word.extend(part.chars().flat_map(char::to_lowercase));
            if language.reduce(&mut word) {
                words.letters.push_str(&word);
                words.ends.push(words.letters.len());
            }
        }
        words
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The word at a place.
    pub fn get(&self, place: usize) -> Option<&str> {
        let end = *self.ends.get(place)?;
        let start = place.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        self.letters.get(start..end)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.len()).filter_map(|place| self.get(place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_taken_apart_into_stems() {
        for (text, language, expected) in [
            ("The runner was running, re-running!", Language::English, "runner run run"),
            ("", Language::English, ""),
            ("of the and", Language::English, ""),
            ("United States' 42 presidents", Language::English, "unit state 42 presid"),
            ("Größe ÜBER alles", Language::Other, "größe über alles"),
            ("don't", Language::English, ""),
            ("x86_64 C++", Language::English, "x86 64"),
        ] {
            let words = Words::of(text, language);
            assert_eq!(words.iter().collect::<Vec<_>>().join(" "), expected, "{text}");
            assert_eq!(words.get(words.len()), None);
        }
    }
}
