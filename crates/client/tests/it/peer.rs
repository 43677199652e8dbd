//! The client against a server that shares no code with it: `conformance/peer` installs that and runs these.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use cosmonaut::{
    ChangeFeedStart, ContainerProperties, CosmosClient, CosmosDriverRuntime, CosmosStatus, Credential,
    FeedScope, Trust,
};
use cosmonaut_emulator::EMULATOR_KEY;
use serde::{Deserialize, Serialize};

use crate::harness::no_environment;

/// The server, with a certificate made for it; stopped when dropped.
struct Peer {
    process: Child,
    client: CosmosClient,
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
        let folder = std::env::temp_dir().join(format!("cosmonaut-client-peer-{}", std::process::id()));
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
        let runtime = CosmosDriverRuntime::builder().environment(&no_environment).trust(trust);
        let runtime = runtime.build().unwrap();
        let key = Credential::master_key(EMULATOR_KEY).unwrap();
        let url = format!("https://127.0.0.1:{}/", port.trim());
        let client =
            CosmosClient::builder().runtime(&runtime).endpoint(&url).credential(key).build().unwrap();
        Self { process, client }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Item {
    id: String,
    pk: String,
    n: u64,
}

#[tokio::test]
#[ignore = "needs a server that conformance/peer installs"]
async fn a_server_of_other_authors_understands_the_client() {
    let peer = Peer::start();
    let client = &peer.client;
    client.create_database("d").await.unwrap();
    assert_eq!(client.create_database_if_not_exists("d").await.unwrap().status(), CosmosStatus::OK);
    let mut databases = client.list_databases();
    assert_eq!(databases.next().await.unwrap().unwrap().id, "d");
    assert!(databases.next().await.is_none());
    let database = client.database("d");
    database.create_container(ContainerProperties::new("c", "/pk")).await.unwrap();
    let container = database.container("c");
    assert_eq!(container.read().await.unwrap().value().partition_key.paths, ["/pk"]);

    // Names that must be escaped in the path, signed without escapes, and sent as ASCII in the key's header.
    let (id, key) = ("a b%é", "é\"x");
    let item = |n| Item { id: id.to_owned(), pk: key.to_owned(), n };
    let made = container.create_item(key, item(1)).await.unwrap();
    assert_eq!(made.status(), CosmosStatus::CREATED);
    assert_eq!(container.read_item::<Item>(key, id).await.unwrap().value(), &item(1));
    assert!(container.create_item(key, item(1)).await.unwrap_err().is_conflict());
    container.upsert_item(key, item(2)).await.unwrap();
    container.replace_item(key, id, item(3)).await.unwrap();
    assert_eq!(container.read_item::<Item>(key, id).await.unwrap().value().n, 3);

    let mut changes = container.change_feed::<Item>(ChangeFeedStart::Beginning, FeedScope::Container);
    assert_eq!(changes.next().await.unwrap().unwrap(), item(3));
    assert!(changes.next().await.is_none());

    // A read of what is not there makes this server fail, so a second delete tells.
    container.delete_item(key, id).await.unwrap();
    assert!(container.delete_item(key, id).await.unwrap_err().is_not_found());
    container.delete().await.unwrap();
    database.delete().await.unwrap();
}
