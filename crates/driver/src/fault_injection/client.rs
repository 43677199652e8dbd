//! A client around another that does to requests what the rules say.

use std::sync::Arc;

use bytes::Bytes;
use cosmonaut_policy::Moment;
use cosmonaut_wire::{CosmosStatus, headers};
use http::{HeaderValue, Request, Response, header};
use tokio::sync::watch;

use super::{FaultInjectionResult, FaultInjector, RequestTags};
use crate::pipeline::MadeHere;
use crate::platform::Platform;
use crate::transport::{
    Authority, BoxFuture, HttpClient, HttpClientFactory, HttpVersion, RequestSentStatus, SendProgress,
    TransportError, TransportErrorKind,
};

/// Makes clients whose requests meet faults.
pub(crate) struct FaultInjectingHttpClientFactory {
    inner: Arc<dyn HttpClientFactory>,
    injector: FaultInjector,
    platform: Arc<dyn Platform>,
}

impl FaultInjectingHttpClientFactory {
    pub(crate) fn new(
        inner: Arc<dyn HttpClientFactory>,
        injector: FaultInjector,
        platform: Arc<dyn Platform>,
    ) -> Self {
        Self { inner, injector, platform }
    }
}

impl HttpClientFactory for FaultInjectingHttpClientFactory {
    fn version<'a>(&'a self, server: &'a Authority) -> BoxFuture<'a, Result<HttpVersion, TransportError>> {
        self.inner.version(server)
    }

    fn is_guess(&self, server: &Authority) -> bool {
        self.inner.is_guess(server)
    }

    fn sweep(&self) {
        self.inner.sweep();
    }

    fn create(&self, server: &Authority, version: HttpVersion) -> Arc<dyn HttpClient> {
        Arc::new(FaultInjectingHttpClient {
            inner: self.inner.create(server, version),
            server: server.clone(),
            injector: self.injector.clone(),
            platform: Arc::clone(&self.platform),
            closed: watch::channel(false).0,
        })
    }
}

struct FaultInjectingHttpClient {
    inner: Arc<dyn HttpClient>,
    server: Authority,
    injector: FaultInjector,
    platform: Arc<dyn Platform>,
    closed: watch::Sender<bool>,
}

impl HttpClient for FaultInjectingHttpClient {
    fn send<'a>(
        &'a self,
        request: Request<Bytes>,
        progress: &'a SendProgress,
    ) -> BoxFuture<'a, Result<Response<Bytes>, TransportError>> {
        let tags = request.extensions().get::<RequestTags>();
        match tags.and_then(|tags| self.injector.pick(tags, &*self.platform)) {
            None => self.inner.send(request, progress),
            Some(result) => Box::pin(self.inject(result, request, progress)),
        }
    }

    fn warm_up(&self) -> BoxFuture<'_, Result<(), TransportError>> {
        self.inner.warm_up()
    }

    fn last_heard(&self) -> Option<Moment> {
        self.inner.last_heard()
    }

    fn close(&self) {
        self.closed.send_replace(true);
        self.inner.close();
    }
}

impl FaultInjectingHttpClient {
    async fn inject(
        &self,
        result: FaultInjectionResult,
        request: Request<Bytes>,
        progress: &SendProgress,
    ) -> Result<Response<Bytes>, TransportError> {
        match result {
            FaultInjectionResult::Status { status, retry_after } => {
                let mut response = answer(status);
                if let Some(wait) = retry_after {
                    let millis = HeaderValue::from(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
                    response.headers_mut().insert(headers::RETRY_AFTER_MS, millis);
                }
                Ok(response)
            }
            FaultInjectionResult::Delay(time) => {
                self.platform.sleep(time).await;
                self.inner.send(request, progress).await
            }
            FaultInjectionResult::ConnectionRefused => {
                Err(self.failed(TransportErrorKind::Unreachable, RequestSentStatus::NotSent))
            }
            FaultInjectionResult::ResetBeforeSend => {
                Err(self.failed(TransportErrorKind::Disconnected, RequestSentStatus::NotSent))
            }
            FaultInjectionResult::ResetAfterSend => {
                Err(self.failed(TransportErrorKind::Disconnected, RequestSentStatus::Unknown))
            }
            FaultInjectionResult::ResponseLost => {
                self.inner.send(request, progress).await?;
                Err(self.failed(TransportErrorKind::Disconnected, RequestSentStatus::Sent))
            }
            FaultInjectionResult::SlowBody(time) => {
                let response = self.inner.send(request, progress).await?;
                self.platform.sleep(time).await;
                Ok(response)
            }
            FaultInjectionResult::Hang => {
                progress.hand_over();
                // Until the connection is given up. The sender lives as long as this client.
                let _ = self.closed.subscribe().wait_for(|closed| *closed).await;
                Err(self.failed(TransportErrorKind::Disconnected, RequestSentStatus::Unknown))
            }
        }
    }

    fn failed(&self, kind: TransportErrorKind, sent: RequestSentStatus) -> TransportError {
        TransportError::new(kind, sent, self.server.to_string()).caused_by("an injected fault")
    }
}

fn answer(status: CosmosStatus) -> Response<Bytes> {
    let body = format!(r#"{{"code":"{}","message":"an injected fault"}}"#, status.code().as_u16());
    let mut response = Response::new(Bytes::from(body));
    *response.status_mut() = status.code();
    response.extensions_mut().insert(MadeHere);
    let map = response.headers_mut();
    map.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    map.insert(headers::SUBSTATUS, HeaderValue::from(status.sub_status()));
    response
}
