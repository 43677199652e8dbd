//! Items, one at a time: create, read, replace, upsert, delete, patch.
//!
//! Several in one transaction are in `batch`, several at once in `read_many`.

mod body;
mod call;
mod patch;

use cosmonaut_driver::{CosmosOperation, OperationType};
use cosmonaut_wire::{PartitionKey, ResourceType};
use http::StatusCode;

use crate::options::ItemOptions;
use crate::{ContainerClient, Error, ErrorKind, Response, Result};

use call::{ItemCall, on_item, on_items};

pub use body::{FromItem, IntoItem, RawItem};
pub(crate) use call::ItemName;
pub use patch::Patch;

/// The answer to a write: the item as it is now, if
/// [`content_response`](ItemOptions::content_response) asks for it, and else nothing.
///
/// ```no_run
/// # async fn run(orders: cosmonaut::ContainerClient, order: serde_json::Value) -> cosmonaut::Result<()> {
/// use cosmonaut::ItemOptions;
///
/// let options = ItemOptions::default().content_response(true);
/// let made = orders.upsert_item("contoso", &order, Some(options)).await?;
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

impl ContainerClient {
    /// Creates an item. The partition key is that in the item.
    ///
    /// ```no_run
    /// # async fn run(orders: cosmonaut::ContainerClient) -> cosmonaut::Result<()> {
    /// let order = serde_json::json!({"id": "7", "customer": "contoso", "total": 12.5});
    /// match orders.create_item("contoso", &order, None).await {
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
    pub async fn create_item(
        &self,
        partition_key: impl Into<PartitionKey>,
        item: impl IntoItem,
        options: Option<ItemOptions>,
    ) -> Result<ItemResponse> {
        let handle = self.handle()?;
        let create = on_items(handle, OperationType::Create, partition_key).with_body(item.into_json()?);
        ItemCall::write(create, options)?.run(handle).await
    }

