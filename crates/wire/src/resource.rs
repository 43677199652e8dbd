//! The kinds of resources, their path segments and the names their feeds go by.

/// A kind of resource in an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ResourceType {
    /// The account itself, at `/`.
    DatabaseAccount,
    /// A database.
    Database,
    /// A container.
    Container,
    /// An item.
    Document,
    /// A physical partition.
    PartitionKeyRange,
    /// The throughput of a database or container.
    Offer,
    /// A stored procedure.
    StoredProcedure,
    /// A trigger.
    Trigger,
    /// A user-defined function.
    UserDefinedFunction,
    /// A user.
    User,
    /// A user's permission.
    Permission,
    /// A write that lost to another region's.
    Conflict,
    /// An operation on a container, such as deletion by partition key.
    Operation,
    /// A client encryption key.
    ClientEncryptionKey,
}

use ResourceType::*;

/// Kind, path segment, and the member of a feed's envelope that holds the items.
const TABLE: [(ResourceType, &str, &str); 14] = [
    (DatabaseAccount, "", ""),
    (Database, "dbs", "Databases"),
    (Container, "colls", "DocumentCollections"),
    (Document, "docs", "Documents"),
    (PartitionKeyRange, "pkranges", "PartitionKeyRanges"),
    (Offer, "offers", "Offers"),
    (StoredProcedure, "sprocs", "StoredProcedures"),
    (Trigger, "triggers", "Triggers"),
    (UserDefinedFunction, "udfs", "UserDefinedFunctions"),
    (User, "users", "Users"),
    (Permission, "permissions", "Permissions"),
    (Conflict, "conflicts", "Conflicts"),
    (Operation, "operations", ""),
    (ClientEncryptionKey, "clientencryptionkeys", "ClientEncryptionKeys"),
];

impl ResourceType {
    /// The segment that names this kind in a path; empty for the account.
    pub const fn segment(self) -> &'static str {
        TABLE[self as usize].1
    }

    /// The member that holds the items in a feed of this kind.
    pub const fn envelope(self) -> &'static str {
        TABLE[self as usize].2
    }

    /// The kind that a path segment names.
    pub fn from_segment(segment: &str) -> Option<Self> {
        if segment.is_empty() {
            return None;
        }
        TABLE.iter().find(|row| row.1.eq_ignore_ascii_case(segment)).map(|row| row.0)
    }

    /// The kinds that may stand above this one in a path.
    pub const fn parents(self) -> &'static [ResourceType] {
        match self {
            DatabaseAccount | Database | Offer => &[],
            Container | User | ClientEncryptionKey => &[Database],
            Permission => &[User],
            Document | PartitionKeyRange | StoredProcedure | Trigger | UserDefinedFunction | Conflict
            | Operation => &[Container],
        }
    }

    /// Whether requests for this kind belong to one physical partition.
    pub const fn is_partitioned(self) -> bool {
        matches!(self, Document | StoredProcedure)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_the_order_of_the_kinds() {
        for (index, row) in TABLE.iter().enumerate() {
            assert_eq!(row.0 as usize, index, "{:?}", row.0);
        }
    }

    #[test]
    fn segments_name_kinds_both_ways() {
        for row in &TABLE[1..] {
            assert_eq!(ResourceType::from_segment(row.1), Some(row.0));
        }
        assert_eq!(ResourceType::from_segment(""), None);
        assert_eq!(ResourceType::from_segment("media"), None);
    }
}
