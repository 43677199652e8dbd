//! Whether a source has a literal of an integer of any length, which nothing stops once it is computed with.
//!
//! Texts and comments are passed over as far as it is certain where they end. From the first place on where only an
//! engine can tell, everything counts as code.

/// Whether a source, which is the value of a variable, may have such a literal.
pub(super) fn has_big_integer(source: &str) -> bool {
    let mut reader = Reader { rest: source.as_bytes(), ..Reader::default() };
    loop {
        match reader.next() {
            Ok(Some(Token::Word(word))) if is_big_integer(word) => return true,
            Ok(Some(Token::Word(_) | Token::Other)) => {}
            Ok(None) => return false,
            Err(Unsure) => return reader.rest.split(|byte| !is_word(*byte)).any(is_big_integer),
        }
    }
}

fn is_big_integer(word: &[u8]) -> bool {
    let Some((b'n', digits)) = word.split_last() else { return false };
    digits.first().is_some_and(u8::is_ascii_digit)
        && digits.iter().all(|byte| byte.is_ascii_hexdigit() || b"xXoO_".contains(byte))
}

/// Other characters than those of ASCII may be blanks, and are never part of a word here.
fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$')
}

/// It is not certain what the rest is.
struct Unsure;

enum Token<'s> {
    Word(&'s [u8]),
    Other,
}

/// What stands before a place, which says what a slash there is.
#[derive(Clone, Copy, Default, PartialEq)]
enum Before {
    /// A slash divides.
    Value,
    /// A slash begins a regular expression.
    #[default]
    Operator,
    /// Only an engine can tell.
    Either,
}

/// After these words a slash begins a regular expression.
const OPERATORS: [&[u8]; 11] = [
    b"return",
    b"typeof",
    b"case",
    b"in",
    b"do",
    b"else",
    b"void",
    b"delete",
    b"instanceof",
    b"new",
    b"throw",
];

/// These are words of the language at some places, and names at others; or a line may end a statement after them.
const EITHER: [&[u8]; 12] = [
    b"of",
    b"yield",
    b"await",
    b"let",
    b"async",
    b"static",
    b"get",
    b"set",
    b"break",
    b"continue",
    b"debugger",
    b"extends",
];

/// A statement follows the parenthesis after these words.
const HEADS: [&[u8]; 4] = [b"if", b"while", b"for", b"with"];

#[derive(Default)]
struct Reader<'s> {
    rest: &'s [u8],
    before: Before,
    /// What stands before a place behind the parenthesis that may begin here.
    behind: Option<Before>,
    /// The same for the parentheses that are open.
    parentheses: Vec<Before>,
    /// The braces that are open: whether each is one of a template.
    braces: Vec<bool>,
}

