//! What a page of a query says about how it was read: the value of `x-ms-cosmos-query-execution-info`.

use serde::{Deserialize, Serialize};

/// How a page of an ordered query was read.
///
/// ```
/// use cosmonaut_wire::model::QueryExecutionInfo;
///
/// let info: QueryExecutionInfo = serde_json::from_str(r#"{"reverseIndexScan":true}"#).unwrap();
/// assert!(info.ties_descend(false));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct QueryExecutionInfo {
    /// Whether documents that sort alike come in the direction of the first key.
    pub reverse_rid_enabled: bool,
    /// Whether the index was read backwards.
    pub reverse_index_scan: bool,
}

impl QueryExecutionInfo {
    /// What holds for a page that says nothing.
    pub const UNSAID: Self = Self { reverse_rid_enabled: true, reverse_index_scan: false };

    /// Whether documents that sort alike come with falling `_rid`s.
    pub fn ties_descend(self, first_key_descends: bool) -> bool {
        if self.reverse_rid_enabled { first_key_descends } else { self.reverse_index_scan }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_follow_the_first_key_or_the_scan() {
        for (text, rising, falling) in [
            (r#"{"reverseRidEnabled":true,"reverseIndexScan":false}"#, false, true),
            (r#"{"reverseRidEnabled":true,"reverseIndexScan":true}"#, false, true),
            (r#"{"reverseRidEnabled":false,"reverseIndexScan":false}"#, false, false),
            (r#"{"reverseRidEnabled":false,"reverseIndexScan":true}"#, true, true),
            ("{}", false, false),
        ] {
            let info: QueryExecutionInfo = serde_json::from_str(text).unwrap();
            assert_eq!((info.ties_descend(false), info.ties_descend(true)), (rising, falling), "{text}");
        }
        assert!(QueryExecutionInfo::UNSAID.ties_descend(true));
    }
}
