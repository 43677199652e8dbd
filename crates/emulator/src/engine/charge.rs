//! What requests cost, in request units: the whole model, in one place.
//!
//! The service publishes a few figures: reading an item of 1 KB costs 1 RU and one of 100 KB about 10; writing 1 KB
//! with the default indexing and a handful of properties costs about 5.5, and 100 KB about 50. Between and beyond
//! them the model is linear. Bodies count with their system members.

/// One kilobyte, as item sizes are counted.
const KB: f64 = 1024.0;
/// A read of up to 1 KB.
const READ_BASE: f64 = 1.0;
/// Each further KB of a read: 1 RU at 1 KB and 10 RU at 100 KB.
const READ_PER_KB: f64 = 9.0 / 99.0;
/// A write of up to 1 KB without any index.
const WRITE_BASE: f64 = 4.8;
/// Each further KB of a write: about 50 RU at 100 KB.
const WRITE_PER_KB: f64 = 0.45;
/// Each index term that a write adds or removes. A small document has six or seven: its properties, `_ts`, `_rid`.
const WRITE_PER_TERM: f64 = 0.09;
/// A query, before it does anything.
const QUERY_BASE: f64 = 2.2;
/// Each place in the index that a query looks up.
const QUERY_PER_LOOKUP: f64 = 0.05;
/// Each document that a query loads.
const QUERY_PER_DOCUMENT: f64 = 0.08;
/// Each KB of documents loaded, so that a scan costs by what is scanned.
const QUERY_PER_KB_LOADED: f64 = 0.06;
/// Each KB of rows sent.
const QUERY_PER_KB_SENT: f64 = 0.02;
/// A request that found nothing.
pub const NOTHING: f64 = 1.0;
/// Reading a database, container or offer.
pub const CATALOG_READ: f64 = 1.0;
/// Writing a database, container or offer.
pub const CATALOG_WRITE: f64 = 4.95;

/// What a query did.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct QueryCost {
    /// Places looked up in the index.
    pub lookups: u64,
    /// Documents loaded.
    pub documents: u64,
    /// Their bytes.
    pub loaded_bytes: u64,
    /// Bytes of the rows sent.
    pub sent_bytes: u64,
}

/// The charge of a point read of so many bytes.
pub fn read(bytes: usize) -> f64 {
    rounded(READ_BASE + READ_PER_KB * further_kb(bytes))
}

/// The charge of a write of so many bytes that changes so many index terms.
pub fn write(bytes: usize, terms: usize) -> f64 {
    rounded(WRITE_BASE + WRITE_PER_KB * further_kb(bytes) + WRITE_PER_TERM * terms as f64)
}

/// The charge of a page of a query.
pub fn query(cost: &QueryCost) -> f64 {
    let kb = |bytes: u64| bytes as f64 / KB;
    rounded(
        QUERY_BASE
            + QUERY_PER_LOOKUP * cost.lookups as f64
            + QUERY_PER_DOCUMENT * cost.documents as f64
            + QUERY_PER_KB_LOADED * kb(cost.loaded_bytes)
            + QUERY_PER_KB_SENT * kb(cost.sent_bytes),
    )
}

/// The charge of a page of a feed of so many bytes.
pub fn feed(bytes: usize) -> f64 {
    read(bytes)
}

/// Kilobytes after the first.
fn further_kb(bytes: usize) -> f64 {
    (bytes as f64 / KB - 1.0).max(0.0)
}

/// Charges have two digits, as in the service's header.
fn rounded(charge: f64) -> f64 {
    (charge * 100.0).round() / 100.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_figures_are_reproduced() {
        for (charge, low, high) in [
            (read(300), 1.0, 1.0),
            (read(1024), 1.0, 1.0),
            (read(100 * 1024), 10.0, 10.0),
            (write(1024, 7), 5.3, 5.7),
            (write(1024, 0), 4.5, 5.0),
            (write(100 * 1024, 7), 48.0, 52.0),
            (query(&QueryCost { lookups: 1, documents: 1, loaded_bytes: 1024, sent_bytes: 1024 }), 2.2, 3.0),
        ] {
            assert!((low..=high).contains(&charge), "{charge} is not in {low}..={high}");
        }
    }

    #[test]
    fn charges_grow_with_size_and_terms() {
        assert!(read(50_000) > read(5_000));
        assert!(write(1_000, 30) > write(1_000, 5));
        assert!(write(50_000, 5) > write(5_000, 5));
    }
}
