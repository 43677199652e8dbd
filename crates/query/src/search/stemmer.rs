//! English words to their stems, by the rules that are known as Porter's second stemmer.
//!
//! A word that the rules do not cover stays as it is: one of two letters, or with letters beyond a to z and digits.

/// Reduces a word in lower case to its stem.
pub(super) fn stem(word: &mut String) {
    if word.len() <= 2 || !word.is_ascii() {
        return;
    }
    if let Some((_, stem)) = EXCEPTIONS.iter().find(|(known, _)| known == word) {
        *word = (*stem).to_owned();
        return;
    }
    let mut stemmer = Stemmer::new(word);
    stemmer.plural();
    if !KEPT.contains(&stemmer.letters.as_slice()) {
        stemmer.past_and_present();
        stemmer.final_y();
        stemmer.replace_suffix(&SECOND);
        stemmer.replace_suffix(&THIRD);
        stemmer.replace_suffix(&FOURTH);
        stemmer.final_e_and_l();
    }
    stemmer.letters.make_ascii_lowercase();
    if let Ok(stem) = String::from_utf8(stemmer.letters) {
        *word = stem;
    }
}

/// Words with stems of their own.
const EXCEPTIONS: [(&str, &str); 18] = [
    ("skis", "ski"),
    ("skies", "sky"),
    ("dying", "die"),
    ("lying", "lie"),
    ("tying", "tie"),
    ("idly", "idl"),
    ("gently", "gentl"),
    ("ugly", "ugli"),
    ("early", "earli"),
    ("only", "onli"),
    ("singly", "singl"),
    ("sky", "sky"),
    ("news", "news"),
    ("howe", "howe"),
    ("atlas", "atlas"),
    ("cosmos", "cosmos"),
    ("bias", "bias"),
    ("andes", "andes"),
];

/// Words that stay as they are once they are no plurals.
const KEPT: [&[u8]; 8] =
    [b"inning", b"outing", b"canning", b"herring", b"earring", b"proceed", b"exceed", b"succeed"];

/// Where a suffix has to stand to be replaced.
#[derive(Clone, Copy, PartialEq)]
enum Region {
    /// Behind the first consonant that follows a vowel.
    First,
    /// Behind the first consonant that follows a vowel in the first region.
    Second,
}

/// What has to stand before a suffix.
#[derive(Clone, Copy)]
enum Before {
    Anything,
    OneOf(&'static [u8]),
}

/// A suffix, what it becomes, where, and after what.
type Rule = (&'static str, &'static str, Region, Before);

const fn rule(suffix: &'static str, becomes: &'static str) -> Rule {
    (suffix, becomes, Region::First, Before::Anything)
}

const fn dropped(suffix: &'static str) -> Rule {
    (suffix, "", Region::Second, Before::Anything)
}

/// Longer suffixes stand before those that they end in.
const SECOND: [Rule; 24] = [
    rule("ization", "ize"),
    rule("ational", "ate"),
    rule("fulness", "ful"),
    rule("ousness", "ous"),
    rule("iveness", "ive"),
    rule("tional", "tion"),
    rule("biliti", "ble"),
    rule("lessli", "less"),
    rule("entli", "ent"),
    rule("ation", "ate"),
    rule("alism", "al"),
    rule("aliti", "al"),
    rule("ousli", "ous"),
    rule("iviti", "ive"),
    rule("fulli", "ful"),
    rule("enci", "ence"),
    rule("anci", "ance"),
    rule("abli", "able"),
    rule("izer", "ize"),
    rule("ator", "ate"),
    rule("alli", "al"),
    rule("bli", "ble"),
    ("ogi", "og", Region::First, Before::OneOf(b"l")),
    ("li", "", Region::First, Before::OneOf(b"cdeghkmnrt")),
];

const THIRD: [Rule; 9] = [
    rule("ational", "ate"),
    rule("tional", "tion"),
    rule("alize", "al"),
    rule("icate", "ic"),
    rule("iciti", "ic"),
    ("ative", "", Region::Second, Before::Anything),
    rule("ical", "ic"),
    rule("ness", ""),
    rule("ful", ""),
];

const FOURTH: [Rule; 18] = [
    dropped("ement"),
    dropped("ance"),
    dropped("ence"),
    dropped("able"),
    dropped("ible"),
    dropped("ment"),
    dropped("ant"),
    dropped("ent"),
    dropped("ism"),
    dropped("ate"),
    dropped("iti"),
    dropped("ous"),
    dropped("ive"),
    dropped("ize"),
    ("ion", "", Region::Second, Before::OneOf(b"st")),
    dropped("al"),
    dropped("er"),
    dropped("ic"),
];

/// A word on its way to its stem. A `y` that is a consonant is written `Y`.
struct Stemmer {
    letters: Vec<u8>,
    first: usize,
    second: usize,
}

impl Stemmer {
    fn new(word: &str) -> Stemmer {
        let mut letters = word.as_bytes().to_vec();
        let mut after_vowel = true;
        for letter in &mut letters {
            if *letter == b'y' && after_vowel {
                *letter = b'Y';
            }
            after_vowel = is_vowel(*letter);
        }
        let prefix = ["gener", "commun", "arsen"].into_iter().find(|prefix| word.starts_with(prefix));
        let first = prefix.map_or_else(|| region(&letters, 0), str::len);
        let second = region(&letters, first);
        Stemmer { letters, first, second }
    }

    /// What is left before a suffix that the word has.
    fn before(&self, suffix: &str) -> Option<&[u8]> {
        self.letters.strip_suffix(suffix.as_bytes())
    }

