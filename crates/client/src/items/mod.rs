//! Items, one at a time: create, read, replace, upsert, delete, patch.
//!
//! Several in one transaction are in `batch`, several at once in `read_many`.

mod body;
mod call;
mod patch;

use std::sync::Arc;

use cosmonaut_driver::{CosmosOperation, OperationType};
use cosmonaut_wire::{PartitionKey, ResourceType};
use http::StatusCode;

use crate::container::ContainerHandle;
use crate::options::ItemOptions;
use crate::{ContainerClient, Error, ErrorKind, Request, Response, Result};

use call::{ItemCall, on_item, on_items};

pub use body::{FromItem, IntoItem, RawItem};
pub(crate) use call::ItemName;
pub use patch::Patch;

/// The answer to a write: the item as it is now, if
/// [`content_response`](ItemOptions::content_response) asks for it, and else nothing.
///
/// ```no_run
/// # async fn run(orders: cosmonaut::ContainerClient, order: serde_json::Value) -> cosmonaut::Result<()> {
/// let made = orders.upsert_item("contoso", &order).content_response(true).await?;
/// let stored: serde_json::Value = made.json()?;
/// # Ok(())
/// # }
/// ```
pub type ItemResponse = Response<RawItem>;

impl ItemResponse {
    /// Reads the item as a `T`.
    ///
    /// # Errors
    /// [`ErrorKind::Serialization`] if there is none, because it was not asked for, or it is no `T`.
    pub fn json<T: serde::de::DeserializeOwned>(&self) -> Result<T> {
        self.value().json()
    }
}

/// A call on an item that is sent when it is awaited.
pub type ItemRequest<T> = Request<ItemOptions, Response<T>>;

