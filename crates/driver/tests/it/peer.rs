//! The driver against a server that shares no code with it: `conformance/peer` installs that and runs these.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use cosmonaut_driver::transport::Trust;
use cosmonaut_driver::{
    CosmosDriver, CosmosDriverRuntime, CosmosOperation, CosmosResponse, Credential, Error, ErrorKind,
    OperationOptions, OperationType,
};
use cosmonaut_wire::{EMULATOR_KEY, PartitionKey, headers};
use http::HeaderValue;
use serde_json::{Value, json};

use crate::harness::{json_of, no_environment, operation};

/// The server, with a certificate made for it; stopped when dropped.
struct Peer {
    process: Child,
    driver: CosmosDriver,
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Peer {
    fn start() -> Self {
        let script =
            std::env::var_os("COSMONAUT_PEER").expect("run by conformance/peer, which sets COSMONAUT_PEER");
        let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
        let folder = std::env::temp_dir().join(format!("cosmonaut-peer-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (certificate, key) = (folder.join("certificate.pem"), folder.join("key.pem"));
        std::fs::write(&certificate, made.cert.pem()).unwrap();
        std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
        let mut process = Command::new("node");
        let mut process =
            process.arg(script).args([&certificate, &key]).stdout(Stdio::piped()).spawn().unwrap();
        let mut port = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut port).unwrap();
        std::fs::remove_dir_all(&folder).unwrap();

        let trust = Trust { roots: vec![made.cert.der().clone()], accept_invalid: false };
        let runtime =
            CosmosDriverRuntime::builder().environment(&no_environment).trust(trust).build().unwrap();
        let key = Credential::master_key(EMULATOR_KEY).unwrap();
        let url = format!("https://127.0.0.1:{}/", port.trim());
        let driver = runtime.create_driver(&url, key, Default::default()).unwrap();
        Self { process, driver }
    }

    async fn run(&self, operation: CosmosOperation) -> Result<CosmosResponse, Error> {
        self.driver.execute_operation(&operation, &OperationOptions::default()).await
    }

    async fn post(&self, path: &str, body: Value) -> CosmosResponse {
        self.run(operation(OperationType::Create, path).with_body(body.to_string())).await.unwrap()
    }
}

const ITEMS: &str = "/dbs/d/colls/c/docs";

#[tokio::test]
#[ignore = "needs a server that conformance/peer installs"]
async fn a_server_of_other_authors_understands_the_driver() {
    let peer = Peer::start();
    peer.post("/dbs", json!({"id": "d"})).await;
    let container = json!({"id": "c", "partitionKey": {"paths": ["/pk"], "kind": "Hash", "version": 2}});
    peer.post("/dbs/d/colls", container).await;
    assert_eq!(
        json_of(&peer.run(operation(OperationType::Read, "/dbs/d/colls/c")).await.unwrap())["id"],
        "c"
    );

    // Names that must be escaped in the path, signed without escapes, and sent as ASCII in the key's header.
    let (id, key) = ("a b%é", "é\"x");
    let of = |operation: CosmosOperation| operation.with_target(PartitionKey::from(key));
    let path = "/dbs/d/colls/c/docs/a%20b%25%C3%A9";
    let item = |n: u64| json!({"id": id, "pk": key, "n": n}).to_string();
    let made = peer.run(of(operation(OperationType::Create, ITEMS).with_body(item(1)))).await.unwrap();
    assert_eq!(made.status().code().as_u16(), 201);
    assert_eq!(json_of(&peer.run(of(operation(OperationType::Read, path))).await.unwrap())["n"], 1);
    let again = peer.run(of(operation(OperationType::Create, ITEMS).with_body(item(1)))).await.unwrap_err();
    assert_eq!(again.kind(), ErrorKind::Conflict, "{again}");
    let upserted = peer.run(of(operation(OperationType::Upsert, ITEMS).with_body(item(2)))).await.unwrap();
    assert_eq!(json_of(&upserted)["n"], 2);
    let replaced = peer.run(of(operation(OperationType::Replace, path).with_body(item(3)))).await.unwrap();
    assert_eq!(json_of(&replaced)["n"], 3);

    let other = json!({"id": "2", "pk": "other", "n": 9}).to_string();
    let other = operation(OperationType::Create, ITEMS).with_body(other);
    peer.run(other.with_target(PartitionKey::from("other"))).await.unwrap();
    let feed = peer.run(operation(OperationType::ReadFeed, ITEMS)).await.unwrap();
    assert_eq!(json_of(&feed)["Documents"].as_array().map(Vec::len), Some(2));
    let query = json!({"query": "SELECT VALUE c.n FROM c WHERE c.n > @n", "parameters": [{"name": "@n", "value": 5}]});
    let query = operation(OperationType::Query, ITEMS)
        .with_body(query.to_string())
        .with_header(headers::ENABLE_CROSS_PARTITION_QUERY, HeaderValue::from_static("true"));
    assert_eq!(json_of(&peer.run(query).await.unwrap())["Documents"], json!([9]));

    // A read of what is not there makes this server fail, so a second delete tells.
    peer.run(of(operation(OperationType::Delete, path))).await.unwrap();
    let gone = peer.run(of(operation(OperationType::Delete, path))).await.unwrap_err();
    assert_eq!(gone.kind(), ErrorKind::NotFound, "{gone}");
    peer.run(operation(OperationType::Delete, "/dbs/d")).await.unwrap();
}
