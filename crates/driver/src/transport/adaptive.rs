//! Sends to any endpoint: over shards where it speaks HTTP/2, through a pool of connections where it does
//! not.
//!
//! Which of the two is asked once per endpoint and remembered until the endpoint turns out to have changed.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use arc_swap::{ArcSwap, ArcSwapOption};
use bytes::Bytes;
use cosmonaut_policy::{
    CosmosEndpoint, Moment, RequestSentStatus, ShardStats, ShardingConfig, endpoint_is_unused,
};
use http::{Request, Response};

use super::connector::HttpVersion;
use super::endpoint::Authority;
use super::error::{TransportError, TransportErrorKind};
use super::flight::{Flight, Maker};
use super::http_client::{BoxFuture, HttpClientFactory, SendProgress};
use super::strategy::{Strategy, StrategyMaker};
use super::time_limit::TimeLimit;
use super::timeline::{ConnectMarks, Timeline};
use crate::platform::Platform;
use crate::tasks::{BackgroundTaskManager, TaskPanics};

/// What came of sending.
pub(crate) struct Sent {
    pub(crate) result: Result<Response<Bytes>, TransportError>,
    pub(crate) over: SentOver,
    /// When it was over.
    pub(crate) ended: Moment,
    /// When its parts were over.
    pub(crate) timeline: Timeline,
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
    /// Whether it is for HTTP/2 alone.
    pub(crate) needs_http2: bool,
    /// How long it may take.
    pub(crate) limit: Duration,
    /// The shard that the last try failed on.
    pub(crate) avoid: Option<u64>,
    /// When it began.
    pub(crate) started: Moment,
    /// When it was ready to be sent.
    pub(crate) ready: Moment,
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
    /// Asks for the version, whoever wants to know.
    asking: Flight<Arc<Strategy>, TransportError>,
    /// Whether it was used since the last sweep. Rarely written, as all requests read it.
    is_used: AtomicBool,
    /// When a sweep last found that it was used, in nanoseconds since the start.
    last_used: AtomicU64,
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
        let (endpoint, started, mut ready) = (attempt.endpoint, attempt.started, attempt.ready);
        let mut limit = TimeLimit { platform: &*self.platform, limit: attempt.limit, endpoint };
        let strategy = match self.known_strategy(endpoint) {
            Some(strategy) => strategy,
            None => {
                match Box::pin(limit.apply(self.negotiate(endpoint, &progress), &progress)).await {
                    (Ok(strategy), ended) => {
                        // The request has what asking has left of its time.
                        limit.limit = limit.limit.saturating_sub(ended.since(ready));
                        ready = ended;
                        strategy
                    }
                    (Err(error), ended) => {
                        let timeline = progress.timeline(started, None);
                        return Sent { result: Err(error), over: SentOver::default(), ended, timeline };
                    }
                }
            }
        };
        if attempt.needs_http2 && matches!(&*strategy, Strategy::Plain(_)) {
            let (kind, not_sent) = (TransportErrorKind::OtherVersion, RequestSentStatus::NotSent);
            let error = TransportError::new(kind, not_sent, endpoint.to_string());
            self.endpoint(endpoint).learn_from(&error, &strategy);
            let timeline = progress.timeline(started, None);
            return Sent { result: Err(error), over: SentOver::default(), ended: ready, timeline };
        }
        let (result, over, ended) = match &*strategy {
            Strategy::Sharded(sharded) => {
                let lease = sharded.lease(attempt.avoid, ready);
                #[cfg_attr(
                    not(feature = "fault_injection"),
                    expect(unused_mut, reason = "tagged for faults only")
                )]
                let mut request = attempt.request;
                let shard = Some(lease.shard().id());
                #[cfg(feature = "fault_injection")]
                crate::fault_injection::tag_shard(&mut request, lease.shard().id());
                let (result, ended) = sharded.send(&lease, request, &progress, &limit).await;
                (result, SentOver { version: Some(HttpVersion::Http2), shard }, ended)
            }
            Strategy::Plain(plain) => {
                let sending = plain.client.send(attempt.request, &progress);
                let (result, ended) = limit.apply(sending, &progress).await;
                (result, SentOver { version: Some(HttpVersion::Http1), shard: None }, ended)
            }
        };
        if let Err(error) = &result {
            self.endpoint(endpoint).learn_from(error, &strategy);
        }
        let timeline = progress.timeline(started, result.is_ok().then_some(ended));
        Sent { result, over, ended, timeline }
    }

    /// How to send to an endpoint that has been asked.
    fn known_strategy(&self, endpoint: &CosmosEndpoint) -> Option<Arc<Strategy>> {
        let endpoints = self.endpoints.load();
        let known = endpoints.get(endpoint)?;
        known.touch();
        known.strategy.load_full()
    }

    fn endpoint(&self, endpoint: &CosmosEndpoint) -> Arc<EndpointTransport> {
        if let Some(known) = self.endpoints.load().get(endpoint) {
            return Arc::clone(known);
        }
        let new = Arc::new(EndpointTransport {
            server: Authority::of_endpoint(endpoint),
            strategy: ArcSwapOption::empty(),
            asking: Flight::default(),
            is_used: AtomicBool::new(true),
            last_used: AtomicU64::new(self.platform.now().as_nanos()),
        });
        self.endpoints.rcu(|known| {
            let mut next = HashMap::clone(known);
            next.entry(endpoint.clone()).or_insert_with(|| Arc::clone(&new));
            next
        });
        self.endpoints.load().get(endpoint).map_or(new, Arc::clone)
    }

    async fn negotiate(
        &self,
        endpoint: &CosmosEndpoint,
        progress: &SendProgress,
    ) -> Result<Arc<Strategy>, TransportError> {
        let endpoint = self.endpoint(endpoint);
        let asking = Asking { transport: self, endpoint: &endpoint };
        endpoint.asking.join(&asking, &*self.platform, Some(progress)).await
    }

    /// Looks over all shards once, and drops what belongs to endpoints that nobody uses.
    pub(crate) fn sweep(&self) {
        let cpu = self.platform.cpu_load();
        let now = self.platform.now();
        let mut unused = Vec::new();
        for (name, endpoint) in self.endpoints.load().iter() {
            if endpoint.is_unused(&self.sharding, now) {
                unused.push(name.clone());
            } else if let Some(strategy) = endpoint.strategy.load_full() {
                self.sweep_endpoint(endpoint, &strategy, cpu, now);
            }
        }
        self.factory.sweep();
        if !unused.is_empty() {
            self.endpoints.rcu(|known| {
                let mut next = HashMap::clone(known);
                next.retain(|name, _| !unused.contains(name));
                next
            });
        }
    }

    fn sweep_endpoint(
        &self,
        endpoint: &Arc<EndpointTransport>,
        strategy: &Arc<Strategy>,
        cpu: Option<f64>,
        now: Moment,
    ) {
        let swept = match &**strategy {
            Strategy::Sharded(sharded) => sharded.sweep(cpu, now),
            Strategy::Plain(plain) if plain.is_to_be_asked() => return self.ask_again(endpoint, strategy),
            Strategy::Plain(_) => return,
        };
        for shard in swept.opened {
            self.tasks.spawn("shard warm-up", async move {
                // The first request will find the same failure, and report it.
                let _ = shard.client().warm_up().await;
            });
        }
        for replacement in swept.replacements {
            let (strategy, platform) = (Arc::clone(strategy), Arc::clone(&self.platform));
            self.tasks.spawn("shard replacement", async move {
                match (replacement.successor.client().warm_up().await, &*strategy) {
                    (Ok(()), Strategy::Sharded(sharded)) => sharded.replace(replacement, platform.now()),
                    // The shard is no worse than its successor.
                    (Err(_), _) | (Ok(()), Strategy::Plain(_)) => replacement.retired.end_replacement(),
                }
            });
        }
    }

    /// Asks an endpoint for its version that said nothing when it was asked. No request waits for that.
    fn ask_again(&self, endpoint: &Arc<EndpointTransport>, strategy: &Arc<Strategy>) {
        let (endpoint, strategy) = (Arc::clone(endpoint), Arc::clone(strategy));
        let maker = self.maker(&endpoint);
        self.tasks.spawn("version of HTTP", async move {
            // One that cannot be reached now is asked another time.
            if let Some(certain) = maker.ask().await.ok().filter(|asked| asked.is_certain()) {
                endpoint.change(&strategy, Some(certain));
            }
        });
    }

    fn maker(&self, endpoint: &EndpointTransport) -> StrategyMaker {
        let Self { factory, platform, sharding, .. } = self;
        let (factory, platform) = (Arc::clone(factory), Arc::clone(platform));
        StrategyMaker { factory, platform, sharding: sharding.clone(), server: endpoint.server.clone() }
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

/// Finds out which version an endpoint speaks, and sets up what sends to it.
struct Asking<'a> {
    transport: &'a AdaptiveTransport,
    endpoint: &'a EndpointTransport,
}

