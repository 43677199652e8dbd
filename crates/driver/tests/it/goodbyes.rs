//! A server that closes a connection in good order: it says goodbye, answers what it has begun, and takes no more.

use std::sync::Arc;

use bytes::Bytes;
use cosmonaut_driver::transport::{HttpClientConfig, HttpVersion, RequestSentStatus};
use cosmonaut_driver::{CosmosDriverRuntime, Credential, OperationOptions, OperationType};
use cosmonaut_options::HttpProtocol;
use cosmonaut_wire::{EMULATOR_KEY, PartitionKey};
use http::Method;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;

use crate::connecting::body_for;
use crate::frames::{FrameServer, GOAWAY, HEADERS};
use crate::harness::{no_environment, operation, read, speaking};
use crate::streams::{Peer, listen, reply};

/// A gateway that says goodbye on a connection when a write comes over it, and answers the write when it may.
struct Leaving {
    /// A write has come.
    came: Notify,
    /// It may be answered.
    may_finish: Notify,
    connections: watch::Sender<usize>,
}

impl Leaving {
    fn start(listener: TcpListener, url: &str) -> (Arc<Self>, JoinSet<()>) {
        let (came, may_finish) = (Notify::new(), Notify::new());
        let gateway = Arc::new(Self { came, may_finish, connections: watch::Sender::new(0) });
        let (own, url, mut server) = (Arc::clone(&gateway), url.to_owned(), JoinSet::new());
        server.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                own.connections.send_modify(|count| *count += 1);
                let (own, url) = (Arc::clone(&own), url.clone());
                connections.spawn(async move { own.serve(stream, &url).await });
            }
        });
        (gateway, server)
    }

    async fn serve(self: Arc<Self>, stream: TcpStream, url: &str) {
        let mut connection = h2::server::handshake(stream).await.unwrap();
        let mut answers = JoinSet::new();
        while let Some(Ok((request, mut respond))) = connection.accept().await {
            let body = Bytes::from(body_for(request.uri().path(), url));
            if request.method() == Method::POST {
                connection.graceful_shutdown();
                self.came.notify_one();
                let own = Arc::clone(&self);
                answers.spawn(async move {
                    own.may_finish.notified().await;
                    let mut stream = respond.send_response(reply(), false).unwrap();
                    let _ = stream.send_data(body, true);
                });
                continue;
            }
            let mut stream = respond.send_response(reply(), false).unwrap();
            let _ = stream.send_data(body, true);
        }
    }
}

#[tokio::test]
async fn a_goodbye_lets_the_requests_under_way_finish() {
    let listener = listen().await;
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let peer = Arc::new(Peer::new(&listener, HttpVersion::Http2, HttpClientConfig::default()));
    let (gateway, _server) = Leaving::start(listener, &url);
    let (own, mut writes) = (Arc::clone(&peer), JoinSet::new());
    writes.spawn(async move { own.send(Method::POST).await });
    gateway.came.notified().await;
    // What meets the goodbye is handed back, and is sent over a new connection the next time.
    while *gateway.connections.borrow() < 2 {
        if let Err(error) = peer.send(Method::GET).await {
            assert_eq!(error.sent(), RequestSentStatus::NotSent, "{error:?}");
        }
    }
    gateway.may_finish.notify_one();
    let answer = writes.join_next().await.unwrap().unwrap();
    assert!(answer.is_ok(), "the server was about to answer it: {answer:?}");
}

/// The same seen from above.
#[tokio::test]
async fn a_create_under_way_survives_that_its_gateway_says_goodbye() {
    let listener = listen().await;
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let (gateway, _server) = Leaving::start(listener, &url);
    let runtime = CosmosDriverRuntime::builder().environment(&no_environment).build().unwrap();
    let key = Credential::master_key(EMULATOR_KEY).unwrap();
    let driver = runtime.create_driver(&url, key, speaking(HttpProtocol::Http2)).unwrap();
    let options = OperationOptions::default();
    driver.execute_operation(&read("1", "a"), &options).await.unwrap();
    let create = operation(OperationType::Create, "/dbs/d/colls/c/docs")
        .with_body(r#"{"id":"1","pk":"a"}"#.to_owned())
        .with_target(PartitionKey::from("a"));
    let known = *gateway.connections.borrow();
    let (own, mut writes) = (driver.clone(), JoinSet::new());
    writes.spawn(async move { own.execute_operation(&create, &OperationOptions::default()).await });
    gateway.came.notified().await;
    while *gateway.connections.borrow() == known {
        driver.execute_operation(&read("1", "a"), &options).await.unwrap();
    }
    // Enough for a new connection in the place of the one that leaves.
    let mut reads = JoinSet::new();
    for _ in 0..64 {
        let driver = driver.clone();
        reads.spawn(
            async move { driver.execute_operation(&read("1", "a"), &OperationOptions::default()).await },
        );
    }
    assert!(reads.join_all().await.iter().all(Result::is_ok));
    gateway.may_finish.notify_one();
    let made = writes.join_next().await.unwrap().unwrap();
    assert!(made.is_ok(), "{:?}", made.map(drop));
}

#[tokio::test]
async fn a_request_after_the_last_that_a_goodbye_names_was_not_sent() {
    let listener = listen().await;
    let peer = Peer::new(&listener, HttpVersion::Http2, HttpClientConfig::default());
    let mut server = JoinSet::new();
    server.spawn(async move {
        let mut server = FrameServer::accept(&listener, &[]).await;
        while let Some(told) = server.told().await {
            if told.kind == HEADERS {
                // The last stream that it answers is 0, and there is no error.
                server.say(GOAWAY, 0, 0, &[0; 8]).await;
            }
        }
    });
    let error = peer.send(Method::POST).await.unwrap_err();
    assert_eq!(error.sent(), RequestSentStatus::NotSent, "{error:?}");
}
