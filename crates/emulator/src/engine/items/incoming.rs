//! An item as a client sends it: checked, stripped of system members, and ready to be stamped.
//!
//! Everything here happens before any lock is taken.

use cosmonaut_query::raw::{RawJson, read_string, validate};
use cosmonaut_query::value::{Kind, write_string};
use cosmonaut_wire::model::TimeToLive;
use cosmonaut_wire::{CosmosStatus, EffectivePartitionKey, PartitionKey};

use super::MAX_ITEM_BYTES;
use super::members::check_members;
use super::text::check_text;
use crate::Failure;
use crate::engine::document::SYSTEM_MEMBERS;
use crate::engine::key::KeyReader;

/// An item that may be written, as far as the item alone can tell.
#[derive(Clone, Debug)]
pub(super) struct Incoming {
    /// The JSON object without blanks, without system members and without its closing brace.
    pub(super) open: Vec<u8>,
    pub(super) id: Box<str>,
    pub(super) key: PartitionKey,
    pub(super) epk: EffectivePartitionKey,
    pub(super) ttl: Option<TimeToLive>,
}

/// The longest id, in bytes.
const MAX_ID: usize = 1023;

impl Incoming {
    /// Reads an item. `header` is the request's partition key, which the item's must equal.
    pub(super) fn read(
        body: &[u8],
        keys: &KeyReader,
        header: Option<&PartitionKey>,
    ) -> Result<Self, Failure> {
        check_size(body.len())?;
        validate(body)
            .map_err(|error| Failure::bad_request(format!("the item is not acceptable: {error}")))?;
        check_text(body)?;
        let item = RawJson::new(body);
        if item.kind() != Kind::Object {
            return Err(Failure::bad_request("the item is not a JSON object"));
        }
        check_members(item, keys.paths())?;
        let mut open = Vec::with_capacity(body.len() + 1);
        open.push(b'{');
        let (mut id, mut ttl) = (None, None);
        for (name, value) in item.members() {
            if SYSTEM_MEMBERS.iter().any(|system| name.is(system)) {
                continue;
            }
            if name.is("id") {
                id = Some(value);
            } else if name.is("ttl") {
                ttl = Some(value);
            }
            if open.len() > 1 {
                open.push(b',');
            }
            write_string(&name.name(), &mut open);
            open.push(b':');
            push_compact(value, &mut open);
        }
        let id = read_id(id)?;
        let ttl = read_ttl(ttl)?;
        let key = keys.key_of(body)?;
        check_key(&key, header)?;
        let epk = keys.place(&key)?;
        Ok(Self { open, id, key, epk, ttl })
    }
}

/// 413 if an item of so many bytes is too large.
pub(super) fn check_size(bytes: usize) -> Result<(), Failure> {
    if bytes <= MAX_ITEM_BYTES {
        return Ok(());
    }
    Err(Failure::too_large(format_args!("an item has at most {MAX_ITEM_BYTES} bytes, not {bytes}")))
}

/// 400/1001 if the item's key is not the one in the header.
fn check_key(found: &PartitionKey, header: Option<&PartitionKey>) -> Result<(), Failure> {
    match header {
        Some(header) if header != found => Err(Failure::new(
            CosmosStatus::PARTITION_KEY_MISMATCH,
            format!(
                "PartitionKey extracted from document doesn't match the one specified in the header: {found} is not \
                 {header}"
            ),
        )),
        _ => Ok(()),
    }
}

fn read_id(value: Option<RawJson<'_>>) -> Result<Box<str>, Failure> {
    let Some(value) = value else {
        return Err(Failure::bad_request(
            "The input content is invalid because the required properties - 'id; ' - are missing",
        ));
    };
    let id = value.as_str().ok_or_else(|| Failure::bad_request("the item's id is not a string"))?;
    let problem = if id.is_empty() {
        "is empty"
    } else if id.len() > MAX_ID {
        "is longer than 1023 bytes"
    } else if id.contains(['/', '\\', '\0']) {
        "contains '/', '\\' or a null character, which no path can"
    } else {
        return Ok(id.into());
    };
    Err(Failure::invalid_id(&id, MAX_ID + 1, format_args!("the item's id {problem}")))
}

fn read_ttl(value: Option<RawJson<'_>>) -> Result<Option<TimeToLive>, Failure> {
    let Some(value) = value else { return Ok(None) };
    let seconds = value.as_number().filter(|seconds| seconds.fract() == 0.0 && seconds.abs() < 1e15);
    let ttl = seconds.and_then(|seconds| TimeToLive::try_from(seconds as i64).ok());
    ttl.map(Some).ok_or_else(|| {
        let shown: String = String::from_utf8_lossy(value.as_bytes()).chars().take(100).collect();
        Failure::bad_request(format!(
            "The input ttl {shown} is invalid: it is -1, or 1 to {} seconds",
            TimeToLive::MAX_SECONDS
        ))
    })
}

/// Appends a value without the blanks between its tokens.
fn push_compact(value: RawJson<'_>, into: &mut Vec<u8>) {
    let text = value.as_bytes();
    let mut start = 0;
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        at = match byte {
            b'"' => read_string(text, at).0,
            b' ' | b'\t' | b'\n' | b'\r' => {
                into.extend_from_slice(&text[start..at]);
                start = at + 1;
                start
            }
            _ => at + 1,
        };
    }
    into.extend_from_slice(&text[start..]);
}

