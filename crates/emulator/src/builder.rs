//! What to start, and starting it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use cosmonaut_wire::{EMULATOR_KEY, MasterKey, RegionName};

use crate::background::Background;
use crate::control::{Control, Listeners, Setting};
use crate::emulator::{Emulator, ManagementServer};
use crate::engine::query::TieOrder;
use crate::engine::{AccountConfig, Consistency, Engine, EngineConfig, Lag};
use crate::gateway::{Access, Addresses, Credentials, EntraTokens, Scheme, TokenRule, reachable};
use crate::management::Management;
use crate::pace::{PAGE_TIME, SCRIPT_TIME};
use crate::request_log::{self, Answered};
use crate::server::{BindError, Listener, Sockets, Tls, Visitors, WorkTimes, Workers, load_tls};
use crate::start_error::StartError;
use crate::storage::{DataPlace, Journal, Volume};
use crate::{SystemWorld, Timestamp, World};

const LOOPBACK: &str = "127.0.0.1";

/// What to start; see [`Emulator::builder`].
#[must_use = "nothing runs until it is started"]
pub struct EmulatorBuilder {
    account: AccountConfig,
    lag: Lag,
    host: String,
    port: u16,
    management: ManagementPort,
    management_host: String,
    data: Option<DataPlace>,
    tls: Tls,
    key: String,
    secondary_key: Option<String>,
    tokens: TokenRule,
    auth: bool,
    throttle: bool,
    ties: TieOrder,
    names: Vec<String>,
    pages: Vec<String>,
    page_time: Duration,
    script_time: Duration,
    threads: bool,
    global: bool,
    gateway2: bool,
    log: Option<request_log::Listener>,
    world: Option<Arc<dyn World>>,
    sockets: Option<Arc<dyn Sockets>>,
}

impl Default for EmulatorBuilder {
    fn default() -> Self {
        Self {
            account: AccountConfig::default(),
            lag: Lag::None,
            host: LOOPBACK.to_owned(),
            port: 0,
            management: ManagementPort::Off,
            management_host: LOOPBACK.to_owned(),
            data: None,
            tls: Tls::Off,
            key: EMULATOR_KEY.to_owned(),
            secondary_key: None,
            tokens: TokenRule::Entra(EntraTokens::Off),
            auth: true,
            throttle: false,
            ties: TieOrder::default(),
            names: Vec::new(),
            pages: Vec::new(),
            page_time: PAGE_TIME,
            script_time: SCRIPT_TIME,
            threads: true,
            global: false,
            gateway2: false,
            log: None,
            world: None,
            sockets: None,
        }
    }
}

impl EmulatorBuilder {
    /// The name of the account's only region.
    pub fn region(self, name: impl Into<RegionName>) -> Self {
        self.regions([name])
    }

    /// The account's regions, in the order of failover priority: the first takes the writes of a single-write account.
    pub fn regions(mut self, names: impl IntoIterator<Item: Into<RegionName>>) -> Self {
        self.account.regions = names.into_iter().map(Into::into).collect();
        self
    }

    /// Whether every region takes writes.
    pub fn multi_write(mut self, enabled: bool) -> Self {
        self.account.multi_write = enabled;
        self
    }

    /// The account's consistency; Session unless it is set.
    pub fn consistency(mut self, consistency: Consistency) -> Self {
        self.account.consistency = consistency;
        self
    }

    /// Whether single partitions may fail over on their own.
    pub fn partition_failover(mut self, enabled: bool) -> Self {
        self.account.partition_failover = enabled;
        self
    }

    /// How late commits come from each region to each other; at once unless it is set.
    pub fn lag(mut self, lag: Lag) -> Self {
        self.lag = lag;
        self
    }

    /// Offers the management API at a port; 0 takes any free one.
    pub fn management(mut self, port: u16) -> Self {
        self.management = ManagementPort::Exactly(port);
        self
    }

    /// Offers the management API at a port or, if that is taken, at any free one.
    pub fn management_or_any(mut self, port: u16) -> Self {
        self.management = ManagementPort::Preferably(port);
        self
    }

    /// The address that the management API listens on. It asks for no key: leave it at this machine's own unless the
    /// network is yours.
    pub fn management_host(mut self, host: impl Into<String>) -> Self {
        self.management_host = host.into();
        self
    }

    /// The address to listen on.
    pub fn host(mut self, host: impl Into<String>) -> Self {
        self.host = host.into();
        self
    }

    /// Whether the account has an address of its own, which no region owns: it describes the account, and hands everything
    /// else to the region that takes the writes.
    pub fn global_endpoint(mut self, enabled: bool) -> Self {
        self.global = enabled;
        self
    }

    /// Whether each region has a Gateway 2.0 too, at a port of its own: frames in HTTP/2 for all that is about items. The
    /// account says where to clients that ask for it. Those that do may then go there, so it is off unless this is set.
    pub fn gateway2(mut self, enabled: bool) -> Self {
        self.gateway2 = enabled;
        self
    }

