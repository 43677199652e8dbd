//! Emulators that all tests share, and providers on containers of their own.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use cosmonaut::fault_injection::FaultInjector;
use cosmonaut::{ContainerClient, CosmosClient, CosmosDriverRuntime, Credential, FeedScope, Patch};
use cosmonaut_driver::transport::HttpClientFactory;
use cosmonaut_emulator::{Control, Emulator, World};
use duroxide::provider_validations::ProviderFactory;
use duroxide::providers::Provider;
use duroxide_cosmonaut::{Compression, CosmosProvider, CosmosProviderConfig, PayloadCodecs};
use serde_json::Value;

use crate::cipher::cipher;

pub(crate) const DATABASE: &str = "durable";

/// How many regions an account has.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Account {
    OneRegion,
    ThreeRegions,
    /// Two regions, between which each partition can fail over on its own.
    MovingPartitions,
}

/// A running account. It runs on a thread of its own, because each test has a runtime that ends with it.
pub(crate) struct Server {
    url: String,
    key: String,
    control: Arc<Control>,
}

impl Server {
    /// The account that all tests of a kind share.
    pub(crate) fn shared(account: Account) -> &'static Self {
        static ONE: OnceLock<Server> = OnceLock::new();
        static THREE: OnceLock<Server> = OnceLock::new();
        static MOVING: OnceLock<Server> = OnceLock::new();
        match account {
            Account::OneRegion => ONE.get_or_init(|| Self::start(account)),
            Account::ThreeRegions => THREE.get_or_init(|| Self::start(account)),
            Account::MovingPartitions => MOVING.get_or_init(|| Self::start(account)),
        }
    }

    /// An account for one test alone, which may break it.
    pub(crate) fn start(account: Account) -> Self {
        Self::start_in(account, None)
    }

    /// As [`start`](Self::start), with a time of its own.
    pub(crate) fn start_in(account: Account, world: Option<Arc<dyn World>>) -> Self {
        let (started, server) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let runtime =
                tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
            runtime.block_on(async {
                let builder = match account {
                    Account::OneRegion => Emulator::builder(),
                    Account::ThreeRegions => {
                        Emulator::builder().regions(["East US", "West US", "North Europe"])
                    }
                    Account::MovingPartitions => {
                        Emulator::builder().regions(["East US", "West US"]).partition_failover(true)
                    }
                };
                let builder = match world {
                    Some(world) => builder.world(world),
                    None => builder,
                };
                let emulator = builder.start().await.unwrap();
                let (url, key) = (emulator.url().to_owned(), emulator.key().to_owned());
                started.send(Self { url, key, control: Arc::clone(emulator.control()) }).unwrap();
                std::future::pending::<()>().await;
            });
        });
        server.recv().unwrap()
    }

    pub(crate) fn control(&self) -> &Control {
        &self.control
    }

    /// Where another process finds the account.
    pub(crate) fn url_and_key(&self) -> (&str, &str) {
        (&self.url, &self.key)
    }

    pub(crate) fn client(&self) -> CosmosClient {
        CosmosClient::new(&self.url, Credential::master_key(&self.key).unwrap()).unwrap()
    }

    /// A client whose requests meet what is injected.
    pub(crate) fn faulty_client(&self, faults: &FaultInjector) -> CosmosClient {
        let runtime = CosmosDriverRuntime::builder().fault_injection(faults.clone()).build().unwrap();
        let key = Credential::master_key(&self.key).unwrap();
        CosmosClient::builder().runtime(&runtime).endpoint(&self.url).credential(key).build().unwrap()
    }

    /// A client that reaches the account in a way of its own.
    pub(crate) fn client_on(&self, network: Arc<dyn HttpClientFactory>) -> CosmosClient {
        let runtime = CosmosDriverRuntime::builder().http_client_factory(network).build().unwrap();
        let key = Credential::master_key(&self.key).unwrap();
        CosmosClient::builder().runtime(&runtime).endpoint(&self.url).credential(key).build().unwrap()
    }

    /// A container that no other test has.
    pub(crate) fn home(&self) -> Home {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let container = format!("c{}", NEXT.fetch_add(1, Ordering::Relaxed));
        Home { client: self.client(), container, hub: None }
    }
}

/// Where a provider has its documents.
#[derive(Clone)]
pub(crate) struct Home {
    pub(crate) client: CosmosClient,
    pub(crate) container: String,
    pub(crate) hub: Option<&'static str>,
}

