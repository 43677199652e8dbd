//! Which version of HTTP a server speaks. The connection that shows it is kept for the first request.
//!
//! TLS settles the version in its handshake. In clear text the only way to know is to open an HTTP/2
//! connection without a request on it, so that no request is ever at risk, and to look at the first bytes
//! that come back: a server of HTTP/2 begins with SETTINGS. Then that connection is the first one of the pool.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::oneshot;

use super::broken::not_sent;
use super::connector::{HttpVersion, Stream};
use super::endpoint::Authority;
use super::error::{TransportError, TransportErrorKind};
use super::http1_client;
use super::http2_connection::Http2Connection;
use super::hyper_client::{Negotiated, Shared};
use super::passed::{FRAME_HEADER, Outgoing, Passed};
use super::timeline::ConnectMarks;
use super::tls::Offer;
use crate::platform::Platform;
use crate::race::{Either, race};

/// The type of a server's first frame.
const SETTINGS: u8 = 4;
/// A server that says nothing at all is taken to wait for an HTTP/1.1 request. It may also have been busy, so that is
/// no more than a guess.
const PATIENCE: Duration = Duration::from_secs(2);
/// How an answer of HTTP/1.1 begins, also one that refuses HTTP/2.
const HTTP1: &[u8] = b"HTTP/";
/// A TLS record that reports an error; its version follows.
const TLS_ALERT: &[u8] = &[21, 3];

/// Connects to a server, and finds out which version it speaks. The connection is parked for the first
/// client that is made for the server.
pub(super) async fn version_of(
    shared: &Arc<Shared>,
    server: &Authority,
) -> Result<HttpVersion, TransportError> {
    let marks = Arc::<ConnectMarks>::default();
    let (stream, version) = shared.connector.connect(server, Offer::Any, &marks).await?;
    let connection = match version {
        Some(HttpVersion::Http1) => {
            Negotiated::Http1(http1_client::handshake(shared, server, stream).await?, marks)
        }
        Some(HttpVersion::Http2) => {
            Negotiated::Http2(Http2Connection::begin(shared, server, Tapped::plain(stream)).await?, marks)
        }
        None => {
            let (stream, first_bytes) = Tapped::watched(stream);
            let connection = Http2Connection::begin(shared, server, stream).await?;
            match clear_text_version(shared, server, first_bytes).await? {
                // What was sent is no beginning of an HTTP/1.1 request.
                HttpVersion::Http1 => return Ok(HttpVersion::Http1),
                HttpVersion::Http2 => Negotiated::Http2(connection, marks),
            }
        }
    };
    let version = connection.version();
    shared.park(server, connection);
    Ok(version)
}

async fn clear_text_version(
    shared: &Shared,
    server: &Authority,
    first_bytes: oneshot::Receiver<Vec<u8>>,
) -> Result<HttpVersion, TransportError> {
    let first_bytes = std::pin::pin!(first_bytes);
    let answer = match race(first_bytes, shared.platform.sleep(PATIENCE).as_mut()).await {
        Either::First(Ok(bytes)) => bytes,
        Either::First(Err(_)) | Either::Second(()) => Vec::new(),
    };
    if answer.starts_with(TLS_ALERT) {
        return Err(not_sent(server, TransportErrorKind::WrongScheme));
    }
    let is_settings = answer.len() == FRAME_HEADER && answer[3] == SETTINGS && answer[5..] == [0; 4];
    shared.note_silence(server, !is_settings && !answer.starts_with(HTTP1));
    Ok(if is_settings { HttpVersion::Http2 } else { HttpVersion::Http1 })
}

/// A stream whose first bytes are shown to somebody else too.
pub(super) struct Tapped {
    stream: Stream,
    tap: Option<Tap>,
    note: Option<Note>,
}

/// Where it is noted what passes.
struct Note {
    passed: Arc<Passed>,
    outgoing: Outgoing,
    platform: Arc<dyn Platform>,
}

struct Tap {
    seen: Vec<u8>,
    tell: oneshot::Sender<Vec<u8>>,
}

impl Tapped {
    /// A stream that nobody watches.
    pub(super) fn plain(stream: Stream) -> Self {
        Self { stream, tap: None, note: None }
    }

    /// The same stream at its beginning, which notes what passes.
    pub(super) fn noting(mut self, passed: &Arc<Passed>, platform: &Arc<dyn Platform>) -> Self {
        let (passed, platform) = (Arc::clone(passed), Arc::clone(platform));
        self.note = Some(Note { passed, outgoing: Outgoing::new(), platform });
        self
    }

    /// A stream, and its first bytes: so many as a frame's header has, or fewer if the stream ends before.
    fn watched(stream: Stream) -> (Self, oneshot::Receiver<Vec<u8>>) {
        let (tell, first_bytes) = oneshot::channel();
        let tap = Tap { seen: Vec::with_capacity(FRAME_HEADER), tell };
        (Self { stream, tap: Some(tap), note: None }, first_bytes)
    }

    fn show(&mut self, bytes: &[u8], has_ended: bool) {
        let Some(mut tap) = self.tap.take() else { return };
        let wanted = FRAME_HEADER - tap.seen.len();
        tap.seen.extend_from_slice(&bytes[..bytes.len().min(wanted)]);
        if has_ended || tap.seen.len() == FRAME_HEADER {
            // Whoever watched may have lost patience.
            let _ = tap.tell.send(tap.seen);
        } else {
            self.tap = Some(tap);
        }
    }
}

impl Drop for Tapped {
    /// h2 may give the stream up before it has read the end: what has come by then decides.
    fn drop(&mut self) {
        self.show(&[], true);
    }
}

impl AsyncRead for Tapped {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        let read = Pin::new(&mut this.stream).poll_read(context, buffer);
        if let (Some(note), Poll::Ready(Ok(()))) = (&this.note, &read) {
            note.passed.heard.set(note.platform.now());
        }
        if this.tap.is_some() {
            match &read {
                Poll::Ready(Ok(())) => {
                    let bytes = &buffer.filled()[before..];
                    this.show(bytes, bytes.is_empty());
                }
                Poll::Ready(Err(_)) => this.show(&[], true),
                Poll::Pending => {}
            }
        }
        read
    }
}

impl AsyncWrite for Tapped {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.stream).poll_write(context, data);
        if let (Some(note), Poll::Ready(Ok(length))) = (&mut this.note, &written) {
            note.outgoing.note(&data[..*length], &note.passed);
        }
        written
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        data: &[std::io::IoSlice<'_>],
    ) -> Poll<std::io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.stream).poll_write_vectored(context, data);
        if let (Some(note), Poll::Ready(Ok(length))) = (&mut this.note, &written) {
            let mut left = *length;
            for part in data {
                let part = &part[..part.len().min(left)];
                left -= part.len();
                note.outgoing.note(part, &note.passed);
            }
        }
        written
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }
}
