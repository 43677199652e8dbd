//! The explorer over its socket, with an emulator behind it.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod data;
mod durable;
mod feeds;
mod managing;
mod queries;
mod reading_only;
mod scripts;
mod users;
mod visitors;

use cosmonaut::{CosmosClient, Credential};
use cosmonaut_emulator::{Emulator, EmulatorBuilder};
use cosmonaut_explorer::{Entry, Explorer, Port, Requests, Settings, Struck};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// An emulator with an explorer before it.
pub(crate) struct World {
    pub(crate) emulator: Emulator,
    pub(crate) client: CosmosClient,
    explorer: Explorer,
}

/// An answer.
pub(crate) struct Heard {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Heard {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    /// The answer to what had to work.
    pub(crate) fn good(&self) -> Value {
        assert_eq!(self.status / 100, 2, "{}", self.body);
        self.json()
    }

    pub(crate) fn message(&self) -> String {
        self.json()["error"]["message"].as_str().unwrap().to_owned()
    }
}

impl World {
    pub(crate) async fn start() -> Self {
        Self::with(None).await
    }

    pub(crate) async fn with(read_only: Option<String>) -> Self {
        Self::of(Emulator::builder(), read_only).await
    }

    pub(crate) async fn of(builder: EmulatorBuilder, read_only: Option<String>) -> Self {
        let requests = Requests::new(1000);
        let log = requests.clone();
        let emulator = builder
            .regions(["East US", "West US"])
            .management(0)
            .request_log_with_headers(move |answered| {
                let headers = answered.headers.clone().unwrap();
                let struck = answered.struck.iter();
                log.push(Entry {
                    at: answered.at.0 / 1000,
                    region: answered.region.as_ref().map(|region| region.as_str().to_owned()),
                    method: answered.method.clone(),
                    path: answered.path.clone(),
                    status: answered.status.map(|status| (status.code().as_u16(), status.sub_status())),
                    charge: answered.charge,
                    micros: 1,
                    client: None,
                    struck: struck
                        .map(|one| Struck {
                            fault: one.fault.0,
                            effect: one.effect,
                            is_outage: one.is_outage,
                        })
                        .collect(),
                    asked: headers.asked,
                    answered: headers.answered,
                });
            })
            .start()
            .await
            .unwrap();
        let key = Credential::master_key(emulator.key()).unwrap();
        let client = CosmosClient::new(emulator.url(), key).unwrap();
        let settings = Settings {
            client: client.clone(),
            endpoint: emulator.url().to_owned(),
            read_only,
            management: Some(emulator.management_url().unwrap().parse().unwrap()),
            requests: Some(requests),
        };
        let explorer = Explorer::start(settings, Port::Exactly(0)).await.unwrap();
        Self { emulator, client, explorer }
    }

    /// One with a container `shop/orders`, by `/customer`.
    pub(crate) async fn with_container() -> Self {
        let world = Self::start().await;
        world.post("databases", r#"{"id":"shop"}"#).await.good();
        let body = r#"{"properties":{"id":"orders","partitionKey":{"paths":["/customer"],"kind":"Hash","version":2}}}"#;
        world.post("databases/shop", body).await.good();
        world
    }

    pub(crate) fn authority(&self) -> &str {
        self.explorer.link().trim_start_matches("http://").split('/').next().unwrap()
    }

    pub(crate) fn secret(&self) -> &str {
        self.explorer.link().split("#k=").nth(1).unwrap()
    }

    pub(crate) async fn get(&self, path: &str) -> Heard {
        self.ask("GET", path, "").await
    }

    pub(crate) async fn post(&self, path: &str, body: &str) -> Heard {
        self.ask("POST", path, body).await
    }

    /// As the page asks.
    pub(crate) async fn ask(&self, method: &str, path: &str, body: &str) -> Heard {
        let headers = format!(
            "host: {}\r\norigin: http://{}\r\nx-cosmonaut-key: {}\r\nsec-fetch-site: same-origin\r\n",
            self.authority(),
            self.authority(),
            self.secret()
        );
        self.send(&format!("{method} /api/{path}"), &headers, body).await
    }

    /// A request with these headers alone.
    pub(crate) async fn send(&self, line: &str, headers: &str, body: &str) -> Heard {
        let mut stream = TcpStream::connect(self.authority()).await.unwrap();
        let length = body.len();
        let request = format!(
            "{line} HTTP/1.1\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Heard { status, head: head.to_ascii_lowercase(), body: body.to_owned() }
    }
}
