//! Reading one lease: page after page is read, handed over and checkpointed, until something ends it.

use std::sync::Arc;
use std::time::Duration;

use cosmonaut_driver::{CosmosResponse, PartitionTarget};
use cosmonaut_wire::mutation;
use http::StatusCode;

use super::after_failure::{self, AfterFailure, MOST_FAILURES};
use super::changes::ChangesContext;
use super::delivery::{HandlerError, NotDelivered};
use super::engine::Engine;
use super::hold::{Hold, HoldState};
use super::identity::is_from_another;
use super::store::NotUpdated;
use crate::Error;
use crate::change_feed::next_etag;
use crate::feed_scope::ResolvedScope;
use crate::feeds::place::{has_moved, places};
use crate::waiting::unless;

/// Why reading has ended.
pub(super) enum ReadEnd {
    /// The processor stops.
    Stopped,
    /// The lease is not this instance's any more, or is gone.
    LeaseLost,
    /// The partition of the lease is not there any more.
    Moved,
    /// Another container has the name.
    Replaced,
    HandlerFailed(HandlerError),
    Failed(Error),
}

/// A lease being read.
pub(super) struct LeaseReader<'a> {
    engine: &'a Engine,
    hold: &'a Arc<Hold>,
    /// The etag behind which the next page begins.
    pub(super) at: Option<String>,
    /// How many pages were handed over.
    page: u64,
    /// How many requests have failed in a row.
    failures: u32,
    /// Whether pages continue the client's session.
    in_session: bool,
    /// Whether there was nothing new since the last page.
    was_idle: bool,
    /// Whether anything was answered since this was last set back.
    pub(super) was_answered: bool,
}

impl<'a> LeaseReader<'a> {
    pub(super) fn new(engine: &'a Engine, hold: &'a Arc<Hold>, at: Option<String>) -> Self {
        Self {
            engine,
            hold,
            at,
            page: 0,
            failures: 0,
            in_session: true,
            was_idle: false,
            was_answered: false,
        }
    }

    /// Reads until something ends it. The page in hand is handled first.
    pub(super) async fn run(&mut self) -> ReadEnd {
        loop {
            if let Some(end) = self.end() {
                return end;
            }
            let answer = match unless(self.ended(), self.ask()).await {
                Some(answer) => answer,
                None => continue,
            };
            let step = match answer {
                Ok(None) => return ReadEnd::Moved,
                Ok(Some(response)) => self.receive(response).await,
                Err(error) if has_moved(&error) => return ReadEnd::Moved,
                Err(error) => self.wait_after(error).await,
            };
            if let Err(end) = step {
                return end;
            }
        }
    }

    /// The next page; `None` if the lease's range lies in several partitions.
    async fn ask(&self) -> Result<Option<CosmosResponse>, Error> {
        let target = match self.hold.version {
            0 => PartitionTarget::Range(self.hold.token.as_str().into()),
            _ => {
                let scope = ResolvedScope { key: None, range: self.hold.range.clone() };
                let options = self.engine.settings.request_options().operation_layer();
                let monitored = &self.engine.monitored;
                let mut found = places(monitored, &scope, &self.hold.range, false, &options).await?;
                match (found.pop(), found.is_empty()) {
                    (Some(only), true) => only.target,
                    _ => return Ok(None),
                }
            }
        };
        self.engine.read(target, self.at.as_deref(), self.hold.start, self.in_session).await.map(Some)
    }

