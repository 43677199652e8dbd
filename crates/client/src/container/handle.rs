//! What every call on a container needs: the driver, and where the container is.

use std::sync::Arc;

use cosmonaut_driver::{
    ContainerInfo, CosmosDriver, CosmosOperation, CosmosResponse, OperationOptions, OperationType,
    PartitionInfo,
};
use cosmonaut_wire::{PathError, ResourcePath, ResourceType};

use crate::Error;
use crate::throughput_control::{Admission, Admitted, Applicant, Charge};

/// A container by name, and the driver of its account.
pub(crate) struct ContainerHandle {
    pub(crate) driver: CosmosDriver,
    /// `/dbs/x/colls/y`
    pub(crate) path: Arc<ResourcePath>,
    /// `/dbs/x/colls/y/docs`
    pub(crate) items: Arc<ResourcePath>,
    pub(crate) database: Arc<str>,
    pub(crate) id: Arc<str>,
    /// The group with a limit that its calls are in.
    control: Option<Arc<dyn Admission>>,
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
        Ok(Self { driver, path, items, database: Arc::clone(database.1), id: id.into(), control: None })
    }

    /// The same container, whose calls are in a group.
    pub(crate) fn controlled(&self, control: Arc<dyn Admission>) -> Self {
        Self {
            driver: self.driver.clone(),
            path: Arc::clone(&self.path),
            items: Arc::clone(&self.items),
            database: Arc::clone(&self.database),
            id: Arc::clone(&self.id),
            control: Some(control),
        }
    }

    /// What is known of the container, for a call with these options; asks if nothing is.
    pub(crate) async fn info(&self, options: &OperationOptions) -> Result<ContainerInfo, Error> {
        Ok(self.driver.container_within(&self.path, options).await?)
    }

    /// The container's partitions, for a call with these options. `refresh` asks even if they are known.
    pub(crate) async fn partitions(
        &self,
        refresh: bool,
        options: &OperationOptions,
    ) -> Result<Vec<PartitionInfo>, Error> {
        Ok(self.driver.partitions_within(&self.path, refresh, options).await?)
    }

    /// Runs an operation on items; an error says which. If the container's calls are in a group, it waits for its turn.
    pub(crate) async fn run(
        &self,
        operation: &CosmosOperation,
        options: &OperationOptions,
    ) -> Result<CosmosResponse, Error> {
        if self.control.is_none() {
            // Not by `run`: each layer of `async fn` costs a future of its own around the driver's.
            let result = self.driver.execute_operation(operation, options).await;
            return result.map_err(|error| Error::of_operation(error, operation));
        }
        Box::pin(async {
            let turn = self.turn(operation.operation_type(), options, false).await?;
            self.run_in(turn, operation, options).await
        })
        .await
    }

    /// Waits for a call's turn, if the container's calls are in a group.
    pub(crate) async fn turn(
        &self,
        operation: OperationType,
        options: &OperationOptions,
        is_patient: bool,
    ) -> Result<Option<Admitted>, Error> {
        let Some(control) = &self.control else { return Ok(None) };
        let applicant =
            Applicant { driver: &self.driver, container: &self.path, operation, options, is_patient };
        control.admit(applicant).await.map(Some)
    }

    /// Runs an operation whose turn it is.
    pub(crate) async fn run_in(
        &self,
        admitted: Option<Admitted>,
        operation: &CosmosOperation,
        options: &OperationOptions,
    ) -> Result<CosmosResponse, Error> {
        let Some(Admitted { options, sent }) = admitted else {
            return run(&self.driver, operation, options).await;
        };
        let result = run(&self.driver, operation, &options).await;
        let diagnostics = match &result {
            Ok(response) => Some(response.diagnostics()),
            Err(error) => error.diagnostics(),
        };
        if let Some(diagnostics) = diagnostics {
            let charge = diagnostics.request_charge();
            let is_known = !diagnostics.has_unknown_charge();
            sent.pay(if is_known { Charge::Known(charge) } else { Charge::AtLeast(charge) });
        }
        result
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