    /// Reads an item.
    ///
    /// ```no_run
    /// # async fn run(orders: cosmonaut::ContainerClient) -> cosmonaut::Result<()> {
    /// #[derive(serde::Deserialize)]
    /// struct Order {
    ///     total: f64,
    /// }
    /// let order: Order = orders.read_item("contoso", "7", None).await?.into_value();
    /// // A hierarchical key is a tuple.
    /// let cart: serde_json::Value = orders.read_item(("contoso", 12), "cart", None).await?.into_value();
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] if there is none, [`ErrorKind::Serialization`] if it is no `T`,
    /// [`ErrorKind::NotModified`] if it still is of the version that
    /// [`if_none_match`](ItemOptions::if_none_match) names.
    pub async fn read_item<T: FromItem>(
        &self,
        partition_key: impl Into<PartitionKey>,
        id: &str,
        options: Option<ItemOptions>,
    ) -> Result<Response<T>> {
        let handle = self.handle()?;
        let call = ItemCall::new(on_item(handle, OperationType::Read, partition_key, id)?, options)?;
        let response = handle.run(&call.operation, &call.layer).await?;
        let name = ItemName { handle, id };
        if response.status().code() == StatusCode::NOT_MODIFIED {
            return Err(Error::of_answer(
                ErrorKind::NotModified,
                format!("{name} has not changed"),
                response,
            ));
        }
        match T::from_json(response.body(), name) {
            Ok(value) => Ok(Response::new(value, response)),
            Err(error) => Err(error.found_in(response)),
        }
    }

    /// Replaces an item, which must be there. With [`if_match`](ItemOptions::if_match), only the version that
    /// the caller has seen.
    ///
    /// ```no_run
    /// # async fn run(orders: cosmonaut::ContainerClient) -> cosmonaut::Result<()> {
    /// use cosmonaut::ItemOptions;
    ///
    /// let read = orders.read_item::<serde_json::Value>("contoso", "7", None).await?;
    /// let seen = read.etag().map(|etag| ItemOptions::default().if_match(etag));
    /// let mut order = read.into_value();
    /// order["total"] = 13.into();
    /// match orders.replace_item("contoso", "7", &order, seen).await {
    ///     Err(error) if error.is_precondition_failed() => println!("somebody else changed it: read again"),
    ///     replaced => drop(replaced?),
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] if there is none, [`ErrorKind::PreconditionFailed`] if it is of another version.
    pub async fn replace_item(
        &self,
        partition_key: impl Into<PartitionKey>,
        id: &str,
        item: impl IntoItem,
        options: Option<ItemOptions>,
    ) -> Result<ItemResponse> {
        let handle = self.handle()?;
        let replace =
            on_item(handle, OperationType::Replace, partition_key, id)?.with_body(item.into_json()?);
        ItemCall::write(replace, options)?.run(handle).await
    }

    /// Creates an item, or replaces the one of its id.
    ///
    /// ```no_run
    /// # async fn run(orders: cosmonaut::ContainerClient) -> cosmonaut::Result<()> {
    /// let order = serde_json::json!({"id": "7", "customer": "contoso", "total": 12.5});
    /// orders.upsert_item("contoso", order, None).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::BadRequest`] if the key is another than in the item, [`ErrorKind::TooLarge`] past 2 MB.
    pub async fn upsert_item(
        &self,
        partition_key: impl Into<PartitionKey>,
        item: impl IntoItem,
        options: Option<ItemOptions>,
    ) -> Result<ItemResponse> {
        let handle = self.handle()?;
        let upsert = on_items(handle, OperationType::Upsert, partition_key).with_body(item.into_json()?);
        ItemCall::write(upsert, options)?.run(handle).await
    }

    /// Deletes an item.
    ///
    /// ```no_run
    /// # async fn run(orders: cosmonaut::ContainerClient) -> cosmonaut::Result<()> {
    /// orders.delete_item("contoso", "7", None).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] if there is none, [`ErrorKind::PreconditionFailed`] if it is of another version
    /// than [`if_match`](ItemOptions::if_match) names.
    pub async fn delete_item(
        &self,
        partition_key: impl Into<PartitionKey>,
        id: &str,
        options: Option<ItemOptions>,
    ) -> Result<Response<()>> {
        let handle = self.handle()?;
        let delete = on_item(handle, OperationType::Delete, partition_key, id)?;
        Ok(ItemCall::new(delete, options)?.run(handle).await?.map(drop))
    }

    /// Deletes all items of one partition key.
    ///
    /// The service does it in the background, with a tenth of the throughput, and returns at once; reads do not see the
    /// items any more. The account needs the capability `DeleteAllItemsByPartitionKey`.
    ///
    /// ```no_run
    /// # async fn run(orders: cosmonaut::ContainerClient) -> cosmonaut::Result<()> {
    /// orders.delete_all_items_by_partition_key("contoso", None).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::BadRequest`] if the account cannot do that, or the key is not of the container's shape.
    pub async fn delete_all_items_by_partition_key(
        &self,
        partition_key: impl Into<PartitionKey>,
        options: Option<ItemOptions>,
    ) -> Result<Response<()>> {
        let handle = self.handle()?;
        let path = handle.path.child(ResourceType::Operation, "partitionkeydelete")?;
        let delete =
            CosmosOperation::new(OperationType::DeleteByPartitionKey, path).with_target(partition_key.into());
        Ok(ItemCall::new(delete, options)?.run(handle).await?.map(drop))
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
    /// orders.patch_item("contoso", "7", patch, None).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] if there is none, [`ErrorKind::PreconditionFailed`] if the patch's condition does
    /// not hold, [`ErrorKind::BadRequest`] for a patch that cannot be or that does not fit the item.
    pub async fn patch_item(
        &self,
        partition_key: impl Into<PartitionKey>,
        id: &str,
        patch: Patch,
        options: Option<ItemOptions>,
    ) -> Result<ItemResponse> {
        let handle = self.handle()?;
        let change = on_item(handle, OperationType::Patch, partition_key, id)?.with_body(patch.into_body()?);
        ItemCall::write(change, options)?.run(handle).await
    }
}
