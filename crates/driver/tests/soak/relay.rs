//! The network in front of one region: a TCP relay whose connections can be cut, or fall silent.
//!
//! A silent connection is what a lost router leaves behind: it stays open, nothing comes out of it, and whatever goes
//! into it is swallowed. New connections work.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// Counts what is done to connections. A connection is of the generation in which it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Orders {
    /// Connections before this one are cut.
    cut: usize,
    /// Connections before this one are silent.
    silenced: usize,
}

/// How many connections clients hold open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Open {
    pub(crate) all: usize,
    /// Those of them that are silent.
    pub(crate) silent: usize,
}

pub(crate) struct Relay {
    shared: Arc<Shared>,
    _accepting: JoinSet<()>,
}

struct Shared {
    orders: watch::Sender<Orders>,
    made: AtomicUsize,
    open: AtomicUsize,
    silent: AtomicUsize,
}

impl Relay {
    /// Passes on what comes to one address to another one.
    pub(crate) async fn start(at: SocketAddr, to: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind(at).await?;
        let shared = Arc::new(Shared {
            orders: watch::Sender::new(Orders::default()),
            made: AtomicUsize::new(0),
            open: AtomicUsize::new(0),
            silent: AtomicUsize::new(0),
        });
        let mut accepting = JoinSet::new();
        let relayed = Arc::clone(&shared);
        accepting.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                while connections.try_join_next().is_some() {}
                let number = relayed.made.fetch_add(1, Ordering::SeqCst);
                connections.spawn(relay(Arc::clone(&relayed), number, client, to));
            }
        });
        Ok(Self { shared, _accepting: accepting })
    }

    /// Closes all connections that there are.
    pub(crate) fn cut(&self) {
        let made = self.shared.made.load(Ordering::SeqCst);
        self.shared.orders.send_modify(|orders| orders.cut = made);
    }

    /// Lets all connections that there are fall silent, for good.
    pub(crate) fn silence(&self) {
        let made = self.shared.made.load(Ordering::SeqCst);
        self.shared.orders.send_modify(|orders| orders.silenced = made);
    }

    pub(crate) fn open(&self) -> Open {
        Open {
            all: self.shared.open.load(Ordering::SeqCst),
            silent: self.shared.silent.load(Ordering::SeqCst),
        }
    }
}

/// One more for as long as it is held.
struct Counted<'a>(&'a AtomicUsize);

impl<'a> Counted<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(count)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// One connection, until either side closes it or it is cut.
async fn relay(shared: Arc<Shared>, number: usize, mut client: TcpStream, to: SocketAddr) {
    let _open = Counted::new(&shared.open);
    let Ok(mut server) = TcpStream::connect(to).await else { return };
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    let mut orders = shared.orders.subscribe();
    let silenced = {
        let (mut from_client, mut to_client) = client.split();
        let (mut from_server, mut to_server) = server.split();
        let passing = async {
            // Either side closes both: HTTP has no use for half of a connection.
            tokio::select! {
                () = pass(&mut from_client, &mut to_server) => {}
                () = pass(&mut from_server, &mut to_client) => {}
            }
        };
        tokio::select! {
            () = passing => false,
            silenced = struck(&mut orders, number) => silenced,
        }
    };
    if silenced {
        let _silent = Counted::new(&shared.silent);
        tokio::select! {
            () = swallow(&mut client) => {}
            // What the server says, its good-bye included, does not come through either.
            () = async { swallow(&mut server).await; std::future::pending().await } => {}
            _ = orders.wait_for(|orders| orders.cut > number) => {}
        }
    }
}

/// Waits until a connection is cut or silenced, and says whether it is silenced.
async fn struck(orders: &mut watch::Receiver<Orders>, number: usize) -> bool {
    let struck = orders.wait_for(|orders| orders.cut > number || orders.silenced > number).await;
    struck.is_ok_and(|orders| orders.cut <= number)
}

async fn pass(from: &mut (impl AsyncRead + Unpin), to: &mut (impl AsyncWrite + Unpin)) {
    let mut buffer = vec![0; 16 * 1024];
    while let Ok(read @ 1..) = from.read(&mut buffer).await {
        if to.write_all(&buffer[..read]).await.is_err() {
            return;
        }
    }
}

/// Reads until the other end closes.
async fn swallow(stream: &mut TcpStream) {
    let mut buffer = vec![0; 16 * 1024];
    while let Ok(1..) = stream.read(&mut buffer).await {}
}
