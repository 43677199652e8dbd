//! A server whose pages never end.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use cosmonaut::options::HttpProtocol;
use cosmonaut::{CosmosClient, CosmosDriverRuntime, Credential, ErrorKind, FeedScope};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

use crate::harness::{no_environment, speaking};

/// Answers every list and query with no rows and the same continuation; counts how often.
async fn start() -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let pages = Arc::new(AtomicUsize::new(0));
    let (address, counted) = (url.clone(), Arc::clone(&pages));
    #[expect(clippy::disallowed_methods, reason = "the server ends with the test's runtime")]
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(stream, address.clone(), Arc::clone(&counted)));
        }
    });
    (url, pages)
}

async fn serve(stream: TcpStream, address: String, pages: Arc<AtomicUsize>) {
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
        let answer = answer(line.split(' ').nth(1).unwrap(), is_known, &address, &pages);
        if stream.write_all(answer.as_bytes()).await.is_err() {
            return;
        }
    }
}

fn answer(path: &str, is_known: bool, address: &str, pages: &AtomicUsize) -> String {
    let region = json!([{"name": "East US", "databaseAccountEndpoint": address}]);
    let key = json!({"paths": ["/pk"], "kind": "Hash", "version": 2});
    let range = json!({"id": "0", "_rid": "AAAAAIAAAAEBAAAAAAAAUA==", "minInclusive": "", "maxExclusive": "FF", "parents": []});
    let (status, body, more) = match path.trim_end_matches('/') {
        "" => (
            "200 OK",
            json!({"id": "odd", "_rid": "odd", "writableLocations": region, "readableLocations": region, "userConsistencyPolicy": {"defaultConsistencyLevel": "Session"}}),
            "",
        ),
        "/dbs/d/colls/c" => (
            "200 OK",
            json!({"id": "c", "_rid": "AAAAAIAAAAE=", "_self": "dbs/AAAAAA==/colls/AAAAAIAAAAE=/", "partitionKey": key}),
            "",
        ),
        "/dbs/d/colls/c/pkranges" if is_known => ("304 Not Modified", Value::Null, "etag: \"1\"\r\n"),
        "/dbs/d/colls/c/pkranges" => (
            "200 OK",
            json!({"_rid": "AAAAAIAAAAE=", "PartitionKeyRanges": [range], "_count": 1}),
            "etag: \"1\"\r\n",
        ),
        _ => {
            pages.fetch_add(1, Ordering::Relaxed);
            let page = json!({"_rid": "", "Documents": [], "Databases": [], "_count": 0});
            ("200 OK", page, "x-ms-continuation: again\r\n")
        }
    };
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n{more}\r\n{body}"
    )
}

#[tokio::test]
async fn an_empty_page_that_goes_on_where_it_began_is_an_error() {
    let (url, pages) = start().await;
    let runtime = CosmosDriverRuntime::builder().environment(&no_environment).build().unwrap();
    let key = Credential::master_key(cosmonaut_emulator::EMULATOR_KEY).unwrap();
    let client = CosmosClient::builder()
        .runtime(&runtime)
        .endpoint(&url)
        .credential(key)
        .options(speaking(HttpProtocol::Http1))
        .build()
        .unwrap();
    let container = client.database("d").container("c");
    for text in ["SELECT * FROM c", "SELECT * FROM c ORDER BY c.n", "SELECT VALUE COUNT(1) FROM c"] {
        let rows = container.query_items::<Value>(text, FeedScope::Container);
        let error = rows.collect().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidResponse, "{text}: {error}");
        assert!(error.to_string().contains("goes on where it began"), "{error}");
        // The plan, the first page and the next.
        let asked = pages.swap(0, Ordering::Relaxed);
        assert!(asked <= 3, "{text}: {asked}");
    }
    let error = client.list_databases().next().await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidResponse, "{error}");
}
