//! Operations as OpenTelemetry sees them: a span each, within it one for each attempt, and metrics.
//!
//! Only OpenTelemetry's API is used here: where the telemetry goes is up to the providers of the application.

use std::fmt;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use opentelemetry::context::FutureExt as _;
use opentelemetry::global::{self, BoxedTracer, ObjectSafeTracerProvider};
use opentelemetry::metrics::MeterProvider;
use opentelemetry::trace::{Span as _, SpanBuilder, SpanKind, Status, TraceContextExt as _, Tracer as _};
use opentelemetry::{Context, InstrumentationScope, KeyValue};

use super::Observed;
use super::attributes::{Ending, Subject};
use super::keys;
use super::metrics::Instruments;
use crate::driver::DriverCore;
use crate::error::Error;
use crate::response::CosmosResponse;
use crate::transport::BoxFuture;

/// Where spans and metrics go, and which there are.
///
/// By default they go to the global providers as these are when a client is made. A provider that is set
/// later is not seen by that client.
///
/// ```
/// use cosmonaut_driver::{CosmosDriverRuntime, OpenTelemetry};
///
/// let telemetry = OpenTelemetry::default().request_metrics(true);
/// let runtime = CosmosDriverRuntime::builder().opentelemetry(telemetry).build()?;
/// # Ok::<(), cosmonaut_driver::Error>(())
/// ```
#[derive(Clone, Default)]
#[must_use = "pass it to `CosmosDriverRuntimeBuilder::opentelemetry`"]
pub struct OpenTelemetry {
    is_off: bool,
    with_request_metrics: bool,
    tracers: Option<Arc<dyn ObjectSafeTracerProvider + Send + Sync>>,
    meters: Option<Arc<dyn MeterProvider + Send + Sync>>,
}

impl OpenTelemetry {
    /// No spans and no metrics: operations pay for neither.
    pub fn off() -> Self {
        Self { is_off: true, ..Self::default() }
    }

    /// The provider for spans, instead of the global one.
    pub fn tracer_provider(
        mut self,
        provider: impl ObjectSafeTracerProvider + Send + Sync + 'static,
    ) -> Self {
        self.tracers = Some(Arc::new(provider));
        self
    }

    /// The provider for metrics, instead of the global one.
    pub fn meter_provider(mut self, provider: impl MeterProvider + Send + Sync + 'static) -> Self {
        self.meters = Some(Arc::new(provider));
        self
    }

    /// Whether there are metrics of single attempts too: `azure.cosmosdb.client.request.duration`,
    /// `.request.body.size` and `.response.body.size`. There are none unless this says so.
    pub fn request_metrics(mut self, wanted: bool) -> Self {
        self.with_request_metrics = wanted;
        self
    }

    fn tracer(&self) -> BoxedTracer {
        match &self.tracers {
            Some(provider) => BoxedTracer::new(provider.boxed_tracer(scope())),
            None => global::tracer_with_scope(scope()),
        }
    }

    fn instruments(&self) -> Instruments {
        let meter = match &self.meters {
            Some(provider) => provider.meter_with_scope(scope()),
            None => global::meter_with_scope(scope()),
        };
        Instruments::new(&meter, self.with_request_metrics)
    }
}

impl fmt::Debug for OpenTelemetry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenTelemetry")
            .field("is_off", &self.is_off)
            .field("with_request_metrics", &self.with_request_metrics)
            .finish_non_exhaustive()
    }
}

fn scope() -> InstrumentationScope {
    InstrumentationScope::builder("cosmonaut").with_version(env!("CARGO_PKG_VERSION")).build()
}

/// The tracer and the instruments of one driver, made once.
pub(crate) struct OperationTelemetry {
    tracer: BoxedTracer,
    instruments: Instruments,
    client_id: Arc<str>,
    user_agent: Arc<str>,
}

impl OperationTelemetry {
    /// For a driver that names itself so; `None` if telemetry is off.
    pub(crate) fn new(settings: &OpenTelemetry, client_id: u64, user_agent: &str) -> Option<Self> {
        (!settings.is_off).then(|| Self {
            tracer: settings.tracer(),
            instruments: settings.instruments(),
            client_id: format!("{client_id:016x}").into(),
            user_agent: user_agent.into(),
        })
    }

    /// The span of an operation, if there is one.
    fn begin(&self, observed: &Observed<'_>, subject: &Subject<'_>) -> Option<Begun> {
        if Context::is_current_telemetry_suppressed() {
            return None;
        }
        let at = begun_at(observed);
        let mut attributes = keys::subject(subject);
        attributes.extend([
            KeyValue::new("azure.resource_provider.namespace", "Microsoft.DocumentDB"),
            KeyValue::new("azure.client.id", Arc::clone(&self.client_id)),
            KeyValue::new("user_agent.original", Arc::clone(&self.user_agent)),
        ]);
        let builder = SpanBuilder::from_name(subject.span_name())
            .with_kind(SpanKind::Client)
            .with_start_time(at)
            .with_attributes(attributes);
        let parent = Context::current();
        let span = self.tracer.build_with_context(builder, &parent);
        // A span that is not recorded still tells the spans below it not to be.
        span.span_context().is_valid().then(|| Begun { context: parent.with_span(span), at })
    }

