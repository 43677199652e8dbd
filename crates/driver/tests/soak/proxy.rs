//! A proxy for `CONNECT` that can refuse, or accept and say nothing; the tunnels that it has end with that.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::dns::NAME;

/// What the proxy does to who asks for a way through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Conduct {
    Willing,
    /// 502, for one address or for all.
    Refuses(Option<SocketAddr>),
    /// No answer, until the proxy is willing again; for one address or for all.
    Hangs(Option<SocketAddr>),
}

pub(crate) struct Proxy {
    pub(crate) url: String,
    conduct: watch::Sender<Conduct>,
    _accepting: JoinSet<()>,
}

impl Proxy {
    pub(crate) async fn start() -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{NAME}:{}", listener.local_addr()?.port());
        let conduct = watch::Sender::new(Conduct::Willing);
        let orders = conduct.clone();
        let mut accepting = JoinSet::new();
        accepting.spawn(async move {
            let mut tunnels = JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                while tunnels.try_join_next().is_some() {}
                tunnels.spawn(serve(client, orders.subscribe()));
            }
        });
        Ok(Self { url, conduct, _accepting: accepting })
    }

    pub(crate) fn set(&self, conduct: Conduct) {
        self.conduct.send_replace(conduct);
    }
}

async fn serve(mut client: TcpStream, mut conduct: watch::Receiver<Conduct>) {
    let Some(target) = asked_for(&mut client).await else { return };
    let concerns = |only: Option<SocketAddr>| only.is_none_or(|only| only == target);
    let mut gone = [0; 1];
    loop {
        let now = *conduct.borrow_and_update();
        match now {
            Conduct::Refuses(only) if concerns(only) => {
                let _ = client.write_all(b"HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n").await;
                return;
            }
            Conduct::Hangs(only) if concerns(only) => tokio::select! {
                changed = conduct.changed() => if changed.is_err() { return },
                // A client says nothing before it has its answer: it has gone.
                _ = client.read(&mut gone) => return,
            },
            Conduct::Willing | Conduct::Refuses(_) | Conduct::Hangs(_) => break,
        }
    }
    match TcpStream::connect(target).await {
        Ok(mut server) => {
            let _ = (client.set_nodelay(true), server.set_nodelay(true));
            if client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.is_ok() {
                let mut barred = conduct.clone();
                let is_barred = |now: &Conduct| match now {
                    Conduct::Willing => false,
                    Conduct::Refuses(only) | Conduct::Hangs(only) => concerns(*only),
                };
                // A proxy that fails takes its tunnels with it.
                tokio::select! {
                    _ = copy_bidirectional(&mut client, &mut server) => {}
                    _ = barred.wait_for(is_barred) => {}
                }
            }
        }
        Err(_) => drop(client.write_all(b"HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n").await),
    }
}

/// The address in a request for a way through. The proxy knows the name without the name service of the drivers.
async fn asked_for(client: &mut TcpStream) -> Option<SocketAddr> {
    const MOST: usize = 8 * 1024;
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") && head.len() < MOST {
        head.push(client.read_u8().await.ok()?);
    }
    let head = String::from_utf8(head).ok()?;
    let (name, port) = head.split(' ').nth(1)?.rsplit_once(':')?;
    (name == NAME).then_some(SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port.parse().ok()?))
}