    fn cut(&mut self, count: usize, end: &str) {
        self.letters.truncate(self.letters.len().saturating_sub(count));
        self.letters.extend_from_slice(end.as_bytes());
    }

    fn plural(&mut self) {
        if self.before("sses").is_some() {
            return self.cut(2, "");
        }
        if let Some(before) = self.before("ied").or_else(|| self.before("ies")) {
            let end = if before.len() > 1 { "i" } else { "ie" };
            return self.cut(3, end);
        }
        if self.before("us").is_some() || self.before("ss").is_some() {
            return;
        }
        if let Some([earlier @ .., _]) = self.before("s")
            && has_vowel(earlier)
        {
            self.cut(1, "");
        }
    }

    fn past_and_present(&mut self) {
        let kept = ["eedly", "eed"].into_iter().find_map(|s| Some((s, self.before(s)?.len())));
        if let Some((suffix, before)) = kept {
            if before >= self.first {
                self.cut(suffix.len(), "ee");
            }
            return;
        }
        let found = ["ingly", "edly", "ing", "ed"].into_iter().find_map(|s| Some((s, self.before(s)?)));
        let Some((suffix, before)) = found else { return };
        if !has_vowel(before) {
            return;
        }
        self.cut(suffix.len(), "");
        match &self.letters[..] {
            [.., b'a', b't'] | [.., b'b', b'l'] | [.., b'i', b'z'] => self.letters.push(b'e'),
            [.., a, b] if a == b && b"bdfgmnprt".contains(b) => self.cut(1, ""),
            letters if self.first >= letters.len() && ends_short(letters) => self.letters.push(b'e'),
            _ => {}
        }
    }

    fn final_y(&mut self) {
        if let [_, .., before, b'y' | b'Y'] = self.letters[..]
            && !is_vowel(before)
        {
            self.cut(1, "i");
        }
    }

    /// Applies the first rule whose suffix the word has.
    fn replace_suffix(&mut self, rules: &[Rule]) {
        let found = rules.iter().find_map(|rule| Some((rule, self.before(rule.0)?)));
        let Some(((suffix, becomes, region, wanted), before)) = found else { return };
        let from = if *region == Region::First { self.first } else { self.second };
        let fits = match wanted {
            Before::Anything => true,
            Before::OneOf(letters) => before.last().is_some_and(|last| letters.contains(last)),
        };
        if fits && before.len() >= from {
            self.cut(suffix.len(), becomes);
        }
    }

    fn final_e_and_l(&mut self) {
        if let Some(before) = self.before("e") {
            if before.len() >= self.second || (before.len() >= self.first && !ends_short(before)) {
                self.cut(1, "");
            }
        } else if let Some(before) = self.before("l")
            && before.len() >= self.second
            && before.last() == Some(&b'l')
        {
            self.cut(1, "");
        }
    }
}

fn is_vowel(letter: u8) -> bool {
    matches!(letter, b'a' | b'e' | b'i' | b'o' | b'u' | b'y')
}

fn has_vowel(letters: &[u8]) -> bool {
    letters.iter().any(|letter| is_vowel(*letter))
}

/// Where the region begins that follows the first consonant after a vowel, from a place on.
fn region(letters: &[u8], from: usize) -> usize {
    let after = letters.get(from..).unwrap_or_default();
    let found = after.windows(2).position(|pair| is_vowel(pair[0]) && !is_vowel(pair[1]));
    found.map_or(letters.len(), |at| from + at + 2)
}

/// Whether letters end in a short syllable.
fn ends_short(letters: &[u8]) -> bool {
    match letters {
        [vowel, last] => is_vowel(*vowel) && !is_vowel(*last),
        [.., before, vowel, last] => {
            !is_vowel(*before) && is_vowel(*vowel) && !is_vowel(*last) && !b"wxY".contains(last)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_have_the_stems_that_the_rules_give() {
        for (word, expected) in [
            ("caresses", "caress"),
            ("ponies", "poni"),
            ("ties", "tie"),
            ("cries", "cri"),
            ("gas", "gas"),
            ("this", "this"),
            ("gaps", "gap"),
            ("kiwis", "kiwi"),
            ("agreed", "agre"),
            ("feed", "feed"),
            ("plastered", "plaster"),
            ("motoring", "motor"),
            ("sing", "sing"),
            ("hopping", "hop"),
            ("hoping", "hope"),
            ("falling", "fall"),
            ("filing", "file"),
            ("conflated", "conflat"),
            ("sized", "size"),
            ("happy", "happi"),
            ("say", "say"),
            ("by", "by"),
            ("relational", "relat"),
            ("conditional", "condit"),
            ("generalization", "general"),
            ("generously", "generous"),
            ("communication", "communic"),
            ("hopefulness", "hope"),
            ("electrical", "electr"),
            ("adjustment", "adjust"),
            ("adoption", "adopt"),
            ("controlling", "control"),
            ("knightly", "knight"),
            ("consistency", "consist"),
            ("consolation", "consol"),
            ("national", "nation"),
            ("states", "state"),
            ("united", "unit"),
            ("swimming", "swim"),
            ("running", "run"),
            ("skies", "sky"),
            ("dying", "die"),
            ("news", "news"),
            ("proceeds", "proceed"),
            ("bicycles", "bicycl"),
            ("youth", "youth"),
            ("employed", "employ"),
            ("at", "at"),
            ("größe", "größe"),
            ("42", "42"),
        ] {
            let mut word_now = word.to_owned();
            stem(&mut word_now);
            assert_eq!(word_now, expected, "{word}");
        }
    }
}
