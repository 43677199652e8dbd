//! `LIKE` patterns: `%`, `_`, `[a-f]`, `[^a-f]` and an escape character, compiled once and matched in linear space.

/// A compiled pattern.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Pattern(Vec<Token>);

#[derive(Clone, Debug, PartialEq)]
enum Token {
    /// `%`
    Any,
    /// `_`
    One,
    Char(char),
    Set {
        ranges: Vec<(char, char)>,
        negated: bool,
    },
}

impl Pattern {
    /// Compiles `pattern`. A `[` that is never closed stands for itself.
    pub(super) fn new(pattern: &str, escape: Option<char>) -> Pattern {
        let mut tokens = Vec::new();
        let mut rest = pattern.chars();
        while let Some(next) = rest.next() {
            let token = match next {
                _ if Some(next) == escape => Token::Char(rest.next().unwrap_or(next)),
                '%' => Token::Any,
                '_' => Token::One,
                '[' => match read_set(rest.as_str(), escape) {
                    Some((set, after)) => {
                        rest = after.chars();
                        set
                    }
                    None => Token::Char('['),
                },
                plain => Token::Char(plain),
            };
            // A run of `%` matches what one does.
            if token != Token::Any || tokens.last() != Some(&Token::Any) {
                tokens.push(token);
            }
        }
        Pattern(tokens)
    }

    /// Whether all of `text` matches.
    ///
    /// After a mismatch only the latest `%` can usefully take one character more, so one place to go back to is
    /// enough and the cost is bounded by the product of the lengths.
    pub(super) fn matches(&self, text: &str) -> bool {
        let tokens = &self.0;
        let (mut token, mut rest) = (0, text.chars());
        let mut retry: Option<(usize, std::str::Chars<'_>)> = None;
        loop {
            let mut ahead = rest.clone();
            match (tokens.get(token), ahead.next()) {
                (None, None) => return true,
                (Some(Token::Any), _) => {
                    token += 1;
                    retry = Some((token, rest.clone()));
                    continue;
                }
                (Some(expected), Some(found)) if expected.accepts(found) => {
                    token += 1;
                    rest = ahead;
                    continue;
                }
                _ => {}
            }
            let Some((after, from)) = &mut retry else { return false };
            if from.next().is_none() {
                return false;
            }
            (token, rest) = (*after, from.clone());
        }
    }
}

impl Token {
    fn accepts(&self, found: char) -> bool {
        match self {
            Token::Any | Token::One => true,
            Token::Char(expected) => *expected == found,
            Token::Set { ranges, negated } => {
                ranges.iter().any(|(low, high)| (*low..=*high).contains(&found)) != *negated
            }
        }
    }
}

/// Reads a set after its `[`: the token and what follows the `]`.
fn read_set(text: &str, escape: Option<char>) -> Option<(Token, &str)> {
    let negated = text.starts_with('^');
    let mut rest = text[usize::from(negated)..].chars();
    let mut ranges: Vec<(char, char)> = Vec::new();
    loop {
        let low = match rest.next()? {
            ']' if !ranges.is_empty() => return Some((Token::Set { ranges, negated }, rest.as_str())),
            next if Some(next) == escape => rest.next()?,
            next => next,
        };
        let mut ahead = rest.clone();
        let high = match (ahead.next(), ahead.next()) {
            (Some('-'), Some(high)) if high != ']' => {
                rest = ahead;
                high
            }
            _ => low,
        };
        ranges.push((low, high));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_whole_texts() {
        let rows: &[(&str, Option<char>, &str, bool)] = &[
            ("", None, "", true),
            ("", None, "a", false),
            ("%", None, "", true),
            ("a%", None, "abc", true),
            ("%c", None, "abc", true),
            ("%b%", None, "abc", true),
            ("a_c", None, "abc", true),
            ("a_c", None, "ac", false),
            ("_", None, "é", true),
            ("_", None, "\u{1F600}", true),
            ("A%", None, "abc", false),
            ("%ab%ab", None, "abxab", true),
            ("%ab%ab", None, "ab", false),
            ("[a-c]x", None, "bx", true),
            ("[a-c]x", None, "dx", false),
            ("[^a-c]x", None, "dx", true),
            ("[^a-c]x", None, "ax", false),
            ("[%]", None, "%", true),
            ("[abc", None, "[abc", true),
            ("[a-]", None, "-", true),
            ("100!%", Some('!'), "100%", true),
            ("100!%", Some('!'), "100x", false),
            ("a!", Some('!'), "a!", true),
            ("%%%a%%%", None, "bab", true),
        ];
        for (pattern, escape, text, expected) in rows {
            assert_eq!(Pattern::new(pattern, *escape).matches(text), *expected, "{pattern:?} {text:?}");
        }
    }

    #[test]
    fn a_pattern_of_many_wildcards_over_a_long_text_ends() {
        let pattern = Pattern::new(&"%a".repeat(200), None);
        assert!(!pattern.matches(&"b".repeat(20_000)));
    }
}
