//! Sends to any endpoint: over shards where it speaks HTTP/2, through a pool of connections where it does
//! not.
//!
//! Which of the two is asked once per endpoint and remembered until the endpoint turns out to have changed.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use arc_swap::{ArcSwap, ArcSwapOption};
use bytes::Bytes;
use cosmonaut_policy::{CosmosEndpoint, Moment, ShardStats, ShardingConfig};
use http::{Request, Response};

use super::connector::HttpVersion;
use super::endpoint::Authority;
use super::error::{TransportError, TransportErrorKind};
use super::http_client::{HttpClient, HttpClientFactory, SendProgress};
use super::sharded_transport::ShardedHttpTransport;
use super::time_limit::TimeLimit;
use crate::platform::Platform;
use crate::tasks::{BackgroundTaskManager, TaskPanics};

/// What came of sending.
pub(crate) struct Sent {
    pub(crate) result: Result<Response<Bytes>, TransportError>,
    pub(crate) over: SentOver,
    /// When it was over.
    pub(crate) ended: Moment,
}

/// What a request went over; nothing if it came to no connection.
#[derive(Clone, Copy, Default)]
pub(crate) struct SentOver {
    pub(crate) version: Option<HttpVersion>,
    pub(crate) shard: Option<u64>,
}

/// One try.
pub(crate) struct Try<'a> {
    pub(crate) endpoint: &'a CosmosEndpoint,
    pub(crate) request: Request<Bytes>,
    /// How long it may take.
    pub(crate) limit: Duration,
    /// The shard that the last try failed on.
    pub(crate) avoid: Option<u64>,
}

/// Sends to any endpoint.
pub(crate) struct AdaptiveTransport {
    factory: Arc<dyn HttpClientFactory>,
    platform: Arc<dyn Platform>,
    sharding: ShardingConfig,
    endpoints: ArcSwap<HashMap<CosmosEndpoint, Arc<EndpointTransport>>>,
    tasks: BackgroundTaskManager,
}

/// The way to one endpoint.
struct EndpointTransport {
    server: Authority,
    strategy: ArcSwapOption<Strategy>,
    /// Held by whoever asks for the version, so that one asks at a time.
    asking: tokio::sync::Mutex<()>,
}

enum Strategy {
    Sharded(ShardedHttpTransport),
    Plain(Arc<dyn HttpClient>),
}

impl AdaptiveTransport {
    /// A transport that looks after its shards for as long as it is held.
    pub(crate) fn start(
        factory: Arc<dyn HttpClientFactory>,
        platform: Arc<dyn Platform>,
        sharding: ShardingConfig,
    ) -> Arc<Self> {
        let interval = sharding.health_check_interval;
        let transport = Arc::new(Self {
            factory,
            tasks: BackgroundTaskManager::new(Arc::clone(&platform)),
            platform: Arc::clone(&platform),
            sharding,
            endpoints: ArcSwap::default(),
        });
        let weak = Arc::downgrade(&transport);
        transport.tasks.spawn_recurring("shard health sweep", move || {
            sweep_for_ever(Weak::clone(&weak), Arc::clone(&platform), interval)
        });
        transport
    }

