//! Starting an emulator, in a test or in a process of its own, and stopping it.

use std::error::Error;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use cosmonaut_wire::{EMULATOR_KEY, MasterKey, MasterKeyError, RegionName};
use http::{Request, Response, header};

use crate::engine::{Engine, EngineConfig, RegionId};
use crate::gateway::{Access, Gateway, Origin, Scheme};
use crate::server::{BindError, Listener, Server, Task, Tls, TlsError, load_tls};
use crate::storage::{Journal, StorageError};
use crate::{SystemWorld, World};

/// How often expired items are taken out of memory. They are invisible before that.
const SWEEP_EVERY: Duration = Duration::from_secs(1);

/// A running Cosmos DB account. Dropping it stops it.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// use cosmonaut_emulator::Emulator;
///
/// // In a test: any free port, everything in memory, gone at the end.
/// let emulator = Emulator::builder().start().await?;
/// let (endpoint, key) = (emulator.url(), emulator.key());
/// assert!(endpoint.starts_with("http://127.0.0.1:"));
/// // … connect any SDK with `endpoint` and `key` …
/// emulator.shutdown().await;
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
pub struct Emulator {
    gateway: Arc<Gateway>,
    server: Server,
    _sweeper: Task,
    scheme: Scheme,
    url: String,
    key: String,
    certificate: Option<PathBuf>,
}

impl Emulator {
    /// What to start: by default one region, "East US", on any free port of 127.0.0.1, in clear text, in memory, with
    /// the well-known emulator key and throughput not enforced.
    pub fn builder() -> EmulatorBuilder {
        EmulatorBuilder::default()
    }

    /// The account's address, such as `http://127.0.0.1:8081/`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The account's address; another name for [`Emulator::url`].
    pub fn endpoint(&self) -> &str {
        &self.url
    }

    /// The account's key, in base64.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The account's region.
    pub fn region(&self) -> &RegionName {
        &self.gateway.region_name
    }

    /// The certificate to trust, if the emulator speaks TLS.
    pub fn certificate(&self) -> Option<&Path> {
        self.certificate.as_deref()
    }

    /// The engine: splits and whatever else cannot be asked for over HTTP.
    pub fn engine(&self) -> &Arc<Engine> {
        &self.gateway.engine
    }

    /// How many requests were answered so far, for tests that count them.
    pub fn requests(&self) -> u64 {
        self.gateway.requests.load(Ordering::Relaxed)
    }

    /// Answers a request as the server would, without a socket. It must be signed like any other.
    pub async fn handle(&self, request: Request<Bytes>) -> Response<Bytes> {
        let (parts, body) = request.into_parts();
        let authority = match parts.uri.authority() {
            Some(authority) => Some(authority.as_str()),
            None => parts.headers.get(header::HOST).and_then(|host| host.to_str().ok()),
        };
        let origin = Origin { scheme: self.scheme, authority };
        self.gateway.answer(&parts, body, origin).await
    }

    /// Stops listening, and returns when the requests under way are answered or have taken too long.
    pub async fn shutdown(self) {
        self.server.stop().await;
    }
}

impl fmt::Debug for Emulator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Emulator").field("url", &self.url).finish_non_exhaustive()
    }
}

/// What to start; see [`Emulator::builder`].
#[must_use = "nothing runs until it is started"]
pub struct EmulatorBuilder {
    region: RegionName,
    host: String,
    port: u16,
    data: Option<PathBuf>,
    tls: Tls,
    key: String,
    auth: bool,
    throttle: bool,
    world: Option<Arc<dyn World>>,
}

impl Default for EmulatorBuilder {
    fn default() -> Self {
        Self {
            region: RegionName::from("East US"),
            host: "127.0.0.1".to_owned(),
            port: 0,
            data: None,
            tls: Tls::Off,
            key: EMULATOR_KEY.to_owned(),
            auth: true,
            throttle: false,
            world: None,
        }
    }
}

impl EmulatorBuilder {
    /// The name of the account's region.
    pub fn region(mut self, name: impl Into<RegionName>) -> Self {
        self.region = name.into();
        self
    }

    /// The address to listen on.
    pub fn host(mut self, host: impl Into<String>) -> Self {
        self.host = host.into();
        self
    }

    /// The port to listen on; 0 takes any free one.
    pub fn port(mut self, port: u16) -> Self {
        self.port = port;
        self
    }

    /// Keeps everything in a directory, which is made if it is not there.
    pub fn data(mut self, directory: impl Into<PathBuf>) -> Self {
        self.data = Some(directory.into());
        self
    }

    /// Whether and how to speak TLS.
    pub fn tls(mut self, tls: Tls) -> Self {
        self.tls = tls;
        self
    }

