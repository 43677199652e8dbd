//! Where clients come from: the machine's sockets, or those of somebody who has none.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;

use tokio::io::{AsyncRead, AsyncWrite};

/// What ports are made of, instead of the machine's sockets.
pub trait Sockets: Send + Sync + 'static {
    /// Takes a port; 0 takes any free one.
    ///
    /// # Errors
    /// The port is taken, or the host is none of this network's.
    fn listen(&self, host: &str, port: u16) -> io::Result<Box<dyn Incoming>>;
}

/// A port that was taken. Dropping it leaves the port: clients are refused.
pub trait Incoming: Send {
    /// Where clients connect to.
    fn address(&self) -> SocketAddr;

    /// The next connection, and where it comes from. Dropping the future loses no connection.
    fn accept(&mut self) -> Pin<Box<dyn Future<Output = Accepted> + Send + '_>>;
}

/// A connection, and where it comes from.
pub type Accepted = io::Result<(Box<dyn SocketStream>, SocketAddr)>;

/// A connection: bytes in both directions.
pub trait SocketStream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> SocketStream for S {}
