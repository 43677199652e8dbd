//! What an operation is called in spans, metrics and reports, by the OpenTelemetry convention for Cosmos DB.
//!
//! A caller that knows more, such as that a query stands for reading many items, gives its own name.

use cosmonaut_wire::ResourceType;

use super::OperationType;

/// The names of all operations on one kind of resource.
macro_rules! names {
    ($operation:expr, $one:literal, $many:literal) => {
        match $operation {
            OperationType::Create => concat!("create_", $one),
            OperationType::Read => concat!("read_", $one),
            OperationType::Head => concat!("head_", $one),
            OperationType::Replace => concat!("replace_", $one),
            OperationType::Upsert => concat!("upsert_", $one),
            OperationType::Delete => concat!("delete_", $one),
            OperationType::Patch => concat!("patch_", $one),
            OperationType::Query => concat!("query_", $many),
            OperationType::ReadFeed => concat!("read_all_", $many),
            OperationType::Batch => "execute_batch",
            OperationType::Bulk => "execute_bulk",
            OperationType::QueryPlan => "query_plan",
            OperationType::ChangeFeed => "query_change_feed",
            OperationType::Execute => "execute_stored_procedure",
            OperationType::DeleteByPartitionKey => "delete_all_items_by_partition_key",
        }
    };
}

/// The name of an operation of this type on a resource of this kind, such as `read_item`.
pub const fn operation_name(operation: OperationType, resource: ResourceType) -> &'static str {
    match resource {
        ResourceType::DatabaseAccount => names!(operation, "account", "accounts"),
        ResourceType::Database => names!(operation, "database", "databases"),
        ResourceType::Container => names!(operation, "container", "containers"),
        ResourceType::Document => names!(operation, "item", "items"),
        ResourceType::PartitionKeyRange => names!(operation, "partition_key_range", "partition_key_ranges"),
        ResourceType::Offer => names!(operation, "throughput", "throughput"),
        ResourceType::StoredProcedure => names!(operation, "stored_procedure", "stored_procedures"),
        ResourceType::Trigger => names!(operation, "trigger", "triggers"),
        ResourceType::UserDefinedFunction => {
            names!(operation, "user_defined_function", "user_defined_functions")
        }
        ResourceType::User => names!(operation, "user", "users"),
        ResourceType::Permission => names!(operation, "permission", "permissions"),
        ResourceType::Conflict => names!(operation, "conflict", "conflicts"),
        ResourceType::Operation => names!(operation, "operation", "operations"),
        ResourceType::ClientEncryptionKey => {
            names!(operation, "client_encryption_key", "client_encryption_keys")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_named_as_the_convention_names_them() {
        use OperationType::*;
        use ResourceType::*;
        for (operation, resource, expected) in [
            (Create, Document, "create_item"),
            (OperationType::Read, Document, "read_item"),
            (Replace, Document, "replace_item"),
            (Upsert, Document, "upsert_item"),
            (Patch, Document, "patch_item"),
            (Delete, Document, "delete_item"),
            (Query, Document, "query_items"),
            (ReadFeed, Document, "read_all_items"),
            (ChangeFeed, Document, "query_change_feed"),
            (Batch, Document, "execute_batch"),
            (Bulk, Document, "execute_bulk"),
            (Execute, StoredProcedure, "execute_stored_procedure"),
            (DeleteByPartitionKey, Operation, "delete_all_items_by_partition_key"),
            (Create, Container, "create_container"),
            (Replace, Container, "replace_container"),
            (Query, Container, "query_containers"),
            (ReadFeed, Container, "read_all_containers"),
            (Delete, Database, "delete_database"),
            (ReadFeed, Database, "read_all_databases"),
            (Create, User, "create_user"),
            (Query, Permission, "query_permissions"),
            (OperationType::Read, Trigger, "read_trigger"),
            (Replace, StoredProcedure, "replace_stored_procedure"),
            (ReadFeed, UserDefinedFunction, "read_all_user_defined_functions"),
            (Delete, Conflict, "delete_conflict"),
            (Create, ClientEncryptionKey, "create_client_encryption_key"),
        ] {
            assert_eq!(operation_name(operation, resource), expected);
        }
    }
}
