//! Clients that are made without a runtime share one, and with it connections, counted where they arrive.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use cosmonaut::options::HttpProtocol;
use cosmonaut::{CosmosClient, Credential};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

use crate::harness::speaking;

const ACCOUNT: &str = r#"{"id":"a","writableLocations":[],"readableLocations":[],
    "userConsistencyPolicy":{"defaultConsistencyLevel":"Session"}}"#;

/// A server that describes an account to whoever asks, over connections that stay open.
struct Server {
    url: String,
    accepted: Arc<AtomicUsize>,
    closed: mpsc::UnboundedReceiver<()>,
}

#[expect(clippy::disallowed_methods, reason = "the server of a test is no part of the client")]
async fn serve() -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let accepted = Arc::new(AtomicUsize::new(0));
    let (close, closed) = mpsc::unbounded_channel();
    let counted = Arc::clone(&accepted);
    tokio::spawn(async move {
        while let Ok((connection, _)) = listener.accept().await {
            counted.fetch_add(1, Ordering::Relaxed);
            let close = close.clone();
            tokio::spawn(async move {
                answer(connection).await;
                let _ = close.send(());
            });
        }
    });
    Server { url, accepted, closed }
}

/// Answers every request until the client hangs up.
async fn answer(mut connection: TcpStream) {
    let length = ACCOUNT.len();
    let reply = format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n{ACCOUNT}");
    let (mut head, mut buffer) = (Vec::new(), [0; 4096]);
    while let Ok(read @ 1..) = connection.read(&mut buffer).await {
        head.extend_from_slice(&buffer[..read]);
        if head.ends_with(b"\r\n\r\n") {
            head.clear();
            if connection.write_all(reply.as_bytes()).await.is_err() {
                return;
            }
        }
    }
}

fn client(server: &Server) -> CosmosClient {
    let key = Credential::master_key("c2VjcmV0").unwrap();
    CosmosClient::builder()
        .endpoint(&server.url)
        .credential(key)
        .options(speaking(HttpProtocol::Http1))
        .build()
        .unwrap()
}

#[tokio::test]
async fn two_clients_share_a_connection_and_the_last_one_closes_it() {
    let mut server = serve().await;
    let first = client(&server);
    first.connect().await.unwrap();
    let second = client(&server);
    second.connect().await.unwrap();
    assert_eq!(server.accepted.load(Ordering::Relaxed), 1);

    // A client of one container keeps what it needs.
    let container = first.database("d").container("c");
    drop(first);
    drop(second);
    client(&server).connect().await.unwrap();
    assert_eq!(server.accepted.load(Ordering::Relaxed), 1);
    drop(container);
    server.closed.recv().await.unwrap();

    client(&server).connect().await.unwrap();
    assert_eq!(server.accepted.load(Ordering::Relaxed), 2);
}

#[test]
fn a_client_in_another_tokio_runtime_has_connections_of_its_own() {
    let tokio = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (one, other) = (tokio(), tokio());
    let server = one.block_on(serve());
    let first = one.block_on(async { client(&server) });
    one.block_on(first.connect()).unwrap();
    // The server runs while its own runtime is being driven.
    let second = other.block_on(async { client(&server) });
    let url = server.url.clone();
    std::thread::scope(|scope| {
        let asking = scope.spawn(|| other.block_on(second.connect()));
        one.block_on(async {
            while server.accepted.load(Ordering::Relaxed) < 2 || !asking.is_finished() {
                tokio::task::yield_now().await;
            }
        });
        asking.join().unwrap().unwrap();
    });
    assert_eq!(server.accepted.load(Ordering::Relaxed), 2, "{url}");
}
