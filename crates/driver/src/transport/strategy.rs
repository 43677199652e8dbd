//! How requests are sent to one endpoint, by what it speaks; and when an endpoint that did not say is asked again.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use cosmonaut_policy::ShardingConfig;

use super::connector::HttpVersion;
use super::endpoint::Authority;
use super::error::TransportError;
use super::http_client::{HttpClient, HttpClientFactory};
use super::sharded_transport::ShardedHttpTransport;
use crate::platform::Platform;

#[expect(clippy::large_enum_variant, reason = "there is one per endpoint, on the heap")]
pub(super) enum Strategy {
    Sharded(ShardedHttpTransport),
    Plain(PlainTransport),
}

/// HTTP/1.1 to one endpoint.
pub(super) struct PlainTransport {
    pub(super) client: Arc<dyn HttpClient>,
    guess: Option<Guess>,
}

/// That an endpoint speaks HTTP/1.1 because it said nothing, as one does that was busy for a moment.
#[derive(Default)]
struct Guess {
    sweeps: AtomicU32,
}

/// What makes a strategy.
#[derive(Clone)]
pub(super) struct StrategyMaker {
    pub(super) factory: Arc<dyn HttpClientFactory>,
    pub(super) platform: Arc<dyn Platform>,
    pub(super) sharding: ShardingConfig,
    pub(super) server: Authority,
}

impl StrategyMaker {
    /// Asks the endpoint what it speaks.
    pub(super) async fn ask(self) -> Result<Arc<Strategy>, TransportError> {
        let Self { factory, platform, sharding, server } = self;
        Ok(Arc::new(match factory.version(&server).await? {
            HttpVersion::Http1 => Strategy::Plain(PlainTransport {
                client: factory.create(&server, HttpVersion::Http1),
                guess: factory.is_guess(&server).then(Guess::default),
            }),
            HttpVersion::Http2 => {
                let now = platform.now();
                Strategy::Sharded(ShardedHttpTransport::new(server, factory, sharding, now))
            }
        }))
    }
}

impl Strategy {
    /// Whether the endpoint has shown what it speaks.
    pub(super) fn is_certain(&self) -> bool {
        match self {
            Self::Sharded(_) => true,
            Self::Plain(plain) => plain.guess.is_none(),
        }
    }
}

impl PlainTransport {
    /// Whether the endpoint is to be asked again, of which one sweep after the other is told. Ever more rarely, as one
    /// that never says anything does speak HTTP/1.1.
    pub(super) fn is_to_be_asked(&self) -> bool {
        let next = |guess: &Guess| guess.sweeps.fetch_add(1, Ordering::Relaxed).saturating_add(1);
        self.guess.as_ref().map(next).is_some_and(u32::is_power_of_two)
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http::{Request, Response};

    use super::super::http_client::{BoxFuture, SendProgress};
    use super::*;

    #[test]
    fn an_endpoint_that_said_nothing_is_asked_ever_more_rarely() {
        struct Nobody;
        impl HttpClient for Nobody {
            fn send<'a>(
                &'a self,
                _: Request<Bytes>,
                _: &'a SendProgress,
            ) -> BoxFuture<'a, Result<Response<Bytes>, TransportError>> {
                Box::pin(std::future::pending())
            }
        }
        let asked = |guess: Option<Guess>| {
            let plain = PlainTransport { client: Arc::new(Nobody), guess };
            (1..=20_u32).filter(|_| plain.is_to_be_asked()).collect::<Vec<_>>()
        };
        assert!(asked(None).is_empty());
        assert_eq!(asked(Some(Guess::default())), [1, 2, 4, 8, 16]);
    }
}
