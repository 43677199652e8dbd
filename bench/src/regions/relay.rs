//! A TCP relay in front of a region that can go silent: connections stay open, and what is sent on them, in either
//! direction, is swallowed. Connections that are made later work.
//!
//! The emulator listens at 127.0.0.2 and its relays at the same ports of 127.0.0.1. It names its regions by the host
//! that a client came by, so that whoever comes to one relay is sent to the others.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use cosmonaut_emulator::{Emulator, EmulatorBuilder};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::REGIONS;
use crate::Result;

const BEHIND: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));
const IN_FRONT: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

pub struct Relay {
    /// Connections with a number below this one are silent.
    silenced: watch::Sender<usize>,
    made: Arc<AtomicUsize>,
    pub address: SocketAddr,
    _accepting: JoinSet<()>,
}

impl Relay {
    async fn start(port: u16) -> Result<Self> {
        let (at, to) = (SocketAddr::new(IN_FRONT, port), SocketAddr::new(BEHIND, port));
        let listener = TcpListener::bind(at).await?;
        let (silenced, made) = (watch::Sender::new(0), Arc::new(AtomicUsize::new(0)));
        let (orders, numbers) = (silenced.clone(), Arc::clone(&made));
        let mut accepting = JoinSet::new();
        accepting.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                let number = numbers.fetch_add(1, Ordering::SeqCst);
                connections.spawn(relay(client, to, orders.subscribe(), number));
            }
        });
        Ok(Self { silenced, made, address: at, _accepting: accepting })
    }

    /// Lets all connections that there are fall silent, for good.
    pub fn silence(&self) {
        self.silenced.send_replace(self.made.load(Ordering::SeqCst));
    }
}

/// An emulator with a relay in front of each region.
pub async fn start(builder: impl Fn() -> EmulatorBuilder) -> Result<(Emulator, Vec<Relay>)> {
    /// Somebody else may have the port that a relay needs.
    const TRIES: usize = 20;
    for _ in 0..TRIES {
        let emulator = builder().host(BEHIND.to_string()).start().await?;
        let mut relays = Vec::new();
        for region in REGIONS {
            let url = emulator.region_url(region).ok_or("a region without an address")?;
            let port = url.trim_end_matches('/').rsplit(':').next().unwrap_or_default().parse()?;
            relays.extend(Relay::start(port).await);
        }
        if relays.len() == REGIONS.len() {
            return Ok((emulator, relays));
        }
    }
    Err(format!("no three ports are free at both {IN_FRONT} and {BEHIND}").into())
}

async fn relay(mut client: TcpStream, to: SocketAddr, mut silenced: watch::Receiver<usize>, number: usize) {
    let Ok(mut server) = TcpStream::connect(to).await else { return };
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    let is_silent = {
        let (mut from_client, mut to_client) = client.split();
        let (mut from_server, mut to_server) = server.split();
        tokio::select! {
            () = pass(&mut from_client, &mut to_server) => false,
            () = pass(&mut from_server, &mut to_client) => false,
            order = silenced.wait_for(|silenced| *silenced > number) => order.is_ok(),
        }
    };
    if is_silent {
        let _server = server;
        let mut swallowed = vec![0; 16 * 1024];
        while let Ok(1..) = client.read(&mut swallowed).await {}
    }
}

async fn pass(from: &mut (impl AsyncRead + Unpin), to: &mut (impl AsyncWrite + Unpin)) {
    let mut buffer = vec![0; 16 * 1024];
    while let Ok(read @ 1..) = from.read(&mut buffer).await {
        if to.write_all(&buffer[..read]).await.is_err() {
            return;
        }
    }
}
