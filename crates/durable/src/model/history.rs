//! History: a document per turn, chained by event ids, and a document per past execution.
//!
//! A document's id is the last event before it. So a turn that was prepared and never committed is overwritten by
//! the next that begins there, and never reached before.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::head::mark_plain;
use super::{Document, Kind};
use crate::codec::is_marked;

/// The events of a turn, or of a part of one that is long.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct History {
    pub(crate) execution: u64,
    /// The last event before these.
    pub(crate) after: u64,
    /// The last of these.
    pub(crate) last: u64,
    /// A JSON array of events, as it is stored.
    pub(crate) body: String,
    #[serde(default)]
    pub(crate) chunks: u32,
}

impl Kind for History {
    const KIND: &'static str = "history";

    fn is_sealed(&self) -> bool {
        is_marked(&self.body)
    }
}

impl History {
    pub(crate) fn id(execution: u64, after: u64) -> String {
        format!("h:{execution}:{after:010}")
    }
}

/// The committed documents in order, beginning at the first event.
///
/// # Errors
/// The event behind which the history ends although it should not.
pub(crate) fn chain(
    documents: Vec<Document<History>>,
    last_event: u64,
) -> Result<Vec<Document<History>>, u64> {
    let mut by_start: HashMap<u64, Document<History>> =
        documents.into_iter().map(|document| (document.content.after, document)).collect();
    let (mut chain, mut at) = (Vec::new(), 0);
    while at < last_event {
        let next = by_start.remove(&at).filter(|next| next.content.last > at).ok_or(at)?;
        at = next.content.last;
        chain.push(next);
    }
    Ok(chain)
}

/// An execution that another has followed.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Execution {
    pub(crate) execution: u64,
    pub(crate) status: String,
    /// As it is stored.
    pub(crate) output: Option<String>,
    #[serde(default)]
    pub(crate) output_chunks: u32,
    pub(crate) started_at: u64,
    pub(crate) completed_at: Option<u64>,
    pub(crate) last_event: u64,
    pub(crate) events: u64,
}

impl Kind for Execution {
    const KIND: &'static str = "execution";

    fn is_sealed(&self) -> bool {
        self.output.as_deref().is_some_and(is_marked)
    }

    fn mark_plain_texts(&mut self) {
        mark_plain(&mut self.output, self.output_chunks);
    }
}

impl Execution {
    pub(crate) fn id(execution: u64) -> String {
        format!("e:{execution}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(after: u64, last: u64) -> Document<History> {
        let content = History { execution: 1, after, last, body: "[]".into(), chunks: 0 };
        Document::new("i", History::id(1, after), content)
    }

    #[test]
    fn only_what_is_committed_and_linked_is_history() {
        for (documents, last, expected) in [
            (vec![], 0, Ok(vec![])),
            (vec![(0, 3), (3, 5)], 5, Ok(vec![3, 5])),
            (vec![(3, 5), (0, 3)], 5, Ok(vec![3, 5])),
            (vec![(0, 3), (3, 9)], 3, Ok(vec![3])),
            // A turn that was prepared in two parts and given up: its second part links to nothing.
            (vec![(0, 10), (10, 40), (50, 80), (40, 60), (60, 61)], 61, Ok(vec![10, 40, 60, 61])),
            (vec![(0, 3)], 5, Err(3)),
            (vec![(0, 0)], 5, Err(0)),
        ] {
            let documents = documents.into_iter().map(|(after, last)| document(after, last)).collect();
            let found = chain(documents, last)
                .map(|chain| chain.iter().map(|document| document.content.last).collect::<Vec<_>>());
            assert_eq!(found, expected);
        }
    }
}
