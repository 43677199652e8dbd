//! A network made of memory: processes connect to ports, and bytes take their time.
//!
//! Between each process and each port lies a [`Route`]. It has a delay, it may stall, and it may be cut at any byte.

mod pipe;
mod route;

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cosmonaut_driver::transport::{BoxFuture, SocketStream, Sockets as ClientSockets};
use cosmonaut_emulator::{Accepted, Incoming, Sockets as ServerSockets};
use tokio::sync::Notify;

use pipe::{End, connection};
pub use route::Route;
use route::Sent;

use crate::random::Random;

/// A process, by its number.
pub type ProcessId = u32;

/// The address that every server has; ports tell them apart.
const SERVER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1));

/// The network of one world. Clones are one network.
#[derive(Clone)]
pub struct Network(Arc<Inner>);

struct Inner {
    random: Random,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    ports: BTreeMap<u16, Arc<Queue>>,
    routes: BTreeMap<(ProcessId, u16), Arc<Route>>,
    sent: BTreeMap<ProcessId, Arc<Sent>>,
    next_port: u16,
    next_peer: u16,
}

/// Connections that wait to be accepted.
#[derive(Default)]
struct Queue {
    waiting: Mutex<VecDeque<(End, SocketAddr)>>,
    filled: Notify,
}

impl Network {
    /// A network whose delays come from a stream of chance.
    pub fn new(random: &Random) -> Self {
        let state = State { next_port: 8081, next_peer: 1024, ..State::default() };
        Self(Arc::new(Inner { random: random.fork("network"), state: Mutex::new(state) }))
    }

    /// The way from a process to a port.
    pub fn route(&self, process: ProcessId, port: u16) -> Arc<Route> {
        let mut state = self.lock();
        let random = &self.0.random;
        let sent = Arc::clone(state.sent.entry(process).or_default());
        let new = || Arc::new(Route::new(random.fork(&format!("{process}-{port}")), sent));
        Arc::clone(state.routes.entry((process, port)).or_insert_with(new))
    }

    /// All ways from a process.
    pub fn routes_of(&self, process: ProcessId) -> Vec<Arc<Route>> {
        let state = self.lock();
        state
            .routes
            .iter()
            .filter(|((of, _), _)| *of == process)
            .map(|(_, route)| Arc::clone(route))
            .collect()
    }

    /// Waits until a process has sent so many more pieces.
    pub async fn sends(&self, process: ProcessId, pieces: u64) {
        let sent = Arc::clone(self.lock().sent.entry(process).or_default());
        sent.more(pieces).await;
    }

    /// All ways to a port.
    pub fn routes_to(&self, port: u16) -> Vec<Arc<Route>> {
        let state = self.lock();
        state.routes.iter().filter(|((_, to), _)| *to == port).map(|(_, route)| Arc::clone(route)).collect()
    }

    /// What a process connects by.
    pub fn sockets_of(&self, process: ProcessId) -> Arc<dyn ClientSockets> {
        Arc::new(OfProcess { network: self.clone(), process })
    }

    async fn connect(&self, process: ProcessId, to: SocketAddr) -> io::Result<Box<dyn SocketStream>> {
        let route = self.route(process, to.port());
        route.cross().await;
        let queue = self.lock().ports.get(&to.port()).cloned();
        let Some(queue) = queue.filter(|_| to.ip() == SERVER) else {
            route.cross().await;
            return Err(io::ErrorKind::ConnectionRefused.into());
        };
        let (client, server) = connection(&route);
        let peer = {
            let mut state = self.lock();
            state.next_peer = state.next_peer.wrapping_add(1).max(1024);
            SocketAddr::new(IpAddr::from([10, 0, 1, process as u8]), state.next_peer)
        };
        queue.lock().push_back((server, peer));
        queue.filled.notify_one();
        route.cross().await;
        Ok(Box::new(client))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, VecDeque<(End, SocketAddr)>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ServerSockets for Network {
    fn listen(&self, _: &str, port: u16) -> io::Result<Box<dyn Incoming>> {
        let mut state = self.lock();
        let port = if port == 0 { state.next_port } else { port };
        state.next_port = state.next_port.max(port.saturating_add(1));
        if state.ports.contains_key(&port) {
            return Err(io::ErrorKind::AddrInUse.into());
        }
        let queue = Arc::<Queue>::default();
        state.ports.insert(port, Arc::clone(&queue));
        Ok(Box::new(Listening { network: self.clone(), port, queue }))
    }
}

/// A port that was taken.
struct Listening {
    network: Network,
    port: u16,
    queue: Arc<Queue>,
}

impl Incoming for Listening {
    fn address(&self) -> SocketAddr {
        SocketAddr::new(SERVER, self.port)
    }

    fn accept(&mut self) -> std::pin::Pin<Box<dyn Future<Output = Accepted> + Send + '_>> {
        Box::pin(async {
            loop {
                if let Some((end, peer)) = self.queue.lock().pop_front() {
                    let stream: Box<dyn cosmonaut_emulator::SocketStream> = Box::new(end);
                    return Ok((stream, peer));
                }
                self.queue.filled.notified().await;
            }
        })
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.network.lock().ports.remove(&self.port);
        // Those who were not accepted yet are refused.
        let waiting = std::mem::take(&mut *self.queue.lock());
        drop(waiting);
    }
}

struct OfProcess {
    network: Network,
    process: ProcessId,
}

impl ClientSockets for OfProcess {
    fn connect(&self, to: SocketAddr) -> BoxFuture<'_, io::Result<Box<dyn SocketStream>>> {
        Box::pin(self.network.connect(self.process, to))
    }
}
