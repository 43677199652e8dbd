//! Bodies, whole in both directions: a request's bytes are borrowed from the operation, a response's
//! collected.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use h2::RecvStream;
use http::{HeaderMap, header};
use hyper::body::{Body, Frame, Incoming, SizeHint};

use super::broken::Broken;

/// A request body that is already in memory, as hyper wants it.
pub(super) struct Whole(Option<Bytes>);

impl Whole {
    pub(super) fn new(bytes: Bytes) -> Self {
        Self((!bytes.is_empty()).then_some(bytes))
    }
}

impl Body for Whole {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.take().map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0.as_ref().map_or(0, |bytes| bytes.len() as u64))
    }
}

/// A response's body as it comes.
pub(super) trait Pieces: Send + Unpin + 'static {
    type Error: Broken;

    /// The next piece; nothing after the last.
    fn poll_piece(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, Self::Error>>>;

    /// How many bytes are still to come, if the server has said so.
    fn missing(&self) -> Option<u64>;
}

impl Pieces for Incoming {
    type Error = hyper::Error;

    fn poll_piece(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, hyper::Error>>> {
        while let Some(frame) = ready!(Pin::new(&mut *self).poll_frame(context)) {
            match frame.map(Frame::into_data) {
                Ok(Ok(data)) => return Poll::Ready(Some(Ok(data))),
                // Trailers say nothing that is needed.
                Ok(Err(_)) => {}
                Err(error) => return Poll::Ready(Some(Err(error))),
            }
        }
        Poll::Ready(None)
    }

    fn missing(&self) -> Option<u64> {
        self.size_hint().exact()
    }
}

/// The body of one stream of HTTP/2. What has been taken makes room for more.
pub(super) struct StreamBody {
    stream: RecvStream,
    missing: Option<u64>,
}

impl StreamBody {
    /// The body that follows a head.
    pub(super) fn new(stream: RecvStream, head: &HeaderMap) -> Self {
        let length = || head.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok();
        let missing = if stream.is_end_stream() { Some(0) } else { length() };
        Self { stream, missing }
    }
}

impl Pieces for StreamBody {
    type Error = h2::Error;

    fn poll_piece(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, h2::Error>>> {
        let piece = ready!(self.stream.poll_data(context));
        if let Some(Ok(data)) = &piece {
            self.missing = self.missing.map(|missing| missing.saturating_sub(data.len() as u64));
            // It fails once the stream is closed, when there is nothing to make room for.
            let _ = self.stream.flow_control().release_capacity(data.len());
        }
        Poll::Ready(piece)
    }

    fn missing(&self) -> Option<u64> {
        self.missing
    }
}

/// Why a response's body is not there.
pub(super) enum Incomplete<E> {
    TooLarge,
    Failed(E),
    /// The task that collected it was stopped.
    BrokenOff,
}

/// Collects a response's body. One piece, which is nearly every answer, is passed on without a copy.
pub(super) struct Collecting<P> {
    body: P,
    most: usize,
    first: Bytes,
    more: Option<BytesMut>,
}

impl<P: Pieces> Collecting<P> {
    /// Collects a body of at most so many bytes.
    pub(super) fn new(body: P, most: usize) -> Self {
        Self { body, most, first: Bytes::new(), more: None }
    }

    /// How many bytes are still to come, if the server has said so.
    pub(super) fn missing(&self) -> Option<u64> {
        self.body.missing()
    }

    fn add(&mut self, data: Bytes) -> Result<(), Incomplete<P::Error>> {
        let so_far = self.more.as_ref().map_or(self.first.len(), BytesMut::len);
        if so_far + data.len() > self.most {
            return Err(Incomplete::TooLarge);
        }
        match &mut self.more {
            Some(more) => more.extend_from_slice(&data),
            None if self.first.is_empty() => self.first = data,
            None => {
                let expected = usize::try_from(self.missing().unwrap_or(0)).unwrap_or(usize::MAX);
                let room = (so_far + data.len()).saturating_add(expected).min(self.most);
                let mut joined = BytesMut::with_capacity(room);
                joined.extend_from_slice(&self.first);
                joined.extend_from_slice(&data);
                self.more = Some(joined);
            }
        }
        Ok(())
    }
}

impl<P: Pieces> Future for Collecting<P> {
    type Output = Result<Bytes, Incomplete<P::Error>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        while let Some(piece) = ready!(self.body.poll_piece(context)) {
            self.add(piece.map_err(Incomplete::Failed)?)?;
        }
        let first = std::mem::take(&mut self.first);
        Poll::Ready(Ok(self.more.take().map_or(first, BytesMut::freeze)))
    }
}
