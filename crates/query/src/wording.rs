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
    /// Several, none of which is itself several.
    Several(Vec<Wording>),
}

impl Wording {
    pub(crate) fn coded(code: &'static str, span: Span, message: impl Into<String>) -> Wording {
        Wording::Coded { code, span, message: message.into() }
    }

    /// One wording of several: those with a code, or else the texts alone.
    pub(crate) fn all(mut wordings: Vec<Wording>) -> Wording {
        let is_plain = |wording: &Wording| matches!(wording, Wording::Plain(_));
        if !wordings.iter().all(is_plain) {
            wordings.retain(|wording| !is_plain(wording));
        }
        match wordings.len() {
            1 => wordings.swap_remove(0),
            _ => Wording::Several(wordings),
        }
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
        self.write(text, |code| format!("\"{code}\""))
    }

    /// The same with plain numbers for codes, as in the texts about computed properties.
    ///
    /// ```
    /// let text = "SELECT VALUE d";
    /// let error = cosmonaut_query::check(&cosmonaut_query::parse(text).unwrap(), text).unwrap_err();
    /// assert!(error.wording().to_json_with_numbers(text).contains(r#""code":2001"#));
    /// ```
    pub fn to_json_with_numbers(&self, text: &str) -> String {
        self.write(text, |code| code.trim_start_matches("SC").to_owned())
    }

    fn write(&self, text: &str, code: fn(&str) -> String) -> String {
        let listed = match self {
            Wording::Several(wordings) => &wordings[..],
            one => std::slice::from_ref(one),
        };
        let plain = listed.iter().all(|wording| matches!(wording, Wording::Plain(_)));
        let errors: Vec<String> = listed.iter().map(|wording| wording.error(text, code)).collect();
        format!(r#"{{"{}":[{}]}}"#, if plain { "Errors" } else { "errors" }, errors.join(","))
    }

    /// One element of the list. It is written by hand, because the members have an order.
    fn error(&self, text: &str, written: fn(&str) -> String) -> String {
        match self {
            Wording::Coded { code, span, message } => format!(
                r#"{{"severity":"Error","location":{{"start":{},"end":{}}},"code":{},"message":{}}}"#,
                characters(text, span.start),
                characters(text, span.end),
                written(code),
                json!(message)
            ),
            Wording::Numbered(code, message) => {
                format!(r#"{{"severity":"Error","code":{code},"message":{}}}"#, json!(message))
            }
            Wording::Plain(message) => json!(message).to_string(),
            Wording::Several(_) => String::new(),
        }
    }
}

/// How many characters are before a byte.
fn characters(text: &str, byte: usize) -> usize {
    text.char_indices().take_while(|(at, _)| *at < byte).count()
}
