//! The order in which documents of one partition were committed.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::Document;

/// Sorts by commit: the service's time, which has whole seconds, then its number for the document.
///
/// A client's clock has no part in it: two processes would disagree.
pub(crate) fn committed_order<T>(document: &Document<T>) -> (u64, u64) {
    (document.timestamp, number(&document.rid))
}

/// The document's number, which is the last eight bytes of its resource id.
fn number(rid: &str) -> u64 {
    let Ok(bytes) = STANDARD.decode(rid.replace('-', "/")) else { return 0 };
    let Some(last) = bytes.last_chunk::<8>() else { return 0 };
    u64::from_le_bytes(*last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_is_the_end_of_the_resource_id() {
        for n in [1u64, 2, 300, 1 << 40] {
            let mut bytes = vec![9; 8];
            bytes.extend(n.to_le_bytes());
            assert_eq!(number(&STANDARD.encode(bytes).replace('/', "-")), n);
        }
        for bad in ["", "?", "AAAA"] {
            assert_eq!(number(bad), 0);
        }
    }
}
