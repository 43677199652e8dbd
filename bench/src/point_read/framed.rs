//! A point read through this driver by Gateway 2.0, and the bytes that it and one by REST put on the wire.

use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use cosmonaut_driver::transport::{BoxFuture, SocketStream, Sockets};
use cosmonaut_driver::{CosmosDriver, CosmosDriverRuntime, CosmosOperation, OperationOptions, OperationType};
use cosmonaut_wire::{PartitionKey, ResourcePath};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use super::driver::{Cosmonaut, connect_by};
use super::{Client, ITEMS, Reader};
use crate::server::Server;
use crate::{Result, table};

pub const NAME: &str = "the same by Gateway 2.0";

/// Reads whose bytes are counted.
const COUNTED: u64 = 2_000;

pub struct Framed(Cosmonaut);

impl Framed {
    pub async fn connect(address: &str) -> Result<Self> {
        let driver = connect_by(CosmosDriverRuntime::builder(), address).await?;
        until_framed(&driver).await?;
        Ok(Self(Cosmonaut(driver)))
    }
}

impl Client for Framed {
    fn reader(&self, number: usize) -> impl Reader + 'static {
        self.0.reader(number)
    }
}

/// Reads until the account's Gateway 2.0 has answered.
async fn until_framed(driver: &CosmosDriver) -> Result<()> {
    for _ in 0..10_000 {
        let path = ResourcePath::parse("/dbs/bench/colls/bench/docs/0")?;
        let read = CosmosOperation::new(OperationType::Read, path).with_target(PartitionKey::from("0"));
        let response = driver.execute_operation(&read, &OperationOptions::default()).await?;
        if response.diagnostics().attempts().last().is_some_and(|attempt| attempt.framed) {
            return Ok(());
        }
        tokio::task::yield_now().await;
    }
    Err("the gateway never answered by frames".into())
}

/// Prints the bytes of a read each way, by REST and by Gateway 2.0.
pub async fn bytes(rest: &Server, framed: &Server) -> Result<()> {
    let mut rows =
        vec![["wire", "bytes sent a read", "of REST", "received", "of REST"].map(String::from).to_vec()];
    let mut base = None;
    for (name, server, is_framed) in [("REST", rest, false), ("Gateway 2.0", framed, true)] {
        let counts = Arc::new(Counts::default());
        let sockets: Arc<dyn Sockets> = Arc::new(Counting(Arc::clone(&counts)));
        let driver = connect_by(CosmosDriverRuntime::builder().sockets(sockets), &server.address).await?;
        if is_framed {
            until_framed(&driver).await?;
        }
        let mut reader = Cosmonaut(driver).reader(0);
        // HTTP/2 has learned the headers by then.
        for number in 0..ITEMS {
            reader.read(&number.to_string()).await?;
        }
        let before = counts.load();
        for number in 0..COUNTED {
            reader.read(&(number % ITEMS).to_string()).await?;
        }
        let after = counts.load();
        let each = |nth: usize| (after[nth] - before[nth]) as f64 / COUNTED as f64;
        let (sent, received) = (each(0), each(1));
        let (of_sent, of_received) =
            base.map_or((String::new(), String::new()), |(base_sent, base_received)| {
                (format!("{:.2} ×", sent / base_sent), format!("{:.2} ×", received / base_received))
            });
        base = base.or(Some((sent, received)));
        rows.push(vec![name.into(), format!("{sent:.0}"), of_sent, format!("{received:.0}"), of_received]);
    }
    table::print("Bytes of a point read of 1 KB on a connection that is warm, PINGs and all", &rows);
    Ok(())
}

#[derive(Default)]
struct Counts {
    sent: AtomicU64,
    received: AtomicU64,
}

impl Counts {
    fn load(&self) -> [u64; 2] {
        [self.sent.load(Ordering::Relaxed), self.received.load(Ordering::Relaxed)]
    }
}

struct Counting(Arc<Counts>);

impl Sockets for Counting {
    fn connect(&self, to: SocketAddr) -> BoxFuture<'_, std::io::Result<Box<dyn SocketStream>>> {
        Box::pin(async move {
            let stream = TcpStream::connect(to).await?;
            stream.set_nodelay(true)?;
            Ok(Box::new(Counted { stream, counts: Arc::clone(&self.0) }) as Box<dyn SocketStream>)
        })
    }
}

struct Counted {
    stream: TcpStream,
    counts: Arc<Counts>,
}

impl AsyncRead for Counted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let before = into.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, into);
        self.counts.received.fetch_add((into.filled().len() - before) as u64, Ordering::Relaxed);
        read
    }
}

impl AsyncWrite for Counted {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        if let Poll::Ready(Ok(count)) = written {
            self.counts.sent.fetch_add(count as u64, Ordering::Relaxed);
        }
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
