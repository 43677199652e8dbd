//! The loop of a bulk run: takes operations, sends requests, hands out results.
//!
//! It runs as a task of its own, so a consumer that pauses delays neither requests nor their time limits. It takes no
//! more than its bounds allow, and waits for a consumer that does not take its results.

use std::collections::HashMap;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, MutexGuard};
use std::task::{Context, Poll};
use std::time::Duration;

use cosmonaut_driver::platform::{Platform, Task};
use cosmonaut_driver::{Moment, OperationOptions};
use cosmonaut_wire::model::PartitionKeyDefinition;
use cosmonaut_wire::partition_key::KeyShapeError;
use futures_core::Stream;
use tokio::sync::mpsc;

use super::backlog::{Backlog, Bounds, Held, Request};
use super::pace::Throttled;
use super::request::{Answer, Came};
use super::results::{Given, Giver, State};
use super::under_way::{Pending, Told, follow, read_map};
use super::{BulkOperation, BulkProgress, BulkResult};
use crate::{BatchResult, ContainerClient, Error, ErrorKind, Result};

/// How often an operation may find its partition gone.
const MOST_STRAYS: u32 = 10;
/// How much longer each time it is left alone then: a split may take a while.
const SPLIT_PAUSE: Duration = Duration::from_millis(100);
/// How often an operation may meet another on its item.
const MOST_COLLISIONS: u32 = 10;
/// The first pause after that; each further one is twice as long.
const COLLISION_PAUSE: Duration = Duration::from_millis(10);
/// How long nobody asks again for a container that could not be read.
const LEARNING_PAUSE: Duration = Duration::from_secs(1);
/// How many operations are taken before other tasks get their turn.
const TAKEN_AT_ONCE: u32 = 128;

type Operations = Pin<Box<dyn Stream<Item = BulkOperation> + Send>>;
pub(super) type ProgressHandler = Box<dyn FnMut(&BulkProgress) + Send>;
type Sleep = Pin<Box<dyn Future<Output = ()> + Send>>;

/// An operation, and what came of it.
type Over = (Held, Result<BatchResult>);

/// What a run is made with.
pub(super) struct Settings {
    pub(super) options: OperationOptions,
    pub(super) bounds: Bounds,
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
    definition: Option<PartitionKeyDefinition>,
    /// Why nothing can be routed, and since when that is known.
    unknown: Option<(Error, Moment)>,
    backlog: Backlog,
    /// Whether operations were taken since requests were last sent.
    is_fresh: bool,
    /// How many were taken since other tasks had their turn.
    taken_at_once: u32,
    next_index: u64,
    next_task: u64,
    tasks: HashMap<u64, Task>,
    /// The task that reads the partitions anew, if there is one, and the operations that wait for that.
    following: Option<u64>,
    strays: Vec<Held>,
    told: mpsc::UnboundedSender<Told>,
    heard: mpsc::UnboundedReceiver<Told>,
    /// Ends with the first pause of a partition for which something waits.
    sleep: Option<Sleep>,
    results: Giver,
}

/// What the run waits for.
enum Event {
    Operation(Box<BulkOperation>),
    /// No operation is there at the moment.
    Quiet,
    Told(Box<Told>),
    Rested,
}

impl Run {
    pub(super) fn new(
        container: ContainerClient,
        platform: Arc<dyn Platform>,
        settings: Settings,
        source: Operations,
        results: Giver,
    ) -> Self {
        let (told, heard) = mpsc::unbounded_channel();
        Self {
            container,
            platform,
            options: Arc::new(settings.options.clone()),
            backlog: Backlog::new(settings.bounds),
            settings,
            source: Some(source),
            definition: None,
            unknown: None,
            is_fresh: false,
            taken_at_once: 0,
            next_index: 0,
            next_task: 0,
            tasks: HashMap::new(),
            following: None,
            strays: Vec::new(),
            told,
            heard,
            sleep: None,
            results,
        }
    }

