//! One call of the provider: how long it may take, and what it has cost when it ends.

use std::sync::Arc;
use std::time::Duration;

use cosmonaut::{BatchResponse, DiagnosticsContext, Error, ErrorKind, Page, Response};
use tokio::time::Instant;

use super::failure::{self, Cause, Failure};
use super::losses::Losses;
use super::meter::Meter;
use super::retry;
use crate::clock::{self, Clock, End};

/// The least time that a request is given, so that a late call is answered by the service and not by a clock.
const LEAST: Duration = Duration::from_millis(50);

/// A call of the provider. What it has cost is traced when it is dropped.
pub(crate) struct Call {
    operation: &'static str,
    began: Instant,
    /// Until when it goes on in any case.
    deadline: Instant,
    /// The end of the lock that it works under, and until which it goes on too.
    lock: Option<End>,
    clock: Clock,
    losses: Losses,
    /// Whether it looks for what was lost itself, so that it need not say that something may be.
    is_mending: bool,
    /// What all calls of the provider cost.
    total: Arc<Meter>,
    own: Meter,
}

impl Call {
    pub(super) fn new(
        operation: &'static str,
        time: Duration,
        (clock, losses): (Clock, Losses),
        total: Arc<Meter>,
    ) -> Self {
        let began = clock::instant();
        let own = Meter::default();
        let deadline = began + time;
        Self { operation, began, deadline, lock: None, clock, losses, is_mending: false, total, own }
    }

    /// Makes it one that looks for what was lost.
    pub(super) fn mending(mut self) -> Self {
        self.is_mending = true;
        self
    }

    /// Lets it go on as long as a lock holds: whoever prolongs the lock prolongs the call.
    pub(crate) fn under(mut self, lock: &End) -> Self {
        self.lock = Some(lock.clone());
        self
    }

    pub(crate) fn operation(&self) -> &'static str {
        self.operation
    }

    /// The time that is left.
    pub(crate) fn left(&self) -> Duration {
        let deadline = self.lock.as_ref().map_or(self.deadline, |lock| lock.get().max(self.deadline));
        deadline.saturating_duration_since(clock::instant())
    }

    /// Sends a request, again and again while that may help and there is time.
    pub(super) async fn run<T, F>(&self, request: impl Fn(Duration) -> F + Send) -> Result<T, Failure>
    where
        T: Answer,
        F: Future<Output = Result<T, Error>> + Send,
    {
        let (mut attempt, mut maybe_applied, mut unmet_since) = (0, false, None);
        loop {
            let sent = self.clock.reading();
            let error = match request(self.left().max(LEAST)).await {
                Ok(answer) => {
                    answer.date().iter().for_each(|date| self.clock.learn(date, sent));
                    answer.session().iter().for_each(|token| self.losses.answered(token));
                    self.count(answer.diagnostics().iter());
                    return Ok(answer);
                }
                Err(error) => error,
            };
            self.count(error.diagnostics().into_iter());
            // The driver, too, repeats what got no answer.
            maybe_applied |= failure::maybe_applied(&error);
            if error.kind() == ErrorKind::SessionNotAvailable {
                if unmet_since.is_none() && !self.is_mending {
                    self.losses.unmet();
                }
                let since = *unmet_since.get_or_insert(sent.at());
                if self.losses.is_certain(since) {
                    self.losses.forget_session().await;
                    unmet_since = None;
                }
            }
            let pause = match Cause::of(error.kind()) {
                Cause::Transient => retry::pause(attempt, error.retry_after(), self.left(), clock::random()),
                Cause::NotFound | Cause::Conflict | Cause::Condition | Cause::Permanent => None,
            };
            let Some(pause) = pause else {
                return Err(Failure::new(error, maybe_applied));
            };
            tracing::debug!(operation = self.operation, attempt, %error, "the request is repeated");
            clock::sleep(pause).await;
            self.total.add_retries(1);
            attempt += 1;
        }
    }

    /// As [`run`](Self::run), for a page of a query.
    pub(super) async fn page<T, F>(
        &self,
        request: impl Fn(Duration) -> F + Send,
    ) -> Result<Option<Page<T>>, Failure>
    where
        T: Send,
        F: Future<Output = Result<Option<Page<T>>, Error>> + Send,
    {
        self.run(request).await
    }

    fn count<'a>(&self, diagnostics: impl Iterator<Item = &'a DiagnosticsContext>) {
        for context in diagnostics {
            let (requests, charge) = (context.attempts().len(), context.request_charge());
            self.own.add(requests, charge);
            self.total.add(requests, charge);
            // The driver repeats requests, too.
            self.total.add_retries(requests.saturating_sub(1));
        }
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        let cost = self.own.usage();
        tracing::debug!(
            operation = self.operation,
            requests = cost.requests,
            charge = cost.charge,
            elapsed_ms = clock::millis(self.began.elapsed()),
            "provider call"
        );
    }
}

/// What says how it was had.
pub(super) trait Answer {
    fn diagnostics(&self) -> &[DiagnosticsContext];

    /// When the server wrote it, if that is shown.
    fn date(&self) -> Option<&str>;

    /// How far its partition is, if that is shown.
    fn session(&self) -> Option<&str>;
}

fn header<'a, T>(response: &'a Response<T>, name: &str) -> Option<&'a str> {
    response.headers().get(name)?.to_str().ok()
}

const DATE: &str = "date";
const SESSION: &str = "x-ms-session-token";

impl<T> Answer for Response<T> {
    fn diagnostics(&self) -> &[DiagnosticsContext] {
        std::slice::from_ref(Response::diagnostics(self))
    }

    fn date(&self) -> Option<&str> {
        header(self, DATE)
    }

    fn session(&self) -> Option<&str> {
        header(self, SESSION)
    }
}

impl Answer for BatchResponse {
    fn diagnostics(&self) -> &[DiagnosticsContext] {
        std::slice::from_ref(self.response().diagnostics())
    }

    fn date(&self) -> Option<&str> {
        header(self.response(), DATE)
    }

    fn session(&self) -> Option<&str> {
        header(self.response(), SESSION)
    }
}

impl<T> Answer for Option<Page<T>> {
    fn diagnostics(&self) -> &[DiagnosticsContext] {
        self.as_ref().map_or(&[], |page| &page.diagnostics)
    }

    /// Pages do not show it. Nothing is lost by that: every page is followed by a write.
    fn date(&self) -> Option<&str> {
        None
    }

    fn session(&self) -> Option<&str> {
        None
    }
}
