//! An emulator and a driver for it.

use cosmonaut_driver::transport::Trust;
use cosmonaut_driver::{
    CosmosDriver, CosmosDriverRuntime, CosmosOperation, CosmosResponse, Credential, Error, OperationOptions,
    OperationType,
};
use cosmonaut_emulator::{Emulator, Tls};
use cosmonaut_options::{ConnectionOptions, CosmosClientOptions, HttpProtocol};
use cosmonaut_wire::{PartitionKey, ResourcePath};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use serde_json::{Value, json};

/// What a driver speaks to the emulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wire {
    pub(crate) protocol: HttpProtocol,
    pub(crate) tls: bool,
}

impl Wire {
    pub(crate) const ALL: [Self; 4] = [
        Self { protocol: HttpProtocol::Http1, tls: false },
        Self { protocol: HttpProtocol::Negotiated, tls: false },
        Self { protocol: HttpProtocol::Http1, tls: true },
        Self { protocol: HttpProtocol::Negotiated, tls: true },
    ];
    pub(crate) const CLEAR_HTTP2: Self = Self { protocol: HttpProtocol::Negotiated, tls: false };
}

/// A driver, and what it speaks to.
pub(crate) struct Bench {
    pub(crate) emulator: Emulator,
    pub(crate) driver: CosmosDriver,
}

/// No variable is set, whatever this process has.
pub(crate) fn no_environment(_: &str) -> Option<std::ffi::OsString> {
    None
}

pub(crate) async fn emulator(tls: bool) -> Emulator {
    let tls = if tls { Tls::Own } else { Tls::Off };
    Emulator::builder().tls(tls).gateway2(by_gateway2()).start().await.unwrap()
}

/// One without Gateway 2.0, for tests that count what is sent: probes would be counted too.
pub(crate) async fn emulator_of_rest(tls: bool) -> Emulator {
    let tls = if tls { Tls::Own } else { Tls::Off };
    Emulator::builder().tls(tls).start().await.unwrap()
}

/// Whether this run of the tests is to go by Gateway 2.0, see CONTRIBUTING.md.
pub(crate) fn by_gateway2() -> bool {
    std::env::var_os("COSMONAUT_TEST_GATEWAY2").is_some()
}

pub(crate) fn trust_in(emulator: &Emulator) -> Trust {
    let Some(path) = emulator.certificate() else { return Trust::default() };
    let root = CertificateDer::from_pem_slice(&std::fs::read(path).unwrap()).unwrap();
    Trust { roots: vec![root], accept_invalid: false }
}

/// The options for one protocol.
pub(crate) fn speaking(protocol: HttpProtocol) -> CosmosClientOptions {
    let connection = ConnectionOptions { http_protocol: Some(protocol), ..Default::default() };
    CosmosClientOptions { connection, ..Default::default() }
}

impl Bench {
    pub(crate) async fn start(wire: Wire) -> Self {
        Self::with(wire, speaking(wire.protocol)).await
    }

    pub(crate) async fn with(wire: Wire, options: CosmosClientOptions) -> Self {
        let emulator = emulator(wire.tls).await;
        let runtime = CosmosDriverRuntime::builder()
            .environment(&no_environment)
            .trust(trust_in(&emulator))
            .build()
            .unwrap();
        let key = Credential::master_key(emulator.key()).unwrap();
        let driver = runtime.create_driver(emulator.url(), key, options).unwrap();
        Self { emulator, driver }
    }

    /// With a database `d` and in it a container `c` with the partition key `/pk`.
    pub(crate) async fn with_container(wire: Wire) -> Self {
        let bench = Self::start(wire).await;
        bench.make_container().await;
        bench
    }

    pub(crate) async fn make_container(&self) {
        self.post("/dbs", json!({"id": "d"})).await.unwrap();
        let container = json!({"id": "c", "partitionKey": {"paths": ["/pk"], "kind": "Hash", "version": 2}});
        self.post("/dbs/d/colls", container).await.unwrap();
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Result<CosmosResponse, Error> {
        self.run(operation(OperationType::Create, path).with_body(body.to_string())).await
    }

    pub(crate) async fn run(&self, operation: CosmosOperation) -> Result<CosmosResponse, Error> {
        self.driver.execute_operation(&operation, &OperationOptions::default()).await
    }

    pub(crate) async fn create_item(&self, id: &str, key: &str) -> CosmosResponse {
        let body = json!({"id": id, "pk": key}).to_string();
        let create = operation(OperationType::Create, "/dbs/d/colls/c/docs").with_body(body);
        self.run(create.with_target(PartitionKey::from(key))).await.unwrap()
    }

    pub(crate) async fn read_item(&self, id: &str, key: &str) -> Result<CosmosResponse, Error> {
        self.run(read(id, key)).await
    }
}

pub(crate) fn operation(kind: OperationType, path: &str) -> CosmosOperation {
    CosmosOperation::new(kind, ResourcePath::parse(path).unwrap())
}

pub(crate) fn read(id: &str, key: &str) -> CosmosOperation {
    operation(OperationType::Read, &format!("/dbs/d/colls/c/docs/{id}")).with_target(PartitionKey::from(key))
}

pub(crate) fn json_of(response: &CosmosResponse) -> Value {
    serde_json::from_slice(response.body()).unwrap()
}
