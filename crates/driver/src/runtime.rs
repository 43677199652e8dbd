//! What the drivers of all accounts share: the platform, the environment, runtime options, and connections.

use std::collections::HashSet;
use std::fmt;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use cosmonaut_options::{
    CosmosClientOptions, CosmosRuntimeOptions, Environment, EnvironmentOptions, OptionErrors,
    ProcessEnvironment,
};
use cosmonaut_policy::{
    AccountConfig, CosmosEndpoint, PartitionFailoverConfig, RegionPreferences, RetryLimits, ShardingConfig,
    ThrottleRetryState,
};
use http::HeaderValue;

use crate::cache::{ContainerCache, SingleFlight};
use crate::clock::DateCache;
use crate::credential::{Credential, Signer};
use crate::driver::{CosmosDriver, DriverCore};
use crate::error::{Error, ErrorKind};
#[cfg(feature = "fault_injection")]
use crate::fault_injection::{FaultInjectingHttpClientFactory, FaultInjector};
use crate::location::{LatencyBook, LocationStateStore};
use crate::options::{LayeredOptions, OperationOptions};
use crate::pipeline::TransportPipeline;
use crate::platform::{Platform, TokioPlatform};
use crate::session::SessionStore;
use crate::tasks::BackgroundTaskManager;
use crate::transport::{
    AdaptiveTransport, HttpClientConfig, HttpClientFactory, HyperClientFactory, Resolver, SystemResolver,
    Trust,
};

/// How the driver names itself to the service.
const USER_AGENT: &str = concat!("cosmonaut/", env!("CARGO_PKG_VERSION"));

/// What the drivers of all accounts share. Cheap to clone.
///
/// ```no_run
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// use cosmonaut_driver::{CosmosDriverRuntime, CosmosOperation, Credential, OperationOptions, OperationType};
/// use cosmonaut_wire::{PartitionKey, ResourcePath};
///
/// let runtime = CosmosDriverRuntime::builder().build()?;
/// let key = Credential::master_key(&std::env::var("COSMOS_KEY")?)?;
/// let driver = runtime.create_driver("https://shop.documents.azure.com", key, Default::default())?;
/// let path = ResourcePath::parse("/dbs/shop/colls/orders/docs/7")?;
/// let read = CosmosOperation::new(OperationType::Read, path).with_target(PartitionKey::from("contoso"));
/// let response = driver.execute_operation(&read, &OperationOptions::default()).await?;
/// println!("{} RU: {}", response.request_charge(), response.diagnostics());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct CosmosDriverRuntime(Arc<Inner>);

struct Inner {
    platform: Arc<dyn Platform>,
    environment: Arc<EnvironmentOptions>,
    options: Arc<CosmosRuntimeOptions>,
    trust: Trust,
    factory: Option<Arc<dyn HttpClientFactory>>,
    resolver: Arc<dyn Resolver>,
    #[cfg(feature = "fault_injection")]
    faults: Option<FaultInjector>,
    /// Drivers with the same connection options share connections.
    transports: Mutex<Vec<(TransportKey, Weak<AdaptiveTransport>)>>,
}

#[derive(Clone, PartialEq)]
struct TransportKey {
    client: HttpClientConfig,
    sharding: ShardingConfig,
}

impl CosmosDriverRuntime {
    /// What to build; see the methods of the builder.
    pub fn builder() -> CosmosDriverRuntimeBuilder {
        CosmosDriverRuntimeBuilder::default()
    }

    /// A driver for an account. Nothing is sent until the first operation, or
    /// [`initialize`](CosmosDriver::initialize).
    ///
    /// # Errors
    /// An endpoint that is none, or options that cannot be used.
    pub fn create_driver(
        &self,
        endpoint: &str,
        credential: Credential,
        options: CosmosClientOptions,
    ) -> Result<CosmosDriver, Error> {
        let endpoint = CosmosEndpoint::global(endpoint)?;
        let options = LayeredOptions {
            environment: Arc::clone(&self.0.environment),
            runtime: Arc::clone(&self.0.options),
            account: options,
        };
        options.validate()?;
        let tasks = Arc::new(BackgroundTaskManager::new(Arc::clone(&self.0.platform)));
        let core = self.core(endpoint, credential, options, &tasks)?;
        Ok(CosmosDriver::start(core, tasks))
    }

