//! The feed of latest versions: each live item once, where its latest version was written.
//!
//! Deletes and earlier versions are not in it; those are in `versions`.

use bytes::Bytes;
use cosmonaut_wire::mutation;

use super::SLICE;
use super::changes::{Part, Room};
use crate::engine::{Document, Progress, RegionId, ReplicaState};

/// How far a reader has come.
pub(super) enum Reached {
    /// To the end, or to the end of the page.
    End(Progress),
    /// To the end of a slice: it should go on here after others had their turn.
    Slice(Progress),
}

/// Adds what changed after a point, as far as a slice goes; returns the point up to which everything is in the page.
pub(super) fn read(
    state: &ReplicaState,
    part: &Part<'_>,
    room: &mut Room,
    items: &mut Vec<Bytes>,
) -> Reached {
    let mut reached = part.after.clone();
    let mut commit: Vec<Bytes> = Vec::new();
    let mut written = (RegionId::default(), 0);
    for (looked, document) in state.changed_after(&part.after).enumerate() {
        let is_next = looked > 0 && (document.origin, document.lsn) != written;
        if is_next {
            if !commit.is_empty() && !room.take(&commit, items.is_empty()) {
                if mutation!("feed-page-goes-too-far") {
                    reached.set(written.0, written.1);
                }
                return Reached::End(reached);
            }
            items.append(&mut commit);
            reached.set(written.0, written.1);
            if looked >= SLICE {
                return Reached::Slice(reached);
            }
        }
        written = (document.origin, document.lsn);
        let is_skipped = mutation!("feed-skips-a-change") && document.lsn % 11 == 0;
        if part.shows(document) && state.is_live(document, part.now) && !is_skipped {
            commit.push(with_lsn(document));
        }
    }
    if !commit.is_empty() && !room.take(&commit, items.is_empty()) {
        return Reached::End(reached);
    }
    items.append(&mut commit);
    // Everything up to the latest commit was looked at, and need not be again. A reader that comes from a region
    // which is ahead of this one stays where it was.
    reached.join(state.progress());
    Reached::End(reached)
}

/// The item with the commit that wrote it, as `_lsn`.
fn with_lsn(document: &Document) -> Bytes {
    let mut text = document.text();
    text.pop();
    text.extend_from_slice(format!(",\"_lsn\":{}}}", document.lsn).as_bytes());
    text.into()
}
