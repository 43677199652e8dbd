//! Errors of queries in the service's words: its codes, its texts, its JSON.
//!
//! What a user of this workspace reads is said elsewhere, with the place shown in the text.

use std::borrow::Cow;

use serde_json::json;

use crate::ast::Span;

/// What the service says of a query that it refuses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wording {
    /// A code such as `SC1001`, a text, and the place.
    Coded {
        /// The code.
        code: &'static str,
        /// The bytes concerned.
        span: Span,
        /// The text.
        message: String,
    },
    /// A number and a text, as some errors have them.
    Numbered(u32, &'static str),
    /// A text alone.
    Plain(Cow<'static, str>),
}

impl Wording {
    pub(crate) fn coded(code: &'static str, span: Span, message: impl Into<String>) -> Wording {
        Wording::Coded { code, span, message: message.into() }
    }

    /// The JSON that the service answers with for an error in `text`.
    ///
    /// ```
    /// let text = "SELECT BADFUNC(1)";
    /// let error = cosmonaut_query::check(&cosmonaut_query::parse(text).unwrap(), text).unwrap_err();
    /// assert_eq!(
    ///     error.wording().to_json(text),
    ///     r#"{"errors":[{"severity":"Error","location":{"start":7,"end":14},"code":"SC2005","message":"'BADFUNC' is not a recognized built-in function name."}]}"#
    /// );
    /// ```
    pub fn to_json(&self, text: &str) -> String {
        let error = match self {
            // Written by hand, because the members have an order.
            Wording::Coded { code, span, message } => format!(
                r#""location":{{"start":{},"end":{}}},"code":"{code}","message":{}"#,
                characters(text, span.start),
                characters(text, span.end),
                json!(message)
            ),
            Wording::Numbered(code, message) => format!(r#""code":{code},"message":{}"#, json!(message)),
            Wording::Plain(message) => return format!(r#"{{"Errors":[{}]}}"#, json!(message)),
        };
        format!(r#"{{"errors":[{{"severity":"Error",{error}}}]}}"#)
    }
}

/// How many characters are before a byte.
fn characters(text: &str, byte: usize) -> usize {
    text.char_indices().take_while(|(at, _)| *at < byte).count()
}
