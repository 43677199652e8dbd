//! The instruments. Only OpenTelemetry's API is used: where the figures go is up to the provider of the application.

use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::Duration;

use duroxide::providers::ProviderError;
use opentelemetry::metrics::{Counter, Histogram, Meter, MeterProvider};
use opentelemetry::{InstrumentationScope, KeyValue, global};

use super::{Ending, Metrics, QueueName, ending};
use crate::admin::Backlog;
use crate::clock::{self, Task};
use crate::core::Core;
use crate::lease::LeaseProvider;
use crate::store::Usage;

/// How often the backlog is counted.
const PAUSE: Duration = Duration::from_secs(60);
/// The slot whose owner counts: every process would count the same.
const FIRST_SLOT: u8 = 0;

/// The borders between the times that are told apart, in seconds.
const WAITS: [f64; 14] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0];

/// The instruments of one provider.
pub(crate) struct Instruments {
    turns: Counter<u64>,
    activities: Counter<u64>,
    schedule_to_start: Histogram<f64>,
    redeliveries: Counter<u64>,
    lock_losses: Counter<u64>,
    backlog: Arc<Mutex<Option<Backlog>>>,
    counting: OnceLock<Task>,
}

impl Instruments {
    /// Those of the given provider, or of the global one.
    pub(crate) fn new(provider: Option<&Arc<dyn MeterProvider + Send + Sync>>, core: &Arc<Core>) -> Self {
        let scope =
            InstrumentationScope::builder(env!("CARGO_PKG_NAME")).with_version(env!("CARGO_PKG_VERSION"));
        let meter = match provider {
            Some(provider) => provider.meter_with_scope(scope.build()),
            None => global::meter_with_scope(scope.build()),
        };
        let counter = |name: &'static str, unit: &'static str, description: &'static str| {
            meter.u64_counter(name).with_unit(unit).with_description(description).build()
        };
        let backlog = Arc::new(Mutex::new(None));
        observe_usage(&meter, &Arc::downgrade(core));
        observe_backlog(&meter, &backlog);
        Self {
            turns: counter("duroxide.provider.turns", "{turn}", "Turns of orchestrations that ended"),
            activities: counter("duroxide.provider.activities", "{activity}", "Activities that ended"),
            schedule_to_start: meter
                .f64_histogram("duroxide.provider.schedule_to_start")
                .with_unit("s")
                .with_description("How long turns and activities have waited before they were handed out")
                .with_boundaries(WAITS.to_vec())
                .build(),
            redeliveries: counter(
                "duroxide.provider.redeliveries",
                "{item}",
                "Turns and activities that were handed out again",
            ),
            lock_losses: counter(
                "duroxide.provider.lock_losses",
                "{lock}",
                "Locks that had ended when they were needed",
            ),
            backlog,
            counting: OnceLock::new(),
        }
    }
}

impl Metrics for Instruments {
    fn fetched(&self, queue: QueueName, attempt: u32, waited: Option<Duration>) {
        match (attempt, waited) {
            (..=1, Some(waited)) => self.schedule_to_start.record(waited.as_secs_f64(), &[queue_name(queue)]),
            (..=1, None) => {}
            (2.., _) => self.redeliveries.add(1, &[queue_name(queue)]),
        }
    }

    fn ended(&self, queue: QueueName, ending: Ending) {
        let outcome = match ending {
            Ending::Committed => "committed",
            Ending::LockLost => "lock_lost",
            Ending::Failed => "failed",
            Ending::Abandoned => "abandoned",
        };
        let counter = match queue {
            QueueName::Orchestrator => &self.turns,
            QueueName::Worker => &self.activities,
        };
        counter.add(1, &[KeyValue::new("outcome", outcome)]);
        if ending == Ending::LockLost {
            self.lock_losses.add(1, &[queue_name(queue)]);
        }
    }

    fn renewed(&self, queue: QueueName, result: &Result<(), ProviderError>) {
        if ending(result) == Ending::LockLost {
            self.lock_losses.add(1, &[queue_name(queue)]);
        }
    }

    fn counted(&self, backlog: Backlog) {
        set(&self.backlog, Some(backlog));
    }