impl ContainerClient {
    /// Creates an item. The partition key is that in the item.
    ///
    /// ```no_run
    /// # async fn run(orders: cosmonaut::ContainerClient) -> cosmonaut::Result<()> {
    /// let order = serde_json::json!({"id": "7", "customer": "contoso", "total": 12.5});
    /// match orders.create_item("contoso", &order).await {
    ///     Err(error) if error.is_conflict() => println!("order 7 is there already"),
    ///     made => println!("{:?}", made?.etag()),
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`] if there is one of its id in its partition, [`ErrorKind::BadRequest`] if the key
    /// is another than in the item, [`ErrorKind::TooLarge`] past 2 MB.
    pub fn create_item(
        &self,
        partition_key: impl Into<PartitionKey>,
        item: impl IntoItem,
    ) -> ItemRequest<RawItem> {
        self.write(|handle| {
            Ok(on_items(handle, OperationType::Create, partition_key).with_body(item.into_json()?))
        })
    }

    /// Reads an item.
    ///
    /// ```no_run
    /// # async fn run(orders: cosmonaut::ContainerClient) -> cosmonaut::Result<()> {
    /// #[derive(serde::Deserialize)]
    /// struct Order {
    ///     total: f64,
    /// }
    /// let order: Order = orders.read_item("contoso", "7").await?.into_value();
    /// // A hierarchical key is a tuple.
    /// let cart: serde_json::Value = orders.read_item(("contoso", 12), "cart").await?.into_value();
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] if there is none, [`ErrorKind::Serialization`] if it is no `T`,
    /// [`ErrorKind::NotModified`] if it still is of the version that
    /// [`if_none_match`](ItemOptions::if_none_match) names.
    pub fn read_item<T: FromItem + 'static>(
        &self,
        partition_key: impl Into<PartitionKey>,
        id: &str,
    ) -> ItemRequest<T> {
        let read = self.prepare(|handle| on_item(handle, OperationType::Read, partition_key, id));
        Request::new(async move |options| {
            let (handle, read) = read?;
            let call = ItemCall::new(read, options)?;
            let response = handle.run(&call.operation, &call.layer).await?;
            let name = ItemName { handle: &handle, id: call.operation.path().name() };
            if response.status().code() == StatusCode::NOT_MODIFIED {
                let message = format!("{name} has not changed");
                return Err(Error::of_answer(ErrorKind::NotModified, message, response));
            }
            match T::from_json(response.body(), name) {
                Ok(value) => Ok(Response::new(value, response)),
                Err(error) => Err(error.found_in(response)),
            }
        })
    }

    /// Replaces an item, which must be there. With [`if_match`](ItemOptions::if_match), only the version that
    /// the caller has seen.
    ///
    /// ```no_run
    /// # async fn run(orders: cosmonaut::ContainerClient) -> cosmonaut::Result<()> {
    /// let read = orders.read_item::<serde_json::Value>("contoso", "7").await?;
    /// let Some(seen) = read.etag() else { return Ok(()) };
    /// let mut order = read.into_value();
    /// order["total"] = 13.into();
    /// match orders.replace_item("contoso", "7", &order).if_match(seen).await {
    ///     Err(error) if error.is_precondition_failed() => println!("somebody else changed it: read again"),
    ///     replaced => drop(replaced?),
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] if there is none, [`ErrorKind::PreconditionFailed`] if it is of another version.
    pub fn replace_item(
        &self,
        partition_key: impl Into<PartitionKey>,
        id: &str,
        item: impl IntoItem,
    ) -> ItemRequest<RawItem> {
        self.write(|handle| {
            Ok(on_item(handle, OperationType::Replace, partition_key, id)?.with_body(item.into_json()?))
        })
    }

    /// Creates an item, or replaces the one of its id.
    ///
    /// ```no_run
    /// # async fn run(orders: cosmonaut::ContainerClient) -> cosmonaut::Result<()> {
    /// let order = serde_json::json!({"id": "7", "customer": "contoso", "total": 12.5});
    /// orders.upsert_item("contoso", order).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::BadRequest`] if the key is another than in the item, [`ErrorKind::TooLarge`] past 2 MB.
    pub fn upsert_item(
        &self,
        partition_key: impl Into<PartitionKey>,
        item: impl IntoItem,
    ) -> ItemRequest<RawItem> {
        self.write(|handle| {
            Ok(on_items(handle, OperationType::Upsert, partition_key).with_body(item.into_json()?))
        })
    }

    /// Deletes an item.
    ///
    /// ```no_run
    /// # async fn run(orders: cosmonaut::ContainerClient) -> cosmonaut::Result<()> {
    /// orders.delete_item("contoso", "7").await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] if there is none, [`ErrorKind::PreconditionFailed`] if it is of another version
    /// than [`if_match`](ItemOptions::if_match) names.
    pub fn delete_item(&self, partition_key: impl Into<PartitionKey>, id: &str) -> ItemRequest<()> {
        self.removal(|handle| on_item(handle, OperationType::Delete, partition_key, id))
    }

    /// Deletes all items of one partition key.
    ///
    /// The service does it in the background, with a tenth of the throughput, and returns at once; reads do not see the
    /// items any more. The account needs the capability `DeleteAllItemsByPartitionKey`.
    ///
    /// ```no_run
    /// # async fn run(orders: cosmonaut::ContainerClient) -> cosmonaut::Result<()> {
    /// orders.delete_all_items_by_partition_key("contoso").await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::BadRequest`] if the account cannot do that, or the key is not of the container's shape.
    pub fn delete_all_items_by_partition_key(
        &self,
        partition_key: impl Into<PartitionKey>,
    ) -> ItemRequest<()> {
        self.removal(|handle| {
            let path = handle.path.child(ResourceType::Operation, "partitionkeydelete")?;
            let delete = CosmosOperation::new(OperationType::DeleteByPartitionKey, path);
            Ok(delete.with_target(partition_key.into()))
        })
    }

    /// Changes parts of an item where it is stored, without reading it.
    ///
    /// ```no_run
    /// # async fn run(orders: cosmonaut::ContainerClient) -> cosmonaut::Result<()> {
    /// use cosmonaut::Patch;
    ///
    /// let patch = Patch::new()
    ///     .set("/state", "sent")
    ///     .increment("/attempts", 1)
    ///     .condition("FROM c WHERE c.state = 'ready'");
    /// orders.patch_item("contoso", "7", patch).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] if there is none, [`ErrorKind::PreconditionFailed`] if the patch's condition does
    /// not hold, [`ErrorKind::BadRequest`] for a patch that cannot be or that does not fit the item.
    pub fn patch_item(
        &self,
        partition_key: impl Into<PartitionKey>,
        id: &str,
        patch: Patch,
    ) -> ItemRequest<RawItem> {
        self.write(|handle| {
            Ok(on_item(handle, OperationType::Patch, partition_key, id)?.with_body(patch.into_body()?))
        })
    }

    /// An operation, and what it is run with.
    fn prepare(
        &self,
        operation: impl FnOnce(&ContainerHandle) -> Result<CosmosOperation>,
    ) -> Result<(Arc<ContainerHandle>, CosmosOperation)> {
        let handle = self.handle()?;
        Ok((Arc::clone(handle), operation(handle)?))
    }

    /// A write, which is answered with the item if the options ask for it.
    fn write(
        &self,
        operation: impl FnOnce(&ContainerHandle) -> Result<CosmosOperation>,
    ) -> ItemRequest<RawItem> {
        let write = self.prepare(operation);
        Request::new(async move |options| {
            let (handle, operation) = write?;
            ItemCall::write(operation, options)?.run(&handle).await
        })
    }

    /// A deletion, which leaves nothing to be answered with.
    fn removal(
        &self,
        operation: impl FnOnce(&ContainerHandle) -> Result<CosmosOperation>,
    ) -> ItemRequest<()> {
        let delete = self.prepare(operation);
        Request::new(async move |options| {
            let (handle, operation) = delete?;
            Ok(ItemCall::new(operation, options)?.run(&handle).await?.map(drop))
        })
    }
}
