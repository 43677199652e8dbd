//! Which version of HTTP a client speaks, by how it begins.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, ReadBuf};

/// What every HTTP/2 connection begins with, and no request of HTTP/1.1 does.
const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// A version of HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    One,
    Two,
}

/// A connection of which the beginning was read to find out its version, and is read again.
pub(super) struct Begun<S> {
    beginning: [u8; PREFACE.len()],
    /// The part of the beginning that is to be read again.
    unread: std::ops::Range<usize>,
    stream: S,
}

/// Reads as much of a connection as shows its version.
pub(super) async fn version_of<S: AsyncRead + Unpin>(mut stream: S) -> io::Result<(Version, Begun<S>)> {
    let (mut beginning, mut read) = ([0; PREFACE.len()], 0);
    let version = loop {
        match stream.read(&mut beginning[read..]).await? {
            // Whoever ends here has said nothing, or half a request of HTTP/1.1.
            0 => break Version::One,
            count => read += count,
        }
        if beginning[..read] != PREFACE[..read] {
            break Version::One;
        }
        if read == PREFACE.len() {
            break Version::Two;
        }
    };
    Ok((version, Begun { beginning, unread: 0..read, stream }))
}

impl<S: AsyncRead + Unpin> AsyncRead for Begun<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.unread.is_empty() {
            return Pin::new(&mut self.stream).poll_read(context, into);
        }
        let count = self.unread.len().min(into.remaining());
        let start = self.unread.start;
        into.put_slice(&self.beginning[start..start + count]);
        self.unread.start += count;
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Begun<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        from: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, from)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        from: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, from)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_connection_is_known_by_its_beginning_which_is_read_again() {
        for (sent, expected) in [
            (&b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nmore"[..], Version::Two),
            (b"GET / HTTP/1.1\r\n\r\n", Version::One),
            (b"PRI * HTTP/1.1\r\n\r\n", Version::One),
            (b"PRI", Version::One),
            (b"P", Version::One),
            (b"", Version::One),
        ] {
            for pieces in [1, 5, 100] {
                let mut stream = tokio_test_stream(sent, pieces);
                let (version, mut begun) = version_of(&mut stream).await.unwrap();
                assert_eq!(version, expected, "{sent:?}");
                let mut read = Vec::new();
                begun.read_to_end(&mut read).await.unwrap();
                assert_eq!(read, sent);
            }
        }
    }

    /// Gives bytes in pieces of some size.
    fn tokio_test_stream(sent: &'static [u8], size: usize) -> impl AsyncRead + Unpin {
        struct Pieces(&'static [u8], usize);
        impl AsyncRead for Pieces {
            fn poll_read(
                mut self: Pin<&mut Self>,
                _: &mut Context<'_>,
                into: &mut ReadBuf<'_>,
            ) -> Poll<io::Result<()>> {
                let count = self.0.len().min(self.1).min(into.remaining());
                into.put_slice(&self.0[..count]);
                self.0 = &self.0[count..];
                Poll::Ready(Ok(()))
            }
        }
        Pieces(sent, size)
    }
}
