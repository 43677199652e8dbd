//! Makes connections: name, socket, proxy, TLS. Which protocol the connection then speaks comes out of it.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use rustls::AlertDescription;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

use super::dial::{Dialer, SocketStream};
use super::endpoint::Authority;
use super::error::{RequestSentStatus, TransportError, TransportErrorKind};
use super::proxy::Tunnels;
use super::resolver::Lookups;
use super::timeline::ConnectMarks;
use super::tls::{LazyTls, Offer};
use crate::platform::Platform;
use crate::race::{Either, race};

/// The version of HTTP that a connection speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HttpVersion {
    /// One request at a time.
    Http1,
    /// Many streams on one connection.
    Http2,
}

/// How connections are made.
pub(super) struct Connector {
    pub(super) timeout: Duration,
    pub(super) tunnels: Tunnels,
    pub(super) tls: LazyTls,
    pub(super) lookups: Lookups,
    pub(super) dialer: Dialer,
    pub(super) platform: Arc<dyn Platform>,
}

/// A connection, clear or encrypted. Through a proxy over TLS, one encrypted connection is inside another.
pub(super) enum Stream {
    Clear(TcpStream),
    /// One that is not the machine's.
    Given(Box<dyn SocketStream>),
    Tls(Box<TlsStream<Stream>>),
}

impl Connector {
    /// Connects within the timeout. The version is known for TLS, where it was negotiated. `marks` says how
    /// far it came.
    pub(super) async fn connect(
        &self,
        to: &Authority,
        offer: Offer,
        marks: &ConnectMarks,
    ) -> Result<(Stream, Option<HttpVersion>), TransportError> {
        let connecting = std::pin::pin!(self.connect_untimed(to, offer, marks));
        match race(connecting, self.platform.sleep(self.timeout).as_mut()).await {
            Either::First(result) => result,
            Either::Second(()) => Err(not_sent(TransportErrorKind::ConnectTimeout, to)),
        }
    }

    async fn connect_untimed(
        &self,
        to: &Authority,
        offer: Offer,
        marks: &ConnectMarks,
    ) -> Result<(Stream, Option<HttpVersion>), TransportError> {
        let stream = match self.tunnels.proxy_to(to) {
            None => self.dial(to, marks).await?,
            Some(proxy) => self.tunnels.open(self.dial(&proxy.server, marks).await?, proxy, to).await?,
        };
        if !to.is_tls() {
            return Ok((stream, None));
        }
        let stream = encrypt(&self.tls, offer, stream, to).await?;
        marks.secured.set(self.platform.now());
        let version = match stream.get_ref().1.alpn_protocol() {
            Some(b"h2") => HttpVersion::Http2,
            _ => HttpVersion::Http1,
        };
        Ok((Stream::Tls(Box::new(stream)), Some(version)))
    }

    async fn dial(&self, to: &Authority, marks: &ConnectMarks) -> Result<Stream, TransportError> {
        let addresses = self.lookups.addresses(to.host()).await;
        let addresses =
            addresses.map_err(|error| not_sent(TransportErrorKind::Unresolved, to).caused_by(error))?;
        marks.resolved.set(self.platform.now());
        let stream = self.dialer.dial(&addresses, to.port()).await;
        let stream =
            stream.map_err(|error| not_sent(TransportErrorKind::Unreachable, to).caused_by(error))?;
        marks.connected.set(self.platform.now());
        Ok(stream)
    }
}

/// Encrypts a connection to a server or proxy.
pub(super) async fn encrypt(
    tls: &LazyTls,
    offer: Offer,
    stream: Stream,
    to: &Authority,
) -> Result<TlsStream<Stream>, TransportError> {
    let name = ServerName::try_from(to.host().to_owned())
        .map_err(|error| not_sent(TransportErrorKind::Certificate, to).caused_by(error))?;
    let tls =
        tls.get(offer).map_err(|error| not_sent(TransportErrorKind::Certificate, to).caused_by(error))?;
    let stream = tls.connect(name, stream).await;
    stream.map_err(|error| not_sent(kind_of_tls(&error), to).caused_by(error))
}

/// A certificate that fails is one thing; a peer that does not speak TLS at all is another.
fn kind_of_tls(error: &std::io::Error) -> TransportErrorKind {
    match error.get_ref().and_then(|source| source.downcast_ref::<rustls::Error>()) {
        Some(rustls::Error::InvalidCertificate(_) | rustls::Error::NoCertificatesPresented) => {
            TransportErrorKind::Certificate
        }
        Some(rustls::Error::InvalidMessage(_)) => TransportErrorKind::WrongScheme,
        // The server speaks none of the versions that were offered.
        Some(rustls::Error::AlertReceived(AlertDescription::NoApplicationProtocol)) => {
            TransportErrorKind::OtherVersion
        }
        Some(_) => TransportErrorKind::Protocol,
        None => TransportErrorKind::Disconnected,
    }
}

pub(super) fn not_sent(kind: TransportErrorKind, to: &Authority) -> TransportError {
    TransportError::new(kind, RequestSentStatus::NotSent, Arc::clone(to.shown()))
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        match self.get_mut() {
            Self::Clear(stream) => Pin::new(stream).poll_read(cx, buffer),
            Self::Given(stream) => Pin::new(stream).poll_read(cx, buffer),
            Self::Tls(stream) => Pin::new(stream).poll_read(cx, buffer),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, data: &[u8]) -> Poll<std::io::Result<usize>> {
        match self.get_mut() {
            Self::Clear(stream) => Pin::new(stream).poll_write(cx, data),
            Self::Given(stream) => Pin::new(stream).poll_write(cx, data),
            Self::Tls(stream) => Pin::new(stream).poll_write(cx, data),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[std::io::IoSlice<'_>],
    ) -> Poll<std::io::Result<usize>> {
        match self.get_mut() {
            Self::Clear(stream) => Pin::new(stream).poll_write_vectored(cx, data),
            Self::Given(stream) => Pin::new(stream).poll_write_vectored(cx, data),
            Self::Tls(stream) => Pin::new(stream).poll_write_vectored(cx, data),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Clear(stream) => stream.is_write_vectored(),
            Self::Given(stream) => stream.is_write_vectored(),
            Self::Tls(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        match self.get_mut() {
            Self::Clear(stream) => Pin::new(stream).poll_flush(cx),
            Self::Given(stream) => Pin::new(stream).poll_flush(cx),
            Self::Tls(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        match self.get_mut() {
            Self::Clear(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Given(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}
