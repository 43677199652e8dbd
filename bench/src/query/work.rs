//! What is measured, and the documents that it is measured on.

use serde_json::{Value, json};

/// How many rows a page has that is asked for by a token, and how many items are read at once.
pub(super) const ITEMS: u32 = 100;
/// There is a page behind the middle, and there are as many items as are read.
pub(super) const LEAST_DOCUMENTS: u32 = 4 * ITEMS;
const KINDS: u32 = 100;
const KEYS: u32 = 1000;

/// What is said of a peer that has no such call or no such query.
pub(super) const NOT_SUPPORTED: &str = "not supported";

/// One thing to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Work {
    /// A query, read to its end.
    Query(&'static str),
    /// A page of a query by a token from the middle of its result.
    Page(&'static str),
    /// Items by their keys and ids, all at once.
    ReadMany,
    /// The same items, one after the other.
    ReadEach,
}

pub(super) const WORK: [(&str, Work); 9] = [
    ("ORDER BY, all rows", Work::Query("SELECT VALUE c.n FROM c ORDER BY c.n")),
    ("ORDER BY, first 100", Work::Query("SELECT TOP 100 VALUE c.n FROM c ORDER BY c.n DESC")),
    ("ORDER BY, 100 from a token", Work::Page("SELECT VALUE c.n FROM c ORDER BY c.n")),
    ("DISTINCT TOP 10, ORDER BY", Work::Query("SELECT DISTINCT TOP 10 VALUE c.kind FROM c ORDER BY c.kind")),
    ("DISTINCT TOP 10", Work::Query("SELECT DISTINCT TOP 10 VALUE c.kind FROM c")),
    ("GROUP BY", Work::Query("SELECT c.kind, COUNT(1) AS many FROM c GROUP BY c.kind")),
    ("COUNT", Work::Query("SELECT VALUE COUNT(1) FROM c")),
    ("read_many, 100 items", Work::ReadMany),
    ("100 items one by one", Work::ReadEach),
];

/// A document and its key.
pub(super) fn document(n: u32) -> (String, Value) {
    let key = format!("key {}", n % KEYS);
    let item = json!({"id": n.to_string(), "pk": key, "n": n, "kind": n % KINDS});
    (key, item)
}

/// The keys and ids of the items that are read, evenly from all.
pub(super) fn wanted(documents: u32) -> Vec<(String, String)> {
    let every = (documents / ITEMS).max(1) as usize;
    let numbers = (0..documents).step_by(every).take(ITEMS as usize);
    numbers.map(|n| (document(n).0, n.to_string())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_items_that_are_read_are_there_and_differ() {
        for documents in [LEAST_DOCUMENTS, 10_000] {
            let mut wanted = wanted(documents);
            assert!(wanted.iter().all(|(_, id)| id.parse::<u32>().unwrap() < documents));
            wanted.dedup();
            assert_eq!(wanted.len(), ITEMS as usize);
        }
    }
}
