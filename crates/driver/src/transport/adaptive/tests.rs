//! Endpoints that come and go.

use std::sync::Mutex;

use super::super::http_client::HttpClient;
use super::*;
use crate::platform::Task;

/// A clock that a test moves.
#[derive(Default)]
struct Still(Mutex<Duration>);

impl Platform for Still {
    fn now(&self) -> Moment {
        Moment::after_start(*self.0.lock().unwrap())
    }

    fn time_of_day(&self) -> Duration {
        Duration::ZERO
    }

    fn sleep(&self, _: Duration) -> BoxFuture<'static, ()> {
        Box::pin(std::future::pending())
    }

    fn spawn(&self, task: BoxFuture<'static, ()>) -> Task {
        crate::platform::TokioPlatform::new().spawn(task)
    }

    fn random(&self) -> u64 {
        0
    }
}

/// Clients that answer at once, or never where the host says so.
struct Clients(HttpVersion);

struct Client(Authority);

impl HttpClientFactory for Clients {
    fn version<'a>(&'a self, _: &'a Authority) -> BoxFuture<'a, Result<HttpVersion, TransportError>> {
        Box::pin(std::future::ready(Ok(self.0)))
    }

    fn create(&self, server: &Authority, _: HttpVersion) -> Arc<dyn HttpClient> {
        Arc::new(Client(server.clone()))
    }
}

impl HttpClient for Client {
    fn send<'a>(
        &'a self,
        _: Request<Bytes>,
        progress: &'a SendProgress,
    ) -> BoxFuture<'a, Result<Response<Bytes>, TransportError>> {
        progress.hand_over();
        Box::pin(async move {
            match self.0.host() {
                "hanging.example" => std::future::pending().await,
                _ => Ok(Response::new(Bytes::new())),
            }
        })
    }
}

#[tokio::test]
async fn endpoints_that_nobody_uses_are_dropped_and_what_is_in_use_is_not() {
    for version in [HttpVersion::Http1, HttpVersion::Http2] {
        let clock = Arc::new(Still::default());
        let transport = AdaptiveTransport::start(
            Arc::new(Clients(version)),
            Arc::clone(&clock) as Arc<dyn Platform>,
            ShardingConfig::default(),
        );
        let to = |host: &str| CosmosEndpoint::global(&format!("http://{host}.example")).unwrap();
        let (quiet, busy, hanging) = (to("quiet"), to("busy"), to("hanging"));
        let send = |endpoint| {
            transport.send(Try {
                endpoint,
                request: Request::new(Bytes::new()),
                needs_http2: false,
                limit: Duration::from_secs(1),
                avoid: None,
                started: clock.now(),
                ready: clock.now(),
            })
        };
        let known = || {
            let mut known: Vec<String> =
                transport.endpoints.load().keys().map(|endpoint| endpoint.authority().to_string()).collect();
            known.sort();
            known
        };
        assert!(send(&quiet).await.result.is_ok());
        let mut under_way = Box::pin(send(&hanging));
        let polled = std::pin::pin!(std::future::poll_fn(|context| {
            let _ = under_way.as_mut().poll(context);
            match transport.known_strategy(&hanging) {
                Some(_) => std::task::Poll::Ready(()),
                None => {
                    context.waker().wake_by_ref();
                    std::task::Poll::Pending
                }
            }
        }));
        polled.await;
        let _ =
            std::future::poll_fn(|context| std::task::Poll::Ready(under_way.as_mut().poll(context))).await;
        for _ in 0..11 {
            transport.sweep();
            *clock.0.lock().unwrap() += Duration::from_secs(60);
            assert!(send(&busy).await.result.is_ok());
        }
        transport.sweep();
        assert_eq!(known(), ["busy.example", "hanging.example"], "{version:?}");
        drop(under_way);
        transport.sweep();
        assert_eq!(known(), ["busy.example"], "{version:?}");
        assert!(send(&quiet).await.result.is_ok(), "it is connected anew");
    }
}