#[cfg(test)]
mod tests {
    use cosmonaut_wire::model::PartitionKeyDefinition;

    use super::*;

    fn read(body: &str, header: Option<&str>) -> Result<Incoming, Failure> {
        let keys = KeyReader::new(&PartitionKeyDefinition::from("/pk")).unwrap();
        Incoming::read(body.as_bytes(), &keys, header.map(PartitionKey::from).as_ref())
    }

    #[test]
    fn blanks_and_system_members_are_taken_out() {
        for (body, open) in [
            (r#"{"id":"1"}"#, r#"{"id":"1""#),
            (
                "{ \"id\" : \"1\" ,\n\t\"a b\":[ 1 , { \"c\\\" d\" : \"e  f\" } ] }",
                r#"{"id":"1","a b":[1,{"c\" d":"e  f"}]"#,
            ),
            (
                r#"{"_rid":1,"id":"1","_self":2,"_etag":3,"_ts":{"_ts":4},"_attachments":5,"x":{"_ts":6}}"#,
                r#"{"id":"1","x":{"_ts":6}"#,
            ),
            (r#"{"\u005fts":1,"id":"1","n":1.50e3}"#, r#"{"id":"1","n":1.50e3"#),
        ] {
            assert_eq!(String::from_utf8(read(body, None).unwrap().open).unwrap(), open);
        }
    }

    #[test]
    fn what_is_no_item_is_refused_with_the_reason() {
        let (long, deep) = ("x".repeat(1024), format!("{}{}", "[".repeat(200), "]".repeat(200)));
        for (body, part) in [
            ("", "not acceptable"),
            ("[]", "not a JSON object"),
            ("{\"id\":\"1\"", "not acceptable"),
            ("{}", "required properties - 'id; '"),
            (r#"{"id":1}"#, "not a string"),
            (r#"{"id":""}"#, "is empty"),
            (r#"{"id":"a/b"}"#, "'/'"),
            (&format!(r#"{{"id":"{long}"}}"#), "longer than 1023"),
            (r#"{"id":"1","ttl":0}"#, "ttl 0"),
            (r#"{"id":"1","ttl":null}"#, "ttl null"),
            (r#"{"id":"1","ttl":1.5}"#, "ttl 1.5"),
            (r#"{"id":"1","ttl":"x"}"#, "ttl \"x\""),
            (r#"{"id":"1","pk":"a","id":"2"}"#, "member \"id\" twice"),
            (r#"{"id":"1","pk":"a","p\u006b":"b"}"#, "member \"pk\" twice"),
            (r#"{"id":"1","ttl":1,"n":2,"ttl":3}"#, "member \"ttl\" twice"),
            (r#"{"_ts":1,"id":"1","_ts":2}"#, "member \"_ts\" twice"),
            (r#"{"id":"1","n":1,"n":1}"#, "member \"n\" twice"),
            (&format!(r#"{{"id":"1","d":{deep}}}"#), "not acceptable"),
        ] {
            let failure = read(body, None).unwrap_err();
            assert_eq!(failure.status, CosmosStatus::BAD_REQUEST, "{body}");
            assert!(failure.message.contains(part), "{body}: {failure}");
        }
    }

    #[test]
    fn a_key_inside_of_an_object_is_there_once() {
        let keys = KeyReader::new(&PartitionKeyDefinition::new(["/a/b", "/c"])).unwrap();
        let read = |body: &str| Incoming::read(body.as_bytes(), &keys, None);
        assert!(read(r#"{"id":"1","a":{"b":1,"x":{"y":1,"y":2}},"c":[{"z":1,"z":2}]}"#).is_ok());
        let failure = read(r#"{"id":"1","a":{"b":1,"b":2},"c":3}"#).unwrap_err();
        assert!(failure.message.contains("member \"b\" twice"), "{failure}");
    }

    #[test]
    fn the_key_must_be_the_headers() {
        assert!(read(r#"{"id":"1","pk":"a"}"#, Some("a")).is_ok());
        for body in [r#"{"id":"1","pk":"b"}"#, r#"{"id":"1"}"#] {
            assert_eq!(read(body, Some("a")).unwrap_err().status, CosmosStatus::PARTITION_KEY_MISMATCH);
        }
    }

    #[test]
    fn an_item_has_a_largest_size() {
        let body = |len: usize| format!(r#"{{"id":"1","x":"{}"}}"#, "y".repeat(len - 17));
        assert!(read(&body(MAX_ITEM_BYTES), None).is_ok());
        assert_eq!(
            read(&body(MAX_ITEM_BYTES + 1), None).unwrap_err().status,
            CosmosStatus::REQUEST_ENTITY_TOO_LARGE
        );
    }

    #[test]
    fn a_time_to_live_is_read() {
        for (ttl, expected) in [("-1", Some(TimeToLive::NoExpiry)), ("10.0", TimeToLive::seconds(10).ok())] {
            assert_eq!(read(&format!(r#"{{"id":"1","ttl":{ttl}}}"#), None).unwrap().ttl, expected, "{ttl}");
        }
    }
}
