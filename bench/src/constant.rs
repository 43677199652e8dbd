//! A gateway that answers from constants: what hyper alone can do, and what clients are compared against.
//!
//! It describes an account of one region, one database, and one container with a single partition, and answers every
//! read of an item with the same 1 KB. It checks no signature and stores nothing.

use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode, header};
use http_body_util::Full;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};

/// Every answer has it; only the partitions are asked for what has changed since.
const ETAG: &str = "\"00000000-0000-0000-0000-000000000000\"";

/// As many response headers as a point read has.
const HEADERS: [(&str, &str); 16] = [
    ("content-type", "application/json"),
    ("etag", ETAG),
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

/// The size of the member that makes up nearly all of the item.
pub const PAD: usize = 1000;
/// As many concurrent streams as the service allows on a connection.
const STREAMS: u32 = 20;

/// The bodies of all answers.
struct Answers {
    account: Bytes,
    database: Bytes,
    container: Bytes,
    ranges: Bytes,
    item: Bytes,
    nothing: Bytes,
}

impl Answers {
    fn new(url: &str) -> Self {
        let here = json!([{"name": "Here", "databaseAccountEndpoint": url}]);
        let account = json!({
            "id": "bench", "_rid": "bench.local", "_self": "",
            "writableLocations": here, "readableLocations": here, "enableMultipleWriteLocations": false,
            "userConsistencyPolicy": {"defaultConsistencyLevel": "Session"},
            "queryEngineConfiguration": "{}",
        });
        let database = json!({"id": "bench", "_rid": "1AZDAA==", "_self": "dbs/1AZDAA==/", "_ts": 1});
        let container = json!({
            "id": "bench", "_rid": "1AZDALB1Xbw=", "_self": "dbs/1AZDAA==/colls/1AZDALB1Xbw=/", "_ts": 1,
            "partitionKey": {"paths": ["/pk"], "kind": "Hash", "version": 2},
        });
        let range =
            json!({"id": "0", "minInclusive": "", "maxExclusive": "FF", "status": "online", "parents": []});
        let ranges = json!({"_rid": "1AZDALB1Xbw=", "PartitionKeyRanges": [range], "_count": 1});
        let item = json!({"id": "0", "pk": "0", "pad": "x".repeat(PAD)});
        let [account, database, container, ranges, item] =
            [account, database, container, ranges, item].map(|body| Bytes::from(body.to_string()));
        Self { account, database, container, ranges, item, nothing: Bytes::new() }
    }

    fn to(&self, path: &str, headers: &HeaderMap) -> Response<Full<Bytes>> {
        let segments = path.split('/').filter(|segment| !segment.is_empty());
        let (count, last) = segments.fold((0, ""), |(count, _), segment| (count + 1, segment));
        let is_known = |etag: &HeaderValue| etag == ETAG;
        let (status, body) = match (count, last) {
            (0, _) => (StatusCode::OK, &self.account),
            (2, _) => (StatusCode::OK, &self.database),
            (4, _) => (StatusCode::OK, &self.container),
            (5, "pkranges") if headers.get(header::IF_NONE_MATCH).is_some_and(is_known) => {
                (StatusCode::NOT_MODIFIED, &self.nothing)
            }
            (5, "pkranges") => (StatusCode::OK, &self.ranges),
            _ => (StatusCode::OK, &self.item),
        };
        let mut response = Response::new(Full::new(body.clone()));
        *response.status_mut() = status;
        for (name, value) in HEADERS {
            response.headers_mut().insert(name, HeaderValue::from_static(value));
        }
        response
    }
}

/// Prints its address and answers, over HTTP/1.1 and HTTP/2 in clear text, until it is stopped.
pub async fn serve() -> crate::Result<()> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    let url = format!("http://{}/", listener.local_addr()?);
    let answers = Arc::new(Answers::new(&url));
    println!("{url}");
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        tokio::spawn(serve_connection(stream, Arc::clone(&answers)));
    }
}

async fn serve_connection(stream: TcpStream, answers: Arc<Answers>) {
    let service = service_fn(move |request: Request<_>| {
        let response = answers.to(request.uri().path(), request.headers());
        std::future::ready(Ok::<_, Infallible>(response))
    });
    let mut builder = hyper_util::server::conn::auto::Builder::new(TokioExecutor::new());
    builder.http2().max_concurrent_streams(STREAMS);
    // A connection that the client closes is the end of it, not a failure.
    let _ = builder.serve_connection(TokioIo::new(stream), service).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_path_has_its_answer() {
        let answers = Answers::new("http://127.0.0.1:1/");
        let (none, mut known) = (HeaderMap::new(), HeaderMap::new());
        known.insert(header::IF_NONE_MATCH, HeaderValue::from_static(ETAG));
        for (path, headers, status, body) in [
            ("/", &none, 200, &answers.account),
            ("/dbs/bench", &none, 200, &answers.database),
            ("/dbs/1AZDAA==/colls/1AZDALB1Xbw=/", &none, 200, &answers.container),
            ("/dbs/bench/colls/bench/pkranges", &none, 200, &answers.ranges),
            ("/dbs/bench/colls/bench/pkranges", &known, 304, &answers.nothing),
            ("/dbs/bench/colls/bench/docs/7", &known, 200, &answers.item),
        ] {
            let response = answers.to(path, headers);
            assert_eq!(response.status(), status, "{path}");
            assert_eq!(response.headers().len(), HEADERS.len(), "{path}");
            let body_of = format!("{:?}", response.into_body());
            assert_eq!(body_of, format!("{:?}", Full::new(body.clone())), "{path}");
        }
    }
}
