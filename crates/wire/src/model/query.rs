//! The body of a query: its text and its parameters.
//!
//! The text is not parsed here, nor are the parameters' values.

use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

use super::json::null_as_default;

/// A query and its parameters.
///
/// ```
/// use cosmonaut_wire::model::QuerySpec;
///
/// # fn main() -> Result<(), serde_json::Error> {
/// let query = QuerySpec::new("SELECT * FROM c WHERE c.n > @n").with_parameter("@n", &7)?;
/// assert_eq!(query.parameters[0].value.get(), "7");
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct QuerySpec {
    /// The text.
    pub query: String,
    /// Values for the names in the text.
    #[serde(default, deserialize_with = "null_as_default")]
    pub parameters: Vec<QueryParameter>,
}

impl QuerySpec {
    /// A query without parameters.
    pub fn new(query: impl Into<String>) -> Self {
        Self { query: query.into(), parameters: Vec::new() }
    }

    /// Adds a parameter; `name` starts with `@`. Fails if `value` has no JSON form.
    pub fn with_parameter(
        mut self,
        name: impl Into<String>,
        value: &(impl Serialize + ?Sized),
    ) -> Result<Self, serde_json::Error> {
        self.parameters.push(QueryParameter { name: name.into(), value: to_raw_value(value)? });
        Ok(self)
    }
}

impl From<&str> for QuerySpec {
    fn from(query: &str) -> Self {
        Self::new(query)
    }
}

impl From<String> for QuerySpec {
    fn from(query: String) -> Self {
        Self::new(query)
    }
}

/// A value for a name in a query's text.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct QueryParameter {
    /// The name, with its `@`.
    pub name: String,
    /// The value, as JSON text.
    pub value: Box<RawValue>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_keep_their_text() {
        let text = r#"{"query":"SELECT @a","parameters":[{"name":"@a","value":[1.0, null]},{"name":"@b","value":null}]}"#;
        let spec: QuerySpec = serde_json::from_str(text).unwrap();
        assert_eq!(spec.parameters[1].value.get(), "null");
        assert_eq!(serde_json::to_string(&spec).unwrap(), text);
    }

    #[test]
    fn parameters_may_be_missing_or_null() {
        for text in
            [r#"{"query":"q"}"#, r#"{"query":"q","parameters":null}"#, r#"{"query":"q","parameters":[]}"#]
        {
            let spec: QuerySpec = serde_json::from_str(text).unwrap();
            assert!(spec.parameters.is_empty(), "{text}");
        }
    }
}
