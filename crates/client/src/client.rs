//! The client of an account: where everything starts.

use std::fmt;
use std::sync::Arc;

use cosmonaut_driver::transport::Trust;
use cosmonaut_driver::{CosmosDriver, CosmosDriverRuntime, Credential};
use cosmonaut_options::{CosmosClientOptions, GroupReport};
use cosmonaut_wire::model::{AccountProperties, DatabaseProperties};
use cosmonaut_wire::{EMULATOR_KEY, ResourcePath, ResourceType};

use crate::container::run;
use crate::feeds::listing::{Listing, Runner};
use crate::metadata::{create, json_body, resource, with_throughput};
use crate::options::{CreateDatabaseOptions, ReadDatabaseOptions};
use crate::{DatabaseClient, Error, Items, Query, Request, Response, Result};

/// Where `cosmonaut up` and the emulators of others listen.
const EMULATOR_ENDPOINT: &str = "http://localhost:8081";

/// The client of an account. Cheap to clone; clones share connections, caches, session and credential.
///
/// ```no_run
/// # async fn run() -> cosmonaut::Result<()> {
/// use cosmonaut::{CosmosClient, Credential};
///
/// let key = Credential::master_key("c2VjcmV0")?;
/// let client = CosmosClient::new("https://shop.documents.azure.com", key)?;
/// let orders = client.database("shop").container("orders");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct CosmosClient {
    driver: CosmosDriver,
    credential: Credential,
}

impl CosmosClient {
    /// A client for the account at `endpoint`. Nothing is sent until the first call; options are set by the
    /// [`builder`](Self::builder).
    ///
    /// It must be made where a Tokio runtime is running, which then looks after its connections. Clients that
    /// are made in one Tokio runtime share connections, as far as their connection options are the same.
    ///
    /// # Errors
    /// An endpoint, an option or an environment variable that cannot be used; no Tokio runtime.
    pub fn new(endpoint: &str, credential: Credential) -> Result<Self> {
        Self::builder().endpoint(endpoint).credential(credential).build()
    }

    /// As [`new`](Self::new), with what the account's page in the Azure portal shows as connection string.
    ///
    /// ```no_run
    /// # fn run() -> cosmonaut::Result<()> {
    /// use cosmonaut::CosmosClient;
    /// let text = "AccountEndpoint=https://shop.documents.azure.com:443/;AccountKey=c2VjcmV0;";
    /// let client = CosmosClient::from_connection_string(text)?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// A text that is no connection string, and what [`new`](Self::new) refuses.
    pub fn from_connection_string(text: &str) -> Result<Self> {
        Self::builder().connection_string(text).build()
    }

    /// A client for an emulator on this machine, at its usual address and with its well-known key.
    ///
    /// ```no_run
    /// # async fn run() -> cosmonaut::Result<()> {
    /// let client = cosmonaut::CosmosClient::emulator()?;
    /// client.create_database_if_not_exists("shop").await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// An environment variable that cannot be used; no Tokio runtime.
    pub fn emulator() -> Result<Self> {
        Self::new(EMULATOR_ENDPOINT, Credential::master_key(EMULATOR_KEY)?)
    }

    pub(crate) fn with_runtime(
        runtime: &CosmosDriverRuntime,
        endpoint: &str,
        credential: Credential,
        options: CosmosClientOptions,
    ) -> Result<Self> {
        let driver = runtime.create_driver(endpoint, credential.clone(), options)?;
        Ok(Self { driver, credential })
    }

    pub(crate) fn trusting(
        trust: Trust,
        endpoint: &str,
        credential: Credential,
        options: CosmosClientOptions,
    ) -> Result<Self> {
        // Without a Tokio runtime there is none to share either, and the error says so.
        let shared = CosmosDriverRuntime::shared()?;
        let runtime = match trust == Trust::default() {
            true => shared,
            false => CosmosDriverRuntime::builder().trust(trust).build()?,
        };
        Self::with_runtime(&runtime, endpoint, credential, options)
    }

    /// Reads the account, so that a wrong endpoint or key shows now and not at the first call.
    ///
    /// ```no_run
    /// # async fn run(client: cosmonaut::CosmosClient) -> cosmonaut::Result<()> {
    /// client.connect().await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If the account cannot be read.
    pub async fn connect(&self) -> Result<()> {
        Ok(self.driver.initialize().await?)
    }

    /// The account as it last described itself: its regions and their endpoints, its consistency.
    ///
    /// ```no_run
    /// # async fn run(client: cosmonaut::CosmosClient) -> cosmonaut::Result<()> {
    /// for region in &client.account().await?.readable_locations {
    ///     println!("{}", region.name);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// If it has not been read yet, and cannot be.
    pub async fn account(&self) -> Result<Arc<AccountProperties>> {
        Ok(self.driver.account().await?)
    }

    /// Signs with another account key from here on. Connections stay, and so do requests under way.
    ///
    /// ```no_run
    /// # fn run(client: cosmonaut::CosmosClient, secondary: &str) -> cosmonaut::Result<()> {
    /// client.rotate_key(secondary)?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// A text that is no key, or a client that does not sign with keys.
    pub fn rotate_key(&self, base64: &str) -> Result<()> {
        Ok(self.credential.rotate_key(base64)?)
    }