    async fn receive(&mut self, response: CosmosResponse) -> Result<(), ReadEnd> {
        match is_from_another(&self.engine.monitored, self.hold.container(), &response).await {
            Ok(false) => {}
            Ok(true) => return Err(ReadEnd::Replaced),
            Err(error) => return self.wait_after(error).await,
        }
        (self.failures, self.was_answered) = (0, true);
        let etag = match next_etag(&response, self.at.as_deref()) {
            Ok(etag) => etag,
            Err(error) => return Err(ReadEnd::Failed(error.found_in(response))),
        };
        if response.status().code() == StatusCode::NOT_MODIFIED {
            self.was_idle = true;
            let is_start = self.at.replace(etag.clone()).is_none();
            if is_start && self.page == 0 {
                // Whoever has the lease next starts from the same point.
                self.checkpoint(0, &etag).await?;
            }
            return self.pause(self.engine.settings.poll_interval).await;
        }
        // Another instance may have taken the lease meanwhile, and have the page too.
        if std::mem::take(&mut self.was_idle) || self.hold.is_in_doubt(self.engine.settings.renew_interval) {
            self.check().await?;
        }
        self.page += 1;
        let context = ChangesContext {
            hold: Arc::clone(self.hold),
            page: self.page,
            continuation: etag.clone(),
            expiry: self.engine.settings.lease_expiry,
            request_charge: response.request_charge(),
            diagnostics: response.diagnostics().clone(),
        };
        if mutation!("checkpoint-before-the-handler-is-done") {
            self.checkpoint(self.page, &etag).await?;
        }
        match self.engine.delivery.deliver(context, response).await {
            Ok(()) => {}
            Err(NotDelivered::Handler(error)) => return Err(ReadEnd::HandlerFailed(error)),
            Err(NotDelivered::Unreadable(error)) => return Err(ReadEnd::Failed(error)),
        }
        if self.engine.settings.checkpoints_itself {
            self.checkpoint(self.page, &etag).await?;
        }
        self.at = Some(etag);
        Ok(())
    }

    /// Writes how far the lease was read. What passes is tried again, also when the processor stops: the page would come
    /// again otherwise.
    async fn checkpoint(&mut self, page: u64, etag: &str) -> Result<(), ReadEnd> {
        loop {
            let error = match self.hold.checkpoint(page, etag).await {
                Ok(()) => {
                    self.failures = 0;
                    return Ok(());
                }
                Err(NotUpdated::Lost | NotUpdated::Gone) => return Err(ReadEnd::LeaseLost),
                Err(NotUpdated::Failed(error)) => error,
            };
            let wait = self.count_failure(error)?;
            if self.engine.is_stopping() && self.failures >= MOST_FAILURES {
                return Err(ReadEnd::Stopped);
            }
            unless(self.hold.ended(), self.engine.sleep(wait)).await;
        }
    }

    /// Makes sure that the lease is still this instance's.
    async fn check(&mut self) -> Result<(), ReadEnd> {
        loop {
            match self.hold.check().await {
                Ok(()) => return Ok(()),
                Err(NotUpdated::Lost | NotUpdated::Gone) => return Err(ReadEnd::LeaseLost),
                Err(NotUpdated::Failed(error)) => self.wait_after(error).await?,
            }
        }
    }

    /// Waits before a failed request is tried again, or ends the reading.
    async fn wait_after(&mut self, error: Error) -> Result<(), ReadEnd> {
        let wait = self.count_failure(error)?;
        self.pause(wait).await
    }

    /// How long to wait after a failure; the end if there is nothing to wait for.
    fn count_failure(&mut self, error: Error) -> Result<Duration, ReadEnd> {
        self.failures += 1;
        match after_failure::after(&error, self.failures, self.engine.settings.poll_interval) {
            AfterFailure::GiveUp => Err(ReadEnd::Failed(error)),
            next @ (AfterFailure::Wait(time) | AfterFailure::WaitWithoutSession(time)) => {
                self.in_session &= matches!(next, AfterFailure::Wait(_));
                self.engine.listener.failed(Some(&self.hold.token), error);
                Ok(time)
            }
        }
    }

    /// Waits, unless reading is to end first.
    pub(super) async fn pause(&self, time: Duration) -> Result<(), ReadEnd> {
        unless(self.ended(), self.engine.sleep(time)).await;
        self.end().map_or(Ok(()), Err)
    }

    fn end(&self) -> Option<ReadEnd> {
        match self.hold.state() {
            HoldState::Held => self.engine.is_stopping().then_some(ReadEnd::Stopped),
            HoldState::Moving | HoldState::Lost | HoldState::Gone | HoldState::Closed => {
                Some(ReadEnd::LeaseLost)
            }
        }
    }

    async fn ended(&self) {
        unless(self.engine.stopped(), self.hold.ended()).await;
    }
}