    fn core(
        &self,
        endpoint: CosmosEndpoint,
        credential: Credential,
        options: LayeredOptions,
        tasks: &Arc<BackgroundTaskManager>,
    ) -> Result<Arc<DriverCore>, Error> {
        let platform = Arc::clone(&self.0.platform);
        let transport = TransportPipeline {
            transport: self.transport(&options)?,
            signer: Signer::new(credential, endpoint.authority().host(), Arc::clone(&platform)),
            platform: Arc::clone(&platform),
            date: DateCache::new(),
            user_agent: user_agent(options.account().application_name().map(String::as_str))?,
            request_timeout: options.connection().request_timeout(),
            throttling: ThrottleRetryState::from_options(&options.retry().throttling()),
        };
        let account = AccountConfig {
            regions: RegionPreferences::from_options(&options.regions()),
            use_thin_client: options.connection().use_thin_client(),
            ..AccountConfig::default()
        };
        let partitions = PartitionFailoverConfig::from_options(&options.retry());
        let custom = options.account().custom_endpoints().into_iter().flatten();
        let custom_endpoints = custom.map(|url| CosmosEndpoint::global(url)).collect::<Result<_, _>>()?;
        let limits = RetryLimits::from_options(&options.retry());
        Ok(Arc::new_cyclic(|this| DriverCore {
            options,
            metadata_options: OperationOptions::default(),
            transport,
            location: LocationStateStore::new(endpoint, account, partitions),
            account: SingleFlight::default(),
            account_read: AtomicU64::new(0),
            custom_endpoints,
            containers: ContainerCache::default(),
            sessions: SessionStore::default(),
            latencies: LatencyBook::default(),
            limits,
            tasks: Arc::downgrade(tasks),
            probing: Mutex::new(HashSet::new()),
            this: this.clone(),
            platform,
        }))
    }

    /// The connections for these options, shared with other drivers that have the same.
    fn transport(&self, options: &LayeredOptions) -> Result<Arc<AdaptiveTransport>, Error> {
        let connection = options.connection();
        let key = TransportKey {
            client: HttpClientConfig::from_options(&connection, self.0.trust.clone())?,
            sharding: ShardingConfig::from_options(&connection.sharding()),
        };
        if let Some(proxy) = key.client.proxy.as_ref().filter(|proxy| proxy.is_tls()) {
            let message =
                format!("the proxy {proxy} is reached over TLS, which is not supported (use http://)");
            return Err(Error::new(ErrorKind::Configuration, message));
        }
        let mut transports = self.0.transports.lock().unwrap_or_else(PoisonError::into_inner);
        transports.retain(|(_, transport)| transport.strong_count() > 0);
        let shared = transports.iter().find(|(known, _)| *known == key);
        if let Some(transport) = shared.and_then(|(_, transport)| transport.upgrade()) {
            return Ok(transport);
        }
        let factory = match &self.0.factory {
            Some(factory) => Arc::clone(factory),
            None => hyper_factory(&key.client, &self.0.platform, &self.0.resolver)?,
        };
        #[cfg(feature = "fault_injection")]
        let factory = self.with_faults(factory);
        let transport = AdaptiveTransport::start(factory, Arc::clone(&self.0.platform), key.sharding.clone());
        transports.push((key, Arc::downgrade(&transport)));
        Ok(transport)
    }

    /// Each connection gets its faults below the shards, so that their health shows them.
    #[cfg(feature = "fault_injection")]
    fn with_faults(&self, factory: Arc<dyn HttpClientFactory>) -> Arc<dyn HttpClientFactory> {
        match &self.0.faults {
            Some(faults) => {
                let platform = Arc::clone(&self.0.platform);
                Arc::new(FaultInjectingHttpClientFactory::new(factory, faults.clone(), platform))
            }
            None => factory,
        }
    }

    /// Stops what looks after connections, and returns when it has. Operations still work.
    pub async fn shutdown(&self) {
        let transports: Vec<Arc<AdaptiveTransport>> = {
            let known = self.0.transports.lock().unwrap_or_else(PoisonError::into_inner);
            known.iter().filter_map(|(_, transport)| transport.upgrade()).collect()
        };
        for transport in transports {
            transport.shutdown().await;
        }
    }
}

