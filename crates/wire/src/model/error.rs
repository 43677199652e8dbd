//! The body of a response that is an error.
//!
//! What the error means is in the response's status and sub-status, not here.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{JsonError, from_json};

/// The body of an error. It is never empty: clients in other languages fail on that.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ErrorBody {
    /// A word for the status, such as `NotFound`. Some servers leave it out.
    #[serde(default)]
    pub code: String,
    /// What went wrong, for people.
    pub message: String,
    /// For a query that needs a plan: the plan, as text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub additional_error_info: Option<Value>,
}

impl ErrorBody {
    /// An error body with nothing besides `code` and `message`.
    pub fn new(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self { code: code.into(), message: message.into(), additional_error_info: None }
    }

    /// Reads the body of an error response.
    pub fn parse(body: &[u8]) -> Result<Self, JsonError> {
        from_json("error response", body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_survives_a_round_trip() {
        for text in [
            r#"{"code":"NotFound","message":"no such item"}"#,
            r#"{"code":"BadRequest","message":"m","additionalErrorInfo":"{\"queryRanges\":[]}"}"#,
        ] {
            assert_eq!(serde_json::to_string(&ErrorBody::parse(text.as_bytes()).unwrap()).unwrap(), text);
        }
    }

    #[test]
    fn what_is_no_error_body_is_refused() {
        for text in ["", "<html>", r#"{"code":"x"}"#, r#"{"code":404,"message":"m"}"#] {
            assert!(ErrorBody::parse(text.as_bytes()).is_err(), "{text}");
        }
    }
}