impl<'s> Reader<'s> {
    /// The next word or anything else of the code; nothing at its end.
    fn next(&mut self) -> Result<Option<Token<'s>>, Unsure> {
        let rest = self.rest;
        let Some(first) = rest.first() else { return Ok(None) };
        if matches!(first, b' ' | b'\t' | b'\n' | b'\r') {
            self.skip(1);
            return Ok(Some(Token::Other));
        }
        if rest.starts_with(b"//") || rest.starts_with(b"/*") {
            self.comment()?;
            return Ok(Some(Token::Other));
        }
        let (before, behind) = (std::mem::take(&mut self.before), self.behind.take());
        match first {
            _ if is_word(*first) => {
                let length = rest.iter().position(|byte| !is_word(*byte)).unwrap_or(rest.len());
                let (word, rest) = rest.split_at(length);
                (self.rest, self.before, self.behind) = (rest, after_word(word), behind_head(word));
                return Ok(Some(Token::Word(word)));
            }
            b'\'' | b'"' => {
                self.text(*first)?;
                self.before = Before::Value;
            }
            b'`' => {
                self.skip(1);
                self.template()?;
            }
            b'/' => self.slash(before)?,
            b'<' if rest.starts_with(b"<!--") => return Err(Unsure),
            b'-' if rest.starts_with(b"-->") => return Err(Unsure),
            b'+' | b'-' => {
                let is_double = rest.get(1) == Some(first);
                self.skip(if is_double { 2 } else { 1 });
                self.before = if is_double { Before::Either } else { Before::Operator };
            }
            b'{' => {
                self.braces.push(false);
                self.skip(1);
            }
            b'}' => {
                self.skip(1);
                match self.braces.pop() {
                    Some(true) => self.template()?,
                    Some(false) | None => self.before = Before::Either,
                }
            }
            b'(' => {
                self.parentheses.push(behind.unwrap_or(Before::Value));
                self.skip(1);
            }
            b')' => {
                self.skip(1);
                self.before = self.parentheses.pop().unwrap_or(Before::Either);
            }
            b']' => {
                self.skip(1);
                self.before = Before::Value;
            }
            b'[' | b',' | b';' | b':' | b'=' | b'!' | b'&' | b'|' | b'?' | b'*' | b'%' | b'<' | b'>'
            | b'~' | b'^' => self.skip(1),
            b'.' if rest.starts_with(b"...") => self.skip(3),
            b'.' => {
                // The name of a member may be any word.
                let word = rest.get(1..).unwrap_or_default();
                let length = word.iter().position(|byte| !is_word(*byte)).unwrap_or(word.len());
                if length == 0 {
                    return Err(Unsure);
                }
                self.skip(1 + length);
                self.before = Before::Value;
                return Ok(word.get(..length).map(Token::Word));
            }
            _ => return Err(Unsure),
        }
        Ok(Some(Token::Other))
    }

    fn skip(&mut self, count: usize) {
        self.rest = self.rest.get(count..).unwrap_or_default();
    }

    fn comment(&mut self) -> Result<(), Unsure> {
        let inside = self.rest.get(2..).unwrap_or_default();
        if self.rest.starts_with(b"/*") {
            let end = inside.windows(2).position(|two| two == b"*/").ok_or(Unsure)?;
            if inside.iter().take(end).any(|byte| *byte == 0) {
                return Err(Unsure);
            }
            self.skip(2 + end + 2);
            return Ok(());
        }
        let length = inside.iter().position(|byte| *byte == b'\n').unwrap_or(inside.len());
        let comment = inside.get(..length).unwrap_or_default();
        let comment = comment.strip_suffix(b"\r").unwrap_or(comment);
        // These may end a comment too.
        let separators: [&[u8]; 2] = ["\u{2028}".as_bytes(), "\u{2029}".as_bytes()];
        let ends = comment.iter().any(|byte| matches!(byte, b'\r' | 0))
            || comment.windows(3).any(|three| separators.contains(&three));
        if ends {
            return Err(Unsure);
        }
        self.skip(2 + length);
        Ok(())
    }

    /// A regular expression or a division.
    fn slash(&mut self, before: Before) -> Result<(), Unsure> {
        match before {
            Before::Value => {
                self.skip(1);
                Ok(())
            }
            Before::Operator => self.expression(),
            Before::Either => Err(Unsure),
        }
    }

    /// A regular expression, whose flags are a word of their own.
    fn expression(&mut self) -> Result<(), Unsure> {
        let mut is_in_class = false;
        let mut at = 1;
        loop {
            match self.rest.get(at) {
                Some(b'\\') if matches!(self.rest.get(at + 1), Some(b' '..=b'~')) => at += 1,
                Some(b'[') => is_in_class = true,
                Some(b']') => is_in_class = false,
                Some(b'/') if !is_in_class => break,
                Some(b' '..=b'~') => {}
                _ => return Err(Unsure),
            }
            at += 1;
        }
        self.skip(at + 1);
        self.before = Before::Value;
        Ok(())
    }

    fn text(&mut self, quote: u8) -> Result<(), Unsure> {
        let mut at = 1;
        loop {
            match self.rest.get(at) {
                Some(b'\\') => match self.rest.get(at + 1..) {
                    Some([b'\r', b'\n', ..]) => at += 2,
                    Some([0 | b'\r', ..] | []) | None => return Err(Unsure),
                    Some(_) => at += 1,
                },
                Some(byte) if *byte == quote => break,
                Some(0 | b'\n' | b'\r') | None => return Err(Unsure),
                Some(_) => {}
            }
            at += 1;
        }
        self.skip(at + 1);
        Ok(())
    }

    /// The text of a template up to its end or to the next value in it.
    fn template(&mut self) -> Result<(), Unsure> {
        let mut at = 0;
        loop {
            match self.rest.get(at) {
                Some(b'\\') => match self.rest.get(at + 1) {
                    Some(0) | None => return Err(Unsure),
                    Some(_) => at += 1,
                },
                Some(b'`') => {
                    self.skip(at + 1);
                    self.before = Before::Value;
                    return Ok(());
                }
                Some(b'$') if self.rest.get(at + 1) == Some(&b'{') => {
                    self.skip(at + 2);
                    self.braces.push(true);
                    return Ok(());
                }
                Some(0) | None => return Err(Unsure),
                Some(_) => {}
            }
            at += 1;
        }
    }
}

