//! The client of a database: itself, its throughput, and the containers in it.

use std::fmt;
use std::sync::Arc;

use cosmonaut_driver::{CosmosDriver, CosmosOperation, OperationType};
use cosmonaut_wire::model::{ContainerProperties, DatabaseProperties, ThroughputProperties};
use cosmonaut_wire::{ResourcePath, ResourceType};

use crate::container::run;
use crate::feeds::listing::{Listing, Runner};
use crate::metadata::{create, if_match, json_body, resource, with_throughput};
use crate::options::{
    CreateContainerOptions, DeleteDatabaseOptions, ReadContainerOptions, ReadDatabaseOptions,
    ThroughputOptions,
};
use crate::throughput::{Throughput, ThroughputPoller};
use crate::{ContainerClient, Error, ErrorKind, Items, Query, Request, Response, Result};

/// The client of a database. Cheap to clone.
///
/// ```no_run
/// # async fn run(client: cosmonaut::CosmosClient) -> cosmonaut::Result<()> {
/// use cosmonaut::ContainerProperties;
///
/// let shop = client.database("shop");
/// shop.create_container_if_not_exists(ContainerProperties::new("orders", "/customer")).await?;
/// let orders = shop.container("orders");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct DatabaseClient {
    driver: CosmosDriver,
    id: Arc<str>,
    /// An invalid name is reported by the first request, so that clients are made without a `?`.
    path: Result<Arc<ResourcePath>>,
}

impl DatabaseClient {
    pub(crate) fn new(driver: CosmosDriver, id: &str) -> Self {
        let path = ResourcePath::database(id).map(Arc::new).map_err(Error::from);
        Self { driver, id: id.into(), path }
    }

    pub(crate) fn path(&self) -> Result<&Arc<ResourcePath>> {
        self.path.as_ref().map_err(Error::clone)
    }

    pub(crate) fn driver(&self) -> &CosmosDriver {
        &self.driver
    }

    /// The name.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The container of this name, whether or not there is one. An invalid name is reported by the first
    /// request.
    ///
    /// ```no_run
    /// # async fn run(shop: cosmonaut::DatabaseClient) -> cosmonaut::Result<()> {
    /// let orders = shop.container("orders");
    /// # Ok(())
    /// # }
    /// ```
    pub fn container(&self, id: &str) -> ContainerClient {
        ContainerClient::new(&self.driver, (self.path(), &self.id), id)
    }

    /// Reads the database's properties.
    ///
    /// ```no_run
    /// # async fn run(shop: cosmonaut::DatabaseClient) -> cosmonaut::Result<()> {
    /// println!("{:?}", shop.read().await?.value().timestamp);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] if there is none of this name.
    pub fn read(&self) -> Request<ReadDatabaseOptions, Response<DatabaseProperties>> {
        let this = self.clone();
        Request::new(async move |options: Option<ReadDatabaseOptions>| {
            let operation = CosmosOperation::new(OperationType::Read, Arc::clone(this.path()?));
            let layer = ReadDatabaseOptions::operation_layer(options.as_ref());
            resource("database", run(&this.driver, &operation, &layer).await?)
        })
    }

    /// Deletes the database and everything in it.
    ///
    /// ```no_run
    /// # async fn run(shop: cosmonaut::DatabaseClient) -> cosmonaut::Result<()> {
    /// shop.delete().await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] if there is none of this name.
    pub fn delete(&self) -> Request<DeleteDatabaseOptions, Response<()>> {
        let this = self.clone();
        Request::new(async move |options: Option<DeleteDatabaseOptions>| {
            let operation = CosmosOperation::new(OperationType::Delete, Arc::clone(this.path()?));
            let etag = options.as_ref().and_then(|options| options.if_match_etag.as_ref());
            let operation = if_match(operation, etag)?;
            let layer = DeleteDatabaseOptions::operation_layer(options.as_ref());
            Ok(Response::new((), run(&this.driver, &operation, &layer).await?))
        })
    }

