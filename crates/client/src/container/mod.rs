//! The client of a container: itself and its throughput.
//!
//! What is done with its items is in `items`, `batch`, `read_many`, `query` and `change_feed`.

mod handle;

use std::fmt;
use std::sync::Arc;

use cosmonaut_driver::{CosmosDriver, CosmosOperation, OperationType};
use cosmonaut_wire::model::{ContainerProperties, ThroughputProperties};
use cosmonaut_wire::{ResourcePath, SessionToken};

use crate::metadata::{if_match, json_body, resource};
use crate::options::{
    DeleteContainerOptions, ReadContainerOptions, ReplaceContainerOptions, ThroughputOptions,
};
use crate::throughput::{Throughput, ThroughputPoller};
use crate::throughput_control::Admission;
use crate::{Error, Request, Response, Result};

pub(crate) use handle::{ContainerHandle, run};

/// The client of a container and the items in it. Cheap to clone.
///
/// ```no_run
/// # async fn run(client: cosmonaut::CosmosClient) -> cosmonaut::Result<()> {
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize)]
/// struct Order {
///     id: String,
///     customer: String,
///     total: f64,
/// }
///
/// let orders = client.database("shop").container("orders");
/// let order = Order { id: "7".into(), customer: "contoso".into(), total: 12.5 };
/// orders.create_item("contoso", &order).await?;
/// let found: Order = orders.read_item("contoso", "7").await?.into_value();
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct ContainerClient {
    id: Arc<str>,
    /// An invalid name is reported by the first request, so that clients are made without a `?`.
    handle: Result<Arc<ContainerHandle>>,
}

impl ContainerClient {
    pub(crate) fn new(
        driver: &CosmosDriver,
        (path, database): (Result<&Arc<ResourcePath>>, &Arc<str>),
        id: &str,
    ) -> Self {
        let handle = path.and_then(|path| Ok(ContainerHandle::new(driver.clone(), (path, database), id)?));
        Self { id: id.into(), handle: handle.map(Arc::new) }
    }

    /// What calls are made with.
    pub(crate) fn handle(&self) -> Result<&Arc<ContainerHandle>> {
        self.handle.as_ref().map_err(Error::clone)
    }

    /// The same container, whose calls are in a group with a limit.
    pub(crate) fn controlled(&self, control: Arc<dyn Admission>) -> Self {
        let handle = self.handle.as_ref().map(|handle| Arc::new(handle.controlled(control)));
        Self { id: Arc::clone(&self.id), handle: handle.map_err(Error::clone) }
    }

    /// The name.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Reads the container's properties.
    ///
    /// ```no_run
    /// # async fn run(orders: cosmonaut::ContainerClient) -> cosmonaut::Result<()> {
    /// let key = orders.read().await?.into_value().partition_key;
    /// println!("{:?}", key.paths);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) if there is none of this name.
    pub fn read(&self) -> Request<ReadContainerOptions, Response<ContainerProperties>> {
        let handle = self.handle().cloned();
        Request::new(async move |options: Option<ReadContainerOptions>| {
            let handle = handle?;
            let operation = CosmosOperation::new(OperationType::Read, Arc::clone(&handle.path));
            let layer = ReadContainerOptions::operation_layer(options.as_ref());
            resource("container", run(&handle.driver, &operation, &layer).await?)
        })
    }

    /// Replaces the container's properties: its indexing, its time to live and so on. Its name and its
    /// partition key cannot be changed.
    ///
    /// ```no_run
    /// # async fn run(orders: cosmonaut::ContainerClient) -> cosmonaut::Result<()> {
    /// use cosmonaut::TimeToLive;
    ///
    /// let properties = orders.read().await?.into_value();
    /// orders.replace(properties.with_default_ttl(TimeToLive::NoExpiry)).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) if there is none of this name.
    pub fn replace(
        &self,
        properties: ContainerProperties,
    ) -> Request<ReplaceContainerOptions, Response<ContainerProperties>> {
        let handle = self.handle().cloned();
        Request::new(async move |options: Option<ReplaceContainerOptions>| {
            let handle = handle?;
            let operation = CosmosOperation::new(OperationType::Replace, Arc::clone(&handle.path))
                .with_body(json_body(&properties)?);
            let etag = options.as_ref().and_then(|options| options.if_match_etag.as_ref());
            let operation = if_match(operation, etag)?;
            let layer = ReplaceContainerOptions::operation_layer(options.as_ref());
            resource("container", run(&handle.driver, &operation, &layer).await?)
        })
    }

