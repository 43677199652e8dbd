//! The loop of a bulk run: takes operations, sends requests, hands out results.
//!
//! It runs as a task of its own, so a consumer that pauses delays neither requests nor their time limits. It takes no
//! more than its bounds allow, and waits for a consumer that does not take its results.

use std::collections::HashMap;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use cosmonaut_driver::platform::{Platform, Task};
use cosmonaut_driver::{Moment, OperationOptions};
use cosmonaut_wire::model::PartitionKeyDefinition;
use futures_core::Stream;
use tokio::sync::mpsc;

use super::backlog::{Backlog, Bounds, Held, Request};
use super::pace::Answered;
use super::request::{Answer, Came, send};
use super::{BulkOperation, BulkProgress, BulkResult};
use crate::{BatchResult, ContainerClient, Error, ErrorKind, Result};

/// How often an operation may find its partition gone.
const MOST_STRAYS: u32 = 10;
/// How much longer each time it is left alone then: a split may take a while.
const SPLIT_PAUSE: Duration = Duration::from_millis(100);
/// How often an operation is sent again that met another on its item, or found no room in the answer in vain.
const MOST_AGAIN: u32 = 20;
/// What an operation takes beside its item, about.
const OVERHEAD: usize = 300;

type Operations = Pin<Box<dyn Stream<Item = BulkOperation> + Send>>;
pub(super) type ProgressHandler = Box<dyn FnMut(&BulkProgress) + Send>;
/// The sums, for the run and for whoever waits for it.
pub(super) type SharedProgress = Arc<Mutex<BulkProgress>>;
type Sleep = Pin<Box<dyn Future<Output = ()> + Send>>;

/// What a run is made with.
pub(super) struct Settings {
    pub(super) options: OperationOptions,
    pub(super) bounds: Bounds,
    pub(super) patience: Duration,
    pub(super) returns_items: bool,
    pub(super) progress: Option<ProgressHandler>,
}

/// A run.
pub(super) struct Run {
    container: ContainerClient,
    platform: Arc<dyn Platform>,
    settings: Settings,
    options: Arc<OperationOptions>,
    source: Option<Operations>,
    /// Why nothing can be routed, once that is known.
    hopeless: Option<Error>,
    definition: Option<PartitionKeyDefinition>,
    backlog: Backlog,
    /// Whether operations were taken since requests were last sent.
    is_fresh: bool,
    next_index: u64,
    next_task: u64,
    tasks: HashMap<u64, Task>,
    answered: mpsc::UnboundedSender<(u64, Moment, Answer)>,
    answers: mpsc::UnboundedReceiver<(u64, Moment, Answer)>,
    /// Ends with the first pause of a partition for which something waits.
    sleep: Option<Sleep>,
    results: mpsc::Sender<BulkResult>,
    progress: SharedProgress,
}

/// What the run waits for.
enum Event {
    Operation(Box<BulkOperation>),
    /// No operation is there at the moment.
    Quiet,
    Answer(u64, Moment, Box<Answer>),
    Rested,
}

impl Run {
    pub(super) fn new(
        container: ContainerClient,
        platform: Arc<dyn Platform>,
        settings: Settings,
        source: Operations,
        results: mpsc::Sender<BulkResult>,
        progress: SharedProgress,
    ) -> Self {
        let (answered, answers) = mpsc::unbounded_channel();
        Self {
            container,
            platform,
            options: Arc::new(settings.options.clone()),
            backlog: Backlog::new(settings.bounds),
            settings,
            source: Some(source),
            hopeless: None,
            definition: None,
            is_fresh: false,
            next_index: 0,
            next_task: 0,
            tasks: HashMap::new(),
            answered,
            answers,
            sleep: None,
            results,
            progress,
        }
    }

