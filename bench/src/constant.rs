//! A server that answers every request with the same item and headers: what hyper alone can do.

use std::convert::Infallible;

use bytes::Bytes;
use http::{HeaderValue, Response};
use http_body_util::Full;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpListener;

/// As many response headers as a point read has.
const HEADERS: [(&str, &str); 16] = [
    ("content-type", "application/json"),
    ("etag", "\"00000000-0000-0000-0000-000000000000\""),
    ("lsn", "12"),
    ("x-ms-activity-id", "00000000-0000-0000-0000-000000000000"),
    ("x-ms-alt-content-path", "dbs/bench/colls/bench"),
    ("x-ms-content-path", "1AZDALB1Xbw="),
    ("x-ms-cosmos-llsn", "12"),
    ("x-ms-documentdb-partitionkeyrangeid", "0"),
    ("x-ms-gatewayversion", "2.0.0"),
    ("x-ms-global-committed-lsn", "12"),
    ("x-ms-item-lsn", "12"),
    ("x-ms-request-charge", "1"),
    ("x-ms-request-duration-ms", "0.1"),
    ("x-ms-schemaversion", "1.18"),
    ("x-ms-serviceversion", "version=2.14.0.0"),
    ("x-ms-session-token", "0:-1#12"),
];

pub async fn serve() -> crate::Result<()> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    println!("http://{}", listener.local_addr()?);
    let body = Bytes::from(format!("{{\"id\":\"0\",\"pad\":\"{}\"}}", "x".repeat(1000)));
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let body = body.clone();
        tokio::spawn(async move {
            let service = service_fn(move |_| {
                let mut response = Response::new(Full::new(body.clone()));
                for (name, value) in HEADERS {
                    response.headers_mut().insert(name, HeaderValue::from_static(value));
                }
                std::future::ready(Ok::<_, Infallible>(response))
            });
            let mut builder = hyper_util::server::conn::auto::Builder::new(TokioExecutor::new());
            builder.http2().max_concurrent_streams(20);
            // A connection that the client closes is the end of it, not a failure.
            let _ = builder.serve_connection(TokioIo::new(stream), service).await;
        });
    }
}