    /// The account key, in base64.
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = key.into();
        self
    }

    /// Whether requests must be signed.
    pub fn auth(mut self, required: bool) -> Self {
        self.auth = required;
        self
    }

    /// Whether provisioned throughput is enforced with 429.
    pub fn throttle(mut self, enforced: bool) -> Self {
        self.throttle = enforced;
        self
    }

    /// Where time and chance come from, instead of the machine.
    pub fn world(mut self, world: Arc<dyn World>) -> Self {
        self.world = Some(world);
        self
    }

    /// Starts it. When this returns, clients can connect.
    pub async fn start(self) -> Result<Emulator, StartError> {
        let key = MasterKey::from_base64(&self.key)?;
        let tls = load_tls(&self.tls, &self.certificate_directory())?;
        let listener = Listener::bind(&self.host, self.port).await?;
        let world = self.world.unwrap_or_else(|| Arc::new(SystemWorld::new()));
        let journal = match &self.data {
            Some(directory) => Journal::open(directory)?,
            None => Journal::memory(),
        };
        let config = EngineConfig { enforce_throughput: self.throttle };
        let engine = Engine::new(config, Arc::clone(&world), journal)?;
        let scheme = if tls.is_some() { Scheme::Https } else { Scheme::Http };
        let url = format!("{scheme}://{}/", reachable(listener.address()));
        let gateway = Arc::new(Gateway {
            engine: Arc::clone(&engine),
            world,
            access: if self.auth { Access::Key(key) } else { Access::Open },
            region: RegionId::default(),
            region_name: self.region,
            endpoint: url.clone(),
            requests: AtomicU64::new(0),
        });
        let (acceptor, certificate) = tls.unzip();
        let server = listener.serve(Arc::clone(&gateway), acceptor);
        Ok(Emulator {
            gateway,
            server,
            _sweeper: sweep(Arc::downgrade(&engine)),
            scheme,
            url,
            key: self.key,
            certificate,
        })
    }

    /// Where the emulator's own certificate is kept: with the data, or where the user's other data are.
    fn certificate_directory(&self) -> PathBuf {
        match &self.data {
            Some(directory) => directory.clone(),
            None => user_data_directory().join("cosmonaut"),
        }
    }
}

/// The address for clients on this machine: one that means "all addresses" is none that a client can go to.
fn reachable(mut address: SocketAddr) -> SocketAddr {
    match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => address.set_ip(Ipv4Addr::LOCALHOST.into()),
        IpAddr::V6(ip) if ip.is_unspecified() => address.set_ip(Ipv6Addr::LOCALHOST.into()),
        IpAddr::V4(_) | IpAddr::V6(_) => {}
    }
    address
}

/// Takes expired items out of memory, for as long as there is an engine.
fn sweep(engine: Weak<Engine>) -> Task {
    Task::start(async move {
        loop {
            tokio::time::sleep(SWEEP_EVERY).await;
            let Some(engine) = engine.upgrade() else { return };
            engine.sweep();
        }
    })
}

/// As the platform has it, or the directory for temporary files where there is no home.
fn user_data_directory() -> PathBuf {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let at_home = |path| std::env::home_dir().map(|home: PathBuf| home.join(path));
    let found = if cfg!(windows) {
        variable("LOCALAPPDATA")
    } else if cfg!(target_os = "macos") {
        at_home("Library/Application Support")
    } else {
        variable("XDG_DATA_HOME").or_else(|| at_home(".local/share"))
    };
    found.unwrap_or_else(std::env::temp_dir)
}

/// Why an emulator did not start.
#[derive(Debug)]
#[non_exhaustive]
pub enum StartError {
    /// The account key is not base64.
    Key(MasterKeyError),
    /// The certificate cannot be used.
    Tls(TlsError),
    /// The port cannot be had.
    Bind(BindError),
    /// The data cannot be opened.
    Storage(StorageError),
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key(error) => error.fmt(f),
            Self::Tls(error) => error.fmt(f),
            Self::Bind(error) => error.fmt(f),
            Self::Storage(error) => error.fmt(f),
        }
    }
}

impl Error for StartError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(match self {
            Self::Key(error) => error,
            Self::Tls(error) => error,
            Self::Bind(error) => error,
            Self::Storage(error) => error,
        })
    }
}

macro_rules! widened {
    ($($error:ident => $variant:ident),+) => {
        $(impl From<$error> for StartError {
            fn from(error: $error) -> Self {
                Self::$variant(error)
            }
        })+
    };
}

widened!(MasterKeyError => Key, TlsError => Tls, BindError => Bind, StorageError => Storage);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_are_sent_to_an_address_that_they_can_reach() {
        for (bound, told) in
            [("127.0.0.1:1", "127.0.0.1:1"), ("0.0.0.0:2", "127.0.0.1:2"), ("[::]:3", "[::1]:3")]
        {
            assert_eq!(reachable(bound.parse().unwrap()).to_string(), told);
        }
    }
}