    /// The database of this name, whether or not there is one. An invalid name is reported by the first
    /// request.
    ///
    /// ```no_run
    /// # async fn run(client: cosmonaut::CosmosClient) -> cosmonaut::Result<()> {
    /// let orders = client.database("shop").container("orders");
    /// # Ok(())
    /// # }
    /// ```
    pub fn database(&self, id: &str) -> DatabaseClient {
        DatabaseClient::new(self.driver.clone(), id)
    }

    /// Creates a database.
    ///
    /// ```no_run
    /// # async fn run(client: cosmonaut::CosmosClient) -> cosmonaut::Result<()> {
    /// let shop = client.create_database("shop").await?.into_value();
    /// println!("made {}", shop.id);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Conflict`](crate::ErrorKind::Conflict) if there is one of this name.
    pub fn create_database(&self, id: &str) -> Request<CreateDatabaseOptions, Response<DatabaseProperties>> {
        let (this, id) = (self.clone(), id.to_owned());
        Request::new(async move |options| this.create_database_as(&id, options).await)
    }

    async fn create_database_as(
        &self,
        id: &str,
        options: Option<CreateDatabaseOptions>,
    ) -> Result<Response<DatabaseProperties>> {
        // The name is checked before it is sent: the service would take some that no path can hold.
        ResourcePath::database(id)?;
        let feed = ResourcePath::top_feed(ResourceType::Database)?;
        let body = json_body(&DatabaseProperties::new(id))?;
        let throughput = options.as_ref().and_then(|options| options.throughput);
        let operation = with_throughput(create(feed, body), throughput);
        let layer = CreateDatabaseOptions::operation_layer(options.as_ref());
        resource("database", run(&self.driver, &operation, &layer).await?)
    }

    /// Reads the database of this name, or creates it if there is none: the status is 200 or 201.
    ///
    /// ```no_run
    /// # async fn run(client: cosmonaut::CosmosClient) -> cosmonaut::Result<()> {
    /// let shop = client.create_database_if_not_exists("shop").await?.into_value();
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// What reading and creating may end in, but never a conflict.
    pub fn create_database_if_not_exists(
        &self,
        id: &str,
    ) -> Request<CreateDatabaseOptions, Response<DatabaseProperties>> {
        let (this, id) = (self.clone(), id.to_owned());
        Request::new(async move |options: Option<CreateDatabaseOptions>| {
            let database = this.database(&id);
            let reading = || {
                let request = options.as_ref().map(|options| options.request.clone()).unwrap_or_default();
                database.read().options(ReadDatabaseOptions { request })
            };
            match reading().await {
                Err(error) if error.is_not_found() => {}
                found => return found,
            }
            match this.create_database_as(&id, options.clone()).await {
                // Somebody was faster.
                Err(error) if error.is_conflict() => reading().await,
                made => made,
            }
        })
    }

    /// All databases.
    ///
    /// ```no_run
    /// # async fn run(client: cosmonaut::CosmosClient) -> cosmonaut::Result<()> {
    /// let mut databases = client.list_databases();
    /// while let Some(database) = databases.next().await {
    ///     println!("{}", database?.id);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn list_databases(&self) -> Items<DatabaseProperties> {
        self.databases(None)
    }

    /// The databases for which a query holds.
    ///
    /// ```no_run
    /// # async fn run(client: cosmonaut::CosmosClient) -> cosmonaut::Result<()> {
    /// let mut found = client.query_databases("SELECT * FROM d WHERE STARTSWITH(d.id, 'test-')");
    /// while let Some(database) = found.next().await {
    ///     client.database(&database?.id).delete().await?;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn query_databases(&self, query: impl Into<Query>) -> Items<DatabaseProperties> {
        self.databases(Some(query.into()))
    }

    fn databases(&self, query: Option<Query>) -> Items<DatabaseProperties> {
        let feed = ResourcePath::top_feed(ResourceType::Database).map_err(Error::from);
        Listing::items(Ok(Runner::Account(self.driver.clone())), feed, query)
    }

    /// Every option with its value, as long as a call sets nothing, and whose value that is: this client's, the
    /// runtime's, a variable's, or the default.
    ///
    /// ```no_run
    /// # async fn run(client: cosmonaut::CosmosClient) -> cosmonaut::Result<()> {
    /// for group in client.explain_options() {
    ///     for option in group.options.iter().filter(|option| option.value.is_some()) {
    ///         println!("{} = {:?} by {:?}", option.option.path, option.value, option.sources);
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn explain_options(&self) -> Vec<GroupReport> {
        self.driver.explain_options()
    }

    /// The driver below, for what this client has no method for.
    ///
    /// ```no_run
    /// # async fn run(client: cosmonaut::CosmosClient) -> cosmonaut::Result<()> {
    /// let orders = cosmonaut::ResourcePath::parse("/dbs/shop/colls/orders")?;
    /// for partition in client.driver().partitions(&orders, false).await? {
    ///     println!("{:?}", partition.range);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn driver(&self) -> &CosmosDriver {
        &self.driver
    }

    /// Stops what runs in the background, and returns when it has. Calls still work, but nothing is refreshed.
    ///
    /// ```no_run
    /// # async fn run(client: cosmonaut::CosmosClient) -> cosmonaut::Result<()> {
    /// client.shutdown().await;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn shutdown(&self) {
        self.driver.shutdown().await;
    }
}

impl fmt::Debug for CosmosClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CosmosClient")
            .field("driver", &self.driver)
            .field("credential", &self.credential)
            .finish()
    }
}
