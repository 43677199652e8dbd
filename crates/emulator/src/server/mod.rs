//! The sockets: a listening port, its connections, HTTP/1.1 and HTTP/2 in clear text or over TLS.
//!
//! What a request means is its [`Handler`]'s business; here it is a method, a path, headers and a bounded body.

mod activity;
mod certificate;
mod connection;
mod date;
mod exchange;
mod handler;
mod http1;
mod http2;
mod listener;
mod port;
mod sockets;
mod tasks;
mod tls;
mod version;
mod visitors;
mod web;
mod workers;

pub(crate) use handler::{Answer, Handler};
pub use listener::BindError;
pub(crate) use listener::{Listener, Server};
pub(crate) use port::Port;
pub use sockets::{Accepted, Incoming, SocketStream, Sockets};
pub(crate) use tasks::Task;
pub(crate) use tls::load as load_tls;
pub use tls::{Tls, TlsError};
pub(crate) use visitors::Visitors;
pub(crate) use workers::{WorkTimes, Workers};

/// The largest request body: a batch is at most 2 MB, and what is over that is refused by the engine, which
/// can say why. This only bounds memory.
pub(crate) const MAX_BODY_BYTES: usize = 8 * 1024 * 1024;

/// The most bytes of headers in one request; a session token over many partitions is the longest there is.
const MAX_HEADER_BYTES: u32 = 128 * 1024;