fn after_word(word: &[u8]) -> Before {
    if OPERATORS.contains(&word) {
        Before::Operator
    } else if EITHER.contains(&word) {
        Before::Either
    } else {
        Before::Value
    }
}

/// What stands before a place behind the parenthesis that follows a word.
fn behind_head(word: &[u8]) -> Option<Before> {
    if HEADS.contains(&word) {
        Some(Before::Operator)
    } else {
        EITHER.contains(&word).then_some(Before::Either)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_comments_may_look_like_integers_of_any_length() {
        for source in [
            "function () { return 1 } // takes 2n steps",
            "function () { /* 2n\n 3n */ return '10n' + \"0xFFn\" + `5n` }",
            "function () { return `${'7n'} 8n ${`9n`} 1n` }",
            "function (a, b) { return (a + b) / 2 /* 2n */ / b }",
            "function (a) { if (a) /'2n/.test(a); return '3n' }",
            "function (a) { return a.replace(/[/'\"]/g, '') /* 2n */ }",
            "function (a) { return a[0] / 2 + 'a\\'2n' }",
            "function (a) { a.if(1) / 2; return '2n' }",
            "function () { return 'a\\\r\n2n' }\r\n// 2n\r\n",
            "function (x) { return { n: 2, x2n: [...x] } }",
        ] {
            assert!(!has_big_integer(source), "{source}");
        }
    }

    #[test]
    fn integers_of_any_length_are_found() {
        for source in [
            "1n",
            "0xFFn",
            "1_000n",
            "x =\u{a0}3n",
            "a.b + 2n",
            "x[2n]",
            "'a' + 2n",
            "`${2n}`",
            "`${{}}${`x`}` + 2n",
            "a / 2n / b",
            "/x/g; 2n",
            "/[/]'/; 2n; '",
            "if (a) /'/.test(b); 2n; '",
            "(a) / 2n; '/'",
            "a++ / 2n /'/",
            "} /'/; 2n; '",
            "} / 2n /'/",
            "of /'/; 2n; '",
            "<!-- /*\n 2n <!-- */",
            "--> /*\n 2n --> */",
            "// \u{2028} 2n",
            "// \r 2n",
            "'\n2n'",
            "break\n/'/; 2n; '",
            "x. if (a) /'/; 2n; '",
            "\u{e9} /'/; 2n; '",
            "#x /'/; 2n",
            "/* 2n",
            "`2n",
            "for await (x) /'/; 2n; '",
        ] {
            assert!(has_big_integer(source), "{source}");
        }
    }
}
