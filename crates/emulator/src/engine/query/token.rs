//! Continuation tokens: where a page ended, so that the next one goes on exactly there.
//!
//! A token holds positions by document number and by value, and parts by their keys. None of these changes when a
//! partition is split or documents are written, so a token outlives both. To clients it is a JSON text that they send back
//! as it is.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cosmonaut_query::eval::{Place, Progress};
use cosmonaut_query::value::Value;
use cosmonaut_wire::{EffectivePartitionKey, EpkRange};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::long_keys;
use crate::Failure;
use crate::index::Term;

const VERSION: u32 = 1;

/// More rows than any query has given. A token that counts more was not written here.
const MOST: u64 = i64::MAX as u64;

/// Where a page ended.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Token {
    /// Parts that are begun, in the order of their keys. What lies before the first is done; after the last, to do.
    pub(super) segments: Vec<Segment>,
    /// `OFFSET`, `LIMIT` and `TOP` so far.
    pub(super) progress: Progress,
    /// For `GROUP BY` and `DISTINCT`: the place of the last row.
    pub(super) after: Option<Place>,
    /// For lists that are read as a whole for each page: how many rows were given.
    pub(super) given: u64,
}

/// A part of the key space that is begun.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Segment {
    pub(super) keys: EpkRange,
    /// `None` if nothing of it was read.
    pub(super) position: Option<Position>,
}

/// A place in a sequence of documents.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Position {
    pub(super) key: Key,
    /// The document.
    pub(super) number: u64,
    /// How many of its rows are given; `None` if it is done.
    pub(super) rows: Option<u64>,
}

/// What a sequence of documents is sorted by, before their numbers.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Key {
    /// Nothing.
    Number,
    /// A term of the index.
    Term(Term),
    /// The values of `ORDER BY`.
    Values(Vec<Value>),
    /// An entry of a composite index. Only within a page.
    Composite(Box<[u8]>),
    /// What [`long_keys`](super::long_keys) finds the values of `ORDER BY` by. Only in a token.
    Digest([u8; 16]),
}

#[derive(Serialize, Deserialize)]
struct TokenText {
    v: u32,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    parts: Vec<SegmentText>,
    #[serde(default, skip_serializing_if = "is_zero")]
    skipped: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    emitted: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    after: Option<PlaceText>,
    #[serde(default, skip_serializing_if = "is_zero")]
    given: u64,
}

#[derive(Serialize, Deserialize)]
struct SegmentText {
    min: EffectivePartitionKey,
    max: EffectivePartitionKey,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    at: Option<PositionText>,
}

#[derive(Serialize, Deserialize)]
struct PositionText {
    /// In a list of its own, because a bare `null` would read as no term.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    term: Option<[Box<RawValue>; 1]>,
    /// Each value in a list of its own, which is empty for undefined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    keys: Option<Vec<Vec<Box<RawValue>>>>,
    /// In the place of these, where they are too long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    digest: Option<String>,
    number: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rows: Option<u64>,
}

/// A place in Base64: the hash, then what leads.
#[derive(Serialize, Deserialize)]
#[serde(transparent)]
struct PlaceText(String);

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Token {
    /// Reads a token; 400 if it is none.
    pub(super) fn read(text: &str) -> Result<Token, Failure> {
        let invalid = || refused(text);
        let read: TokenText = serde_json::from_str(text).map_err(|_| invalid())?;
        if read.v != VERSION || read.skipped.max(read.emitted).max(read.given) > MOST {
            return Err(invalid());
        }
        let segments = read.parts.into_iter().map(SegmentText::read).collect::<Option<Vec<_>>>();
        let sorted =
            |segments: &Vec<Segment>| segments.windows(2).all(|pair| pair[0].keys.max <= pair[1].keys.min);
        Ok(Token {
            segments: segments.filter(sorted).ok_or_else(invalid)?,
            progress: Progress { skipped: read.skipped, emitted: read.emitted },
            after: match read.after {
                Some(text) => Some(text.read().ok_or_else(invalid)?),
                None => None,
            },
            given: read.given,
        })
    }

    /// The text that [`Token::read`] reads.
    pub(super) fn write(&self) -> String {
        let text = TokenText {
            v: VERSION,
            parts: self.segments.iter().map(SegmentText::write).collect(),
            skipped: self.progress.skipped,
            emitted: self.progress.emitted,
            after: self.after.as_ref().map(PlaceText::write),
            given: self.given,
        };
        let json =
            serde_json::to_string(&text).expect("numbers, strings and JSON texts can always be written");
        in_ascii(&json)
    }
}

/// The same JSON in ASCII, which is what a header takes.
fn in_ascii(json: &str) -> String {
    let mut units = [0; 2];
    let mut ascii = String::with_capacity(json.len());
    for character in json.chars() {
        match character.is_ascii() {
            true => ascii.push(character),
            // Outside of strings JSON is ASCII.
            false => character
                .encode_utf16(&mut units)
                .iter()
                .for_each(|unit| ascii.push_str(&format!("\\u{unit:04x}"))),
        }
    }
    ascii
}

/// What a text that is no token of the query is answered with.
pub(super) fn refused(text: &str) -> Failure {
    Failure::bad_request(format!(
        "Invalid Continuation Token: {text:?} is not one of this query (send it back exactly as it was received, or \
         start without one)"
    ))
}

