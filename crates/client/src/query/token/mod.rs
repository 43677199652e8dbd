//! The continuation of a query: what it is of, and what was given.
//!
//! Parts of the container are named by their keys, never by partition, so that a token outlives splits.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use cosmonaut_query::merge::{Mark, Standing, Window};
use cosmonaut_query::value::Value;
use cosmonaut_wire::model::QuerySpec;
use cosmonaut_wire::{EffectivePartitionKey, EpkRange, ResourceId};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use crate::feed_scope::ResolvedScope;
use crate::feeds::token::{self, PartText};
use crate::{Error, Result};

/// What tokens of queries call themselves.
pub(super) const KIND: &str = "query";

/// What a token is of. It continues nothing else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Binding {
    /// A hash of the text and its parameters.
    query: String,
    scope: String,
    container: String,
}

/// Where a query goes on.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Progress {
    pub(super) window: Window,
    pub(super) at: At,
}

/// What was given.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum At {
    /// Nothing.
    Start,
    /// Everything but these parts, of which those that are begun go on at the service's own continuation.
    Pieces(Vec<(EpkRange, Option<String>)>),
    /// The rows of an ordered result up to one: see [`Reached::Ordered`](cosmonaut_query::merge::Reached).
    Ordered { order: Vec<Value>, parts: Vec<(EpkRange, Standing)>, row: Option<Mark> },
    /// The rows of a result without order up to one.
    Marked(Mark),
}

#[derive(Serialize, Deserialize)]
struct TokenText {
    of: Binding,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    skip: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    take: Option<u64>,
    at: AtText,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum AtText {
    Pieces(Vec<PartText>),
    Ordered {
        /// Each value in a list of its own, which is empty for undefined.
        keys: Vec<Vec<Box<RawValue>>>,
        parts: Vec<OrderedText>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        row: Option<String>,
    },
    After(String),
}

/// A part of an ordered result.
#[derive(Serialize, Deserialize)]
struct OrderedText {
    min: EffectivePartitionKey,
    max: EffectivePartitionKey,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    given: Option<GivenText>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum GivenText {
    All,
    UpTo(String, usize, #[serde(default)] Option<bool>),
}

impl Binding {
    pub(super) fn new(spec: &QuerySpec, scope: &ResolvedScope, container: ResourceId) -> Self {
        let mut hash = Sha256::new();
        let mut add = |text: &str| {
            hash.update((text.len() as u64).to_be_bytes());
            hash.update(text.as_bytes());
        };
        add(&spec.query);
        for parameter in &spec.parameters {
            add(&parameter.name);
            add(parameter.value.get());
        }
        let query = URL_SAFE_NO_PAD.encode(&hash.finalize()[..16]);
        Self { query, scope: scope.name(), container: container.to_string() }
    }

    fn check(&self, of: &Self) -> Result<()> {
        if self.container != of.container {
            return Err(token::refused(KIND, token::OF_ANOTHER_CONTAINER));
        }
        let other = if self.query != of.query {
            "another query (the text and the parameters have to be the same)"
        } else if self.scope != of.scope {
            "another scope"
        } else {
            return Ok(());
        };
        Err(token::refused(KIND, &format!("it is of {other}")))
    }
}

/// Writes a token; none if there is nothing to go on from.
pub(super) fn write(binding: &Binding, progress: &Progress) -> Option<String> {
    let at = match &progress.at {
        At::Start => return None,
        At::Pieces(pieces) => {
            // A continuation is of the part that it was given for.
            let part = |range, at: &Option<String>| PartText::new(range, at.clone());
            AtText::Pieces(joined(pieces, Option::is_none, part))
        }
        At::Ordered { order, parts, row } => AtText::Ordered {
            keys: order.iter().map(|value| raw(value).into_iter().collect()).collect(),
            parts: joined(parts, |_| true, ordered_text),
            row: row.as_ref().map(|row| URL_SAFE_NO_PAD.encode(row.as_bytes())),
        },
        At::Marked(mark) => AtText::After(URL_SAFE_NO_PAD.encode(mark.as_bytes())),
    };
    let Window { skip, take } = progress.window;
    let (skip, take) = ((skip > 0).then_some(skip), (take < u64::MAX).then_some(take));
    Some(token::write(KIND, &TokenText { of: binding.clone(), skip, take, at }))
}

/// Reads a token of this query.
pub(super) fn read(binding: &Binding, text: &str) -> Result<Progress> {
    let invalid = || token::not_a_token(KIND, text);
    let read: TokenText = token::read(KIND, text)?;
    read.of.check(binding)?;
    let mark = |text: &str| URL_SAFE_NO_PAD.decode(text).map(Mark::from_bytes).map_err(|_| invalid());
    let at = match read.at {
        AtText::Pieces(pieces) => At::Pieces(pieces.into_iter().map(PartText::into_part).collect()),
        AtText::Ordered { keys, parts, row } => At::Ordered {
            order: keys.iter().map(|key| value(key)).collect::<Option<_>>().ok_or_else(invalid)?,
            parts: parts.into_iter().map(ordered_part).collect(),
            row: row.as_deref().map(mark).transpose()?,
        },
        AtText::After(text) => At::Marked(mark(&text)?),
    };
    let window = Window { skip: read.skip.unwrap_or(0), take: read.take.unwrap_or(u64::MAX) };
    Ok(Progress { window, at })
}

/// What a token of this query whose plan is another now is answered with.
pub(super) fn outdated() -> Error {
    token::refused(KIND, "it was given when the query was planned in another way (start again without it)")
}

fn ordered_text(EpkRange { min, max }: EpkRange, standing: &Standing) -> OrderedText {
    let given = match standing {
        Standing::All => Some(GivenText::All),
        Standing::UpTo { rid, given, falling } => Some(GivenText::UpTo(rid.clone(), *given, *falling)),
        Standing::None => None,
    };
    OrderedText { min, max, given }
}

fn ordered_part(part: OrderedText) -> (EpkRange, Standing) {
    let standing = match part.given {
        Some(GivenText::All) => Standing::All,
        Some(GivenText::UpTo(rid, given, falling)) => Standing::UpTo { rid, given, falling },
        None => Standing::None,
    };
    (EpkRange { min: part.min, max: part.max }, standing)
}

/// Neighbours of which the same is known become one where they may, so that a token does not grow with the
/// partitions.
fn joined<S: PartialEq, T>(
    parts: &[(EpkRange, S)],
    may_be_joined: impl Fn(&S) -> bool,
    write: impl Fn(EpkRange, &S) -> T,
) -> Vec<T> {
    let mut joined: Vec<(EpkRange, &S)> = Vec::new();
    for (range, state) in parts {
        match joined.last_mut() {
            Some((last, known)) if last.max == range.min && *known == state && may_be_joined(state) => {
                last.max = range.max.clone();
            }
            _ => joined.push((range.clone(), state)),
        }
    }
    joined.into_iter().map(|(range, state)| write(range, state)).collect()
}

fn value(key: &[Box<RawValue>]) -> Option<Value> {
    match key {
        [] => Some(Value::Undefined),
        [json] => Value::from_json(json.get().as_bytes()).ok(),
        _ => None,
    }
}

/// The JSON of a value; none for undefined.
fn raw(value: &Value) -> Option<Box<RawValue>> {
    RawValue::from_string(String::from_utf8(value.to_json()?).ok()?).ok()
}

#[cfg(test)]
mod tests;
