//! From addresses to a socket: both families of addresses are tried at once, as RFC 8305 says.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpSocket;

use super::connector::Stream;
use super::http_client::BoxFuture;
use crate::platform::Platform;
use crate::race::first_success;

/// How long one address is tried alone before the next is tried beside it.
const STAGGER: Duration = Duration::from_millis(250);

/// What connections are made of, instead of the machine's sockets.
///
/// ```
/// use std::net::SocketAddr;
/// use std::sync::Arc;
/// use cosmonaut_driver::CosmosDriverRuntime;
/// use cosmonaut_driver::transport::{BoxFuture, SocketStream, Sockets};
///
/// /// A network on which nobody listens.
/// struct Nowhere;
///
/// impl Sockets for Nowhere {
///     fn connect(&self, _: SocketAddr) -> BoxFuture<'_, std::io::Result<Box<dyn SocketStream>>> {
///         Box::pin(async { Err(std::io::ErrorKind::ConnectionRefused.into()) })
///     }
/// }
///
/// let runtime = CosmosDriverRuntime::builder().sockets(Arc::new(Nowhere)).build()?;
/// # Ok::<(), cosmonaut_driver::Error>(())
/// ```
pub trait Sockets: Send + Sync + 'static {
    /// Connects to an address.
    fn connect(&self, to: SocketAddr) -> BoxFuture<'_, std::io::Result<Box<dyn SocketStream>>>;
}

/// A connection: bytes in both directions.
pub trait SocketStream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> SocketStream for S {}

/// How sockets are made.
pub(super) struct Dialer {
    pub(super) keepalive: Duration,
    pub(super) local_address: Option<IpAddr>,
    pub(super) platform: Arc<dyn Platform>,
    /// None: those of the machine.
    pub(super) sockets: Option<Arc<dyn Sockets>>,
}

impl Dialer {
    /// A connection to whichever address answers first. The other attempts are dropped.
    pub(super) async fn dial(&self, addresses: &[IpAddr], port: u16) -> std::io::Result<Stream> {
        let attempts = interleaved(addresses).map(|address| self.connect(SocketAddr::new(address, port)));
        match first_success(attempts, || self.platform.sleep(STAGGER)).await {
            Ok(stream) => Ok(stream),
            Err(Some(error)) => Err(error),
            Err(None) => Err(std::io::Error::new(std::io::ErrorKind::NotFound, "there is no address")),
        }
    }

    async fn connect(&self, address: SocketAddr) -> std::io::Result<Stream> {
        if let Some(sockets) = &self.sockets {
            return sockets.connect(address).await.map(Stream::Given);
        }
        let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
        if let Some(local) = self.local_address {
            socket.bind(SocketAddr::new(local, 0))?;
        }
        let keepalive = socket2::TcpKeepalive::new().with_time(self.keepalive).with_interval(self.keepalive);
        socket2::SockRef::from(&socket).set_tcp_keepalive(&keepalive)?;
        let stream = socket.connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Stream::Clear(stream))
    }
}

/// The addresses with their families taking turns, that of the first address first.
fn interleaved(addresses: &[IpAddr]) -> impl Iterator<Item = IpAddr> + '_ {
    let first_is_v6 = addresses.first().is_some_and(IpAddr::is_ipv6);
    let mut of_first = addresses.iter().filter(move |address| address.is_ipv6() == first_is_v6);
    let mut of_other = addresses.iter().filter(move |address| address.is_ipv6() != first_is_v6);
    let mut is_first_due = false;
    std::iter::from_fn(move || {
        is_first_due = !is_first_due;
        let next = if is_first_due { of_first.next() } else { of_other.next() };
        next.or_else(|| of_first.next()).or_else(|| of_other.next()).copied()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_take_turns_beginning_with_the_first() {
        for (given, expected) in [
            (&[][..], &[][..]),
            (&["10.0.0.1"], &["10.0.0.1"]),
            (&["::1", "::2", "10.0.0.1", "10.0.0.2"], &["::1", "10.0.0.1", "::2", "10.0.0.2"]),
            (&["10.0.0.1", "::1", "::2", "::3"], &["10.0.0.1", "::1", "::2", "::3"]),
            (&["10.0.0.1", "10.0.0.2", "10.0.0.3", "::1"], &["10.0.0.1", "::1", "10.0.0.2", "10.0.0.3"]),
        ] {
            let parse =
                |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect::<Vec<IpAddr>>();
            assert_eq!(interleaved(&parse(given)).collect::<Vec<_>>(), parse(expected), "{given:?}");
        }
    }
}
