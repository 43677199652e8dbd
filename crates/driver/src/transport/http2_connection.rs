//! One HTTP/2 connection on h2, without hyper in between: a request then costs no task and no channel of its own.
//!
//! A task moves the bytes, and sends a PING whenever the peer has been silent.

use std::future::poll_fn;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use cosmonaut_policy::Moment;
use h2::client::{Builder, ResponseFuture, SendRequest};
use h2::{Ping, PingPong};
use http::{HeaderMap, HeaderValue, Method, Request, header};

use super::broken::failed;
use super::endpoint::Authority;
use super::error::{RequestSentStatus, TransportError};
use super::hyper_client::Shared;
use super::negotiate::Tapped;
use super::timeline::Mark;
use crate::platform::{Platform, Task};
use crate::race::{Either, race};

/// Streams that are opened before the server has said how many it allows. The service allows 20.
const STREAMS_BEFORE_SETTINGS: usize = 20;
/// What the server may send of one answer, and of all on a connection, before any of it is taken.
const STREAM_WINDOW: u32 = 2 * 1024 * 1024;
const CONNECTION_WINDOW: u32 = 5 * 1024 * 1024;

/// A connection that takes requests until it is closed. Dropping it closes it.
pub(super) struct Http2Connection {
    requests: SendRequest<Bytes>,
    /// Moves the bytes. Stopping it fails what is under way.
    _pump: Task,
    /// Held by the pump, until it has moved the last.
    pumping: Weak<()>,
    /// When anything last came over it.
    heard: Arc<Mark>,
}

/// A request that was given to a connection.
pub(super) struct Given {
    /// Its answer, in time.
    pub(super) response: ResponseFuture,
    /// Knows whether the request still waits for a stream.
    requests: SendRequest<Bytes>,
}

impl Http2Connection {
    /// Speaks HTTP/2 on a stream from here on.
    pub(super) async fn begin(
        shared: &Arc<Shared>,
        server: &Authority,
        stream: Tapped,
    ) -> Result<Arc<Self>, TransportError> {
        let (config, platform) = (&shared.config, &shared.platform);
        let heard = Arc::<Mark>::default();
        heard.set(platform.now());
        let (requests, mut connection) = Builder::new()
            .initial_max_send_streams(STREAMS_BEFORE_SETTINGS)
            .initial_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .max_header_list_size(u32::try_from(config.max_response_head).unwrap_or(u32::MAX))
            .enable_push(false)
            .handshake(stream.noting(&heard, platform))
            .await
            .map_err(|error| failed(server, RequestSentStatus::NotSent, error))?;
        let watch = connection.ping_pong().map(|pings| SilenceWatch {
            pings,
            heard: Arc::clone(&heard),
            platform: Arc::clone(platform),
            interval: config.http2_keepalive_interval,
            timeout: config.http2_keepalive_timeout,
        });
        let alive = Arc::new(());
        let pumping = Arc::downgrade(&alive);
        let pump = platform.spawn(Box::pin(together(async move {
            let _alive = alive;
            // How a connection ended is told to each request that was on it.
            let _ = match watch {
                Some(watch) => race(std::pin::pin!(connection), std::pin::pin!(watch.run())).await,
                None => Either::First(connection.await),
            };
        })));
        Ok(Arc::new(Self { requests, _pump: pump, pumping, heard }))
    }

    /// Whether it takes requests.
    pub(super) fn is_open(&self) -> bool {
        self.requests().is_some()
    }

    /// What takes requests, if the connection still does.
    pub(super) fn requests(&self) -> Option<SendRequest<Bytes>> {
        let mut requests = self.requests.clone();
        match requests.poll_ready(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Ok(())) => Some(requests),
            // A clone has given nothing to the connection, so there is nothing that it waits for.
            Poll::Ready(Err(_)) | Poll::Pending => None,
        }
    }

    /// Whether nothing is under way on it, nor can be any more.
    pub(super) fn is_over(&self) -> bool {
        self.pumping.strong_count() == 0
    }

    /// When anything last came over it.
    pub(super) fn last_heard(&self) -> Option<Moment> {
        self.heard.get()
    }
}

/// Gives a request to a connection. One that fails here was not sent.
pub(super) fn give(mut requests: SendRequest<Bytes>, request: Request<Bytes>) -> Result<Given, h2::Error> {
    let (mut head, body) = request.into_parts();
    write_length(&head.method, body.len(), &mut head.headers);
    let (response, mut stream) = requests.send_request(Request::from_parts(head, ()), body.is_empty())?;
    if !body.is_empty() {
        stream.send_data(body, true)?;
    }
    Ok(Given { response, requests })
}

impl Given {
    /// Waits until the request has its stream, of which the server allows so many at once. Ends at once if there are
    /// enough, and also if the connection ends.
    pub(super) async fn has_stream(&mut self) {
        // How a connection ended is told by the response.
        let _ = poll_fn(|context| self.requests.poll_ready(context)).await;
    }
}

/// Lets all who are ready go first whenever there is something to do: what they give to the connection is then written
/// at once, and not each by itself.
async fn together(connection: impl Future<Output = ()>) {
    let (mut connection, mut has_waited) = (std::pin::pin!(connection), false);
    poll_fn(move |context| {
        has_waited = !has_waited;
        if has_waited {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        connection.as_mut().poll(context)
    })
    .await
}

/// Says how long a body is. A request of a kind that usually has one says so if it has none.
fn write_length(method: &Method, length: usize, into: &mut HeaderMap) {
    let usually_has_body = [Method::POST, Method::PUT, Method::PATCH].contains(method);
    if length > 0 || usually_has_body {
        into.insert(header::CONTENT_LENGTH, HeaderValue::from(length));
    }
}

/// Notices that a peer has gone without a word.
struct SilenceWatch {
    pings: PingPong,
    heard: Arc<Mark>,
    platform: Arc<dyn Platform>,
    /// The silence after which a PING is sent.
    interval: Duration,
    /// The silence after that, after which the peer is gone.
    timeout: Duration,
}

impl SilenceWatch {
    /// Ends when the peer is gone.
    async fn run(mut self) {
        loop {
            silence_of(&self.heard, &*self.platform, self.interval, Moment::START).await;
            if self.pings.send_ping(Ping::opaque()).is_err() {
                // The connection is about to end, and says why.
                return std::future::pending().await;
            }
            let silence = silence_of(&self.heard, &*self.platform, self.timeout, self.platform.now());
            let pong = poll_fn(|context| self.pings.poll_pong(context));
            if let Either::Second(()) = race(std::pin::pin!(pong), std::pin::pin!(silence)).await {
                return;
            }
        }
    }
}

/// Ends when nothing has been heard for some time, which begins at `since` at the earliest.
async fn silence_of(heard: &Mark, platform: &dyn Platform, time: Duration, since: Moment) {
    loop {
        let last = heard.get().map_or(since, |heard| heard.max(since));
        let silent = platform.now().since(last);
        match time.checked_sub(silent) {
            Some(left) if !left.is_zero() => platform.sleep(left).await,
            Some(_) | None => return,
        }
    }
}