    /// Deletes the container and everything in it.
    ///
    /// ```no_run
    /// # async fn run(orders: cosmonaut::ContainerClient) -> cosmonaut::Result<()> {
    /// orders.delete().await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) if there is none of this name.
    pub fn delete(&self) -> Request<DeleteContainerOptions, Response<()>> {
        let handle = self.handle().cloned();
        Request::new(async move |options: Option<DeleteContainerOptions>| {
            let handle = handle?;
            let operation = CosmosOperation::new(OperationType::Delete, Arc::clone(&handle.path));
            let etag = options.as_ref().and_then(|options| options.if_match_etag.as_ref());
            let operation = if_match(operation, etag)?;
            let layer = DeleteContainerOptions::operation_layer(options.as_ref());
            Ok(Response::new((), run(&handle.driver, &operation, &layer).await?))
        })
    }

    /// All that this client has seen of the container, for handing it to another client.
    ///
    /// ```no_run
    /// # async fn run(here: cosmonaut::ContainerClient, there: cosmonaut::ContainerClient) -> cosmonaut::Result<()> {
    /// // In one process, after a write:
    /// let seen = here.session_token().await?.to_string();
    /// // In another, which is to see it:
    /// there.adopt_session_token(&seen.parse()?).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) if there is no such container.
    pub async fn session_token(&self) -> Result<SessionToken> {
        let handle = self.handle()?;
        let container = handle.driver.container(&handle.path).await?;
        Ok(handle.driver.session_token(container.rid))
    }

    /// Continues a session from elsewhere, for all clones of this client: reads see at least what the token has.
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) if there is no such container.
    pub async fn adopt_session_token(&self, token: &SessionToken) -> Result<()> {
        let handle = self.handle()?;
        let container = handle.driver.container(&handle.path).await?;
        handle.driver.adopt_session_token(container.rid, token);
        Ok(())
    }

    /// Forgets what this client has seen of the container, for all its clones: reads may be older than what was seen
    /// before.
    ///
    /// A forced failover can lose writes. A session that has seen them is answered by no region any more: reads end
    /// in [`ErrorKind::SessionNotAvailable`](crate::ErrorKind::SessionNotAvailable) until the session is forgotten.
    ///
    /// ```no_run
    /// # async fn run(orders: cosmonaut::ContainerClient) -> cosmonaut::Result<()> {
    /// use cosmonaut::ErrorKind;
    ///
    /// let mut read = orders.read_item::<serde_json::Value>("contoso", "7").await;
    /// if read.as_ref().is_err_and(|error| error.kind() == ErrorKind::SessionNotAvailable) {
    ///     orders.forget_session().await?;
    ///     read = orders.read_item("contoso", "7").await;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) if there is no such container.
    pub async fn forget_session(&self) -> Result<()> {
        let handle = self.handle()?;
        let container = handle.driver.container(&handle.path).await?;
        handle.driver.forget_session(container.rid);
        Ok(())
    }

    /// The container's throughput; `None` if it shares its database's, or the account has none to set.
    ///
    /// ```no_run
    /// # async fn run(orders: cosmonaut::ContainerClient) -> cosmonaut::Result<()> {
    /// println!("{:?}", orders.read_throughput().await?.value());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) if there is no such container.
    pub fn read_throughput(&self) -> Request<ThroughputOptions, Response<Option<ThroughputProperties>>> {
        let this = self.clone();
        Request::new(async move |options| this.throughput(options)?.read().await)
    }

    /// Changes the container's throughput, between manual and autoscale too: that takes two steps, of which the
    /// first lets the service pick the amount.
    ///
    /// ```no_run
    /// # async fn run(orders: cosmonaut::ContainerClient) -> cosmonaut::Result<()> {
    /// use cosmonaut::ThroughputProperties;
    /// orders.replace_throughput(ThroughputProperties::autoscale(4000, None)).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`](crate::ErrorKind::NotFound) if there is no such container, or it has no
    /// throughput of its own.
    pub fn replace_throughput(
        &self,
        throughput: ThroughputProperties,
    ) -> Request<ThroughputOptions, Response<ThroughputProperties>> {
        let this = self.clone();
        Request::new(async move |options| this.throughput(options)?.replace(throughput).await)
    }

    /// Changes the container's throughput, and watches until the service has done so.
    ///
    /// ```no_run
    /// # async fn run(orders: cosmonaut::ContainerClient) -> cosmonaut::Result<()> {
    /// use cosmonaut::ThroughputProperties;
    /// orders.begin_replace_throughput(ThroughputProperties::manual(50_000)).wait().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn begin_replace_throughput(&self, throughput: ThroughputProperties) -> ThroughputPoller {
        ThroughputPoller::new(self.throughput(None), throughput)
    }

    fn throughput(&self, options: Option<ThroughputOptions>) -> Result<Throughput> {
        let handle = self.handle()?;
        Ok(Throughput::of(&handle.driver, &handle.path, options.as_ref()))
    }
}

impl fmt::Debug for ContainerClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("ContainerClient");
        if let Ok(handle) = &self.handle {
            debug.field("database", &handle.database);
        }
        debug.field("id", &self.id).finish_non_exhaustive()
    }
}