    /// Sends once.
    pub(crate) async fn send(&self, attempt: Try<'_>) -> Sent {
        let progress = SendProgress::new();
        let limit = TimeLimit { platform: &*self.platform, limit: attempt.limit, endpoint: attempt.endpoint };
        let strategy = match self.known_strategy(attempt.endpoint) {
            Some(strategy) => strategy,
            None => match Box::pin(limit.apply(self.negotiate(attempt.endpoint), &progress)).await {
                (Ok(strategy), _) => strategy,
                (Err(error), ended) => return Sent { result: Err(error), over: SentOver::default(), ended },
            },
        };
        let sent = match &*strategy {
            Strategy::Sharded(sharded) => {
                let lease = sharded.lease(attempt.avoid, self.platform.now());
                #[cfg_attr(
                    not(feature = "fault_injection"),
                    expect(unused_mut, reason = "tagged for faults only")
                )]
                let mut request = attempt.request;
                let shard = Some(lease.shard().id());
                #[cfg(feature = "fault_injection")]
                crate::fault_injection::tag_shard(&mut request, lease.shard().id());
                let (result, ended) = sharded.send(&lease, request, &progress, &limit).await;
                Sent { result, over: SentOver { version: Some(HttpVersion::Http2), shard }, ended }
            }
            Strategy::Plain(client) => {
                let (result, ended) = limit.apply(client.send(attempt.request, &progress), &progress).await;
                Sent { result, over: SentOver { version: Some(HttpVersion::Http1), shard: None }, ended }
            }
        };
        if let Err(error) = &sent.result {
            self.endpoint(attempt.endpoint).learn_from(error, &strategy);
        }
        sent
    }

    /// How to send to an endpoint that has been asked.
    fn known_strategy(&self, endpoint: &CosmosEndpoint) -> Option<Arc<Strategy>> {
        self.endpoints.load().get(endpoint)?.strategy.load_full()
    }

    fn endpoint(&self, endpoint: &CosmosEndpoint) -> Arc<EndpointTransport> {
        if let Some(known) = self.endpoints.load().get(endpoint) {
            return Arc::clone(known);
        }
        let new = Arc::new(EndpointTransport {
            server: Authority::of_endpoint(endpoint),
            strategy: ArcSwapOption::empty(),
            asking: tokio::sync::Mutex::new(()),
        });
        self.endpoints.rcu(|known| {
            let mut next = HashMap::clone(known);
            next.entry(endpoint.clone()).or_insert_with(|| Arc::clone(&new));
            next
        });
        self.endpoints.load().get(endpoint).map_or(new, Arc::clone)
    }

    async fn negotiate(&self, endpoint: &CosmosEndpoint) -> Result<Arc<Strategy>, TransportError> {
        let endpoint = self.endpoint(endpoint);
        let _one_at_a_time = endpoint.asking.lock().await;
        if let Some(strategy) = endpoint.strategy.load_full() {
            return Ok(strategy);
        }
        let server = &endpoint.server;
        let strategy = Arc::new(match self.factory.version(server).await? {
            HttpVersion::Http1 => Strategy::Plain(self.factory.create(server, HttpVersion::Http1)),
            HttpVersion::Http2 => {
                let factory = Arc::clone(&self.factory);
                let now = self.platform.now();
                Strategy::Sharded(ShardedHttpTransport::new(
                    server.clone(),
                    factory,
                    self.sharding.clone(),
                    now,
                ))
            }
        });
        endpoint.strategy.store(Some(Arc::clone(&strategy)));
        Ok(strategy)
    }

    /// Looks over all shards once.
    pub(crate) fn sweep(&self) {
        let cpu = self.platform.cpu_load();
        for endpoint in self.endpoints.load().values() {
            let Some(strategy) = endpoint.strategy.load_full() else { continue };
            let opened = match &*strategy {
                Strategy::Sharded(sharded) => sharded.sweep(cpu, self.platform.now()),
                Strategy::Plain(_) => continue,
            };
            for shard in opened {
                self.tasks.spawn("shard warm-up", async move { shard.client().warm_up().await });
            }
        }
    }

    /// The shards of an endpoint; none if it does not speak HTTP/2 or has not been asked.
    pub(crate) fn shards(&self, endpoint: &CosmosEndpoint) -> Vec<ShardStats> {
        match self.known_strategy(endpoint).as_deref() {
            Some(Strategy::Sharded(sharded)) => sharded.stats(),
            Some(Strategy::Plain(_)) | None => Vec::new(),
        }
    }

    /// The panics of what runs in the background.
    pub(crate) fn panics(&self) -> TaskPanics {
        self.tasks.panics()
    }

    /// Stops what runs in the background, and returns when it has.
    pub(crate) async fn shutdown(&self) {
        self.tasks.shutdown().await;
    }
}

impl EndpointTransport {
    /// Forgets what the endpoint speaks if it spoke otherwise. Requests under way keep what they were sent
    /// over.
    fn learn_from(&self, error: &TransportError, strategy: &Arc<Strategy>) {
        match error.kind() {
            TransportErrorKind::OtherVersion | TransportErrorKind::Protocol => {
                let current = self.strategy.load();
                if current.as_ref().is_some_and(|current| Arc::ptr_eq(current, strategy)) {
                    self.strategy.compare_and_swap(&current, None);
                }
            }
            TransportErrorKind::Unresolved
            | TransportErrorKind::Unreachable
            | TransportErrorKind::ConnectTimeout
            | TransportErrorKind::Certificate
            | TransportErrorKind::WrongScheme
            | TransportErrorKind::Proxy
            | TransportErrorKind::ProxyAuthentication
            | TransportErrorKind::Disconnected
            | TransportErrorKind::Timeout
            | TransportErrorKind::TooLarge => {}
        }
    }
}

async fn sweep_for_ever(transport: Weak<AdaptiveTransport>, platform: Arc<dyn Platform>, interval: Duration) {
    loop {
        platform.sleep(interval).await;
        match transport.upgrade() {
            Some(transport) => transport.sweep(),
            None => return,
        }
    }
}
