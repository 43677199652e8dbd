//! Operations as OpenTelemetry sees them: a span each, within it one for each attempt, and metrics.
//!
//! Only OpenTelemetry's API is used here: where the telemetry goes is up to the providers of the application.

use std::fmt;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use cosmonaut_wire::ResourcePath;
use opentelemetry::context::FutureExt as _;
use opentelemetry::global::{self, BoxedTracer, ObjectSafeTracerProvider};
use opentelemetry::metrics::MeterProvider;
use opentelemetry::trace::{
    Span as _, SpanBuilder, SpanContext, SpanId, SpanKind, Status, TraceContextExt as _, TraceFlags, TraceId,
    TraceState, Tracer as _,
};
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
/// later is not seen by that client. Where no provider is set, nothing is computed.
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

    /// `None` if there is no provider.
    fn tracer(&self) -> Option<BoxedTracer> {
        match &self.tracers {
            Some(provider) => Some(BoxedTracer::new(provider.boxed_tracer(scope()))),
            None => Some(global::tracer_with_scope(scope())).filter(makes_spans),
        }
    }

    /// `None` if there is no provider.
    fn instruments(&self) -> Option<Instruments> {
        let provider = match &self.meters {
            Some(provider) => Arc::clone(provider),
            // The provider that stands for none has no state, and so nothing to keep a measurement in.
            None => Some(global::meter_provider()).filter(|provider| size_of_val(&**provider) > 0)?,
        };
        Some(Instruments::new(&provider.meter_with_scope(scope()), self.with_request_metrics))
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

/// Whether a tracer is more than the one that stands for none, which hands on the span that it is given as
/// parent. A real one makes no span of this, as telemetry is suppressed in the context.
fn makes_spans(tracer: &BoxedTracer) -> bool {
    let id = SpanId::from(1);
    let parent = SpanContext::new(TraceId::from(1), id, TraceFlags::NOT_SAMPLED, true, TraceState::NONE);
    let context = Context::new().with_remote_span_context(parent).with_telemetry_suppressed();
    let span = tracer.build_with_context(SpanBuilder::from_name("probe"), &context);
    span.is_recording() || span.span_context().span_id() != id
}

/// The tracer and the instruments of one driver, made once.
pub(crate) struct OperationTelemetry {
    tracer: Option<BoxedTracer>,
    instruments: Option<Instruments>,
    client_id: Arc<str>,
    user_agent: Arc<str>,
}

impl OperationTelemetry {
    /// For a driver that names itself so; `None` if telemetry is off, or goes nowhere.
    pub(crate) fn new(settings: &OpenTelemetry, client_id: u64, user_agent: &str) -> Option<Self> {
        if settings.is_off {
            return None;
        }
        let (tracer, instruments) = (settings.tracer(), settings.instruments());
        (tracer.is_some() || instruments.is_some()).then(|| Self {
            tracer,
            instruments,
            client_id: format!("{client_id:016x}").into(),
            user_agent: user_agent.into(),
        })
    }

    /// The span of an operation, if there is one.
    fn begin(&self, observed: &Observed<'_>, subject: &Subject<'_>) -> Option<Begun> {
        let tracer = self.tracer.as_ref().filter(|_| !Context::is_current_telemetry_suppressed())?;
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
        let span = tracer.build_with_context(builder, &parent);
        // A span that is not recorded still tells the spans below it not to be.
        span.span_context().is_valid().then(|| Begun { context: parent.with_span(span), at })
    }

    /// Ends the span of an operation.
    fn end(&self, observed: &Observed<'_>, ending: &Ending<'_>, begun: &Begun) {
        let span = begun.context.span();
        if !span.is_recording() {
            return;
        }
        span.set_attributes(keys::ending(ending));
        span.set_attributes(keys::ending_of_span(observed, ending));
        if let Some(error_type) = &ending.error_type {
            span.set_status(Status::error(error_type.clone()));
        }
        if let Some(tracer) = &self.tracer {
            emit_requests(tracer, observed, ending, begun);
        }
        span.end_with_timestamp(begun.at + ending.elapsed);
    }

    /// Counts an operation that has ended, and its attempts where those are counted.
    fn count(&self, observed: &Observed<'_>, subject: &Subject<'_>, ending: &Ending<'_>) {
        let Some(instruments) = &self.instruments else { return };
        let mut attributes = keys::subject(subject);
        if instruments.counts_requests() {
            let request_bytes = observed.operation.body().len();
            for attempt in ending.attempts() {
                let mut attributes = attributes.clone();
                attributes.extend(keys::attempt(attempt));
                instruments.record_request(attempt, request_bytes, &attributes);
            }
        }
        attributes.extend(keys::ending(ending));
        instruments.record(ending, &attributes);
    }
}

impl DriverCore {
    /// Notes how far a change-feed processor is behind.
    pub(crate) fn record_change_feed_lag(&self, container: &ResourcePath, processor: &str, lag: u64) {
        let instruments = self.telemetry.as_ref().and_then(|telemetry| telemetry.instruments.as_ref());
        if let Some(instruments) = instruments {
            let attributes = keys::processor(self.location.default_endpoint(), container, processor);
            instruments.record_lag(lag, &attributes);
        }
    }
}

/// A span for each attempt, below the operation's. Attempts are over by now, so their times are given.
fn emit_requests(tracer: &BoxedTracer, observed: &Observed<'_>, ending: &Ending<'_>, parent: &Begun) {
    for attempt in ending.attempts() {
        let started = parent.at + attempt.started.since(observed.started);
        let mut attributes = keys::attempt(attempt);
        attributes.extend(keys::attempt_of_span(attempt));
        let builder = SpanBuilder::from_name("cosmosdb.request")
            .with_kind(SpanKind::Client)
            .with_start_time(started)
            .with_attributes(attributes);
        let mut span = tracer.build_with_context(builder, &parent.context);
        if let Some(error_type) = keys::attempt_error(attempt) {
            span.set_status(Status::error(error_type));
        }
        span.end_with_timestamp(started + attempt.latency);
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
        let ending = Ending::of(&observed, &result);
        if let Some(begun) = &span {
            telemetry.end(&observed, &ending, begun);
        }
        telemetry.count(&observed, &subject, &ending);
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
        let instruments = self.0.telemetry.as_ref().and_then(|telemetry| telemetry.instruments.as_ref());
        if let Some(instruments) = instruments {
            instruments.count_instance(change, &keys::server(self.0.location.default_endpoint()));
        }
    }
}

impl Drop for ActiveInstance {
    fn drop(&mut self) {
        self.count(-1);
    }
}