    fn start(&self, core: &Arc<Core>, leases: &Arc<dyn LeaseProvider>) {
        self.counting.get_or_init(|| {
            Task::spawn(count(Arc::downgrade(core), Arc::clone(leases), Arc::clone(&self.backlog)))
        });
    }
}

/// Counts the backlog from time to time, in the process that has the first slot.
async fn count(core: Weak<Core>, leases: Arc<dyn LeaseProvider>, backlog: Arc<Mutex<Option<Backlog>>>) {
    loop {
        clock::sleep(PAUSE).await;
        let Some(core) = core.upgrade() else { return };
        if !leases.owned().contains(FIRST_SLOT) {
            // Another process tells it from now on.
            set(&backlog, None);
            continue;
        }
        match core.admin().backlog().await {
            Ok(found) => set(&backlog, Some(found)),
            Err(error) => tracing::warn!(%error, "the backlog cannot be counted now"),
        }
    }
}

fn queue_name(queue: QueueName) -> KeyValue {
    KeyValue::new(
        "queue",
        match queue {
            QueueName::Orchestrator => "orchestrator",
            QueueName::Worker => "worker",
        },
    )
}

fn set(backlog: &Mutex<Option<Backlog>>, found: Option<Backlog>) {
    *backlog.lock().unwrap_or_else(PoisonError::into_inner) = found;
}

/// What calls and waiting have cost until now, by purpose.
fn usage(core: &Weak<Core>) -> Vec<(KeyValue, Usage)> {
    let Some(core) = core.upgrade() else { return Vec::new() };
    [("calls", core.store.usage()), ("waiting", core.background_usage())]
        .map(|(purpose, usage)| (KeyValue::new("purpose", purpose), usage))
        .into()
}

fn observe_usage(meter: &Meter, core: &Weak<Core>) {
    let (for_requests, for_retries, for_charge) = (core.clone(), core.clone(), core.clone());
    meter
        .u64_observable_counter("duroxide.provider.requests")
        .with_unit("{request}")
        .with_description("What the container was asked")
        .with_callback(move |observer| {
            for (purpose, usage) in usage(&for_requests) {
                observer.observe(usage.requests, &[purpose]);
            }
        })
        .build();
    meter
        .u64_observable_counter("duroxide.provider.retries")
        .with_unit("{request}")
        .with_description("Requests that were sent once more because the service could not answer")
        .with_callback(move |observer| {
            for (purpose, usage) in usage(&for_retries) {
                observer.observe(usage.retries, &[purpose]);
            }
        })
        .build();
    meter
        .f64_observable_counter("duroxide.provider.request_charge")
        .with_unit("{request_unit}")
        .with_description("What the requests cost")
        .with_callback(move |observer| {
            for (purpose, usage) in usage(&for_charge) {
                observer.observe(usage.charge, &[purpose]);
            }
        })
        .build();
}

fn observe_backlog(meter: &Meter, backlog: &Arc<Mutex<Option<Backlog>>>) {
    let read = |backlog: &Mutex<Option<Backlog>>| *backlog.lock().unwrap_or_else(PoisonError::into_inner);
    let (for_depth, for_age) = (Arc::clone(backlog), Arc::clone(backlog));
    meter
        .u64_observable_gauge("duroxide.provider.backlog")
        .with_unit("{item}")
        .with_description("What could be worked on now")
        .with_callback(move |observer| {
            let Some(found) = read(&for_depth) else { return };
            observer.observe(found.messages, &[queue_name(QueueName::Orchestrator)]);
            observer.observe(found.activities, &[queue_name(QueueName::Worker)]);
        })
        .build();
    meter
        .f64_observable_gauge("duroxide.provider.backlog.age")
        .with_unit("s")
        .with_description("How long the oldest of it has waited")
        .with_callback(move |observer| {
            let Some(found) = read(&for_age) else { return };
            let seconds = |age: Option<Duration>| age.unwrap_or_default().as_secs_f64();
            observer.observe(seconds(found.message_age), &[queue_name(QueueName::Orchestrator)]);
            observer.observe(seconds(found.activity_age), &[queue_name(QueueName::Worker)]);
        })
        .build();
}