impl Home {
    /// Texts are stored as they are: many tests look at them, or at how many documents a long one takes.
    pub(crate) fn config(&self) -> CosmosProviderConfig {
        CosmosProviderConfig {
            compression: Compression::Off,
            hub: self.hub.map(str::to_owned),
            database: DATABASE.into(),
            container: self.container.clone(),
            ..CosmosProviderConfig::with_client(self.client.clone())
        }
    }

    pub(crate) async fn provider(&self) -> CosmosProvider {
        CosmosProvider::connect(self.config()).await.unwrap()
    }

    /// The same container, and another hub in it.
    pub(crate) fn of_hub(&self, hub: Option<&'static str>) -> Self {
        Self { hub, ..self.clone() }
    }

    /// The partition of an instance.
    pub(crate) fn key(&self, instance: &str) -> String {
        self.hub.map_or_else(|| instance.to_owned(), |hub| format!("${hub}/{instance}"))
    }

    /// The name of the container as the emulator's controls take it.
    pub(crate) fn link(&self) -> String {
        format!("{DATABASE}/{}", self.container)
    }

    pub(crate) fn documents(&self) -> ContainerClient {
        self.client.database(DATABASE).container(&self.container)
    }

    /// All documents of an instance, or of all.
    pub(crate) async fn all(&self, scope: impl Into<FeedScope>) -> Vec<Value> {
        self.documents().query_items("SELECT * FROM c", scope).collect().await.unwrap()
    }

    /// How many documents there are of each kind.
    pub(crate) async fn count(&self, kind: &str) -> usize {
        self.all(FeedScope::Container).await.iter().filter(|document| document["type"] == kind).count()
    }
}

/// Makes a provider with an empty container of its own each time.
pub(crate) struct Factory {
    account: Account,
    has_everything: bool,
    lock: Duration,
    last: Mutex<Option<Home>>,
}

impl Factory {
    /// A function renews a lock when it has lasted for six tenths of its time: what is left is enough for a machine that
    /// stalls.
    pub(crate) fn new(account: Account) -> Self {
        Self::with_lock(account, Duration::from_secs(15))
    }

    pub(crate) fn with_lock(account: Account, lock: Duration) -> Self {
        Self { account, has_everything: false, lock, last: Mutex::new(None) }
    }

    /// Its providers have a hub, compress all texts and encode them.
    pub(crate) fn with_everything(account: Account) -> Self {
        Self { has_everything: true, ..Self::new(account) }
    }

    fn last(&self) -> Home {
        self.last.lock().unwrap().clone().expect("a provider was made before")
    }
}

#[async_trait]
impl ProviderFactory for Factory {
    async fn create_provider(&self) -> Arc<dyn Provider> {
        let home = Server::shared(self.account).home();
        let home = home.of_hub(self.has_everything.then_some("validated"));
        *self.last.lock().unwrap() = Some(home.clone());
        if !self.has_everything {
            return Arc::new(home.provider().await);
        }
        let codecs = PayloadCodecs::writing_with(cipher("validated"));
        let config = CosmosProviderConfig { compression: Compression::Above(0), codecs, ..home.config() };
        Arc::new(CosmosProvider::connect(config).await.unwrap())
    }

    fn lock_timeout(&self) -> Duration {
        self.lock
    }

    async fn corrupt_instance_history(&self, instance: &str) {
        let home = self.last();
        let (documents, instance) = (home.documents(), &*home.key(instance));
        for mut document in home.all(instance).await {
            if document["type"].as_str().is_some_and(|kind| kind.starts_with("history")) {
                document["body"] = "no history".into();
                documents.upsert_item(instance, &document).await.unwrap();
            }
        }
        // What a provider holds in memory is good for the version of the head that it has seen.
        let touch = Patch::new().set("/touched", true);
        documents.patch_item(instance, "instance", touch).await.unwrap();
    }

    async fn get_max_attempt_count(&self, instance: &str) -> u32 {
        let home = self.last();
        let head = home.documents().read_item(home.key(instance), "instance").await;
        let head: Value = head.unwrap().into_value();
        let deliveries = head["deliveries"].as_object().unwrap().values();
        let attempts = deliveries.map(|delivery| delivery["attempts"].as_u64().unwrap());
        u32::try_from(attempts.max().unwrap_or(0)).unwrap()
    }
}