    /// The throughput that the database's containers share; `None` if each has its own.
    ///
    /// ```no_run
    /// # async fn run(shop: cosmonaut::DatabaseClient) -> cosmonaut::Result<()> {
    /// if let Some(throughput) = shop.read_throughput().await?.into_value() {
    ///     println!("{throughput:?}");
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] if there is no such database.
    pub fn read_throughput(&self) -> Request<ThroughputOptions, Response<Option<ThroughputProperties>>> {
        let this = self.clone();
        Request::new(async move |options| this.throughput(options)?.read().await)
    }

    /// Changes the throughput that the database's containers share.
    ///
    /// ```no_run
    /// # async fn run(shop: cosmonaut::DatabaseClient) -> cosmonaut::Result<()> {
    /// use cosmonaut::ThroughputProperties;
    /// shop.replace_throughput(ThroughputProperties::autoscale(10_000, None)).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] if there is no such database, or none that it shares.
    pub fn replace_throughput(
        &self,
        throughput: ThroughputProperties,
    ) -> Request<ThroughputOptions, Response<ThroughputProperties>> {
        let this = self.clone();
        Request::new(async move |options| this.throughput(options)?.replace(throughput).await)
    }

    /// Changes the throughput that the database's containers share, and watches until the service has done so.
    ///
    /// ```no_run
    /// # async fn run(shop: cosmonaut::DatabaseClient) -> cosmonaut::Result<()> {
    /// use cosmonaut::ThroughputProperties;
    /// shop.begin_replace_throughput(ThroughputProperties::manual(50_000)).wait().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn begin_replace_throughput(&self, throughput: ThroughputProperties) -> ThroughputPoller {
        ThroughputPoller::new(self.throughput(None), throughput)
    }

    fn throughput(&self, options: Option<ThroughputOptions>) -> Result<Throughput> {
        Ok(Throughput::of(&self.driver, self.path()?, options.as_ref()))
    }

    /// Creates a container.
    ///
    /// ```no_run
    /// # async fn run(shop: cosmonaut::DatabaseClient) -> cosmonaut::Result<()> {
    /// use cosmonaut::{ContainerProperties, ThroughputProperties, TimeToLive};
    ///
    /// let properties =
    ///     ContainerProperties::new("carts", ["/tenant", "/user"]).with_default_ttl(TimeToLive::NoExpiry);
    /// shop.create_container(properties).throughput(ThroughputProperties::manual(400)).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`] if there is one of this name.
    pub fn create_container(
        &self,
        properties: ContainerProperties,
    ) -> Request<CreateContainerOptions, Response<ContainerProperties>> {
        let this = self.clone();
        Request::new(async move |options| this.create_container_as(&properties, options).await)
    }

    /// Reads the container of this name, or creates it if there is none: the status is 200 or 201.
    ///
    /// ```no_run
    /// # async fn run(shop: cosmonaut::DatabaseClient) -> cosmonaut::Result<()> {
    /// use cosmonaut::ContainerProperties;
    /// shop.create_container_if_not_exists(ContainerProperties::new("orders", "/customer")).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`] if there is one with another partition key, which nothing can change; what
    /// reading and creating may end in.
    pub fn create_container_if_not_exists(
        &self,
        properties: ContainerProperties,
    ) -> Request<CreateContainerOptions, Response<ContainerProperties>> {
        let this = self.clone();
        Request::new(async move |options| this.find_or_create_container(&properties, options).await)
    }

    async fn find_or_create_container(
        &self,
        properties: &ContainerProperties,
        options: Option<CreateContainerOptions>,
    ) -> Result<Response<ContainerProperties>> {
        let container = self.container(&properties.id);
        let reading = || {
            let request = options.as_ref().map(|options| options.request.clone()).unwrap_or_default();
            container.read().options(ReadContainerOptions { request })
        };
        let found = match reading().await {
            Err(error) if error.is_not_found() => {
                match self.create_container_as(properties, options.clone()).await {
                    // Somebody was faster.
                    Err(error) if error.is_conflict() => reading().await?,
                    made => return made,
                }
            }
            found => found?,
        };
        let (wanted, has) = (&properties.partition_key.paths, &found.value().partition_key.paths);
        if wanted != has {
            let message = format!(
                "container {:?} is there with the partition key {has:?}, not {wanted:?} (use another name: a \
                 partition key cannot be changed)",
                properties.id
            );
            return Err(Error::new(ErrorKind::Conflict, message));
        }
        Ok(found)
    }

    async fn create_container_as(
        &self,
        properties: &ContainerProperties,
        options: Option<CreateContainerOptions>,
    ) -> Result<Response<ContainerProperties>> {
        let path = self.path()?;
        // The name is checked before it is sent: the service would take some that no path can hold.
        path.child(ResourceType::Container, &properties.id)?;
        let throughput = options.as_ref().and_then(|options| options.throughput);
        let operation = create(path.feed(ResourceType::Container)?, json_body(properties)?);
        let operation = with_throughput(operation, throughput);
        let layer = CreateContainerOptions::operation_layer(options.as_ref());
        resource("container", run(&self.driver, &operation, &layer).await?)
    }

    /// All containers.
    ///
    /// ```no_run
    /// # async fn run(shop: cosmonaut::DatabaseClient) -> cosmonaut::Result<()> {
    /// let mut containers = shop.list_containers();
    /// while let Some(container) = containers.next().await {
    ///     println!("{}", container?.id);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn list_containers(&self) -> Items<ContainerProperties> {
        self.containers(None)
    }

    /// The containers for which a query holds.
    ///
    /// ```no_run
    /// # async fn run(shop: cosmonaut::DatabaseClient) -> cosmonaut::Result<()> {
    /// let mut found = shop.query_containers("SELECT * FROM c WHERE c.defaultTtl > 0");
    /// while let Some(container) = found.next().await {
    ///     println!("{}", container?.id);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn query_containers(&self, query: impl Into<Query>) -> Items<ContainerProperties> {
        self.containers(Some(query.into()))
    }

    fn containers(&self, query: Option<Query>) -> Items<ContainerProperties> {
        let feed = self.path().and_then(|path| Ok(path.feed(ResourceType::Container)?));
        Listing::items(Ok(Runner::Account(self.driver.clone())), feed, query)
    }
}

impl fmt::Debug for DatabaseClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DatabaseClient").field("id", &self.id).finish_non_exhaustive()
    }
}
