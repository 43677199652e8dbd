//! A running emulator: where it is, what came in, and stopping it.
//!
//! Starting one is in [`builder`](crate::builder), breaking its regions in [`control`](crate::control).

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use cosmonaut_wire::{CosmosStatus, RegionName};
use http::{Request, Response};

use crate::EmulatorBuilder;
use crate::background::Background;
use crate::control::Control;
use crate::engine::Engine;
use crate::gateway::{Gateway, Origin};
use crate::server::{Answer, Handler, Server};

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
    pub(crate) control: Arc<Control>,
    pub(crate) management: Option<ManagementServer>,
    pub(crate) _background: Background,
    /// The first region's gateway as it was started.
    pub(crate) first: Arc<Gateway>,
    pub(crate) url: String,
    pub(crate) key: String,
    pub(crate) certificate: Option<PathBuf>,
    pub(crate) warning: Option<String>,
}

/// The management API, answering.
pub(crate) struct ManagementServer {
    pub(crate) server: Server,
    pub(crate) url: String,
}

impl Emulator {
    /// What to start: by default one region, "East US", on any free port of 127.0.0.1, in clear text, in memory, with
    /// the well-known emulator key, throughput not enforced, and no management API.
    pub fn builder() -> EmulatorBuilder {
        EmulatorBuilder::default()
    }

    /// The account's address, such as `http://127.0.0.1:8081/`: its own if it was started with one, else that of the region
    /// it was started with first.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The account's address; another name for [`Emulator::url`].
    pub fn endpoint(&self) -> &str {
        &self.url
    }

    /// What did not go well when it started, and did not keep it from that.
    pub fn warning(&self) -> Option<&str> {
        self.warning.as_deref()
    }

    /// The address of a region; `None` if the account has none of that name.
    pub fn region_url(&self, name: &str) -> Option<String> {
        let region = self.engine().topology().region(&RegionName::from(name))?;
        self.control.addresses().url(region)
    }

    /// The address of a region's Gateway 2.0; `None` if the account was started without, or has no region of that name.
    pub fn gateway2_url(&self, region: &str) -> Option<String> {
        let region = self.engine().topology().region(&RegionName::from(region))?;
        self.control.addresses().framed_url(region)
    }

    /// The account's key, in base64.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The certificate to trust, if the emulator speaks TLS.
    pub fn certificate(&self) -> Option<&Path> {
        self.certificate.as_deref()
    }

    /// The address of the management API, if it was asked for.
    pub fn management_url(&self) -> Option<&str> {
        self.management.as_ref().map(|management| management.url.as_str())
    }

    /// Breaks regions and mends them, moves writes, splits partitions: what the management API does.
    pub fn control(&self) -> &Arc<Control> {
        &self.control
    }

    /// The account's data.
    pub fn engine(&self) -> &Arc<Engine> {
        self.control.engine()
    }

    /// How many requests came in so far, for tests that count them.
    pub fn requests(&self) -> u64 {
        self.control.requests()
    }

    /// How many came in to a region; 0 if the account has none of that name.
    pub fn requests_in(&self, region: &str) -> u64 {
        self.gateway(region).map_or(0, |gateway| gateway.requests.load(Ordering::Relaxed))
    }

    /// What a region has charged so far, in request units; 0 if the account has none of that name.
    pub fn charged_in(&self, region: &str) -> f64 {
        self.gateway(region).map_or(0.0, |gateway| gateway.charged.load(Ordering::Relaxed) as f64 / 100.0)
    }

    /// Answers a request as the first region would, without a socket. It must be signed like any other.
    ///
    /// Where a region would cut the connection off instead of answering, this gives 503 and says so.
    pub async fn handle(&self, request: Request<Bytes>) -> Response<Bytes> {
        self.answer(&self.first, request).await
    }

    /// The same in a region by name; 404 if the account has none of that name.
    pub async fn handle_in(&self, region: &str, request: Request<Bytes>) -> Response<Bytes> {
        match self.gateway(region) {
            Some(gateway) => self.answer(&gateway, request).await,
            None => self.first.refusal(
                request.headers(),
                CosmosStatus::NOT_FOUND,
                format!("there is no region {region:?}"),
            ),
        }
    }

    async fn answer(&self, gateway: &Arc<Gateway>, request: Request<Bytes>) -> Response<Bytes> {
        let (parts, body) = request.into_parts();
        let origin = Origin::of(&parts, self.control.addresses().scheme, None);
        let pass = match gateway.admit(&parts, origin) {
            Ok(pass) => pass,
            Err(refusal) => return *refusal,
        };
        match gateway.answer(pass, &parts, body, origin).await {
            Answer::Send(response) => response,
            Answer::Cut => gateway.refusal(
                &parts.headers,
                CosmosStatus::SERVICE_UNAVAILABLE,
                "a fault cuts this connection off without an answer".to_owned(),
            ),
        }
    }

    fn gateway(&self, region: &str) -> Option<Arc<Gateway>> {
        let region = self.engine().topology().region(&RegionName::from(region))?;
        self.control.gateway(region)
    }

    /// Stops listening, and returns when the requests under way are answered or have taken too long.
    pub async fn shutdown(mut self) {
        if let Some(management) = self.management.take() {
            management.server.cut().await;
        }
        self.control.shutdown().await;
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        // Others may hold on to the control; the ports close all the same.
        self.control.abandon();
    }
}

impl fmt::Debug for Emulator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Emulator").field("url", &self.url).finish_non_exhaustive()
    }
}
