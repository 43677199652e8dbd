//! Which version of HTTP a clear-text server speaks.
//!
//! TLS settles this in its handshake. In clear text the only way to know is to ask: the opening of an HTTP/2
//! connection is sent on a connection of its own, so that no request is ever at risk.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::connector::{Connector, HttpVersion, Stream};
use super::endpoint::Authority;
use super::error::{RequestSentStatus, TransportError, TransportErrorKind};

/// The connection preface, and an empty SETTINGS frame.
const OPENING: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
/// Length (3), type (1), flags (1) and stream (4) of a frame; a server's first frame is SETTINGS.
const FRAME_HEADER: usize = 9;
const SETTINGS: u8 = 4;
/// A server that says nothing at all is taken to wait for an HTTP/1.1 request.
const PATIENCE: Duration = Duration::from_secs(2);

/// A TLS record that reports an error; its version follows.
const TLS_ALERT: &[u8] = &[21, 3];

/// Asks a clear-text server which version it speaks.
pub(super) async fn version_of(
    connector: &Connector,
    server: &Authority,
) -> Result<HttpVersion, TransportError> {
    let (mut stream, _) = connector.connect(server).await?;
    let mut answer = Vec::with_capacity(FRAME_HEADER);
    // However it ends, what has come by then decides.
    let _ = tokio::time::timeout(PATIENCE, first_frame(&mut stream, &mut answer)).await;
    if answer.starts_with(TLS_ALERT) {
        let shown = Arc::clone(server.shown());
        return Err(TransportError::new(TransportErrorKind::WrongScheme, RequestSentStatus::NotSent, shown));
    }
    let is_settings = answer.len() == FRAME_HEADER && answer[3] == SETTINGS && answer[5..] == [0; 4];
    Ok(if is_settings { HttpVersion::Http2 } else { HttpVersion::Http1 })
}

async fn first_frame(stream: &mut Stream, answer: &mut Vec<u8>) -> std::io::Result<()> {
    stream.write_all(OPENING).await?;
    while answer.len() < FRAME_HEADER {
        answer.push(stream.read_u8().await?);
    }
    Ok(())
}
