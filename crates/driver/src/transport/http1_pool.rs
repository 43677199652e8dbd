//! The HTTP/1.1 connections to one server: who waits for one, and which are being made.
//!
//! An attempt to connect belongs to the pool, not to the request that caused it. Whatever connection is free
//! first goes to whoever has waited longest; a connection that nobody waits for is kept.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use cosmonaut_policy::Moment;
use hyper::client::conn::http1;
use tokio::sync::oneshot;

use super::body::Whole;
use super::broken::not_sent;
use super::endpoint::Authority;
use super::error::{TransportError, TransportErrorKind};
use super::http_client::SendProgress;
use super::http1_client::connect;
use super::hyper_client::Shared;
use super::timeline::ConnectMarks;
use crate::platform::Task;

/// A connection that carries one request at a time. Dropping it closes it.
pub(super) struct Http1Connection {
    pub(super) sender: http1::SendRequest<Whole>,
    pub(super) idle_since: Moment,
    pub(super) _driver: Task,
}

impl Http1Connection {
    pub(super) fn is_open(&self) -> bool {
        !self.sender.is_closed()
    }
}

/// The connections to one server. Dropping it stops the attempts under way.
pub(super) struct Http1Pool {
    server: Authority,
    shared: Arc<Shared>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    idle: Vec<Http1Connection>,
    waiting: VecDeque<oneshot::Sender<Delivery>>,
    /// Without a task while that is being started.
    attempts: Vec<(u64, Option<Task>)>,
    next_attempt: u64,
}

/// What a caller gets that waited: a connection, and how it was made if it was made for the purpose.
struct Delivery {
    result: Result<Http1Connection, TransportError>,
    marks: Option<Arc<ConnectMarks>>,
}

impl Http1Pool {
    pub(super) fn new(server: Authority, shared: Arc<Shared>) -> Self {
        Self { server, shared, state: Mutex::default() }
    }

    /// A connection that carries no request: an idle one, or whichever is free first.
    pub(super) async fn connection(
        self: &Arc<Self>,
        progress: &SendProgress,
    ) -> Result<Http1Connection, TransportError> {
        match self.take_idle_or_wait() {
            Ok(connection) => Ok(connection),
            Err(waiter) => Box::pin(waiter.wait(progress)).await,
        }
    }

    fn take_idle_or_wait(self: &Arc<Self>) -> Result<Http1Connection, Waiter> {
        let now = self.shared.platform.now();
        let timeout = self.shared.config.pool_idle_timeout;
        let mut state = self.lock();
        state.idle.retain(|connection| connection.is_open() && now.since(connection.idle_since) < timeout);
        if let Some(connection) = state.idle.pop() {
            return Ok(connection);
        }
        let (tell, delivered) = oneshot::channel();
        state.waiting.retain(|waiting| !waiting.is_closed());
        state.waiting.push_back(tell);
        // An attempt whose caller has gone away serves this one.
        let attempt = (state.attempts.len() < state.waiting.len()).then(|| {
            state.next_attempt += 1;
            let id = state.next_attempt;
            state.attempts.push((id, None));
            id
        });
        drop(state);
        if let Some(id) = attempt {
            self.start_attempt(id);
        }
        Err(Waiter { pool: Arc::clone(self), delivered })
    }

    /// Outside of the lock: a runtime that has ended drops the task, and so ends the attempt, in here.
    fn start_attempt(self: &Arc<Self>, id: u64) {
        let attempt = Attempt { pool: Arc::downgrade(self), id };
        let (server, shared) = (self.server.clone(), Arc::clone(&self.shared));
        let task = self.shared.platform.spawn(Box::pin(async move {
            let marks = Arc::<ConnectMarks>::default();
            let result = connect(&shared, &server, &marks).await;
            attempt.end(Delivery { result, marks: Some(marks) });
        }));
        let mut state = self.lock();
        if let Some((_, place)) = state.attempts.iter_mut().find(|(known, _)| *known == id) {
            *place = Some(task);
            return;
        }
        drop(state);
        // It has ended, or the pool was cleared.
        drop(task);
    }

    /// Takes in that a request was sent at this moment and given up in silence. Connections that have shown no life
    /// since are closed, so that a dead path costs one request and not one for each of them.
    pub(super) fn distrust(&self, sent: Moment) {
        let distrusted: Vec<_> =
            self.lock().idle.extract_if(.., |connection| connection.idle_since <= sent).collect();
        drop(distrusted);
    }

    /// Gives back a connection whose request is over.
    pub(super) fn keep(&self, mut connection: Http1Connection) {
        connection.idle_since = self.shared.platform.now();
        self.deliver(Delivery { result: Ok(connection), marks: None });
    }

    fn deliver(&self, mut delivery: Delivery) {
        let mut state = self.lock();
        while let Some(waiting) = state.waiting.pop_front() {
            match waiting.send(delivery) {
                Ok(()) => return,
                Err(returned) => delivery = returned,
            }
        }
        let has_room = state.idle.len() < self.shared.config.pool_max_idle_per_host;
        state.idle.extend(delivery.result.ok().filter(|connection| has_room && connection.is_open()));
    }

    /// Closes what is idle, and stops the attempts under way.
    pub(super) fn clear(&self) {
        let (idle, attempts) = {
            let mut state = self.lock();
            state.waiting.clear();
            (std::mem::take(&mut state.idle), std::mem::take(&mut state.attempts))
        };
        drop((idle, attempts));
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An attempt to connect. One that is dropped before its end, as with its runtime, fails; others are made after it.
struct Attempt {
    pool: Weak<Http1Pool>,
    id: u64,
}

impl Attempt {
    /// Passes on what came of it. A pool that was cleared wants no connection from before.
    fn end(&self, delivery: Delivery) {
        let Some(pool) = self.pool.upgrade() else { return };
        let ended = {
            let mut state = pool.lock();
            let place = state.attempts.iter().position(|(known, _)| *known == self.id);
            place.map(|place| state.attempts.swap_remove(place))
        };
        if let Some((_, task)) = ended {
            task.into_iter().for_each(Task::detach);
            pool.deliver(delivery);
        }
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        let Some(pool) = self.pool.upgrade() else { return };
        let result = Err(not_sent(&pool.server, TransportErrorKind::Unreachable));
        self.end(Delivery { result, marks: None });
    }
}

/// A caller that waits for a connection.
struct Waiter {
    pool: Arc<Http1Pool>,
    delivered: oneshot::Receiver<Delivery>,
}

impl Waiter {
    async fn wait(mut self, progress: &SendProgress) -> Result<Http1Connection, TransportError> {
        match (&mut self.delivered).await {
            Ok(Delivery { result, marks }) => {
                if let Some(marks) = marks {
                    progress.connecting().copy(&marks);
                }
                result
            }
            Err(_) => Err(not_sent(&self.pool.server, TransportErrorKind::Disconnected)),
        }
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        // A connection that came just as its caller went away goes to the next.
        self.delivered.close();
        if let Ok(Delivery { result: Ok(connection), .. }) = self.delivered.try_recv() {
            self.pool.keep(connection);
        }
    }
}
