//! An emulator and a client for it.

use cosmonaut::fault_injection::FaultInjector;
use cosmonaut::options::{ConnectionOptions, CosmosClientOptions, HttpProtocol};
use cosmonaut::{ContainerClient, ContainerProperties, CosmosClient, CosmosDriverRuntime, Credential};
use cosmonaut_emulator::{Emulator, EmulatorBuilder};

/// What a client speaks to the emulator.
pub(crate) const PROTOCOLS: [HttpProtocol; 2] = [HttpProtocol::Http1, HttpProtocol::Negotiated];

/// A client, and what it speaks to.
pub(crate) struct Bench {
    pub(crate) emulator: Emulator,
    pub(crate) client: CosmosClient,
}

/// No variable is set, whatever this process has.
pub(crate) fn no_environment(_: &str) -> Option<std::ffi::OsString> {
    None
}

/// The options for one protocol.
pub(crate) fn speaking(protocol: HttpProtocol) -> CosmosClientOptions {
    let connection = ConnectionOptions { http_protocol: Some(protocol), ..Default::default() };
    CosmosClientOptions { connection, ..Default::default() }
}

/// A client with a runtime of its own, so that it knows nothing yet.
pub(crate) fn client_of(emulator: &Emulator, options: CosmosClientOptions) -> CosmosClient {
    let runtime = CosmosDriverRuntime::builder().environment(&no_environment).build().unwrap();
    client_in(&runtime, emulator, options)
}

/// A client of a runtime.
pub(crate) fn client_in(
    runtime: &CosmosDriverRuntime,
    emulator: &Emulator,
    options: CosmosClientOptions,
) -> CosmosClient {
    let key = Credential::master_key(emulator.key()).unwrap();
    let client = CosmosClient::builder().runtime(runtime).endpoint(emulator.url()).credential(key);
    client.options(options).build().unwrap()
}

impl Bench {
    /// A client with HTTP/2 and the usual options.
    pub(crate) async fn start() -> Self {
        Self::with(Emulator::builder(), speaking(HttpProtocol::Negotiated)).await
    }

    pub(crate) async fn with(emulator: EmulatorBuilder, options: CosmosClientOptions) -> Self {
        let emulator = match std::env::var_os("COSMONAUT_TEST_GATEWAY2") {
            // This run of the tests is to go by Gateway 2.0, see CONTRIBUTING.md.
            Some(_) => emulator.gateway2(true),
            None => emulator,
        };
        let emulator = emulator.start().await.unwrap();
        let client = client_of(&emulator, options);
        Self { emulator, client }
    }

    /// The container `c` in the database `d`, made with the partition key `/pk` unless it is there.
    pub(crate) async fn container(&self) -> ContainerClient {
        self.container_as(ContainerProperties::new("c", "/pk")).await
    }

    /// A container in the database `d`, made unless it is there.
    pub(crate) async fn container_as(&self, properties: ContainerProperties) -> ContainerClient {
        self.client.create_database_if_not_exists("d").await.unwrap();
        let database = self.client.database("d");
        let container = database.container(&properties.id);
        database.create_container_if_not_exists(properties).await.unwrap();
        container
    }
}

/// A client of its own, as another process would have.
pub(crate) fn another_client(bench: &Bench) -> CosmosClient {
    client_of(&bench.emulator, CosmosClientOptions::default())
}

/// A client of its own whose requests can be made to fail.
pub(crate) fn faulty_client(bench: &Bench) -> (CosmosClient, FaultInjector) {
    let faults = FaultInjector::new();
    let runtime = CosmosDriverRuntime::builder().environment(&no_environment).fault_injection(faults.clone());
    let (url, key) = (bench.emulator.url(), Credential::master_key(bench.emulator.key()).unwrap());
    (
        CosmosClient::builder()
            .runtime(&runtime.build().unwrap())
            .endpoint(url)
            .credential(key)
            .build()
            .unwrap(),
        faults,
    )
}

/// The regions of an account that has several; writes go to the first.
pub(crate) const REGIONS: [&str; 3] = ["East US", "West US", "North Europe"];

/// Runs a test on a container over each version of HTTP and by Gateway 2.0, in an account of one region and of several,
/// with items as text and as binary JSON: each with each of the others.
pub(crate) async fn on_every_wire<F: Future<Output = ()>>(test: impl Fn(Bench, ContainerClient) -> F) {
    for (protocol, gateway2) in
        [(HttpProtocol::Http1, false), (HttpProtocol::Negotiated, false), (HttpProtocol::Negotiated, true)]
    {
        for regions in [&REGIONS[..1], &REGIONS] {
            let emulator = Emulator::builder().regions(regions.iter().copied()).gateway2(gateway2);
            let mut options = speaking(protocol);
            let is_binary = (protocol == HttpProtocol::Http1) == (regions.len() == 1);
            options.request.binary_encoding_enabled = Some(is_binary);
            let bench = Bench::with(emulator, options).await;
            let container = bench.container().await;
            if gateway2 {
                until_framed(&container).await;
            }
            test(bench, container).await;
        }
    }
}

/// Waits until items are asked for by Gateway 2.0.
async fn until_framed(container: &ContainerClient) {
    let by_frame = |error: &cosmonaut::Error| {
        let last = error.diagnostics().and_then(|diagnostics| diagnostics.attempts().last());
        last.is_some_and(|attempt| attempt.framed)
    };
    while !by_frame(&container.read_item::<serde_json::Value>("nobody", "nobody").await.unwrap_err()) {
        tokio::task::yield_now().await;
    }
}

/// Lets time pass, for what happens by itself.
#[expect(clippy::disallowed_methods, reason = "the sockets under test are real, and so is their time")]
pub(crate) async fn pass(time: std::time::Duration) {
    tokio::time::sleep(time).await;
}

/// What comes of work that has to end by itself long before this time is over.
#[expect(clippy::disallowed_methods, reason = "the sockets under test are real, and so is their time")]
pub(crate) async fn soon<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(std::time::Duration::from_secs(15), work).await.expect("it ends by itself")
}
