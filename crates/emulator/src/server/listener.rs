//! A listening port: accepts connections until it is told to stop, then lets those under way finish.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use super::connection;
use super::tasks::Task;
use crate::gateway::Gateway;

/// How long requests under way may take to finish after a stop.
const GRACE: Duration = Duration::from_secs(5);

/// How long to wait after the machine has run out of descriptors, so that connections can end.
const ACCEPT_PAUSE: Duration = Duration::from_millis(20);

/// A port that clients can connect to already, though nobody answers yet.
pub(crate) struct Listener {
    socket: TcpListener,
    address: SocketAddr,
}

impl Listener {
    /// Takes a port; 0 takes any free one.
    pub(crate) async fn bind(host: &str, port: u16) -> Result<Self, BindError> {
        let failed = |source| BindError { host: host.to_owned(), port, source };
        let socket = TcpListener::bind((host, port)).await.map_err(failed)?;
        let address = socket.local_addr().map_err(failed)?;
        Ok(Self { socket, address })
    }

    /// The address it was given.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Starts to answer.
    pub(crate) fn serve(self, gateway: Arc<Gateway>, tls: Option<TlsAcceptor>) -> Server {
        let (stop, stopped) = watch::channel(());
        let task = Task::start(accept_until_stopped(self.socket, gateway, tls, stopped));
        Server { stop, task }
    }
}

/// A port that answers. Dropping it cuts every connection off; [`Server::stop`] lets them finish.
pub(crate) struct Server {
    stop: watch::Sender<()>,
    task: Task,
}

impl Server {
    /// Accepts no more, and waits until the requests under way are answered, or too late.
    pub(crate) async fn stop(self) {
        drop(self.stop);
        self.task.ended().await;
    }
}

async fn accept_until_stopped(
    socket: TcpListener,
    gateway: Arc<Gateway>,
    tls: Option<TlsAcceptor>,
    mut stopped: watch::Receiver<()>,
) {
    // Dropping the set, as an abort of this task does, stops every connection.
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            // The only change there ever is, is that the sender goes away.
            _ = stopped.changed() => break,
            accepted = socket.accept() => match accepted {
                Ok((stream, _)) => {
                    let serving = serve(stream, Arc::clone(&gateway), tls.clone(), stopped.clone());
                    connections.spawn(serving);
                }
                Err(error) => pause_if_exhausted(&error).await,
            },
            Some(_) = connections.join_next() => {}
        }
    }
    drop(socket);
    let finished = async { while connections.join_next().await.is_some() {} };
    // Whoever is not finished by now is cut off by dropping the set.
    let _ = tokio::time::timeout(GRACE, finished).await;
}

async fn serve(
    stream: TcpStream,
    gateway: Arc<Gateway>,
    tls: Option<TlsAcceptor>,
    mut stopped: watch::Receiver<()>,
) {
    // Answers are small and awaited: delaying them to fill packets only adds latency. A socket that refuses
    // the option still works.
    let _ = stream.set_nodelay(true);
    match tls {
        None => connection::serve(stream, gateway, connection::Security::ClearText, stopped).await,
        Some(acceptor) => {
            let handshake = tokio::select! {
                handshake = acceptor.accept(stream) => handshake,
                _ = stopped.changed() => return,
            };
            // A failed handshake is the client's to report: it knows what it does not trust.
            if let Ok(stream) = handshake {
                connection::serve(stream, gateway, connection::Security::Tls, stopped).await;
            }
        }
    }
}

/// A connection that broke before it was accepted costs nothing; running out of descriptors needs a pause.
async fn pause_if_exhausted(error: &io::Error) {
    use io::ErrorKind::{ConnectionAborted, ConnectionReset, Interrupted};
    if !matches!(error.kind(), ConnectionAborted | ConnectionReset | Interrupted) {
        tokio::time::sleep(ACCEPT_PAUSE).await;
    }
}

/// A port that cannot be had.
#[derive(Debug)]
pub struct BindError {
    host: String,
    port: u16,
    source: io::Error,
}

impl fmt::Display for BindError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port, source } = self;
        write!(f, "cannot listen on {host}:{port}: {source}")?;
        match source.kind() {
            io::ErrorKind::AddrInUse => {
                f.write_str(" (is an emulator running already? try another port, or 0 for any free one)")
            }
            io::ErrorKind::PermissionDenied => f.write_str(" (try a port from 1024 up)"),
            _ => Ok(()),
        }
    }
}

impl std::error::Error for BindError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}