    /// Runs to the end, or until nobody takes the results.
    pub(super) async fn run(mut self) {
        if let Err(error) = self.learn(false).await {
            self.hopeless = Some(error);
        }
        while self.source.is_some() || !self.backlog.is_empty() {
            let handled = match self.event().await {
                Event::Operation(operation) => self.take(*operation).await,
                Event::Answer(task, sent, answer) => {
                    self.tasks.remove(&task);
                    self.settle(sent, *answer).await
                }
                Event::Quiet | Event::Rested => {
                    self.send();
                    Ok(())
                }
            };
            if handled.is_err() {
                return;
            }
        }
    }

    /// Learns the container's key and partitions.
    async fn learn(&mut self, refresh: bool) -> Result<()> {
        let handle = self.container.handle()?;
        let container = handle.driver.container(&handle.path).await?;
        let partitions = handle.driver.partitions(&handle.path, refresh).await?;
        self.definition = Some(container.partition_key);
        self.backlog.divide(partitions, self.platform.now());
        Ok(())
    }

    async fn event(&mut self) -> Event {
        poll_fn(|context| self.poll_event(context)).await
    }

    fn poll_event(&mut self, context: &mut Context<'_>) -> Poll<Event> {
        if let Poll::Ready(Some((task, sent, answer))) = self.answers.poll_recv(context) {
            return Poll::Ready(Event::Answer(task, sent, Box::new(answer)));
        }
        if let (Some(source), true) = (&mut self.source, self.backlog.has_room()) {
            match source.as_mut().poll_next(context) {
                Poll::Ready(Some(operation)) => return Poll::Ready(Event::Operation(Box::new(operation))),
                Poll::Ready(None) => {
                    self.source = None;
                    return Poll::Ready(Event::Quiet);
                }
                Poll::Pending => {}
            }
        }
        if std::mem::take(&mut self.is_fresh) {
            return Poll::Ready(Event::Quiet);
        }
        match &mut self.sleep {
            Some(sleep) => sleep.as_mut().poll(context).map(|()| Event::Rested),
            None => Poll::Pending,
        }
    }

    /// Takes an operation from those given.
    async fn take(&mut self, given: BulkOperation) -> Given {
        let index = self.next_index;
        self.next_index += 1;
        self.progress().taken += 1;
        let BulkOperation { key, kind, id, operation } = given;
        let held = match self.hold(index, &key, &id, operation) {
            Ok(held) => held,
            Err(error) => {
                let result =
                    BulkResult { index, kind, partition_key: key, id, tries: 0, outcome: Err(error) };
                return self.give(result).await;
            }
        };
        self.is_fresh = true;
        if self.backlog.take(held) {
            self.send();
        }
        Ok(())
    }

    fn hold(
        &self,
        index: u64,
        key: &cosmonaut_wire::PartitionKey,
        id: &Option<String>,
        operation: Result<cosmonaut_wire::model::BatchOperation>,
    ) -> Result<Held> {
        let mut operation = operation?;
        let definition = match (&self.hopeless, &self.definition) {
            (None, Some(definition)) => definition,
            (Some(error), _) => return Err(error.clone()),
            (None, None) => return Err(Error::new(ErrorKind::Configuration, "the container is not known")),
        };
        let place = key
            .effective(definition)
            .map_err(|error| Error::caused_by(ErrorKind::BadRequest, error.to_string(), error))?;
        operation.partition_key = Some(key.to_string());
        operation.minimal_return_preference = !self.settings.returns_items;
        let body = operation.resource_body.as_ref().map_or(0, |body| body.get().len());
        let bytes = body + key.to_string().len() * 2 + id.as_ref().map_or(0, String::len) + OVERHEAD;
        let (key, id) = (key.clone(), id.clone());
        Ok(Held { index, key, id, place, operation, bytes, tries: 0, strays: 0 })
    }

    /// Sends whatever may be sent. As long as more may be given, requests that are not full wait for the answer to
    /// the one before.
    fn send(&mut self) {
        let now = self.platform.now();
        while let Some(request) = self.backlog.next_request(self.source.is_none(), now) {
            self.start(request, now);
        }
        // By the same clock as above: a pause that is over by now has not been seen to be.
        let rest = |at: Moment| self.platform.sleep(at.since(self.platform.now()));
        self.sleep = self.backlog.next_pause_end(now).map(rest);
    }

