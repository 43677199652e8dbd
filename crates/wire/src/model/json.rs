//! Reading a body into a shape, with an error that names the document and the member at fault.
//!
//! Writing needs no help: use `serde_json` on the types directly.

use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer};

use super::json_place::way_to;

/// A body that is not the document it should be.
#[derive(Debug)]
pub struct JsonError {
    document: &'static str,
    member: String,
    source: serde_json::Error,
}

impl JsonError {
    /// What was being read, such as `container`.
    pub fn document(&self) -> &'static str {
        self.document
    }

    /// The way to the member at fault, such as `indexingPolicy.includedPaths[0].path`; `.` is the whole body.
    pub fn member(&self) -> &str {
        &self.member
    }
}

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { document, member, source } = self;
        match member.as_str() {
            "." => write!(f, "reading {document}: {source}"),
            _ => write!(f, "reading {document}, at `{member}`: {source}"),
        }
    }
}

impl std::error::Error for JsonError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

/// Reads `body` as a `T`. `document` says what it is, for the error.
///
/// ```
/// use cosmonaut_wire::model::{ContainerProperties, from_json};
///
/// let body = br#"{"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash"},"defaultTtl":"soon"}"#;
/// let error = from_json::<ContainerProperties>("container", body).unwrap_err();
/// assert_eq!(error.member(), "defaultTtl");
/// ```
pub fn from_json<'de, T: Deserialize<'de>>(document: &'static str, body: &'de [u8]) -> Result<T, JsonError> {
    from_json_seed(document, body, PhantomData::<T>)
}

/// Reads any value.
///
/// Other than [`from_json`], this is compiled once, in this crate.
pub fn parse_value(text: &[u8]) -> serde_json::Result<serde_json::Value> {
    serde_json::from_slice(text)
}

/// As [`from_json`], for what is read with the help of a value.
pub(super) fn from_json_seed<'de, S>(
    document: &'static str,
    body: &'de [u8],
    seed: S,
) -> Result<S::Value, JsonError>
where
    S: DeserializeSeed<'de>,
{
    let mut plain = serde_json::Deserializer::from_slice(body);
    let read = seed.deserialize(&mut plain).and_then(|value| plain.end().map(|()| value));
    read.map_err(|source| {
        let member = way_to(body, (source.line(), source.column()));
        JsonError { document, member, source }
    })
}

/// For members that some servers write as `null` and others leave out: both read as the default.
pub(super) fn null_as_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// For members where `null` is a value of its own, apart from a missing member.
pub(super) fn present<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    T::deserialize(deserializer).map(Some)
}

#[cfg(test)]
mod tests {
    use super::super::{ContainerProperties, Offer, PatchDocument, QuerySpec};
    use super::*;

    fn member_of<'de, T: Deserialize<'de> + fmt::Debug>(body: &'de str) -> String {
        let error = from_json::<T>("document", body.as_bytes()).unwrap_err();
        assert!(error.to_string().starts_with("reading document"), "{error}");
        error.member().to_owned()
    }

    #[test]
    fn an_error_names_the_member_at_fault() {
        let key = r#""partitionKey":{"paths":["/a"]}"#;
        let container = [
            (format!(r#"{{"id":7,{key}}}"#), "id"),
            (r#"{"id":"c","partitionKey":{"paths":[1]}}"#.to_owned(), "partitionKey.paths[0]"),
            (format!(r#"{{"id":"c",{key},"_ts":"x"}}"#), "_ts"),
            (
                format!(r#"{{"id":"c",{key},"indexingPolicy":{{"includedPaths":[{{"path":[]}}]}}}}"#),
                "indexingPolicy.includedPaths[0].path",
            ),
        ];
        for (body, member) in &container {
            assert_eq!(member_of::<ContainerProperties>(body), *member, "{body}");
        }
        assert_eq!(
            member_of::<Offer>(r#"{"content":{"offerAutopilotSettings":{"maxThroughput":-1}}}"#),
            "content.offerAutopilotSettings.maxThroughput"
        );
        assert_eq!(
            member_of::<QuerySpec>(r#"{"query":"q","parameters":[{"name":0}]}"#),
            "parameters[0].name"
        );
        assert_eq!(member_of::<PatchDocument>(r#"[{"op":"set","path":"/a","value":1},{"op":2}]"#), "[1].op");
    }

    #[test]
    fn a_missing_member_is_named_by_the_message() {
        let error = from_json::<ContainerProperties>("container", br#"{"id":"c"}"#).unwrap_err();
        assert!(error.to_string().contains("missing field `partitionKey`"), "{error}");
    }

    #[test]
    fn trailing_text_is_refused() {
        assert!(from_json::<QuerySpec>("query", br#"{"query":"q"} x"#).is_err());
    }
}
