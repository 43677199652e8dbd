//! Bodies, whole in both directions: a request's bytes are borrowed from the operation, a response's
//! collected.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use hyper::body::{Body, Frame, Incoming, SizeHint};

/// A request body that is already in memory.
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

/// Why a response's body is not there.
pub(super) enum Incomplete {
    TooLarge,
    Failed(hyper::Error),
    /// The task that collected it was stopped.
    BrokenOff,
}

/// Collects a response's body. One frame, which is nearly every answer, is passed on without a copy.
pub(super) struct Collecting {
    body: Incoming,
    most: usize,
    first: Bytes,
    more: Option<BytesMut>,
}

impl Collecting {
    /// Collects a body of at most so many bytes.
    pub(super) fn new(body: Incoming, most: usize) -> Self {
        Self { body, most, first: Bytes::new(), more: None }
    }

    /// How many bytes are still to come, if the server has said so.
    pub(super) fn missing(&self) -> Option<u64> {
        self.body.size_hint().exact()
    }

    fn add(&mut self, data: Bytes) -> Result<(), Incomplete> {
        let so_far = self.more.as_ref().map_or(self.first.len(), BytesMut::len);
        if so_far + data.len() > self.most {
            return Err(Incomplete::TooLarge);
        }
        match &mut self.more {
            Some(more) => more.extend_from_slice(&data),
            None if self.first.is_empty() => self.first = data,
            None => {
                let expected = self.body.size_hint().lower() as usize;
                let mut joined = BytesMut::with_capacity((so_far + data.len() + expected).min(self.most));
                joined.extend_from_slice(&self.first);
                joined.extend_from_slice(&data);
                self.more = Some(joined);
            }
        }
        Ok(())
    }
}

impl Future for Collecting {
    type Output = Result<Bytes, Incomplete>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        while let Some(frame) = ready!(Pin::new(&mut self.body).poll_frame(context)) {
            let Ok(data) = frame.map_err(Incomplete::Failed)?.into_data() else { continue };
            self.add(data)?;
        }
        let first = std::mem::take(&mut self.first);
        Poll::Ready(Ok(self.more.take().map_or(first, BytesMut::freeze)))
    }
}