    fn start(&mut self, request: Request, now: Moment) {
        let (task, answered) = (self.next_task, self.answered.clone());
        self.next_task += 1;
        let (container, options) = (self.container.clone(), Arc::clone(&self.options));
        let work = self.platform.spawn(Box::pin(async move {
            let answer = send(&container, request, &options).await;
            // If nobody listens any more, the run is over.
            let _ = answered.send((task, now, answer));
        }));
        self.tasks.insert(task, work);
    }

    /// Sorts out what came of a request: results are given, the rest is sent again.
    async fn settle(&mut self, sent: Moment, answer: Answer) -> Given {
        let Answer { request, came, charge } = answer;
        let now = self.platform.now();
        let throttled = came.iter().filter(|came| matches!(came, Came::Throttled { .. }));
        let pause = throttled.clone().filter_map(|came| match came {
            Came::Throttled { retry_after, .. } => *retry_after,
            Came::Over(_) | Came::Strayed(_) | Came::Again(_) => None,
        });
        let answered = Answered {
            sent,
            operations: request.operations.len(),
            throttled: throttled.clone().count(),
            retry_after: pause.max(),
        };
        {
            let mut progress = self.progress();
            progress.requests += 1;
            progress.request_charge += charge;
            progress.throttled += answered.throttled as u64;
        }
        let stalled = self.backlog.answered(&request.partition, answered, now);
        let has_strayed = came.iter().any(|came| matches!(came, Came::Strayed(_)));

        let (mut again, mut over) = (Vec::new(), Vec::new());
        for (mut held, came) in request.operations.into_iter().zip(came) {
            match came {
                Came::Over(outcome) => over.push((held, outcome)),
                Came::Throttled { error, .. } if stalled >= self.settings.patience => {
                    over.push((held, Err(error)));
                }
                Came::Throttled { .. } => again.push(held),
                Came::Strayed(error) if held.strays >= MOST_STRAYS => over.push((held, Err(error))),
                Came::Strayed(_) => {
                    held.strays += 1;
                    again.push(held);
                }
                Came::Again(error) if held.tries >= MOST_AGAIN => over.push((held, Err(error))),
                Came::Again(_) => again.push(held),
            }
        }
        if has_strayed && let Err(error) = self.learn(true).await {
            // Where the rest belongs is not known: whatever went astray ends with that.
            over.extend(again.drain(..).map(|held| (held, Err(error.clone()))));
        }
        for held in again.iter().filter(|held| held.strays > 1) {
            self.backlog.pause(&held.place, now + SPLIT_PAUSE * held.strays);
        }
        self.backlog.put_back(again);
        for (held, _) in &over {
            self.backlog.finish(held);
        }
        self.send();
        for (held, outcome) in over {
            self.give(result_of(held, outcome)).await?;
        }
        let progress = *self.progress();
        if let Some(handler) = &mut self.settings.progress {
            handler(&progress);
        }
        Ok(())
    }

    fn progress(&self) -> MutexGuard<'_, BulkProgress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn give(&mut self, result: BulkResult) -> Given {
        match &result.outcome {
            Ok(_) => self.progress().succeeded += 1,
            Err(_) => self.progress().failed += 1,
        }
        self.results.send(result).await.map_err(|_| Unwanted)
    }
}

/// Whether somebody takes the results.
type Given = std::result::Result<(), Unwanted>;

/// Nobody takes the results any more.
struct Unwanted;

fn result_of(held: Held, outcome: Result<BatchResult>) -> BulkResult {
    BulkResult {
        index: held.index,
        kind: held.operation.operation_type,
        partition_key: held.key,
        id: held.id,
        tries: held.tries,
        outcome,
    }
}
