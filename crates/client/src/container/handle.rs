//! What every call on a container needs: the driver, and where the container is.

use std::sync::Arc;

use cosmonaut_driver::{CosmosDriver, CosmosOperation, CosmosResponse, OperationOptions};
use cosmonaut_wire::{PathError, ResourcePath, ResourceType};

use crate::Error;

/// A container by name, and the driver of its account.
pub(crate) struct ContainerHandle {
    pub(crate) driver: CosmosDriver,
    /// `/dbs/x/colls/y`
    pub(crate) path: Arc<ResourcePath>,
    /// `/dbs/x/colls/y/docs`
    pub(crate) items: Arc<ResourcePath>,
    pub(crate) database: Arc<str>,
    pub(crate) id: Arc<str>,
}

impl ContainerHandle {
    pub(crate) fn new(
        driver: CosmosDriver,
        database: (&ResourcePath, &Arc<str>),
        id: &str,
    ) -> Result<Self, PathError> {
        let path = database.0.child(ResourceType::Container, id)?;
        let items = path.feed(ResourceType::Document)?;
        let (path, items) = (Arc::new(path), Arc::new(items));
        Ok(Self { driver, path, items, database: Arc::clone(database.1), id: id.into() })
    }

    /// Runs an operation; an error says which.
    // No `async fn`: each layer of those costs a future of its own around the driver's.
    pub(crate) fn run<'a>(
        &'a self,
        operation: &'a CosmosOperation,
        options: &'a OperationOptions,
    ) -> impl Future<Output = Result<CosmosResponse, Error>> + Send + 'a {
        run(&self.driver, operation, options)
    }
}

/// Runs an operation; an error says which.
pub(crate) async fn run(
    driver: &CosmosDriver,
    operation: &CosmosOperation,
    options: &OperationOptions,
) -> Result<CosmosResponse, Error> {
    let result = driver.execute_operation(operation, options).await;
    result.map_err(|error| Error::of_operation(error, operation))
}
