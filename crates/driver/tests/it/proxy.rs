//! Through an HTTP proxy, in clear text and over TLS.

use cosmonaut_driver::transport::TransportErrorKind;
use cosmonaut_driver::{CosmosDriverRuntime, Credential, Error, ErrorKind};
use cosmonaut_emulator::Emulator;
use cosmonaut_options::{ConnectionOptions, CosmosClientOptions};
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::harness::{emulator, no_environment, trust_in};

/// A proxy that answers `CONNECT` with this status line, and tells whom it was asked for.
async fn proxy(status: &'static str) -> (String, mpsc::UnboundedReceiver<String>, JoinSet<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (tell, asked) = mpsc::unbounded_channel();
    let mut server = JoinSet::new();
    server.spawn(async move {
        let mut tunnels = JoinSet::new();
        while let Ok((mut stream, _)) = listener.accept().await {
            let tell = tell.clone();
            tunnels.spawn(async move {
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    head.push(stream.read_u8().await.unwrap());
                }
                let target = String::from_utf8(head).unwrap().split(' ').nth(1).unwrap().to_owned();
                tell.send(target.clone()).unwrap();
                stream.write_all(format!("HTTP/1.1 {status}\r\n\r\n").as_bytes()).await.unwrap();
                if status.starts_with("200") {
                    let mut there = TcpStream::connect(target).await.unwrap();
                    let _ = copy_bidirectional(&mut stream, &mut there).await;
                }
            });
        }
    });
    (url, asked, server)
}

async fn initialize(emulator: &Emulator, proxy: &str) -> Result<(), Error> {
    let runtime = CosmosDriverRuntime::builder()
        .environment(&no_environment)
        .trust(trust_in(emulator))
        .build()
        .unwrap();
    let connection = ConnectionOptions { proxy: Some(proxy.parse().unwrap()), ..Default::default() };
    let options = CosmosClientOptions { connection, ..Default::default() };
    let key = Credential::master_key(emulator.key()).unwrap();
    runtime.create_driver(emulator.url(), key, options)?.initialize().await
}

#[tokio::test]
async fn requests_go_through_the_proxy() {
    for tls in [false, true] {
        let (emulator, (url, mut asked, _server)) = (emulator(tls).await, proxy("200 OK").await);
        initialize(&emulator, &url).await.unwrap();
        let target = asked.recv().await.unwrap();
        assert_eq!(emulator.url().split('/').nth(2), Some(target.as_str()));
    }
}

#[tokio::test]
async fn a_proxy_that_refuses_is_named() {
    let (emulator, (url, _asked, _server)) = (emulator(false).await, proxy("403 Forbidden").await);
    let error = initialize(&emulator, &url).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Transport(TransportErrorKind::Proxy), "{error}");
    assert!(error.to_string().contains("403"), "{error}");
    let error = initialize(&emulator, &url.replace("http:", "https:")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Configuration, "{error}");
}