impl fmt::Debug for CosmosDriverRuntime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CosmosDriverRuntime").field("options", &self.0.options).finish_non_exhaustive()
    }
}

fn hyper_factory(
    config: &HttpClientConfig,
    platform: &Arc<dyn Platform>,
    resolver: &Arc<dyn Resolver>,
) -> Result<Arc<dyn HttpClientFactory>, Error> {
    let factory =
        HyperClientFactory::with_resolver(config.clone(), Arc::clone(platform), Arc::clone(resolver));
    Ok(Arc::new(factory.map_err(|error| {
        Error::new(
            ErrorKind::Configuration,
            format!("a trusted root is no certificate (pass it as DER): {error}"),
        )
    })?))
}

fn user_agent(application: Option<&str>) -> Result<HeaderValue, Error> {
    let Some(application) = application else { return Ok(HeaderValue::from_static(USER_AGENT)) };
    HeaderValue::try_from(format!("{USER_AGENT} {application}")).map_err(|_| {
        let message =
            format!("application name {application:?} does not fit in a header (use letters and digits)");
        Error::new(ErrorKind::Configuration, message)
    })
}

/// What a runtime is built from.
#[must_use = "nothing is built until `build` is called"]
#[derive(Default)]
pub struct CosmosDriverRuntimeBuilder {
    platform: Option<Arc<dyn Platform>>,
    environment: Option<Result<EnvironmentOptions, OptionErrors>>,
    options: CosmosRuntimeOptions,
    trust: Trust,
    factory: Option<Arc<dyn HttpClientFactory>>,
    resolver: Option<Arc<dyn Resolver>>,
    #[cfg(feature = "fault_injection")]
    faults: Option<FaultInjector>,
}

impl CosmosDriverRuntimeBuilder {
    /// Options for all accounts.
    pub fn options(mut self, options: CosmosRuntimeOptions) -> Self {
        self.options = options;
        self
    }

    /// Where time, chance and tasks come from, instead of tokio and the machine.
    pub fn platform(mut self, platform: Arc<dyn Platform>) -> Self {
        self.platform = Some(platform);
        self
    }

    /// Where environment variables are read from, instead of the process. They are read here, once.
    pub fn environment(mut self, environment: &impl Environment) -> Self {
        self.environment = Some(EnvironmentOptions::read(environment));
        self
    }

    /// Certificates to trust besides those of the operating system.
    pub fn trust(mut self, trust: Trust) -> Self {
        self.trust = trust;
        self
    }

    /// What makes connections, instead of hyper.
    pub fn http_client_factory(mut self, factory: Arc<dyn HttpClientFactory>) -> Self {
        self.factory = Some(factory);
        self
    }

    /// What finds the addresses of hosts, instead of the operating system. Ignored by connections that are not
    /// made by hyper.
    pub fn resolver(mut self, resolver: Arc<dyn Resolver>) -> Self {
        self.resolver = Some(resolver);
        self
    }

    /// Faults that requests meet.
    #[cfg(feature = "fault_injection")]
    pub fn fault_injection(mut self, faults: FaultInjector) -> Self {
        self.faults = Some(faults);
        self
    }

    /// Builds the runtime.
    ///
    /// # Errors
    /// Every environment variable and option that cannot be used.
    pub fn build(self) -> Result<CosmosDriverRuntime, Error> {
        let environment = match self.environment {
            Some(environment) => environment?,
            None => EnvironmentOptions::read(&ProcessEnvironment)?,
        };
        self.options.validate()?;
        Ok(CosmosDriverRuntime(Arc::new(Inner {
            platform: self.platform.unwrap_or_else(|| Arc::new(TokioPlatform::new())),
            environment: Arc::new(environment),
            options: Arc::new(self.options),
            trust: self.trust,
            factory: self.factory,
            resolver: self.resolver.unwrap_or_else(|| Arc::new(SystemResolver)),
            #[cfg(feature = "fault_injection")]
            faults: self.faults,
            transports: Mutex::new(Vec::new()),
        })))
    }
}
