//! A port that can be shut, so that clients are refused, and opened again.
//!
//! Why it is shut is not known here.

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::TcpSocket;
use tokio::sync::Mutex;
use tokio_rustls::TlsAcceptor;

use super::handler::Handler;
use super::listener::{BindError, Listener, Server};
use super::sockets::Sockets;

/// How many connections may wait to be accepted.
const BACKLOG: u32 = 1024;

/// A port and who answers there.
pub(crate) struct Port<H> {
    handler: Arc<H>,
    tls: Option<TlsAcceptor>,
    address: SocketAddr,
    sockets: Option<Arc<dyn Sockets>>,
    door: Mutex<Door>,
}

enum Door {
    Open(Server),
    /// A socket that has the port but does not listen: clients are refused, and nobody else can take the port.
    Held(TcpSocket),
    /// Nothing has the port.
    Left,
}

impl<H: Handler> Port<H> {
    /// Starts to answer.
    pub(crate) fn open(listener: Listener, handler: Arc<H>, tls: Option<TlsAcceptor>) -> Self {
        let (address, sockets) = (listener.address(), listener.sockets());
        let server = listener.serve(Arc::clone(&handler), tls.clone());
        Self { handler, tls, address, sockets, door: Mutex::new(Door::Open(server)) }
    }

    /// Cuts every connection off and refuses new ones. Nothing changes if it is shut.
    pub(crate) async fn shut(&self) {
        let mut door = self.door.lock().await;
        if let Door::Open(server) = std::mem::replace(&mut *door, Door::Left) {
            server.cut().await;
            // If the port cannot be held it is left, and opening takes it again or says why not.
            if self.sockets.is_none()
                && let Ok(socket) = hold(self.address)
            {
                *door = Door::Held(socket);
            }
        }
    }

    /// Answers again. Nothing changes if it is open.
    pub(crate) async fn reopen(&self) -> Result<(), BindError> {
        let mut door = self.door.lock().await;
        let listener = match std::mem::replace(&mut *door, Door::Left) {
            Door::Open(server) => {
                *door = Door::Open(server);
                return Ok(());
            }
            Door::Held(socket) => socket.listen(BACKLOG).and_then(Listener::of).map_err(|source| {
                BindError { host: self.address.ip().to_string(), port: self.address.port(), source }
            })?,
            Door::Left => {
                let host = self.address.ip().to_string();
                Listener::bind(self.sockets.clone(), &host, self.address.port()).await?
            }
        };
        *door = Door::Open(listener.serve(Arc::clone(&self.handler), self.tls.clone()));
        Ok(())
    }

    /// Accepts no more.
    pub(crate) async fn finish(&self) {
        if let Door::Open(server) = &*self.door.lock().await {
            server.finish();
        }
    }

    /// Waits for the requests under way, and leaves the port.
    pub(crate) async fn ended(&self) {
        if let Door::Open(server) = std::mem::replace(&mut *self.door.lock().await, Door::Left) {
            server.ended().await;
        }
    }

    /// Leaves the port at once, if nobody is just opening or shutting it.
    pub(crate) fn abandon(&self) {
        if let Ok(mut door) = self.door.try_lock() {
            *door = Door::Left;
        }
    }

    /// Cuts every connection off and leaves the port.
    pub(crate) async fn leave(&self) {
        if let Door::Open(server) = std::mem::replace(&mut *self.door.lock().await, Door::Left) {
            server.cut().await;
        }
    }
}

fn hold(address: SocketAddr) -> std::io::Result<TcpSocket> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // As a listener does it: connections that have just ended must not keep the port. On Windows the option would
    // let others take it.
    #[cfg(not(windows))]
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    Ok(socket)
}
