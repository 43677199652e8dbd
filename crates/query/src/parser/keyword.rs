//! Which words can be names.
//!
//! Nearly all keywords of the dialect are also ordinary member names and aliases (`value`, `top`, `order`),
//! so only the few that would make a text ambiguous are reserved everywhere.

use super::Parser;
use crate::lexer::TokenKind;

/// The words that are never a bare name.
const RESERVED: [&str; 15] = [
    "SELECT",
    "FROM",
    "WHERE",
    "JOIN",
    "AS",
    "AND",
    "OR",
    "NOT",
    "IN",
    "BETWEEN",
    "LIKE",
    "TRUE",
    "FALSE",
    "NULL",
    "UNDEFINED",
];

/// Whether `word` can never stand as a bare name.
pub(crate) fn is_reserved(word: &str) -> bool {
    RESERVED.iter().any(|reserved| word.eq_ignore_ascii_case(reserved))
}

impl<'t> Parser<'t> {
    /// The current token as a bare name, unless it is reserved or begins a clause.
    pub(super) fn peek_name(&self) -> Option<&'t str> {
        match self.token().kind {
            TokenKind::Word(word) if !is_reserved(word) && !self.begins_clause() => Some(word),
            _ => None,
        }
    }

    /// Whether a clause that can follow an expression begins here.
    fn begins_clause(&self) -> bool {
        ((self.is_keyword("ORDER") || self.is_keyword("GROUP")) && self.is_keyword_ahead(1, "BY"))
            || (self.is_keyword("OFFSET") && self.count_follows())
    }

    /// Whether the token after the current one can be a count.
    pub(super) fn count_follows(&self) -> bool {
        matches!(self.ahead(1).kind, TokenKind::Number(_) | TokenKind::Integer(_) | TokenKind::Parameter(_))
    }

    /// Whether the token after the current one can begin an expression.
    pub(super) fn expression_follows(&self) -> bool {
        match self.ahead(1).kind {
            TokenKind::String(_) | TokenKind::Number(_) | TokenKind::Integer(_) | TokenKind::Parameter(_) => {
                true
            }
            TokenKind::Symbol(symbol) => matches!(symbol, "(" | "[" | "{" | "-" | "+" | "~"),
            TokenKind::Word(word) => {
                let constant = ["NOT", "TRUE", "FALSE", "NULL", "UNDEFINED"];
                !is_reserved(word) || constant.iter().any(|c| word.eq_ignore_ascii_case(c))
            }
            // Taken as an expression, so that the mistake is reported where it stands.
            TokenKind::Invalid { .. } => true,
            TokenKind::End => false,
        }
    }
}
