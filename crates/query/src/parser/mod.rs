//! Query text to syntax tree: a hand-written parser that keeps positions and bounds its own depth.
//!
//! `clauses` reads the clauses of a query, `expression` what stands inside them. Whether names exist and
//! functions are called rightly is not decided here but in [`check`](crate::check).

mod clauses;
mod error;
mod expression;
mod keyword;
#[cfg(test)]
mod tests;

pub use error::SyntaxError;
pub(crate) use keyword::is_reserved;

use crate::ast::{Expr, ExprKind, Query, Span};
use crate::lexer::{Token, TokenKind, clip, tokenize};
use crate::wording::Wording;

/// The longest query text accepted, in bytes: the service's own limit.
pub const MAX_TEXT_LENGTH: usize = 512 * 1024;

/// How deeply expressions and subqueries may nest. It bounds the height of the tree, and with it the stack
/// of everything that walks one. Chains of `AND` or `OR` of any length stay far below it.
pub const MAX_DEPTH: usize = 100;

/// How deeply the parser itself may nest. Parentheses nest it without raising the tree, and the printer puts
/// at most one pair around each node: with twice the room, what it prints always parses again.
const MAX_NESTING: usize = 2 * MAX_DEPTH;

/// How many operands of an `AND` or `OR` chain are grouped as written, to the left. A longer chain is cut
/// into groups of this many, and those again, so that its height grows with the logarithm of its length.
pub(crate) const CHAIN: usize = 8;

/// Parses a query.
///
/// ```
/// let query = cosmonaut_query::parse("SELECT c.name FROM c WHERE c.age > @age").unwrap();
/// assert!(query.filter.is_some());
///
/// let error = cosmonaut_query::parse("SELECT * FORM c").unwrap_err();
/// assert_eq!((error.line(), error.column(), error.found()), (1, 10, "`FORM`"));
/// ```
pub fn parse(text: &str) -> Result<Query, SyntaxError> {
    if text.len() > MAX_TEXT_LENGTH {
        let found = format!("a query of {} bytes", text.len());
        let expected = format!("at most {MAX_TEXT_LENGTH} bytes (pass long lists as a parameter)");
        let message =
            format!("The SQL query text exceeded the maximum limit of {MAX_TEXT_LENGTH} characters");
        let wording = Wording::Plain(message.into());
        return Err(SyntaxError::worded(text, Span::default(), (found, expected), wording));
    }
    let mut parser = Parser { text, tokens: tokenize(text), at: 0, nesting: 0 };
    let (query, _) = parser.query()?;
    if !matches!(parser.token().kind, TokenKind::End) {
        return Err(parser.unexpected(clauses::after(&query)));
    }
    Ok(*query)
}

type Result<T, E = SyntaxError> = std::result::Result<T, E>;

struct Parser<'t> {
    text: &'t str,
    tokens: Vec<Token<'t>>,
    at: usize,
    nesting: usize,
}

/// An expression and the height of its tree. Boxed, because every level of the recursion holds several.
struct Tree {
    expr: Box<Expr>,
    height: usize,
}

impl<'t> Parser<'t> {
    fn token(&self) -> &Token<'t> {
        self.ahead(0)
    }

    /// The token `count` places ahead; past the end it is the last one.
    fn ahead(&self, count: usize) -> &Token<'t> {
        let last = self.tokens.len() - 1;
        &self.tokens[(self.at + count).min(last)]
    }

    /// Takes the current token. The last one is never passed, so there always is a current token.
    fn advance(&mut self) {
        self.at = (self.at + 1).min(self.tokens.len() - 1);
    }

    fn start(&self) -> usize {
        self.token().span.start
    }

    /// The span from `start` to the end of the last token taken.
    fn span_from(&self, start: usize) -> Span {
        let end = self.at.checked_sub(1).map_or(start, |before| self.tokens[before].span.end);
        Span { start, end: end.max(start) }
    }

    fn is_symbol(&self, symbol: &str) -> bool {
        matches!(self.token().kind, TokenKind::Symbol(s) if s == symbol)
    }

    fn take_symbol(&mut self, symbol: &str) -> bool {
        let found = self.is_symbol(symbol);
        if found {
            self.advance();
        }
        found
    }

    fn expect_symbol(&mut self, symbol: &str) -> Result<()> {
        if self.take_symbol(symbol) { Ok(()) } else { Err(self.unexpected(format!("`{symbol}`"))) }
    }

    /// Whether the word `count` places ahead is this keyword.
    fn is_keyword_ahead(&self, count: usize, keyword: &str) -> bool {
        matches!(self.ahead(count).kind, TokenKind::Word(word) if word.eq_ignore_ascii_case(keyword))
    }

    fn is_keyword(&self, keyword: &str) -> bool {
        self.is_keyword_ahead(0, keyword)
    }

    fn take_keyword(&mut self, keyword: &str) -> bool {
        let found = self.is_keyword(keyword);
        if found {
            self.advance();
        }
        found
    }

    fn expect_keyword(&mut self, keyword: &str) -> Result<()> {
        if self.take_keyword(keyword) { Ok(()) } else { Err(self.unexpected(keyword)) }
    }

    /// Takes any word at all, keywords included: for positions where nothing but a name can stand.
    fn any_word(&mut self, expected: &str) -> Result<String> {
        match self.token().kind {
            TokenKind::Word(word) => {
                self.advance();
                Ok(word.to_owned())
            }
            _ => Err(self.unexpected(expected)),
        }
    }

    /// An error at the current token.
    fn unexpected(&self, expected: impl Into<String>) -> SyntaxError {
        let Token { kind, span } = self.token();
        let written = || clip(&self.text[span.start..span.end]);
        let (found, expected) = match kind {
            TokenKind::Invalid { found, expected } => {
                let words = (found.clone(), expected.clone());
                let written = &self.text[span.start..span.end];
                return match written.starts_with(['"', '\'']) {
                    true => {
                        let message = format!("Syntax error, invalid string literal token '{written}'.");
                        let wording = Wording::coded("SC1012", *span, message);
                        SyntaxError::worded(self.text, *span, words, wording)
                    }
                    false => SyntaxError::new(self.text, *span, words.0, words.1),
                };
            }
            TokenKind::End => ("the end of the query".to_owned(), expected.into()),
            TokenKind::String(_) => (format!("the string {}", written()), expected.into()),
            TokenKind::Number(_) | TokenKind::Integer(_) => {
                (format!("the number {}", written()), expected.into())
            }
            TokenKind::Parameter(_) => (format!("the parameter {}", written()), expected.into()),
            TokenKind::Word(_) | TokenKind::Symbol(_) => (format!("`{}`", written()), expected.into()),
        };
        SyntaxError::new(self.text, *span, found, expected)
    }

    fn too_deep(&self, span: Span) -> SyntaxError {
        let found = format!("nesting of more than {MAX_DEPTH} levels");
        SyntaxError::new(self.text, span, found, "a flatter query".to_owned())
    }

    /// Runs `parse` one level deeper.
    fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.nesting == MAX_NESTING {
            return Err(self.too_deep(self.token().span));
        }
        self.nesting += 1;
        let parsed = parse(self);
        self.nesting -= 1;
        parsed
    }

    /// A node over children of at most the given height.
    fn node(&self, kind: ExprKind, start: usize, children: usize) -> Result<Tree> {
        let span = self.span_from(start);
        if children >= MAX_DEPTH {
            return Err(self.too_deep(span));
        }
        Ok(Tree { expr: Box::new(Expr { kind, span }), height: children + 1 })
    }
}