    /// Who hears of every request: when it came, what was asked, and how it ended. Called where requests are answered, so
    /// it should not wait for anything.
    pub fn request_log(mut self, listener: impl Fn(&Answered) + Send + Sync + 'static) -> Self {
        self.log = Some(request_log::Listener::new(listener));
        self
    }

    /// As [`request_log`](Self::request_log), and each request comes with its headers and those of its answer, but for what
    /// lets somebody in.
    pub fn request_log_with_headers(mut self, listener: impl Fn(&Answered) + Send + Sync + 'static) -> Self {
        self.log = Some(request_log::Listener::new(listener).with_headers());
        self
    }

    /// The port that the account's own address has, if it has one, or the first region; the others have those that follow.
    /// 0 takes any free ones.
    pub fn port(mut self, port: u16) -> Self {
        self.port = port;
        self
    }

    /// Keeps everything in a directory, which is made if it is not there.
    pub fn data(mut self, directory: impl Into<PathBuf>) -> Self {
        self.data = Some(DataPlace::Directory(directory.into()));
        self
    }

    /// Keeps everything on a volume of the caller's, instead of a directory. Only a certificate of the emulator's own is
    /// kept elsewhere, where the user's other data are.
    pub fn volume(mut self, volume: Arc<dyn Volume>) -> Self {
        self.data = Some(DataPlace::Volume(volume));
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

    /// A second key, in base64, with which requests may be signed too.
    pub fn secondary_key(mut self, key: impl Into<String>) -> Self {
        self.secondary_key = Some(key.into());
        self
    }

    /// Which Entra tokens are accepted; none unless it is set.
    pub fn entra(mut self, tokens: EntraTokens) -> Self {
        self.tokens = TokenRule::Entra(tokens);
        self
    }

    /// Which Entra tokens are accepted, by the token and the account's time, instead of a rule of [`EntraTokens`].
    pub fn accept_tokens(
        mut self,
        accepts: impl Fn(&str, Timestamp) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.tokens = TokenRule::Own(Arc::new(accepts));
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

    /// In which order an ordered query gives the documents of a partition that sort alike. The service does it in more
    /// than one way, and says in `x-ms-cosmos-query-execution-info` which one it took.
    pub fn ties(mut self, order: TieOrder) -> Self {
        self.ties = order;
        self
    }

    /// A name by which clients may call the emulator, besides those of this machine, the address that it listens on and,
    /// where that is not this machine's own, any other address; `*` allows every name.
    ///
    /// Whatever else calls it by a name is refused, as a web page could have made that name lead here.
    pub fn allow_host(mut self, name: impl Into<String>) -> Self {
        self.names.push(name.into());
        self
    }

    /// A web page whose requests are answered, as browsers name it: `http://localhost:3000`. No other page's are.
    pub fn allow_origin(mut self, page: impl Into<String>) -> Self {
        self.pages.push(page.into());
        self
    }

    /// How long a query works on one page before it ends the page with a continuation; 5 seconds unless it is set. What
    /// cannot be answered in pages may take a minute, or as long as this if that is more.
    pub fn page_time(mut self, time: Duration) -> Self {
        self.page_time = time;
        self
    }

    /// How long a stored procedure, a trigger or a call of a user-defined function may run; 5 seconds unless it is set. Calls
    /// of the store are not accepted any more when four fifths of it are over.
    pub fn script_time(mut self, time: Duration) -> Self {
        self.script_time = time;
        self
    }

    /// Whether what may take long is done by threads of its own, as it is unless this is set to false: then it is done
    /// where it is asked for, and writes to disk by a task of the runtime, so that runs under a [`World`] and on a
    /// [`Volume`] of the caller's are the same every time.
    pub fn threads(mut self, enabled: bool) -> Self {
        self.threads = enabled;
        self
    }

    /// Where time and chance come from, instead of the machine.
    pub fn world(mut self, world: Arc<dyn World>) -> Self {
        self.world = Some(world);
        self
    }

    /// What its ports are made of, instead of the machine's sockets.
    pub fn sockets(mut self, sockets: Arc<dyn Sockets>) -> Self {
        self.sockets = Some(sockets);
        self
    }

    /// Starts it. When this returns, clients can connect.
    pub async fn start(self) -> Result<Emulator, StartError> {
        self.account.validate().map_err(|failure| StartError::Account(failure.message))?;
        let key = MasterKey::from_base64(&self.key)?;
        let secondary = self.secondary_key.as_deref().map(MasterKey::from_base64).transpose()?;
        let credentials = Credentials::new(key, secondary, self.tokens.clone());
        let world = self.world.clone().unwrap_or_else(|| Arc::new(SystemWorld::new()));
        let (tls, certificate) = load_tls(&self.tls, &self.certificate_directory(), world.now())?.unzip();
        let global = if self.global { Some(self.bind(&self.host, self.port).await?) } else { None };
        let listeners = self.bind_regions().await?;
        let management = self.bind_management().await?;
        let journal = match &self.data {
            Some(place) => Journal::start(place, self.threads).await?,
            None => Journal::memory(),
        };
        let warning = journal.warning().map(str::to_owned);
        let config = EngineConfig {
            enforce_throughput: self.throttle,
            account: self.account,
            ties: self.ties,
            one_thread: !self.threads,
        };
        let engine = Engine::new(config, Arc::clone(&world), journal)?;
        let times = WorkTimes { page: self.page_time, script: self.script_time };
        let workers = Arc::new(Workers::new(Arc::clone(&world), times, self.threads));
        let scheme = if tls.is_some() { Scheme::Https } else { Scheme::Http };
        let managers = Visitors::new(&self.management_host, &self.names, &self.pages);
        let setting = Setting {
            engine: Arc::clone(&engine),
            world,
            access: if self.auth { Access::Credentials(credentials) } else { Access::Open },
            addresses: Addresses::new(scheme),
            workers: Arc::clone(&workers),
            visitors: Visitors::new(&self.host, &self.names, &self.pages),
            tls,
            sockets: self.sockets,
            host: self.host,
            next_port: next_port(
                self.port,
                listeners.len() * (1 + usize::from(self.gateway2)) + usize::from(self.global),
            ),
            lag: self.lag,
            log: self.log,
        };
        let first = engine.topology().write_region().id;
        let own = global.as_ref().map(|listener| format!("{scheme}://{}/", reachable(listener.address())));
        let control = Arc::new(Control::start(setting, listeners, global));
        Ok(Emulator {
            management: management.map(|listener| serve_management(listener, &control, managers)),
            _background: Background::start(&engine, workers),
            first: control.gateway(first).expect("every region has a listener"),
            url: own.or_else(|| control.addresses().url(first)).expect("every region has a listener"),
            control,
            key: self.key,
            certificate,
            warning,
        })
    }

    async fn bind(&self, host: &str, port: u16) -> Result<Listener, BindError> {
        Listener::bind(self.sockets.clone(), host, port).await
    }

    /// The listeners of each region, in order. Those of Gateway 2.0 have the ports behind all others.
    async fn bind_regions(&self) -> Result<Vec<Listeners>, StartError> {
        let regions = self.account.regions.len();
        let mut listeners = Vec::with_capacity(regions);
        for nth in 0..regions {
            let rest = self.bind_nth(nth).await?;
            let framed = if self.gateway2 { Some(self.bind_nth(regions + nth).await?) } else { None };
            listeners.push(Listeners { rest, framed });
        }
        Ok(listeners)
    }

    async fn bind_nth(&self, nth: usize) -> Result<Listener, StartError> {
        let port = next_port(self.port, nth + usize::from(self.global));
        if port == 0 && self.port != 0 {
            return Err(StartError::Account(format!(
                "no port is left for region {} after port {} (try a lower one, or 0 for any free ones)",
                nth % self.account.regions.len() + 1,
                u16::MAX
            )));
        }
        Ok(self.bind(&self.host, port).await?)
    }

    async fn bind_management(&self) -> Result<Option<Listener>, BindError> {
        let host = self.management_host.as_str();
        Ok(match self.management {
            ManagementPort::Off => None,
            ManagementPort::Exactly(port) => Some(self.bind(host, port).await?),
            ManagementPort::Preferably(port) => Some(match self.bind(host, port).await {
                Err(error) if error.is_taken() => self.bind(host, 0).await?,
                bound => bound?,
            }),
        })
    }

    /// Where the emulator's own certificate is kept: with the data, or where the user's other data are.
    fn certificate_directory(&self) -> PathBuf {
        match &self.data {
            Some(DataPlace::Directory(directory)) => directory.clone(),
            Some(DataPlace::Volume(_)) | None => user_data_directory().join("cosmonaut"),
        }
    }
}

/// Whether and where the management API listens.
#[derive(Clone, Copy, Debug)]
enum ManagementPort {
    Off,
    Exactly(u16),
    Preferably(u16),
}

/// The port of the region at that place: the following ones, unless any will do; 0 also if there are no more.
fn next_port(first: u16, nth: usize) -> u16 {
    if first == 0 {
        return 0;
    }
    u16::try_from(nth).ok().and_then(|nth| first.checked_add(nth)).unwrap_or(0)
}

fn serve_management(listener: Listener, control: &Arc<Control>, visitors: Visitors) -> ManagementServer {
    let url = format!("http://{}/", reachable(listener.address()));
    let server = listener.serve(Arc::new(Management::new(Arc::clone(control), visitors)), None);
    ManagementServer { server, url }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_have_ports_that_follow_each_other() {
        for (first, nth, port) in [(0, 3, 0), (8081, 0, 8081), (8081, 2, 8083), (u16::MAX, 1, 0)] {
            assert_eq!(next_port(first, nth), port);
        }
    }
}
