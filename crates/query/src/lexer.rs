//! Query text to tokens, each with its place.
//!
//! Words are not classified here: most keywords of the dialect are also legal member names, so only the
//! parser, which knows the position, can tell them apart.

use crate::ast::Span;
use crate::value::is_exact;

/// One token and its place.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Token<'t> {
    pub(crate) kind: TokenKind<'t>,
    pub(crate) span: Span,
}

/// What a token is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TokenKind<'t> {
    /// A keyword or an identifier, as written.
    Word(&'t str),
    /// A string literal, unescaped.
    String(String),
    /// A finite number.
    Number(f64),
    /// An integer that no double is equal to.
    Integer(i64),
    /// A parameter with its `@`.
    Parameter(&'t str),
    /// An operator or a punctuation mark, one of [`SYMBOLS`].
    Symbol(&'static str),
    /// Text that is no token. The parser reports it if it gets that far.
    Invalid { found: String, expected: String },
    /// The end of the text.
    End,
}

/// Every operator and punctuation mark, longer ones before their prefixes.
const SYMBOLS: [&str; 32] = [
    ">>>", "<<", ">>", "<=", ">=", "<>", "!=", "??", "||", "(", ")", "[", "]", "{", "}", ",", ".", ":", "?",
    "=", "<", ">", "+", "-", "*", "/", "%", "|", "&", "^", "~", ";",
];

/// Splits `text` into tokens. The last one is either `End` or `Invalid`.
pub(crate) fn tokenize(text: &str) -> Vec<Token<'_>> {
    let mut lexer = Lexer { text, at: 0 };
    let mut tokens = Vec::new();
    loop {
        let token = lexer.next_token();
        let last = matches!(token.kind, TokenKind::End | TokenKind::Invalid { .. });
        tokens.push(token);
        if last {
            return tokens;
        }
    }
}

/// Whether `word` can be written as an identifier.
pub(crate) fn is_identifier(word: &str) -> bool {
    word.starts_with(starts_word) && word.chars().all(continues_word)
}

fn starts_word(c: char) -> bool {
    c == '_' || c.is_alphabetic()
}

fn continues_word(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

struct Lexer<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Lexer<'t> {
    fn next_token(&mut self) -> Token<'t> {
        if let Some(unclosed) = self.skip_blanks() {
            return unclosed;
        }
        let start = self.at;
        let kind = match self.peek() {
            None => TokenKind::End,
            Some(quote @ ('\'' | '"')) => self.string(quote).unwrap_or_else(|invalid| invalid),
            Some(c) if starts_word(c) => TokenKind::Word(self.take_while(continues_word)),
            Some(c) if c.is_ascii_digit() || (c == '.' && self.digit_follows()) => self.number(),
            Some('@') => self.parameter(),
            Some(c) => self.symbol(c),
        };
        Token { kind, span: Span { start, end: self.at } }
    }

    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn digit_follows(&self) -> bool {
        self.rest()[1..].starts_with(|c: char| c.is_ascii_digit())
    }

    fn take_while(&mut self, keep: impl Fn(char) -> bool) -> &'t str {
        let rest = self.rest();
        let length = rest.find(|c| !keep(c)).unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }

    /// Passes over blanks and comments; an unclosed comment is returned as an invalid token.
    fn skip_blanks(&mut self) -> Option<Token<'t>> {
        loop {
            self.take_while(char::is_whitespace);
            if self.rest().starts_with("--") {
                self.take_while(|c| c != '\n');
            } else if self.rest().starts_with("/*") {
                let start = self.at;
                match self.rest()[2..].find("*/") {
                    Some(length) => self.at += length + 4,
                    None => {
                        let kind = invalid("a comment without an end", "a closing `*/`");
                        return Some(Token { kind, span: Span { start, end: start + 2 } });
                    }
                }
            } else {
                return None;
            }
        }
    }

    fn symbol(&mut self, first: char) -> TokenKind<'t> {
        match SYMBOLS.iter().find(|symbol| self.rest().starts_with(**symbol)) {
            Some(symbol) => {
                self.at += symbol.len();
                TokenKind::Symbol(symbol)
            }
            None => {
                self.at += first.len_utf8();
                invalid(format!("`{}`", first.escape_debug()), "a word, a number, a string or an operator")
            }
        }
    }

    fn parameter(&mut self) -> TokenKind<'t> {
        let start = self.at;
        self.at += 1;
        if self.take_while(continues_word).is_empty() {
            return invalid("`@` alone", "a parameter name after `@`");
        }
        TokenKind::Parameter(&self.text[start..self.at])
    }

    fn number(&mut self) -> TokenKind<'t> {
        let start = self.at;
        let digits = |c: char| c.is_ascii_digit();
        self.take_while(digits);
        if self.rest().starts_with('.') {
            self.at += 1;
            self.take_while(digits);
        }
        if self.rest().starts_with(['e', 'E']) {
            self.at += 1;
            if self.rest().starts_with(['+', '-']) {
                self.at += 1;
            }
            self.take_while(digits);
        }
        // `12abc` is one mistake, not a number followed by an alias.
        self.take_while(continues_word);
        let written = &self.text[start..self.at];
        if let Ok(integer) = written.parse::<i64>()
            && !is_exact(integer)
        {
            return TokenKind::Integer(integer);
        }
        match written.parse::<f64>() {
            Ok(number) if number.is_finite() => TokenKind::Number(number),
            Ok(_) => {
                invalid(format!("the number {}", clip(written)), "a number within the range of a double")
            }
            Err(_) => invalid(format!("`{}`", clip(written)), "a number"),
        }
    }

    fn string(&mut self, quote: char) -> Result<TokenKind<'t>, TokenKind<'t>> {
        let start = self.at;
        self.at += 1;
        let mut value = String::new();
        loop {
            value.push_str(self.take_while(|c| c != quote && c != '\\'));
            if self.rest().starts_with('\\') {
                value.push(self.escape()?);
            } else if self.peek().is_some() {
                self.at += 1;
                return Ok(TokenKind::String(value));
            } else {
                // The caret points at the opening quote; the end of the text would say nothing.
                self.at = start + 1;
                return Err(invalid("a string without an end", format!("a closing {quote}")));
            }
        }
    }

    fn escape(&mut self) -> Result<char, TokenKind<'t>> {
        let start = self.at;
        self.at += 1;
        let letter = self.peek();
        self.at += letter.map_or(0, char::len_utf8);
        let value = match letter {
            Some(c @ ('\\' | '/' | '\'' | '"')) => Some(c),
            Some('b') => Some('\u{8}'),
            Some('f') => Some('\u{c}'),
            Some('n') => Some('\n'),
            Some('r') => Some('\r'),
            Some('t') => Some('\t'),
            Some('u') => self.unicode_escape(),
            _ => None,
        };
        value.ok_or_else(|| {
            let written = self.text[start..self.at].escape_debug();
            invalid(
                format!("the escape `{written}` in a string"),
                r#"one of \\ \/ \' \" \b \f \n \r \t or \uXXXX, with surrogates in pairs"#,
            )
        })
    }

    fn unicode_escape(&mut self) -> Option<char> {
        let first = self.four_hex_digits()?;
        if !(0xD800..0xDC00).contains(&first) {
            return char::from_u32(first);
        }
        self.at += self.rest().strip_prefix("\\u").map(|_| 2)?;
        let second = self.four_hex_digits().filter(|unit| (0xDC00..0xE000).contains(unit))?;
        char::from_u32(0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00))
    }

    fn four_hex_digits(&mut self) -> Option<u32> {
        let digits = self.rest().get(..4).filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()))?;
        self.at += 4;
        u32::from_str_radix(digits, 16).ok()
    }
}

fn invalid<'t>(found: impl Into<String>, expected: impl Into<String>) -> TokenKind<'t> {
    TokenKind::Invalid { found: found.into(), expected: expected.into() }
}

/// Enough of a long token to recognise it in a message.
pub(crate) fn clip(written: &str) -> String {
    const SHOWN: usize = 32;
    match written.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &written[..end]),
        None => written.to_owned(),
    }
}