    /// Counts an operation that has ended, and ends its span.
    fn end(&self, observed: &Observed<'_>, subject: &Subject<'_>, ending: &Ending<'_>, span: Option<&Begun>) {
        let ended = keys::ending(ending);
        let mut attributes = keys::subject(subject);
        if self.instruments.counts_requests() {
            self.record_requests(observed, ending, &attributes);
        }
        if let Some(begun) = span {
            self.end_span(observed, ending, begun, ended.clone());
        }
        attributes.extend(ended);
        self.instruments.record(ending, &attributes);
    }

    fn end_span(&self, observed: &Observed<'_>, ending: &Ending<'_>, begun: &Begun, ended: Vec<KeyValue>) {
        let span = begun.context.span();
        if !span.is_recording() {
            return;
        }
        span.set_attributes(ended);
        span.set_attributes(keys::ending_of_span(observed, ending));
        if let Some(error_type) = &ending.error_type {
            span.set_status(Status::error(error_type.clone()));
        }
        self.emit_requests(observed, ending, begun);
        span.end_with_timestamp(begun.at + ending.elapsed);
    }

    /// A span for each attempt, below the operation's. Attempts are over by now, so their times are given.
    fn emit_requests(&self, observed: &Observed<'_>, ending: &Ending<'_>, parent: &Begun) {
        for attempt in ending.diagnostics.iter().flat_map(|diagnostics| diagnostics.attempts()) {
            let started = parent.at + attempt.started.since(observed.started);
            let mut attributes = keys::attempt(attempt);
            attributes.extend(keys::attempt_of_span(attempt));
            let builder = SpanBuilder::from_name("cosmosdb.request")
                .with_kind(SpanKind::Client)
                .with_start_time(started)
                .with_attributes(attributes);
            let mut span = self.tracer.build_with_context(builder, &parent.context);
            if let Some(error_type) = keys::attempt_error(attempt) {
                span.set_status(Status::error(error_type));
            }
            span.end_with_timestamp(started + attempt.latency);
        }
    }

    fn record_requests(&self, observed: &Observed<'_>, ending: &Ending<'_>, attributes: &[KeyValue]) {
        let request_bytes = observed.operation.body().len();
        for attempt in ending.diagnostics.iter().flat_map(|diagnostics| diagnostics.attempts()) {
            let mut attributes = attributes.to_vec();
            attributes.extend(keys::attempt(attempt));
            self.instruments.record_request(attempt, request_bytes, &attributes);
        }
    }
}

/// The span of an operation that is running.
struct Begun {
    /// The context that its attempts run in.
    context: Context,
    /// When it began. All its times are counted from there, so that a clock which is set in between does not
    /// tear its spans apart.
    at: SystemTime,
}

/// The time of day at which an operation began.
fn begun_at(observed: &Observed<'_>) -> SystemTime {
    let platform = &observed.core.platform;
    let since_then = platform.now().since(observed.started);
    UNIX_EPOCH + platform.time_of_day().saturating_sub(since_then)
}

/// Runs an operation within its span, and measures it.
pub(super) fn within<'a>(
    observed: &Observed<'a>,
    run: BoxFuture<'a, Result<CosmosResponse, Error>>,
) -> BoxFuture<'a, Result<CosmosResponse, Error>> {
    let Some(telemetry) = &observed.core.telemetry else { return run };
    let observed = *observed;
    Box::pin(async move {
        let subject = Subject::of(&observed);
        let span = telemetry.begin(&observed, &subject);
        let result = match &span {
            Some(begun) => run.with_context(begun.context.clone()).await,
            None => run.await,
        };
        telemetry.end(&observed, &subject, &Ending::of(&observed, &result), span.as_ref());
        result
    })
}

/// Counts a driver for as long as it is held.
pub(crate) struct ActiveInstance(Arc<DriverCore>);

impl ActiveInstance {
    pub(crate) fn new(core: &Arc<DriverCore>) -> Self {
        let instance = Self(Arc::clone(core));
        instance.count(1);
        instance
    }

    fn count(&self, change: i64) {
        if let Some(telemetry) = &self.0.telemetry {
            let endpoint = self.0.location.default_endpoint();
            telemetry.instruments.count_instance(change, &keys::server(endpoint));
        }
    }
}

impl Drop for ActiveInstance {
    fn drop(&mut self) {
        self.count(-1);
    }
}
