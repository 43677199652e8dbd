//! `LIKE` patterns: `%`, `_`, `[a-f]`, `[^a-f]` and an escape character, compiled once and matched in linear space.

/// How many bytes are compared before somebody is asked whether to go on.
const COMPARED_AT_ONCE: usize = 1 << 16;

/// A compiled pattern.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Pattern(Vec<Token>);

#[derive(Clone, Debug, PartialEq)]
enum Token {
    /// `%`
    Any,
    /// `_`
    One,
    Text(String),
    Set {
        ranges: Vec<(char, char)>,
        negated: bool,
    },
}

impl Pattern {
    /// Compiles `pattern`. A `[` that is never closed stands for itself.
    pub(super) fn new(pattern: &str, escape: Option<char>) -> Pattern {
        let text = |character: char| Token::Text(character.to_string());
        let mut tokens = Vec::new();
        let mut rest = pattern.chars();
        while let Some(next) = rest.next() {
            let token = match next {
                _ if Some(next) == escape => text(rest.next().unwrap_or(next)),
                '%' => Token::Any,
                '_' => Token::One,
                '[' => match read_set(rest.as_str(), escape) {
                    Some((set, after)) => {
                        rest = after.chars();
                        set
                    }
                    None => text('['),
                },
                plain => text(plain),
            };
            match (tokens.last_mut(), token) {
                (Some(Token::Text(before)), Token::Text(next)) => before.push_str(&next),
                // A run of `%` matches what one does.
                (Some(Token::Any), Token::Any) => {}
                (_, token) => tokens.push(token),
            }
        }
        Pattern(tokens)
    }

    /// Whether all of `text` matches.
    ///
    /// After a mismatch only the latest `%` can usefully take more, so one place to go back to is enough. What is plain
    /// text after a `%` is searched for in linear time; beside `_` and sets the cost is bounded by the product of the
    /// lengths, and `go_on` is asked after every [`COMPARED_AT_ONCE`] bytes: matching ends with its error.
    pub(super) fn matches<E>(&self, text: &str, mut go_on: impl FnMut() -> Result<(), E>) -> Result<bool, E> {
        let tokens = &self.0;
        let (mut token, mut rest) = (0, text);
        let mut retry: Option<(usize, &str)> = None;
        let mut compared = 0;
        loop {
            compared += tokens.get(token).map_or(1, Token::cost);
            if compared >= COMPARED_AT_ONCE {
                compared = 0;
                go_on()?;
            }
            let from = match tokens.get(token) {
                None if rest.is_empty() => return Ok(true),
                Some(Token::Any) => {
                    token += 1;
                    rest
                }
                expected => {
                    if let Some(after) = expected.and_then(|expected| expected.strip(rest)) {
                        token += 1;
                        rest = after;
                        continue;
                    }
                    let Some((after, tried)) = retry else { return Ok(false) };
                    token = after;
                    let mut later = tried.chars();
                    if later.next().is_none() {
                        return Ok(false);
                    }
                    later.as_str()
                }
            };
            let Some(from) = first_place(&tokens[token..], from) else { return Ok(false) };
            retry = Some((token, from));
            rest = from;
        }
    }
}

/// Where in `text` the tokens after a `%` can match first, by what the first of them says.
fn first_place<'t>(tokens: &[Token], text: &'t str) -> Option<&'t str> {
    match tokens {
        [] => Some(&text[text.len()..]),
        [Token::Text(last)] => text.ends_with(last).then(|| &text[text.len() - last.len()..]),
        [Token::Text(next), ..] => text.find(next).map(|at| &text[at..]),
        _ => Some(text),
    }
}

impl Token {
    /// How many bytes it compares at most, or one if it compares none.
    fn cost(&self) -> usize {
        match self {
            Token::Text(text) => text.len(),
            Token::Any | Token::One | Token::Set { .. } => 1,
        }
    }

    /// What is left of a text after this; none if the text does not begin with it.
    fn strip<'t>(&self, text: &'t str) -> Option<&'t str> {
        let mut rest = text.chars();
        match self {
            Token::Text(expected) => return text.strip_prefix(expected),
            Token::Any => return Some(text),
            Token::One => rest.next().map(drop),
            Token::Set { ranges, negated } => {
                let is_in = |found| ranges.iter().any(|(low, high)| (*low..=*high).contains(&found));
                rest.next().filter(|found| is_in(*found) != *negated).map(drop)
            }
        }
        .map(|()| rest.as_str())
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
    use std::convert::Infallible;

    use super::*;

    fn matches(pattern: &Pattern, text: &str) -> bool {
        let Ok(matches) = pattern.matches(text, || Ok::<(), Infallible>(()));
        matches
    }

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
            ("%ab_", None, "abxabc", true),
            ("%a_c%", None, "aabc", true),
            ("%\u{e9}", None, "x\u{e9}", true),
            ("%\u{e9}", None, "", false),
            ("a%a", None, "a", false),
            ("%_b%c", None, "bxbc", true),
            ("%[a-c]", None, "xxb", true),
        ];
        for (pattern, escape, text, expected) in rows {
            assert_eq!(matches(&Pattern::new(pattern, *escape), text), *expected, "{pattern:?} {text:?}");
        }
    }

    #[test]
    fn a_pattern_of_many_wildcards_over_a_long_text_ends() {
        let pattern = Pattern::new(&"%a".repeat(200), None);
        assert!(!matches(&pattern, &"b".repeat(20_000)));
        // The product of the lengths would take minutes.
        let text = "a".repeat(1_000_000);
        for tail in ["%", ""] {
            let pattern = Pattern::new(&format!("%{}b{tail}", "a".repeat(100_000)), None);
            assert!(!matches(&pattern, &text));
        }
    }
}