    /// Runs to the end, or until nobody takes the results.
    pub(super) async fn run(mut self) {
        while self.source.is_some() || !self.backlog.is_empty() {
            let handled = match self.event().await {
                Event::Operation(operation) => self.take(*operation).await,
                Event::Told(told) => self.hear(*told).await,
                Event::Quiet | Event::Rested => {
                    self.send();
                    Ok(())
                }
            };
            if handled.is_err() {
                return;
            }
        }
        self.results.state().is_over = true;
    }

    async fn event(&mut self) -> Event {
        poll_fn(|context| self.poll_event(context)).await
    }

    fn poll_event(&mut self, context: &mut Context<'_>) -> Poll<Event> {
        if let Poll::Ready(Some(told)) = self.heard.poll_recv(context) {
            return Poll::Ready(Event::Told(Box::new(told)));
        }
        if let (Some(source), true) = (&mut self.source, self.backlog.has_room()) {
            self.taken_at_once += 1;
            if self.taken_at_once > TAKEN_AT_ONCE {
                self.taken_at_once = 0;
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            match source.as_mut().poll_next(context) {
                Poll::Ready(Some(operation)) => return Poll::Ready(Event::Operation(Box::new(operation))),
                Poll::Ready(None) => {
                    self.source = None;
                    return Poll::Ready(Event::Quiet);
                }
                Poll::Pending => self.taken_at_once = 0,
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
        self.state().progress.taken += 1;
        let returns_items = self.settings.returns_items;
        let held = match self.learned().await {
            Ok(definition) => given.held(index, definition, returns_items),
            Err(error) => Err(error),
        };
        let held = match held {
            Ok(held) => held,
            Err(error) => {
                let BulkOperation { key: partition_key, kind, id, .. } = given;
                let result = BulkResult { index, kind, partition_key, id, tries: 0, outcome: Err(error) };
                return self.results.give(result).await;
            }
        };
        self.is_fresh = true;
        if self.backlog.take(held, self.platform.now()) {
            self.send();
        }
        Ok(())
    }

    /// How the container is partitioned, which is asked for with the first operation.
    async fn learned(&mut self) -> Result<&PartitionKeyDefinition> {
        let definition = match self.definition.take() {
            Some(definition) => definition,
            None => self.learn().await?,
        };
        Ok(self.definition.insert(definition))
    }

    async fn learn(&mut self) -> Result<PartitionKeyDefinition> {
        let now = self.platform.now();
        if let Some((error, since)) = &self.unknown
            && now.since(*since) < LEARNING_PAUSE
        {
            return Err(error.clone());
        }
        match read_map(&self.container, false, &self.options).await {
            Ok((definition, partitions)) => {
                self.backlog.divide(partitions);
                Ok(definition)
            }
            Err(error) => {
                self.unknown = Some((error.clone(), self.platform.now()));
                Err(error)
            }
        }
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

    fn start(&mut self, mut request: Request, sent: Moment) {
        for held in &mut request.operations {
            held.tries += 1;
        }
        let (container, options) = (self.container.clone(), Arc::clone(&self.options));
        let (told, platform) = (self.told.clone(), Arc::clone(&self.platform));
        self.spawn(|task| {
            let pending = Pending { task, sent, request: Some(request), told, platform };
            pending.run(container, options)
        });
    }

    /// Reads the partitions anew, unless somebody does already.
    fn follow(&mut self) {
        if self.following.is_some() {
            return;
        }
        let (container, told) = (self.container.clone(), self.told.clone());
        let options = Arc::clone(&self.options);
        let task = self.spawn(|task| follow(container, options, task, told));
        self.following = Some(task);
    }

    fn spawn<F: Future<Output = ()> + Send + 'static>(&mut self, work: impl FnOnce(u64) -> F) -> u64 {
        let task = self.next_task;
        self.next_task += 1;
        self.tasks.insert(task, self.platform.spawn(Box::pin(work(task))));
        task
    }

    async fn hear(&mut self, told: Told) -> Given {
        match told {
            Told::Answer { task, sent, answered, answer } => {
                self.tasks.remove(&task);
                self.settle(sent, answered, answer).await
            }
            Told::Map { task, map } => {
                self.tasks.remove(&task);
                self.following = None;
                let mut over = Vec::new();
                // If they could not be read, those that wait are told again that their partition is gone, and ask again.
                if let Some((definition, partitions)) = map {
                    over = self.redefine(definition);
                    self.backlog.divide(partitions);
                }
                let strays = std::mem::take(&mut self.strays);
                let now = self.platform.now();
                for held in strays.iter().filter(|held| held.strays > 1) {
                    self.backlog.pause(&held.place, now + SPLIT_PAUSE * held.strays);
                }
                over.extend(self.backlog.put_back(strays).into_iter().map(misfit));
                self.send();
                self.give(over).await
            }
        }
    }

    /// Takes it in if the container was made anew with keys of another definition. Gives what waits and does not fit.
    fn redefine(&mut self, definition: PartitionKeyDefinition) -> Vec<Over> {
        if self.definition.as_ref() == Some(&definition) {
            return Vec::new();
        }
        let over = self.backlog.redefine(&definition);
        self.definition = Some(definition);
        over.into_iter().map(misfit).collect()
    }

    async fn give(&mut self, over: Vec<Over>) -> Given {
        for (held, outcome) in over {
            self.results.give(result_of(held, outcome)).await?;
        }
        Ok(())
    }

    /// Sorts out what came of a request: results are given, the rest is sent again.
    async fn settle(&mut self, sent: Moment, answered: Moment, answer: Answer) -> Given {
        let sum = answer.summed(sent, answered);
        let Answer { request, came, charge } = answer;
        {
            let progress = &mut self.state().progress;
            progress.requests += 1;
            progress.request_charge += charge;
            progress.throttled += sum.throttled as u64;
        }
        let throttled = self.backlog.answered(&request.partition, sum);
        let (is_known, patience) = (self.backlog.knows(&request.partition), self.settings.bounds.patience);
        let (mut again, mut over) = (Vec::new(), Vec::new());
        for (mut held, came) in request.operations.into_iter().zip(came) {
            match came {
                Came::Answered(outcome) => over.push((held, outcome)),
                Came::Failed(error) => over.push((held, Err(error))),
                Came::Throttled { error, .. } => match (throttled, held.refused.again(&sum, patience)) {
                    (Throttled::SentAgain, Throttled::SentAgain) => again.push(held),
                    (Throttled::GivenUp, _) | (_, Throttled::GivenUp) => over.push((held, Err(error))),
                },
                Came::Strayed(error) if held.strays >= MOST_STRAYS => over.push((held, Err(error))),
                Came::Strayed(_) => {
                    held.strays += 1;
                    // If its partition is gone here too, it is known where the operation belongs.
                    if is_known { self.strays.push(held) } else { again.push(held) }
                }
                Came::Collided(error) if held.collisions >= MOST_COLLISIONS => over.push((held, Err(error))),
                Came::Collided(_) => {
                    let pause = COLLISION_PAUSE * 2_u32.pow(held.collisions);
                    held.collisions += 1;
                    self.backlog.pause(&held.place, answered + pause);
                    again.push(held);
                }
                // Without anything that fits, there is no use in asking again.
                Came::NoRoom(error) if sum.accepted == 0 => over.push((held, Err(error))),
                Came::NoRoom(_) => again.push(held),
            }
        }
        if !self.strays.is_empty() {
            self.follow();
        }
        for (held, _) in &over {
            self.backlog.finish(held);
        }
        over.extend(self.backlog.put_back(again).into_iter().map(misfit));
        self.send();
        self.give(over).await?;
        let progress = self.state().progress;
        if let Some(handler) = &mut self.settings.progress {
            handler(&progress);
        }
        Ok(())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.results.state()
    }
}

/// An operation that has no place in the container any more.
fn misfit((held, error): (Held, KeyShapeError)) -> Over {
    let message = format!("the container was made anew with another partition key meanwhile: {error}");
    (held, Err(Error::caused_by(ErrorKind::BadRequest, message, error)))
}

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
