//! Bodies, whole in both directions: a request's bytes are borrowed from the operation, a response's
//! collected.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

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
}

/// Collects a response's body. One frame, which is nearly every answer, is passed on without a copy.
pub(super) async fn collect(mut body: Incoming, most: usize) -> Result<Bytes, Incomplete> {
    let mut first = Bytes::new();
    let mut more: Option<BytesMut> = None;
    while let Some(frame) = std::future::poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
        let Ok(data) = frame.map_err(Incomplete::Failed)?.into_data() else { continue };
        let so_far = more.as_ref().map_or(first.len(), BytesMut::len);
        if so_far + data.len() > most {
            return Err(Incomplete::TooLarge);
        }
        match &mut more {
            Some(more) => more.extend_from_slice(&data),
            None if first.is_empty() => first = data,
            None => {
                let expected = body.size_hint().lower() as usize;
                let mut joined = BytesMut::with_capacity((so_far + data.len() + expected).min(most));
                joined.extend_from_slice(&first);
                joined.extend_from_slice(&data);
                more = Some(joined);
            }
        }
    }
    Ok(more.map_or(first, BytesMut::freeze))
}
