//! A name service that can fail, or hang.
//!
//! All regions and the proxy are at one name, which the emulator hands on to its clients. A driver has looked the name
//! up before the storm: with what it found then it loses nothing while the name service is away.

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use cosmonaut_driver::transport::{BoxFuture, Resolver};
use tokio::sync::watch;

/// The name of all regions and of the proxy, each with its own port.
pub(crate) const NAME: &str = "localhost";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Names {
    Answer,
    Hang,
    Fail,
}

pub(crate) struct Dns {
    names: watch::Sender<Names>,
    /// Look-ups that found the name service out of order.
    struck: AtomicUsize,
}

impl Dns {
    pub(crate) fn start() -> Arc<Self> {
        Arc::new(Self { names: watch::Sender::new(Names::Answer), struck: AtomicUsize::new(0) })
    }

    pub(crate) fn set(&self, names: Names) {
        self.names.send_replace(names);
    }

    /// How many look-ups found the name service out of order.
    pub(crate) fn struck(&self) -> usize {
        self.struck.load(Ordering::Relaxed)
    }
}

impl Resolver for Dns {
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        Box::pin(async move {
            let mut names = self.names.subscribe();
            if *names.borrow() != Names::Answer {
                self.struck.fetch_add(1, Ordering::Relaxed);
            }
            let answering = names.wait_for(|now| *now != Names::Hang).await;
            match answering.map(|now| *now) {
                Ok(Names::Answer | Names::Hang) if host == NAME => Ok(vec![IpAddr::V4(Ipv4Addr::LOCALHOST)]),
                Ok(Names::Answer | Names::Hang) => Err(io::Error::other(format!("there is no {host}"))),
                Ok(Names::Fail) | Err(_) => Err(io::Error::other("the name service is out of order")),
            }
        })
    }
}
