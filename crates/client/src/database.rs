//! The client of a database: itself, its throughput, and the containers in it.

use std::fmt;
use std::sync::Arc;

use cosmonaut_driver::{CosmosDriver, CosmosOperation, OperationType};
use cosmonaut_wire::model::{ContainerProperties, DatabaseProperties, QuerySpec, ThroughputProperties};
use cosmonaut_wire::{ResourcePath, ResourceType};

use crate::container::run;
use crate::listing::{Listing, Paging};
use crate::metadata::{create, if_match, json_body, resource, with_throughput};
use crate::options::{
    CreateContainerOptions, DeleteDatabaseOptions, QueryContainersOptions, ReadDatabaseOptions,
    ThroughputOptions,
};
use crate::throughput::Throughput;
use crate::{ContainerClient, Error, ErrorKind, Items, Response, Result};

/// The client of a database. Cheap to clone.
///
/// ```no_run
/// # async fn run(client: cosmonaut::CosmosClient) -> cosmonaut::Result<()> {
/// use cosmonaut::ContainerProperties;
///
/// let shop = client.database("shop");
/// shop.create_container_if_absent(ContainerProperties::new("orders", "/customer"), None).await?;
/// let orders = shop.container("orders");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct DatabaseClient {
    driver: CosmosDriver,
    id: Arc<str>,
    /// A name that cannot be shows at the first call, so that clients are made without a `?`.
    path: Result<Arc<ResourcePath>>,
}

impl DatabaseClient {
    pub(crate) fn new(driver: CosmosDriver, id: &str) -> Self {
        let path = ResourcePath::database(id).map(Arc::new).map_err(Error::from);
        Self { driver, id: id.into(), path }
    }

    fn path(&self) -> Result<&Arc<ResourcePath>> {
        self.path.as_ref().map_err(Error::clone)
    }

    /// The name.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The container of this name, whether or not there is one. A name that cannot be shows at the first call.
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
    /// println!("{:?}", shop.read(None).await?.value().timestamp);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] if there is none of this name.
    pub async fn read(&self, options: Option<ReadDatabaseOptions>) -> Result<Response<DatabaseProperties>> {
        let operation = CosmosOperation::new(OperationType::Read, Arc::clone(self.path()?));
        let layer = ReadDatabaseOptions::operation_layer(options.as_ref());
        resource("database", run(&self.driver, &operation, &layer).await?)
    }

    /// Deletes the database and everything in it.
    ///
    /// ```no_run
    /// # async fn run(shop: cosmonaut::DatabaseClient) -> cosmonaut::Result<()> {
    /// shop.delete(None).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] if there is none of this name.
    pub async fn delete(&self, options: Option<DeleteDatabaseOptions>) -> Result<Response<()>> {
        let operation = CosmosOperation::new(OperationType::Delete, Arc::clone(self.path()?));
        let etag = options.as_ref().and_then(|options| options.if_match_etag.as_ref());
        let operation = if_match(operation, etag)?;
        let layer = DeleteDatabaseOptions::operation_layer(options.as_ref());
        Ok(Response::new((), run(&self.driver, &operation, &layer).await?))
    }

