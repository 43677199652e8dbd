//! What rows are sorted by, where it is too long for a continuation token: the token then names it by a digest, and the
//! document at which the page ended has it still.
//!
//! If that document has changed since, its place is not known any more, and the next page is refused.

use cosmonaut_query::eval::Program;
use cosmonaut_query::value::Value;
use cosmonaut_wire::partition_key::murmur128;

use super::page::eval_error;
use super::token::{Key, Token};
use crate::Failure;
use crate::engine::{Layout, RegionId};

/// The most bytes of JSON that a token has of them. Tokens are headers, and some clients take 16 KiB of these in all.
const MOST_BYTES: usize = 4096;

/// The digest of values that are too long for a token.
pub(super) fn digest(values: &[Value]) -> Option<[u8; 16]> {
    let text = text(values);
    (text.len() > MOST_BYTES).then(|| murmur128(&text, 0).to_be_bytes())
}

fn text(values: &[Value]) -> Vec<u8> {
    let mut text = Vec::new();
    for value in values {
        text.extend(value.to_json().unwrap_or_default());
        text.push(b',');
    }
    text
}

/// Puts the values of documents in the places of their digests; 400 if a document has others now, or is gone.
pub(super) fn resolve(
    token: &mut Token,
    program: &Program,
    layout: &Layout,
    region: RegionId,
) -> Result<(), Failure> {
    for position in token.segments.iter_mut().filter_map(|segment| segment.position.as_mut()) {
        if let Key::Digest(wanted) = position.key {
            let values = find(position.number, wanted, program, layout, region)?;
            position.key = Key::Values(values.ok_or_else(lost)?);
        }
    }
    Ok(())
}

/// The partition may have been split since, so that any may have the document.
fn find(
    number: u64,
    wanted: [u8; 16],
    program: &Program,
    layout: &Layout,
    region: RegionId,
) -> Result<Option<Vec<Value>>, Failure> {
    let held = layout
        .ranges()
        .iter()
        .find_map(|range| range.replica(region).read(|state| state.share(number).cloned()));
    let Some(document) = held else { return Ok(None) };
    let text = document.text();
    // All its rows are sorted by the same.
    let keys = program.order_keys(&text).map_err(eval_error)?;
    Ok(keys.filter(|keys| digest(keys) == Some(wanted)))
}

fn lost() -> Failure {
    Failure::bad_request(
        "Invalid Continuation Token: the item at which the last page ended has changed since, and what it was sorted by is \
         too long for a token (start without a token, or sort by something shorter)",
    )
}
