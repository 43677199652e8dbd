//! What a frame can ask for: the operations on items, and running a stored procedure. One table.

use cosmonaut_wire::rntbd::{Operation, Resource};
use cosmonaut_wire::{CosmosStatus, headers};
use http::{HeaderName, Method};

use crate::Failure;

/// What a request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// The items of a container.
    Items,
    /// One of them.
    Item,
    /// A stored procedure.
    Procedure,
}

/// The request that says the same as an operation of a frame.
pub(super) struct Shape {
    pub(super) method: Method,
    pub(super) place: Place,
    /// Headers that say yes.
    pub(super) flags: &'static [HeaderName],
}

const NONE: &[HeaderName] = &[];
static UPSERT: [HeaderName; 1] = [headers::IS_UPSERT];
static BATCH: [HeaderName; 1] = [headers::IS_BATCH_REQUEST];
// No token says whether a query may span partitions: what it is aimed at does.
static QUERY: [HeaderName; 2] = [headers::IS_QUERY, headers::ENABLE_CROSS_PARTITION_QUERY];
static PLAN: [HeaderName; 1] = [headers::IS_QUERY_PLAN_REQUEST];

/// The shape of an operation; 405 for one that has to go to the account's other endpoints.
pub(super) fn shape(resource: Resource, operation: Operation) -> Result<Shape, Failure> {
    let found = match resource {
        Resource::Document => of_items(operation),
        Resource::StoredProcedure if operation == Operation::ExecuteJavaScript => {
            Some((Method::POST, Place::Procedure, NONE))
        }
        Resource::StoredProcedure
        | Resource::Connection
        | Resource::Database
        | Resource::Collection
        | Resource::Attachment
        | Resource::User
        | Resource::Permission
        | Resource::Conflict
        | Resource::Trigger
        | Resource::UserDefinedFunction
        | Resource::Offer
        | Resource::DatabaseAccount
        | Resource::PartitionKeyRange
        | Resource::Schema
        | Resource::PartitionKey
        | Resource::ClientEncryptionKey
        | Resource::PartitionedSystemDocument
        | Resource::RoleDefinition
        | Resource::RoleAssignment
        | Resource::SystemDocument
        | Resource::DistributedTransactionBatch => None,
    };
    let (method, place, flags) = found.ok_or_else(|| {
        Failure::new(
            CosmosStatus::METHOD_NOT_ALLOWED,
            format!(
                "The requested verb is not supported. {} of {} is not done by Gateway 2.0: send it to the region's other \
                 endpoint",
                operation.name(),
                resource.name()
            ),
        )
    })?;
    Ok(Shape { method, place, flags })
}

fn of_items(operation: Operation) -> Option<(Method, Place, &'static [HeaderName])> {
    Some(match operation {
        Operation::Create => (Method::POST, Place::Items, NONE),
        Operation::Upsert => (Method::POST, Place::Items, &UPSERT),
        Operation::Read => (Method::GET, Place::Item, NONE),
        Operation::Replace => (Method::PUT, Place::Item, NONE),
        Operation::Patch => (Method::PATCH, Place::Item, NONE),
        Operation::Delete => (Method::DELETE, Place::Item, NONE),
        Operation::ReadFeed => (Method::GET, Place::Items, NONE),
        Operation::Query | Operation::SqlQuery => (Method::POST, Place::Items, &QUERY),
        Operation::QueryPlan => (Method::POST, Place::Items, &PLAN),
        Operation::Batch => (Method::POST, Place::Items, &BATCH),
        Operation::Head
        | Operation::HeadFeed
        | Operation::ExecuteJavaScript
        | Operation::CommitDistributedTransaction
        | Operation::AbortDistributedTransaction => return None,
    })
}