impl Maker for Asking<'_> {
    type Made = Arc<Strategy>;
    type Failure = TransportError;

    fn present(&self) -> Option<Arc<Strategy>> {
        self.endpoint.strategy.load_full()
    }

    fn keep(&self, strategy: &Arc<Strategy>) {
        self.endpoint.strategy.store(Some(Arc::clone(strategy)));
    }

    fn is_good(&self, _: &Arc<Strategy>) -> bool {
        true
    }

    fn make(&self, _: Arc<ConnectMarks>) -> BoxFuture<'static, Result<Arc<Strategy>, TransportError>> {
        Box::pin(self.transport.maker(self.endpoint).ask())
    }

    fn interrupted(&self) -> TransportError {
        let shown = Arc::clone(self.endpoint.server.shown());
        TransportError::new(TransportErrorKind::Unreachable, RequestSentStatus::NotSent, shown)
    }
}

impl EndpointTransport {
    fn touch(&self) {
        if !self.is_used.load(Ordering::Relaxed) {
            self.is_used.store(true, Ordering::Relaxed);
        }
    }

    /// Whether nobody has used it for too long. Only a sweep asks.
    fn is_unused(&self, config: &ShardingConfig, now: Moment) -> bool {
        if self.is_used.swap(false, Ordering::Relaxed) {
            self.last_used.store(now.as_nanos(), Ordering::Relaxed);
        }
        // A request that is under way holds the strategy too, besides the endpoint and this function.
        let is_held = self.strategy.load_full().is_some_and(|strategy| Arc::strong_count(&strategy) > 2);
        let last_used = Moment::from_nanos(self.last_used.load(Ordering::Relaxed));
        endpoint_is_unused(last_used, is_held || self.asking.is_under_way(), config, now)
    }

    /// Puts another strategy in the place of this one, unless that has happened meanwhile.
    fn change(&self, strategy: &Arc<Strategy>, to: Option<Arc<Strategy>>) {
        let current = self.strategy.load();
        if current.as_ref().is_some_and(|current| Arc::ptr_eq(current, strategy)) {
            self.strategy.compare_and_swap(&current, to);
        }
    }

    /// Forgets what the endpoint speaks if it spoke otherwise. Requests under way keep what they were sent
    /// over.
    fn learn_from(&self, error: &TransportError, strategy: &Arc<Strategy>) {
        match error.kind() {
            TransportErrorKind::OtherVersion | TransportErrorKind::Protocol => {
                self.change(strategy, None);
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
