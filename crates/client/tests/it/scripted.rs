//! A server that answers as a test says, for what no server does on demand.

use std::sync::Arc;

use cosmonaut::options::HttpProtocol;
use cosmonaut::{CosmosClient, CosmosDriverRuntime, Credential};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

use crate::harness::{no_environment, speaking};

/// The resource id of the one container.
pub(crate) const CONTAINER: &str = "AAAAAIAAAAE=";

/// What is answered: a body, which is null if nothing has changed, and headers that end with a line break each.
pub(crate) struct Scripted {
    pub(crate) body: Value,
    pub(crate) headers: &'static str,
}

type Script = dyn Fn(&str, &str, &[u8]) -> Scripted + Send + Sync;

/// A client of an account with the container `d/c`, of which everything but the account, the container and its one
/// partition is answered by `script`, by method and path.
pub(crate) async fn client(script: impl Fn(&str, &str) -> Scripted + Send + Sync + 'static) -> CosmosClient {
    client_by_body(move |method, path, _| script(method, path)).await
}

/// As [`client`], of a server that looks at the bodies too.
pub(crate) async fn client_by_body(
    script: impl Fn(&str, &str, &[u8]) -> Scripted + Send + Sync + 'static,
) -> CosmosClient {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let (address, script): (_, Arc<Script>) = (url.clone(), Arc::new(script));
    #[expect(clippy::disallowed_methods, reason = "the server ends with the test's runtime")]
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(stream, address.clone(), Arc::clone(&script)));
        }
    });
    let runtime = CosmosDriverRuntime::builder().environment(&no_environment).build().unwrap();
    let key = Credential::master_key(cosmonaut_emulator::EMULATOR_KEY).unwrap();
    let client = CosmosClient::builder().runtime(&runtime).endpoint(&url).credential(key);
    client.options(speaking(HttpProtocol::Http1)).build().unwrap()
}

async fn serve(stream: TcpStream, address: String, script: Arc<Script>) {
    let mut stream = BufReader::new(stream);
    loop {
        let (mut line, mut length, mut is_known) = (String::new(), 0, false);
        if stream.read_line(&mut line).await.unwrap_or(0) == 0 {
            return;
        }
        loop {
            let mut header = String::new();
            stream.read_line(&mut header).await.unwrap();
            let header = header.trim().to_lowercase();
            if header.is_empty() {
                break;
            }
            is_known |= header.starts_with("if-none-match:");
            length =
                header.strip_prefix("content-length:").map_or(length, |text| text.trim().parse().unwrap());
        }
        let mut body = vec![0; length];
        stream.read_exact(&mut body).await.unwrap();
        let mut words = line.split(' ');
        let (method, path) = (words.next().unwrap(), words.next().unwrap());
        let scripted = |path: &str| script(method, path, &body);
        let answer = answer(path.trim_end_matches('/'), is_known, &address, &scripted);
        if stream.write_all(answer.as_bytes()).await.is_err() {
            return;
        }
    }
}

fn answer(path: &str, is_known: bool, address: &str, script: &dyn Fn(&str) -> Scripted) -> String {
    let region = json!([{"name": "East US", "databaseAccountEndpoint": address}]);
    let key = json!({"paths": ["/pk"], "kind": "Hash", "version": 2});
    let range = json!({"id": "0", "_rid": "AAAAAIAAAAEBAAAAAAAAUA==", "minInclusive": "", "maxExclusive": "FF", "parents": []});
    let (status, body, more) = match path {
        "" => (
            "200 OK",
            json!({"id": "odd", "_rid": "odd", "writableLocations": region, "readableLocations": region, "userConsistencyPolicy": {"defaultConsistencyLevel": "Session"}}),
            "",
        ),
        "/dbs/d/colls/c" => (
            "200 OK",
            json!({"id": "c", "_rid": CONTAINER, "_self": "dbs/AAAAAA==/colls/AAAAAIAAAAE=/", "partitionKey": key}),
            "",
        ),
        "/dbs/d/colls/c/pkranges" if is_known => ("304 Not Modified", Value::Null, "etag: \"1\"\r\n"),
        "/dbs/d/colls/c/pkranges" => (
            "200 OK",
            json!({"_rid": CONTAINER, "PartitionKeyRanges": [range], "_count": 1}),
            "etag: \"1\"\r\n",
        ),
        _ => {
            let Scripted { body, headers } = script(path);
            (if body.is_null() { "304 Not Modified" } else { "200 OK" }, body, headers)
        }
    };
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n{more}\r\n{body}"
    )
}