impl SegmentText {
    fn read(self) -> Option<Segment> {
        let position = match self.at {
            Some(at) => Some(at.read()?),
            None => None,
        };
        Some(Segment { keys: EpkRange { min: self.min, max: self.max }, position })
    }

    fn write(segment: &Segment) -> SegmentText {
        let keys = segment.keys.clone();
        SegmentText { min: keys.min, max: keys.max, at: segment.position.as_ref().map(PositionText::write) }
    }
}

impl PlaceText {
    fn read(self) -> Option<Place> {
        let bytes = STANDARD.decode(self.0).ok()?;
        let (hash, lead) = bytes.split_first_chunk()?;
        Some(Place { lead: lead.into(), hash: *hash })
    }

    fn write(place: &Place) -> PlaceText {
        PlaceText(STANDARD.encode([&place.hash, &place.lead[..]].concat()))
    }
}

impl PositionText {
    fn read(self) -> Option<Position> {
        let value = |text: &RawValue| Value::from_json(text.get().as_bytes()).ok();
        let key = match (self.term, self.keys, self.digest) {
            (None, None, Some(digest)) => Key::Digest(STANDARD.decode(digest).ok()?.try_into().ok()?),
            (Some([term]), None, None) => Key::Term(Term::of(&value(&term)?)?),
            (None, Some(keys), None) => {
                let each = keys.iter().map(|key| match &key[..] {
                    [] => Some(Value::Undefined),
                    [one] => value(one),
                    _ => None,
                });
                Key::Values(each.collect::<Option<Vec<_>>>()?)
            }
            (None, None, None) => Key::Number,
            (Some(_), Some(_), _) | (Some(_), _, Some(_)) | (_, Some(_), Some(_)) => return None,
        };
        Some(Position { key, number: self.number, rows: self.rows })
    }

    fn write(position: &Position) -> PositionText {
        let (number, rows) = (position.number, position.rows);
        let text = PositionText { term: None, keys: None, digest: None, number, rows };
        match &position.key {
            Key::Number | Key::Composite(_) => text,
            Key::Term(term) => PositionText { term: raw(&term.to_value()).map(|term| [term]), ..text },
            Key::Digest(digest) => PositionText { digest: Some(STANDARD.encode(digest)), ..text },
            Key::Values(values) => match long_keys::digest(values) {
                Some(digest) => PositionText { digest: Some(STANDARD.encode(digest)), ..text },
                None => {
                    let keys = values.iter().map(|value| raw(value).into_iter().collect()).collect();
                    PositionText { keys: Some(keys), ..text }
                }
            },
        }
    }
}

/// The JSON text of a value; none for undefined.
fn raw(value: &Value) -> Option<Box<RawValue>> {
    let text = String::from_utf8(value.to_json()?).ok()?;
    RawValue::from_string(text).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::index::tests::any_value;

    fn any_position() -> impl Strategy<Value = Position> {
        let key = prop_oneof![
            Just(Key::Number),
            any_value().prop_filter_map("a term", |value| Term::of(&value).map(Key::Term)),
            prop::collection::vec(any_value(), 1..4)
                .prop_map(|values| long_keys::digest(&values).map_or(Key::Values(values), Key::Digest)),
        ];
        (key, any::<u64>(), any::<Option<u64>>()).prop_map(|(key, number, rows)| Position {
            key,
            number,
            rows,
        })
    }

    #[test]
    fn null_is_a_term_and_a_key_like_any_other() {
        for key in [Key::Term(Term::Null), Key::Values(vec![Value::Null, Value::Undefined])] {
            let position = Some(Position { key, number: 1, rows: None });
            let token =
                Token { segments: vec![Segment { keys: EpkRange::FULL, position }], ..Token::default() };
            assert_eq!(Token::read(&token.write()).unwrap(), token);
        }
    }

    #[test]
    fn a_token_cannot_count_more_rows_than_there_are() {
        for counted in ["skipped", "emitted", "given"] {
            let text = format!("{{\"v\":1,\"{counted}\":{}}}", u64::MAX);
            assert!(Token::read(&text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn tokens_are_ascii_and_survive_the_trip(
            positions in prop::collection::vec(prop::option::of(any_position()), 0..3),
            skipped in 0..=MOST, emitted in 0..=MOST, given in 0..=MOST,
            after in prop::option::of((any::<[u8; 16]>(), any::<Vec<u8>>())),
        ) {
            let keys = |nth: usize| EffectivePartitionKey::from_bytes(&[nth as u8 * 16]);
            let segments = positions.into_iter().enumerate().map(|(nth, position)| {
                Segment { keys: EpkRange { min: keys(nth), max: keys(nth + 1) }, position }
            });
            let after = after.map(|(hash, lead)| Place { hash, lead: lead.into() });
            let progress = Progress { skipped, emitted };
            let token = Token { segments: segments.collect(), progress, after, given };
            let text = token.write();
            prop_assert!(text.is_ascii());
            prop_assert_eq!(Token::read(&text).unwrap(), token);
        }

        #[test]
        fn what_is_no_token_is_refused_by_name(text in "\\PC{0,40}") {
            let failure = Token::read(&text).unwrap_err();
            prop_assert!(failure.message.contains(&format!("{text:?}")), "{}", failure);
        }
    }
}
