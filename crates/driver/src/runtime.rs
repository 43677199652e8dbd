//! What the drivers of all accounts share: the platform, the environment, runtime options, and connections.

mod shared;

use std::fmt;
use std::sync::atomic::AtomicI64;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use cosmonaut_options::{
    CosmosClientOptions, CosmosRuntimeOptions, Environment, EnvironmentOptions, HttpProtocol, OptionErrors,
    ProcessEnvironment,
};
use cosmonaut_policy::{
    AccountConfig, AttemptLimits, ClearTextRule, CosmosEndpoint, HedgeBudget, PartitionFailoverConfig,
    RegionPreferences, RetryLimits, ShardingConfig, ThrottleRetryState,
};
use http::HeaderValue;

use crate::activity_id::ActivityId;
use crate::cache::{ContainerCache, SingleFlight};
use crate::clock::DateCache;
use crate::credential::{Credential, Signer, TokenSettings};
use crate::driver::{AccountReader, CosmosDriver, DriverCore};
use crate::error::{Error, ErrorKind};
#[cfg(feature = "fault_injection")]
use crate::fault_injection::{FaultInjectingHttpClientFactory, FaultInjector};
use crate::location::{LatencyBook, LocationStateStore};
use crate::options::{LayeredOptions, OperationOptions};
use crate::pipeline::{LeftWrites, TransportPipeline};
use crate::platform::{Platform, TokioPlatform};
use crate::session::SessionStore;
use crate::tasks::BackgroundTaskManager;
use crate::telemetry::{DiagnosticsHandler, DiagnosticsReporter};
#[cfg(feature = "opentelemetry")]
use crate::telemetry::{OpenTelemetry, OperationTelemetry};
use crate::transport::{
    AdaptiveTransport, HttpClientConfig, HttpClientFactory, HyperClientFactory, InvalidProxyUser,
    ProxyCredentials, ProxySources, ProxyVariables, Resolver, Sockets, SystemResolver, Trust,
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
    proxies: ProxySources,
    factory: Option<Arc<dyn HttpClientFactory>>,
    resolver: Arc<dyn Resolver>,
    sockets: Option<Arc<dyn Sockets>>,
    #[cfg(feature = "fault_injection")]
    faults: Option<FaultInjector>,
    reporter: Option<Arc<DiagnosticsReporter>>,
    #[cfg(feature = "opentelemetry")]
    opentelemetry: OpenTelemetry,
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
    /// An endpoint that is none or may not be reached in clear text, or options that cannot be used.
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
        let settings = TokenSettings {
            scope_override: options.account().aad_scope_override().cloned(),
            continuous_access: options.account().enable_token_revocation(),
        };
        let clear_text = ClearTextRule {
            allow_public: options.connection().allow_clear_text(),
            sends_tokens: credential.sends_tokens(),
        };
        let custom = options.account().custom_endpoints().into_iter().flatten();
        let custom_endpoints =
            custom.map(|url| CosmosEndpoint::global(url)).collect::<Result<Vec<_>, _>>()?;
        for endpoint in std::iter::once(&endpoint).chain(&custom_endpoints) {
            endpoint.check_clear_text(clear_text)?;
        }
        let connection = options.connection();
        // What resource tokens open, Microsoft's clients ask for by REST alone.
        let gateway_v2 = !connection.gateway_v2_disabled()
            && connection.thin_client_enabled()
            && connection.http_protocol() != HttpProtocol::Http1
            && !credential.is_resource_token();
        let transport = TransportPipeline {
            transport: self.transport(&options)?,
            signer: Signer::new(credential, endpoint.authority().host(), settings, Arc::clone(&platform)),
            platform: Arc::clone(&platform),
            date: DateCache::new(),
            client_id: client_id(&*platform),
            user_agent: user_agent(options.account().application_name().map(String::as_str))?,
            limits: AttemptLimits { most: options.connection().request_timeout() },
        };
        #[cfg(feature = "opentelemetry")]
        let telemetry = {
            let user_agent = transport.user_agent.to_str().unwrap_or(USER_AGENT);
            OperationTelemetry::new(&self.0.opentelemetry, platform.random(), user_agent)
        };
        let account = AccountConfig {
            regions: RegionPreferences::from_options(&options.regions()),
            clear_text,
            gateway_v2,
            ..AccountConfig::default()
        };
        let partitions = PartitionFailoverConfig::from_options(&options.retry());
        let none = OperationOptions::default();
        let limits = RetryLimits::from_options(&options.retry(), &options.retry_limits(&none));
        let throttling =
            ThrottleRetryState::from_options(&options.retry().throttling(), &options.retry_limits(&none));
        Ok(Arc::new_cyclic(|this| DriverCore {
            options,
            metadata_options: none,
            transport,
            location: LocationStateStore::new(endpoint, account, partitions),
            account: SingleFlight::default(),
            account_reader: AccountReader::default(),
            custom_endpoints,
            containers: ContainerCache::default(),
            sessions: SessionStore::default(),
            latencies: LatencyBook::default(),
            hedge_budget: AtomicI64::new(HedgeBudget::FULL.number()),
            left_writes: Arc::new(LeftWrites::default()),
            limits,
            throttling,
            reporter: self.0.reporter.clone(),
            #[cfg(feature = "opentelemetry")]
            telemetry,
            tasks: Arc::downgrade(tasks),
            probing: Mutex::default(),
            this: this.clone(),
            _runtime: self.clone(),
            platform,
        }))
    }

    /// The connections for these options, shared with other drivers that have the same.
    fn transport(&self, options: &LayeredOptions) -> Result<Arc<AdaptiveTransport>, Error> {
        let connection = options.connection();
        let key = TransportKey {
            client: HttpClientConfig::from_options(&connection, self.0.trust.clone(), &self.0.proxies)?,
            sharding: ShardingConfig::from_options(&connection.sharding()),
        };
        let mut transports = self.0.transports.lock().unwrap_or_else(PoisonError::into_inner);
        transports.retain(|(_, transport)| transport.strong_count() > 0);
        let shared = transports.iter().find(|(known, _)| *known == key);
        if let Some(transport) = shared.and_then(|(_, transport)| transport.upgrade()) {
            return Ok(transport);
        }
        let factory = match &self.0.factory {
            Some(factory) => Arc::clone(factory),
            None => self.0.hyper_factory(&key.client)?,
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

impl Inner {
    fn hyper_factory(&self, config: &HttpClientConfig) -> Result<Arc<dyn HttpClientFactory>, Error> {
        let (platform, resolver) = (Arc::clone(&self.platform), Arc::clone(&self.resolver));
        let factory = HyperClientFactory::over(config.clone(), platform, resolver, self.sockets.clone());
        Ok(Arc::new(factory.map_err(|error| {
            Error::new(
                ErrorKind::Configuration,
                format!("a trusted root is no certificate (pass it as DER): {error}"),
            )
        })?))
    }
}

/// A name for a driver, by chance.
fn client_id(platform: &dyn Platform) -> HeaderValue {
    let id = ActivityId::from_random(platform.random(), platform.random());
    HeaderValue::from_str(id.as_str()).expect("hexadecimal and dashes are printable ASCII")
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
    environment: Option<(Result<EnvironmentOptions, OptionErrors>, ProxyVariables)>,
    options: CosmosRuntimeOptions,
    trust: Trust,
    proxy_credentials: Option<Result<ProxyCredentials, InvalidProxyUser>>,
    factory: Option<Arc<dyn HttpClientFactory>>,
    resolver: Option<Arc<dyn Resolver>>,
    sockets: Option<Arc<dyn Sockets>>,
    #[cfg(feature = "fault_injection")]
    faults: Option<FaultInjector>,
    handler: Option<Arc<dyn DiagnosticsHandler>>,
    #[cfg(feature = "opentelemetry")]
    opentelemetry: OpenTelemetry,
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
        self.environment = Some((EnvironmentOptions::read(environment), ProxyVariables::read(environment)));
        self
    }

    /// Certificates to trust besides those of the operating system.
    pub fn trust(mut self, trust: Trust) -> Self {
        self.trust = trust;
        self
    }

    /// A user name and password for the proxy, if it wants them. They are sent to no one else, and never shown. A
    /// proxy that the environment names with others keeps those.
    pub fn proxy_credentials(mut self, user: &str, password: &str) -> Self {
        self.proxy_credentials = Some(ProxyCredentials::basic(user, password));
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

    /// What connections are made of, instead of the machine's sockets. Ignored by connections that are not made by
    /// hyper.
    pub fn sockets(mut self, sockets: Arc<dyn Sockets>) -> Self {
        self.sockets = Some(sockets);
        self
    }

    /// Faults that requests meet.
    #[cfg(feature = "fault_injection")]
    pub fn fault_injection(mut self, faults: FaultInjector) -> Self {
        self.faults = Some(faults);
        self
    }

    /// Who hears of operations that failed, were slow, expensive or large. What counts as such is set by
    /// [`DiagnosticsOptions`](cosmonaut_options::DiagnosticsOptions), for all accounts, one account or one
    /// operation.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use cosmonaut_driver::{CosmosDriverRuntime, DiagnosticsEvent, DiagnosticsHandler};
    ///
    /// struct Print;
    ///
    /// impl DiagnosticsHandler for Print {
    ///     fn handle(&self, event: &DiagnosticsEvent<'_>) {
    ///         println!("{:?} {}: {}", event.reason, event.operation_name, event.diagnostics);
    ///     }
    /// }
    ///
    /// let runtime = CosmosDriverRuntime::builder().diagnostics_handler(Arc::new(Print)).build()?;
    /// # Ok::<(), cosmonaut_driver::Error>(())
    /// ```
    pub fn diagnostics_handler(mut self, handler: Arc<dyn DiagnosticsHandler>) -> Self {
        self.handler = Some(handler);
        self
    }

    /// Where spans and metrics go, instead of to OpenTelemetry's global providers.
    ///
    /// ```
    /// use cosmonaut_driver::{CosmosDriverRuntime, OpenTelemetry};
    /// use opentelemetry_sdk::metrics::SdkMeterProvider;
    /// use opentelemetry_sdk::trace::SdkTracerProvider;
    ///
    /// let (tracers, meters) = (SdkTracerProvider::default(), SdkMeterProvider::default());
    /// let telemetry = OpenTelemetry::default().tracer_provider(tracers).meter_provider(meters);
    /// let runtime = CosmosDriverRuntime::builder().opentelemetry(telemetry).build()?;
    /// # Ok::<(), cosmonaut_driver::Error>(())
    /// ```
    #[cfg(feature = "opentelemetry")]
    pub fn opentelemetry(mut self, telemetry: OpenTelemetry) -> Self {
        self.opentelemetry = telemetry;
        self
    }

    /// Builds the runtime.
    ///
    /// # Errors
    /// Every environment variable and option that cannot be used.
    pub fn build(self) -> Result<CosmosDriverRuntime, Error> {
        let (environment, variables) = self.environment.unwrap_or_else(|| {
            let process = &ProcessEnvironment;
            (EnvironmentOptions::read(process), ProxyVariables::read(process))
        });
        let credentials = self.proxy_credentials.transpose()?;
        self.options.validate()?;
        Ok(CosmosDriverRuntime(Arc::new(Inner {
            platform: self.platform.unwrap_or_else(|| Arc::new(TokioPlatform::new())),
            environment: Arc::new(environment?),
            options: Arc::new(self.options),
            trust: self.trust,
            proxies: ProxySources { credentials, variables },
            factory: self.factory,
            resolver: self.resolver.unwrap_or_else(|| Arc::new(SystemResolver)),
            sockets: self.sockets,
            #[cfg(feature = "fault_injection")]
            faults: self.faults,
            reporter: self.handler.map(|handler| Arc::new(DiagnosticsReporter::new(handler))),
            #[cfg(feature = "opentelemetry")]
            opentelemetry: self.opentelemetry,
            transports: Mutex::new(Vec::new()),
        })))
    }
}
