//! From a host's name to its addresses, also while the name service is away.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use cosmonaut_policy::Moment;

use super::flight::{Flight, Maker};
use super::http_client::BoxFuture;
use super::timeline::ConnectMarks;
use crate::platform::Platform;
use crate::race::{Either, race};

/// Finds the addresses of a host.
///
/// The driver asks once per connection that it makes. It remembers the last answer for each host, and uses
/// that when a later look-up fails or takes too long.
pub trait Resolver: Send + Sync + 'static {
    /// The addresses of a host, the preferred first.
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, std::io::Result<Vec<IpAddr>>>;
}

/// Asks the operating system.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemResolver;

impl Resolver for SystemResolver {
    fn resolve<'a>(&'a self, host: &'a str) -> BoxFuture<'a, std::io::Result<Vec<IpAddr>>> {
        Box::pin(async move {
            let found = tokio::net::lookup_host((host, 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }
}

/// Hosts that were not asked for during this time are forgotten when another is added.
const KEPT: Duration = Duration::from_secs(60 * 60);
/// The share of the time for connecting that a look-up may take while older addresses are at hand.
const PATIENCE: u32 = 4;

/// Looks hosts up, and remembers what was found.
pub(super) struct Lookups {
    pub(super) resolver: Arc<dyn Resolver>,
    pub(super) platform: Arc<dyn Platform>,
    /// How long one look-up may take.
    pub(super) limit: Duration,
    pub(super) hosts: Mutex<HashMap<Arc<str>, Arc<Host>>>,
}

type Addresses = Arc<[IpAddr]>;

/// What is known about one host.
pub(super) struct Host {
    /// The addresses that were found last.
    last_good: Arc<ArcSwapOption<Addresses>>,
    asking: Flight<Addresses, Arc<std::io::Error>>,
    last_asked: Mutex<Moment>,
}

impl Lookups {
    /// The addresses of a host.
    pub(super) async fn addresses(&self, host: &str) -> Result<Addresses, Arc<std::io::Error>> {
        if let Ok(address) = host.parse::<IpAddr>() {
            return Ok(Arc::from([address]));
        }
        let known = self.host(host);
        let last_good = known.last_good.load_full();
        let asking = Asking { lookups: self, name: host, host: &known };
        let answer = std::pin::pin!(known.asking.join(&asking, &*self.platform, None));
        let Some(last_good) = last_good else { return answer.await };
        match race(answer, self.platform.sleep(self.limit / PATIENCE).as_mut()).await {
            Either::First(Ok(addresses)) => Ok(addresses),
            Either::First(Err(_)) | Either::Second(()) => Ok(Addresses::clone(&last_good)),
        }
    }

    fn host(&self, name: &str) -> Arc<Host> {
        let now = self.platform.now();
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(host) = hosts.get(name) {
            *host.last_asked.lock().unwrap_or_else(PoisonError::into_inner) = now;
            return Arc::clone(host);
        }
        hosts.retain(|_, host| {
            now.since(*host.last_asked.lock().unwrap_or_else(PoisonError::into_inner)) < KEPT
        });
        let host = Arc::new(Host {
            last_good: Arc::default(),
            asking: Flight::default(),
            last_asked: Mutex::new(now),
        });
        hosts.insert(name.into(), Arc::clone(&host));
        host
    }
}

/// One look-up at a time for each host: a name service that hangs holds one task, however many wait.
struct Asking<'a> {
    lookups: &'a Lookups,
    name: &'a str,
    host: &'a Host,
}

impl Maker for Asking<'_> {
    type Made = Addresses;
    type Failure = Arc<std::io::Error>;
    /// An answer that nobody waited for may be old. It is remembered, but the next caller asks anew.
    const OUTLIVES_CALLERS: bool = false;

    fn present(&self) -> Option<Addresses> {
        None
    }

    fn keep(&self, _: &Addresses) {}

    fn is_good(&self, _: &Addresses) -> bool {
        true
    }

    fn make(&self, _: Arc<ConnectMarks>) -> BoxFuture<'static, Result<Addresses, Arc<std::io::Error>>> {
        let (resolver, name) = (Arc::clone(&self.lookups.resolver), self.name.to_owned());
        let (limit, last_good) =
            (self.lookups.platform.sleep(self.lookups.limit), Arc::clone(&self.host.last_good));
        Box::pin(async move {
            let mut limit = limit;
            let found = match race(resolver.resolve(&name).as_mut(), limit.as_mut()).await {
                Either::First(found) => found?,
                Either::Second(()) => {
                    return Err(Arc::new(std::io::Error::new(
                        std::io::ErrorKind::TimedOut,
                        "the name service did not answer in time",
                    )));
                }
            };
            if found.is_empty() {
                let error = std::io::Error::new(std::io::ErrorKind::NotFound, "the name has no address");
                return Err(Arc::new(error));
            }
            let addresses = Addresses::from(found);
            last_good.store(Some(Arc::new(Addresses::clone(&addresses))));
            Ok(addresses)
        })
    }

    fn interrupted(&self) -> Arc<std::io::Error> {
        Arc::new(std::io::Error::other("the look-up was broken off"))
    }
}
