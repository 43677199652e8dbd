//! In which order documents come that sort alike: the service has more than one way, and says which one it took.

use cosmonaut_wire::model::QueryExecutionInfo;

/// In which order the documents of one partition come that `ORDER BY` sorts alike: by their `_rid`, rising or falling.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum TieOrder {
    /// In the direction of the first key.
    #[default]
    FirstKey,
    /// Rising, whatever the direction of the first key is.
    Ascending,
    /// Falling, whatever the direction of the first key is.
    Descending,
}

impl TieOrder {
    pub(super) fn is_descending(self, first_key_descends: bool) -> bool {
        self.execution_info(first_key_descends).ties_descend(first_key_descends)
    }

    /// What a page says about it.
    pub(super) fn execution_info(self, first_key_descends: bool) -> QueryExecutionInfo {
        match self {
            TieOrder::FirstKey => {
                QueryExecutionInfo { reverse_rid_enabled: true, reverse_index_scan: first_key_descends }
            }
            TieOrder::Ascending => {
                QueryExecutionInfo { reverse_rid_enabled: false, reverse_index_scan: false }
            }
            TieOrder::Descending => {
                QueryExecutionInfo { reverse_rid_enabled: false, reverse_index_scan: true }
            }
        }
    }
}
