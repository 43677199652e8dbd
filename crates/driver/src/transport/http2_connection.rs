//! One HTTP/2 connection on h2, without hyper in between: a request then costs no task and no channel of its own.
//!
//! A task moves the bytes, and sends a PING whenever the peer has been silent.

use std::future::poll_fn;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use bytes::Bytes;
use cosmonaut_policy::Moment;
use cosmonaut_wire::headers;
use h2::client::{Builder, ResponseFuture, SendRequest};
use h2::{Ping, PingPong, RecvStream};
use http::{HeaderMap, HeaderValue, Method, Request, Response, header};

use super::broken::failed;
use super::endpoint::Authority;
use super::error::{RequestSentStatus, TransportError};
use super::hyper_client::Shared;
use super::negotiate::Tapped;
use super::passed::Passed;
use super::timeline::Mark;
use crate::platform::{Platform, Task};
use crate::race::{Either, race};

/// Streams that are opened before the server has said how many it allows. The service allows 20.
const STREAMS_BEFORE_SETTINGS: usize = 20;
/// What the server may send of one answer before any of it is taken.
const STREAM_WINDOW: u32 = 2 * 1024 * 1024;
/// More than all streams together may send, so that callers that pause hold up nobody else.
const CONNECTION_WINDOW: u32 = 1 << 30;
/// Requests that were given up within the last second, whose answers are passed over in silence.
const GIVEN_UP_KNOWN: usize = 1024;
/// Other answers that nobody waits for, over the life of a connection. One with more is closed.
const UNWANTED_ANSWERS: usize = 64 * 1024;

/// How many requests refer to the names of varying headers by number before these are spelled out again: few enough,
/// because dates and session tokens drive them out of the table.
const NAMES_KNOWN: u32 = 1024;

/// A connection that takes requests until it is closed. Dropping it closes it.
pub(super) struct Http2Connection {
    requests: SendRequest<Bytes>,
    /// How many requests it was given.
    given: AtomicU32,
    pump: Arc<Pump>,
    passed: Arc<Passed>,
}

/// Moves the bytes of a connection, until nothing is under way and none can come. Dropping it fails what is under way.
pub(super) struct Pump {
    _task: Task,
    /// Held by the task, until it has moved the last.
    pumping: Weak<()>,
}

/// What takes the requests of a connection.
pub(super) struct Requests {
    streams: SendRequest<Bytes>,
    passed: Arc<Passed>,
    /// Whether the next request lets both ends remember the names of varying headers.
    teaches_names: bool,
}

/// A request that was given to a connection.
pub(super) struct Given {
    response: ResponseFuture,
    passed: Arc<Passed>,
}

impl Http2Connection {
    /// Speaks HTTP/2 on a stream from here on.
    pub(super) async fn begin(
        shared: &Arc<Shared>,
        server: &Authority,
        stream: Tapped,
    ) -> Result<Arc<Self>, TransportError> {
        let (config, platform) = (&shared.config, &shared.platform);
        let passed = Arc::<Passed>::default();
        passed.heard.set(platform.now());
        let (requests, mut connection) = Builder::new()
            .initial_max_send_streams(STREAMS_BEFORE_SETTINGS)
            .initial_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .max_concurrent_reset_streams(GIVEN_UP_KNOWN)
            .max_local_error_reset_streams(Some(UNWANTED_ANSWERS))
            .max_header_list_size(u32::try_from(config.max_response_head).unwrap_or(u32::MAX))
            .enable_push(false)
            .handshake(stream.noting(&passed, platform))
            .await
            .map_err(|error| failed(server, RequestSentStatus::NotSent, error))?;
        let watch = connection.ping_pong().map(|pings| SilenceWatch {
            pings,
            passed: Arc::clone(&passed),
            platform: Arc::clone(platform),
            interval: config.http2_keepalive_interval,
            timeout: config.http2_keepalive_timeout,
        });
        let alive = Arc::new(());
        let pumping = Arc::downgrade(&alive);
        let task = platform.spawn(Box::pin(together(async move {
            let _alive = alive;
            // How a connection ended is told to each request that was on it.
            let _ = match watch {
                Some(watch) => race(std::pin::pin!(connection), std::pin::pin!(watch.run())).await,
                None => Either::First(connection.await),
            };
        })));
        let (given, pump) = (AtomicU32::new(0), Arc::new(Pump { _task: task, pumping }));
        Ok(Arc::new(Self { requests, given, pump, passed }))
    }

    /// Whether it takes requests.
    pub(super) fn is_open(&self) -> bool {
        self.streams().is_some()
    }

    /// What takes the next request, if the connection still does.
    pub(super) fn requests(&self) -> Option<Requests> {
        let streams = self.streams()?;
        let teaches_names = self.given.fetch_add(1, Ordering::Relaxed).is_multiple_of(NAMES_KNOWN);
        Some(Requests { streams, passed: Arc::clone(&self.passed), teaches_names })
    }

    fn streams(&self) -> Option<SendRequest<Bytes>> {
        let mut streams = self.requests.clone();
        match streams.poll_ready(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Ok(())) => Some(streams),
            // A clone has given nothing to the connection, so there is nothing that it waits for.
            Poll::Ready(Err(_)) | Poll::Pending => None,
        }
    }

    /// Whoever holds this lets the requests under way finish when the connection is dropped.
    pub(super) fn pump(&self) -> &Arc<Pump> {
        &self.pump
    }

    /// When anything last came over it.
    pub(super) fn last_heard(&self) -> Option<Moment> {
        self.passed.heard.get()
    }
}

impl Pump {
    /// Whether nothing is under way, nor can be any more.
    pub(super) fn is_over(&self) -> bool {
        self.pumping.strong_count() == 0
    }
}

impl Requests {
    /// Gives a request to the connection. One that fails here was not sent. One that does not will be sent, if the
    /// connection lasts: the server allows so many streams at once, and who goes away while it waits takes nothing back.
    pub(super) fn give(self, request: Request<Bytes>) -> Result<Given, h2::Error> {
        let Self { mut streams, passed, teaches_names } = self;
        let (mut head, body) = request.into_parts();
        if teaches_names {
            let_names_be_known(&mut head.headers);
        }
        write_length(&head.method, body.len(), &mut head.headers);
        let (response, mut stream) = streams.send_request(Request::from_parts(head, ()), body.is_empty())?;
        if !body.is_empty() {
            stream.send_data(body, true)?;
        }
        Ok(Given { response, passed })
    }
}

impl Given {
    /// The answer; or why there is none, and whether any of the request has gone out.
    pub(super) async fn answer(mut self) -> Result<Response<RecvStream>, (h2::Error, bool)> {
        let answer = (&mut self.response).await;
        answer.map_err(|error| (error, self.passed.has_opened(self.response.stream_id().as_u32())))
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

/// Values that differ from request to request are marked as sensitive, which keeps them out of HTTP/2's table. Their names
/// are kept out, too, and spelled out with every request. A value that is not marked takes its name into the table, and
/// the requests that follow refer to it by number.
fn let_names_be_known(varying: &mut HeaderMap) {
    for name in [headers::ACTIVITY_ID, headers::PARTITION_KEY] {
        if let Some(value) = varying.get_mut(name) {
            value.set_sensitive(false);
        }
    }
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
    passed: Arc<Passed>,
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
            silence_of(&self.passed.heard, &*self.platform, self.interval, Moment::START).await;
            if self.pings.send_ping(Ping::opaque()).is_err() {
                // The connection is about to end, and says why.
                return std::future::pending().await;
            }
            let silence = silence_of(&self.passed.heard, &*self.platform, self.timeout, self.platform.now());
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
