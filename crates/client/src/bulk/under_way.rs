//! What is under way beside the loop of a run, each in a task of its own. Whatever becomes of a task, the run hears of
//! it.

use std::sync::Arc;

use cosmonaut_driver::platform::Platform;
use cosmonaut_driver::{Moment, OperationOptions, OperationType, PartitionInfo};
use cosmonaut_wire::model::PartitionKeyDefinition;
use tokio::sync::mpsc;

use super::backlog::{Held, Request};
use super::request::{Answer, Came, send};
use crate::{ContainerClient, Error, ErrorKind, Result};

/// How a container is partitioned, and into what.
pub(super) type Map = (PartitionKeyDefinition, Vec<PartitionInfo>);

/// What a task tells the run.
pub(super) enum Told {
    Answer { task: u64, sent: Moment, answered: Moment, answer: Answer },
    Map { task: u64, map: Option<Map> },
}

/// A request under way.
pub(super) struct Pending {
    pub(super) task: u64,
    pub(super) sent: Moment,
    pub(super) request: Option<Request>,
    pub(super) told: mpsc::UnboundedSender<Told>,
    pub(super) platform: Arc<dyn Platform>,
}

impl Pending {
    /// Sends the request, and tells what came of it.
    pub(super) async fn run(mut self, container: ContainerClient, options: Arc<OperationOptions>) {
        if let Some(request) = &self.request {
            // What is waited for a turn in a group is no time of the partition's.
            let turn = match container.handle() {
                Ok(handle) => handle.turn(OperationType::Bulk, &options, true).await,
                Err(error) => Err(error),
            };
            self.sent = self.platform.now();
            let came = send(&container, turn, request, &options).await;
            self.end(|_| came);
        }
    }

    fn end(&mut self, came: impl FnOnce(&Request) -> (Vec<Came>, f64)) {
        let Some(request) = self.request.take() else { return };
        let (came, charge) = came(&request);
        let answer = Answer { request, came, charge };
        let (task, sent, answered) = (self.task, self.sent, self.platform.now());
        // If nobody listens any more, the run is over.
        let _ = self.told.send(Told::Answer { task, sent, answered, answer });
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        self.end(|request| {
            let message = "a bulk request ended without an answer, by a panic";
            let failed = |_: &Held| Came::Failed(Error::new(ErrorKind::OutcomeUnknown, message));
            (request.operations.iter().map(failed).collect(), 0.0)
        });
    }
}

/// A read of the partitions.
struct Following {
    task: u64,
    map: Option<Map>,
    told: mpsc::UnboundedSender<Told>,
}

impl Drop for Following {
    fn drop(&mut self) {
        // If nobody listens any more, the run is over.
        let _ = self.told.send(Told::Map { task: self.task, map: self.map.take() });
    }
}

/// Reads the partitions anew, and tells which there are.
pub(super) async fn follow(
    container: ContainerClient,
    options: Arc<OperationOptions>,
    task: u64,
    told: mpsc::UnboundedSender<Told>,
) {
    let mut following = Following { task, map: None, told };
    following.map = read_map(&container, true, &options).await.ok();
}

/// How a container is partitioned, and into what.
pub(super) async fn read_map(
    container: &ContainerClient,
    refresh: bool,
    options: &OperationOptions,
) -> Result<Map> {
    let handle = container.handle()?;
    let definition = handle.info(options).await?.partition_key;
    let partitions = handle.partitions(refresh, options).await?;
    Ok((definition, partitions))
}
