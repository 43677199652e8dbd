//! The conflicts feed: writes that have lost against those of other regions, for an application to decide.

use cosmonaut_driver::{CosmosOperation, OperationType};
use cosmonaut_wire::{PartitionKey, ResourceType};
use serde::Deserialize;

use crate::feeds::listing::{Listing, Runner};
use crate::options::DeleteConflictOptions;
use crate::{ContainerClient, Error, ErrorKind, FromItem, Items, Query, Request, Response, Result};

/// A write that has lost against one of another region, in a container whose conflicts an application resolves.
///
/// ```no_run
/// # async fn run(orders: cosmonaut::ContainerClient) -> cosmonaut::Result<()> {
/// # #[derive(serde::Serialize, serde::Deserialize)] struct Order { id: String, customer: String, total: f64 }
/// let mut conflicts = orders.list_conflicts();
/// while let Some(conflict) = conflicts.next().await {
///     let conflict = conflict?;
///     if let Some(lost) = conflict.item::<Order>()? {
///         match orders.read_item::<Order>(&*lost.customer, &lost.id).await {
///             Ok(kept) if kept.value().total < lost.total => {
///                 orders.upsert_item(&*lost.customer, &lost).await?;
///             }
///             Err(error) if !error.is_not_found() => return Err(error),
///             // The one that was kept is right, or what it left was deleted since.
///             Ok(_) | Err(_) => {}
///         }
///         orders.delete_conflict(&*lost.customer, conflict.id()).await?;
///     }
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Conflict {
    id: String,
    operation_type: String,
    #[serde(default)]
    resource_id: Option<String>,
    #[serde(default)]
    content: Option<String>,
    #[serde(rename = "_ts", default)]
    timestamp: u64,
}

impl Conflict {
    /// Its id, for [`delete_conflict`](ContainerClient::delete_conflict).
    pub fn id(&self) -> &str {
        &self.id
    }

    /// What the write that has lost did: `create`, `replace` or `delete`.
    pub fn operation(&self) -> &str {
        &self.operation_type
    }

    /// The resource id of the item.
    pub fn item_rid(&self) -> Option<&str> {
        self.resource_id.as_deref()
    }

    /// When it was found, in seconds since the start of 1970, UTC.
    pub fn timestamp(&self) -> u64 {
        self.timestamp
    }

    /// The item as the write that has lost left it; `None` if that has deleted it.
    ///
    /// # Errors
    /// [`ErrorKind::Serialization`] if it is no `T`.
    pub fn item<T: FromItem>(&self) -> Result<Option<T>> {
        let content = self.content.as_ref().filter(|content| !content.is_empty());
        let read = |content: &String| {
            T::from_json(&content.clone().into(), format_args!("the item of conflict {}", self.id))
        };
        content.map(read).transpose()
    }
}

impl ContainerClient {
    /// The writes that have lost and wait for a decision. A container has some only if its
    /// [policy](crate::model::ConflictResolutionPolicy) is custom and its account has several write regions.
    pub fn list_conflicts(&self) -> Items<Conflict> {
        self.conflicts(None)
    }

    /// Those for which a query holds.
    ///
    /// ```no_run
    /// # async fn run(orders: cosmonaut::ContainerClient) -> cosmonaut::Result<()> {
    /// let text = "SELECT * FROM c WHERE c.operationType = 'create'";
    /// let created = orders.query_conflicts(text).collect().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn query_conflicts(&self, query: impl Into<Query>) -> Items<Conflict> {
        self.conflicts(Some(query.into()))
    }

    /// Removes a conflict that is dealt with. The partition key is that of its item.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] if there is none of that id.
    pub fn delete_conflict(
        &self,
        partition_key: impl Into<PartitionKey>,
        id: &str,
    ) -> Request<DeleteConflictOptions, Response<()>> {
        let (handle, partition_key, id) = (self.handle().cloned(), partition_key.into(), id.to_owned());
        Request::new(async move |options: Option<DeleteConflictOptions>| {
            if id.is_empty() {
                return Err(Error::new(ErrorKind::BadRequest, "a conflict has an id (pass `Conflict::id`)"));
            }
            let handle = handle?;
            let path = handle.path.child(ResourceType::Conflict, &id)?;
            let delete = CosmosOperation::new(OperationType::Delete, path).with_target(partition_key);
            let layer = DeleteConflictOptions::operation_layer(options.as_ref());
            Ok(Response::new((), handle.run(&delete, &layer).await?))
        })
    }

    fn conflicts(&self, query: Option<Query>) -> Items<Conflict> {
        let handle = self.handle().cloned();
        let feed = handle.clone().and_then(|handle| Ok(handle.path.feed(ResourceType::Conflict)?));
        Listing::items(handle.map(Runner::Container), feed, query)
    }
}