    /// The throughput that the database's containers share; `None` if each has its own.
    ///
    /// ```no_run
    /// # async fn run(shop: cosmonaut::DatabaseClient) -> cosmonaut::Result<()> {
    /// if let Some(throughput) = shop.read_throughput(None).await?.into_value() {
    ///     println!("{throughput:?}");
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] if there is no such database.
    pub async fn read_throughput(
        &self,
        options: Option<ThroughputOptions>,
    ) -> Result<Response<Option<ThroughputProperties>>> {
        self.throughput(options).await?.read().await
    }

    /// Changes the throughput that the database's containers share.
    ///
    /// ```no_run
    /// # async fn run(shop: cosmonaut::DatabaseClient) -> cosmonaut::Result<()> {
    /// use cosmonaut::ThroughputProperties;
    /// shop.replace_throughput(ThroughputProperties::autoscale(10_000, None), None).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::NotFound`] if there is no such database, or none that it shares.
    pub async fn replace_throughput(
        &self,
        throughput: ThroughputProperties,
        options: Option<ThroughputOptions>,
    ) -> Result<Response<ThroughputProperties>> {
        self.throughput(options).await?.replace(throughput).await
    }

    async fn throughput(&self, options: Option<ThroughputOptions>) -> Result<Throughput<'_>> {
        let layer = ThroughputOptions::operation_layer(options.as_ref());
        let read = CosmosOperation::new(OperationType::Read, Arc::clone(self.path()?));
        let properties: DatabaseProperties =
            resource("database", run(&self.driver, &read, &layer).await?)?.into_value();
        Ok(Throughput::of(&self.driver, self.path()?, properties.rid, layer))
    }

    /// Creates a container.
    ///
    /// ```no_run
    /// # async fn run(shop: cosmonaut::DatabaseClient) -> cosmonaut::Result<()> {
    /// use cosmonaut::options::CreateContainerOptions;
    /// use cosmonaut::{ContainerProperties, ThroughputProperties, TimeToLive};
    ///
    /// let properties =
    ///     ContainerProperties::new("carts", ["/tenant", "/user"]).with_default_ttl(TimeToLive::NoExpiry);
    /// let throughput = Some(ThroughputProperties::manual(400));
    /// shop.create_container(properties, Some(CreateContainerOptions { throughput, ..Default::default() })).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`] if there is one of this name.
    pub async fn create_container(
        &self,
        properties: ContainerProperties,
        options: Option<CreateContainerOptions>,
    ) -> Result<Response<ContainerProperties>> {
        self.create_container_as(&properties, options).await
    }

    /// Reads the container of this name, or creates it if there is none: the status is 200 or 201.
    ///
    /// ```no_run
    /// # async fn run(shop: cosmonaut::DatabaseClient) -> cosmonaut::Result<()> {
    /// use cosmonaut::ContainerProperties;
    /// shop.create_container_if_absent(ContainerProperties::new("orders", "/customer"), None).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`] if there is one with another partition key, which nothing can change; what
    /// reading and creating may end in.
    pub async fn create_container_if_absent(
        &self,
        properties: ContainerProperties,
        options: Option<CreateContainerOptions>,
    ) -> Result<Response<ContainerProperties>> {
        let container = self.container(&properties.id);
        let found = match container.read(None).await {
            Err(error) if error.is_not_found() => {
                match self.create_container_as(&properties, options).await {
                    // Somebody was faster.
                    Err(error) if error.is_conflict() => container.read(None).await?,
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
    /// let mut containers = shop.list_containers(None);
    /// while let Some(container) = containers.next().await {
    ///     println!("{}", container?.id);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn list_containers(&self, options: Option<QueryContainersOptions>) -> Items<ContainerProperties> {
        self.containers(None, options)
    }

    /// The containers for which a query holds.
    ///
    /// ```no_run
    /// # async fn run(shop: cosmonaut::DatabaseClient) -> cosmonaut::Result<()> {
    /// let mut found = shop.query_containers("SELECT * FROM c WHERE c.defaultTtl > 0", None);
    /// while let Some(container) = found.next().await {
    ///     println!("{}", container?.id);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn query_containers(
        &self,
        query: impl Into<QuerySpec>,
        options: Option<QueryContainersOptions>,
    ) -> Items<ContainerProperties> {
        self.containers(Some(query.into()), options)
    }

    fn containers(
        &self,
        query: Option<QuerySpec>,
        options: Option<QueryContainersOptions>,
    ) -> Items<ContainerProperties> {
        let layer = QueryContainersOptions::operation_layer(options.as_ref());
        let QueryContainersOptions { max_item_count, continuation, .. } = options.unwrap_or_default();
        let paging = Paging { max_item_count, continuation };
        let start = || {
            let feed = self.path()?.feed(ResourceType::Container)?;
            Listing::start(&self.driver, feed, query.as_ref(), layer, paging)
        };
        Items::new(start())
    }
}

impl fmt::Debug for DatabaseClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DatabaseClient").field("id", &self.id).finish_non_exhaustive()
    }
}
