//! Background tasks that panic: they are counted, and go on.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use cosmonaut_driver::transport::{
    Authority, BoxFuture, HttpClient, HttpClientFactory, HttpVersion, SendProgress, TransportError,
};
use cosmonaut_driver::{CosmosDriverRuntime, Credential};
use cosmonaut_wire::EMULATOR_KEY;
use http::{Request, Response};

use crate::harness::no_environment;
use crate::scripted::{VirtualPlatform, account};

/// Answers for the account the first time, then panics so many times, and then answers again.
struct Shaky {
    asked: AtomicUsize,
    panics: usize,
}

struct Factory(Arc<Shaky>);

impl HttpClientFactory for Factory {
    fn version<'a>(&'a self, _: &'a Authority) -> BoxFuture<'a, Result<HttpVersion, TransportError>> {
        Box::pin(std::future::ready(Ok(HttpVersion::Http1)))
    }

    fn create(&self, _: &Authority, _: HttpVersion) -> Arc<dyn HttpClient> {
        Arc::clone(&self.0) as Arc<_>
    }
}

impl HttpClient for Shaky {
    fn send<'a>(
        &'a self,
        _: Request<Bytes>,
        _: &'a SendProgress,
    ) -> BoxFuture<'a, Result<Response<Bytes>, TransportError>> {
        let asked = self.asked.fetch_add(1, Ordering::Relaxed);
        assert!(asked == 0 || asked > self.panics, "no luck at question {asked}");
        let body = account(&["east"], false).to_string();
        Box::pin(std::future::ready(Ok(Response::new(Bytes::from(body)))))
    }
}

#[tokio::test(start_paused = true)]
async fn the_account_is_still_refreshed_after_its_refresh_has_panicked() {
    let network = Arc::new(Shaky { asked: AtomicUsize::new(0), panics: 2 });
    let runtime = CosmosDriverRuntime::builder()
        .environment(&no_environment)
        .platform(VirtualPlatform::new())
        .http_client_factory(Arc::new(Factory(Arc::clone(&network))))
        .build()
        .unwrap();
    let key = Credential::master_key(EMULATOR_KEY).unwrap();
    let driver = runtime.create_driver("http://global.test", key, Default::default()).unwrap();
    driver.initialize().await.unwrap();
    assert_eq!(driver.background_panics().count, 0);
    // The clock is virtual: an hour of refreshes passes at once.
    crate::waiting::sleep(Duration::from_secs(3600)).await;
    let panics = driver.background_panics();
    assert_eq!(panics.count, 2, "{panics:?}");
    for (number, panic) in panics.latest.iter().enumerate() {
        let message = format!("no luck at question {}", number + 1);
        assert_eq!((panic.task, &panic.message), ("metadata fetch", &message));
    }
    assert!(network.asked.load(Ordering::Relaxed) > 8, "it is refreshed every five minutes again");
}
