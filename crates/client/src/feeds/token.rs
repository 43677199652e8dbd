//! Tokens as text: JSON in base64 that says its version and what it is of.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use cosmonaut_wire::{EffectivePartitionKey, EpkRange};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::{Error, ErrorKind, Result};

/// The version that is written. A reader of a later one still reads this.
const VERSION: u32 = 1;

/// A part of the key space and where it goes on, as a token has it.
#[derive(Serialize, Deserialize)]
pub(crate) struct PartText {
    min: EffectivePartitionKey,
    max: EffectivePartitionKey,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    at: Option<String>,
}

impl PartText {
    pub(crate) fn new(EpkRange { min, max }: EpkRange, at: Option<String>) -> Self {
        Self { min, max, at }
    }

    pub(crate) fn into_part(self) -> (EpkRange, Option<String>) {
        (EpkRange { min: self.min, max: self.max }, self.at)
    }
}

/// What a token is of, and where that goes on.
#[derive(Serialize, Deserialize)]
struct Envelope<T> {
    v: u32,
    /// What kind of feed: a name that says so to whoever decodes the text.
    of: String,
    at: T,
}

/// Writes a token.
pub(crate) fn write<T: Serialize>(of: &str, content: &T) -> String {
    let envelope = Envelope { v: VERSION, of: of.to_owned(), at: content };
    let json = serde_json::to_vec(&envelope).expect("a token's members are texts, numbers and JSON");
    URL_SAFE_NO_PAD.encode(json)
}

/// Reads a token of this kind.
pub(crate) fn read<T: DeserializeOwned>(of: &str, text: &str) -> Result<T> {
    let json = URL_SAFE_NO_PAD.decode(text.trim()).map_err(|_| not_a_token(of, text))?;
    #[derive(Deserialize)]
    struct Head {
        v: u32,
        of: String,
    }
    let head: Head = serde_json::from_slice(&json).map_err(|_| not_a_token(of, text))?;
    if head.of != of {
        return Err(refused(of, &format!("it is one of a {}", head.of)));
    }
    if head.v != VERSION {
        return Err(refused(of, &format!("it has version {}, and this client reads {VERSION}", head.v)));
    }
    let envelope: Envelope<T> = serde_json::from_slice(&json).map_err(|_| not_a_token(of, text))?;
    Ok(envelope.at)
}

/// What a text that is no token is answered with.
pub(crate) fn not_a_token(of: &str, text: &str) -> Error {
    let shown: String = text.chars().take(40).collect();
    refused(of, &format!("{shown:?} is not a token (pass it exactly as a page gave it)"))
}

/// Why a place in a container that was deleted is no place in the one that has its name now.
pub(crate) const OF_ANOTHER_CONTAINER: &str = "it is of another container (or the container was made anew)";

/// What a feed under way ends with when its container was made anew. The service's answer stays in the source.
pub(crate) fn refused_meanwhile(of: &str, error: Error) -> Error {
    let refused = refused(of, OF_ANOTHER_CONTAINER);
    error.in_words(refused.kind(), &refused.to_string())
}

/// What a token that does not fit is answered with.
pub(crate) fn refused(of: &str, problem: &str) -> Error {
    let message = format!("the continuation token cannot continue this {of}: {problem}");
    Error::new(ErrorKind::Query, message)
}
