//! A listening port: accepts connections until it is told to stop, then lets those under way finish or cuts them off.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Weak};
use std::time::Duration;

use crate::world::timeout;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use super::activity::Activity;
use super::connection::{self, Caller};
use super::handler::Handler;
use super::sockets::{Accepted, Incoming, SocketStream, Sockets};
use super::tasks::Task;
use crate::gateway::Scheme;

/// How long requests under way may take to finish after a stop.
const GRACE: Duration = Duration::from_millis(800);

/// How long a client may take to agree on a protection.
const HANDSHAKE_TIME: Duration = Duration::from_secs(10);

/// How long to wait after the machine has run out of descriptors, so that connections can end.
const ACCEPT_PAUSE: Duration = Duration::from_millis(20);

/// A port that clients can connect to already, though nobody answers yet.
pub(crate) struct Listener {
    socket: Socket,
    address: SocketAddr,
    sockets: Option<Arc<dyn Sockets>>,
}

enum Socket {
    Machine(TcpListener),
    Given(Box<dyn Incoming>),
}

impl Listener {
    /// Takes a port of the machine, or of what is given instead; 0 takes any free one.
    pub(crate) async fn bind(
        sockets: Option<Arc<dyn Sockets>>,
        host: &str,
        port: u16,
    ) -> Result<Self, BindError> {
        let failed = |source| BindError { host: host.to_owned(), port, source };
        match sockets {
            None => Self::of(TcpListener::bind((host, port)).await.map_err(failed)?).map_err(failed),
            Some(sockets) => {
                let incoming = sockets.listen(host, port).map_err(failed)?;
                let address = incoming.address();
                Ok(Self { socket: Socket::Given(incoming), address, sockets: Some(sockets) })
            }
        }
    }

    /// Takes over a socket that listens.
    pub(super) fn of(socket: TcpListener) -> io::Result<Self> {
        let address = socket.local_addr()?;
        Ok(Self { socket: Socket::Machine(socket), address, sockets: None })
    }

    /// The address it was given.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// What its port is made of, if it is not the machine's.
    pub(super) fn sockets(&self) -> Option<Arc<dyn Sockets>> {
        self.sockets.clone()
    }

    /// Starts to answer.
    pub(crate) fn serve<H: Handler>(self, handler: Arc<H>, tls: Option<TlsAcceptor>) -> Server {
        let (phase, seen) = watch::channel(Phase::Serving);
        let task = Task::start(accept_until_stopped(self.socket, handler, tls, seen));
        Server { phase, task }
    }
}

/// What a server is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Serving,
    /// No more connections; those there are may finish.
    Finishing,
    /// No more connections, and an end to those there are.
    Cut,
}

/// A port that answers. Dropping it cuts every connection off.
pub(crate) struct Server {
    phase: watch::Sender<Phase>,
    task: Task,
}

impl Server {
    /// Accepts no more; [`Server::ended`] waits for the requests under way.
    pub(crate) fn finish(&self) {
        self.phase.send_replace(Phase::Finishing);
    }

    /// Accepts no more, and cuts every connection off. When this returns, the port is free.
    pub(crate) async fn cut(self) {
        self.phase.send_replace(Phase::Cut);
        self.task.ended().await;
    }

    /// Waits until the requests under way are answered, or too late.
    pub(crate) async fn ended(self) {
        self.task.ended().await;
    }
}

impl Socket {
    async fn accept(&mut self) -> Accepted {
        match self {
            Self::Machine(listener) => {
                let (stream, peer) = listener.accept().await?;
                // Answers are small and awaited: delaying them to fill packets only adds latency. A socket that
                // refuses the option still works.
                let _ = stream.set_nodelay(true);
                Ok((Box::new(stream), peer))
            }
            Self::Given(incoming) => incoming.accept().await,
        }
    }
}

async fn accept_until_stopped<H: Handler>(
    mut socket: Socket,
    handler: Arc<H>,
    tls: Option<TlsAcceptor>,
    mut phase: watch::Receiver<Phase>,
) {
    // Dropping the set, as an abort of this task does, stops every connection.
    let mut connections = JoinSet::new();
    let mut unused: Vec<Weak<Activity>> = Vec::new();
    loop {
        if unused.len() > 2 * connections.len() + 64 {
            unused.retain(|activity| activity.strong_count() > 0);
        }
        tokio::select! {
            // The only change there ever is, is to another phase than serving.
            _ = phase.changed() => break,
            accepted = socket.accept() => match accepted {
                Ok((stream, peer)) => {
                    let activity = Arc::new(Activity::default());
                    unused.push(Arc::downgrade(&activity));
                    let serving =
                        serve(stream, Arc::clone(&handler), tls.clone(), (peer, activity), phase.clone());
                    connections.spawn(serving);
                }
                Err(error) if is_harmless(&error) => {}
                Err(_) => {
                    // The machine has no descriptor left: those who do nothing with theirs give them back.
                    unused.iter().filter_map(Weak::upgrade).for_each(|activity| activity.make_room());
                    crate::world::sleep(ACCEPT_PAUSE).await;
                }
            },
            Some(_) = connections.join_next() => {}
        }
    }
    drop(socket);
    let phase = *phase.borrow();
    match phase {
        Phase::Cut => connections.shutdown().await,
        Phase::Serving | Phase::Finishing => {
            let finished = async { while connections.join_next().await.is_some() {} };
            // Whoever is not finished by now is cut off by dropping the set.
            let _ = timeout(GRACE, finished).await;
        }
    }
}

async fn serve<H: Handler>(
    stream: Box<dyn SocketStream>,
    handler: Arc<H>,
    tls: Option<TlsAcceptor>,
    (peer, activity): (SocketAddr, Arc<Activity>),
    mut phase: watch::Receiver<Phase>,
) {
    match tls {
        None => {
            let caller = Caller { scheme: Scheme::Http, peer, activity };
            connection::serve(stream, handler, caller, phase).await;
        }
        Some(acceptor) => {
            let handshake = tokio::select! {
                handshake = timeout(HANDSHAKE_TIME, acceptor.accept(stream)) => handshake,
                // Not used for so long that others need its place.
                _ = activity.unused() => return,
                _ = phase.changed() => return,
            };
            // A failed handshake is the client's to report: it knows what it does not trust.
            if let Ok(Ok(stream)) = handshake {
                let caller = Caller { scheme: Scheme::Https, peer, activity };
                connection::serve(stream, handler, caller, phase).await;
            }
        }
    }
}

/// A connection that broke before it was accepted costs nothing.
fn is_harmless(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionReset | Interrupted)
}

/// A port that cannot be had.
#[derive(Debug)]
pub struct BindError {
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) source: io::Error,
}

impl BindError {
    /// Whether another process, or another part of this one, has the port.
    pub(crate) fn is_taken(&self) -> bool {
        self.source.kind() == io::ErrorKind::AddrInUse
    }
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
