//! A gateway that answers from constants: what hyper alone can do, and what clients are compared against.
//!
//! It describes an account of one region, one database, and two containers: one with a single partition, and one with
//! many. It answers every read of an item with the same 1 KB, and every write with the next LSN of its partition. It
//! checks no signature and stores nothing.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use cosmonaut_wire::model::PartitionKeyDefinition;
use cosmonaut_wire::{PartitionKey, headers};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};

use crate::constant_frames;

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

/// The containers: with one partition, and with many.
pub const NARROW: &str = "bench";
pub const WIDE: &str = "wide";
pub const PARTITIONS: u32 = 10_000;

/// Keys are hashed to 30 bits and more; a partition's range begins at the same part of those.
const KEY_SPACE: u64 = 1 << 30;

/// The bodies of all answers.
struct Answers {
    account: Bytes,
    database: Bytes,
    narrow: Container,
    wide: Container,
    item: Bytes,
    /// The item as a frame.
    framed: Bytes,
    nothing: Bytes,
    lsn: AtomicU64,
}

struct Container {
    body: Bytes,
    ranges: Bytes,
    partitions: u32,
    definition: PartitionKeyDefinition,
}

impl Container {
    fn new(name: &str, rid: &str, partitions: u32) -> Self {
        let key = json!({"paths": ["/pk"], "kind": "Hash", "version": 2});
        let body = json!({
            "id": name, "_rid": rid, "_self": format!("dbs/1AZDAA==/colls/{rid}/"), "_ts": 1,
            "partitionKey": key,
        });
        let bound = |number: u32| match number {
            0 => String::new(),
            number if number == partitions => "FF".to_owned(),
            number => format!("{:08X}", u64::from(number) * KEY_SPACE / u64::from(partitions)),
        };
        let range = |number: u32| {
            json!({
                "id": number.to_string(), "minInclusive": bound(number), "maxExclusive": bound(number + 1),
                "status": "online", "parents": [],
            })
        };
        let ranges: Vec<Value> = (0..partitions).map(range).collect();
        let ranges = json!({"_rid": rid, "PartitionKeyRanges": ranges, "_count": partitions});
        let definition = serde_json::from_value(key).expect("a partition key as the service has it");
        let [body, ranges] = [body, ranges].map(|body| Bytes::from(body.to_string()));
        Self { body, ranges, partitions, definition }
    }

    /// The partition that holds the key of a request.
    fn partition_of(&self, headers: &HeaderMap) -> Option<u32> {
        let key: PartitionKey = headers.get(headers::PARTITION_KEY)?.to_str().ok()?.parse().ok()?;
        let effective = key.effective(&self.definition).ok()?;
        let first = u32::from_be_bytes(effective.as_bytes().get(..4)?.try_into().ok()?);
        // The bounds are rounded down, so that the next one may begin at or before it.
        let near = (u64::from(first) * u64::from(self.partitions) / KEY_SPACE) as u32;
        let begins_by =
            |number: u32| u64::from(number) * KEY_SPACE / u64::from(self.partitions) <= first.into();
        Some(if near + 1 < self.partitions && begins_by(near + 1) { near + 1 } else { near })
    }
}

impl Answers {
    fn new(url: &str, framed_url: Option<&str>) -> crate::Result<Self> {
        let here = json!([{"name": "Here", "databaseAccountEndpoint": url}]);
        let mut account = json!({
            "id": "bench", "_rid": "bench.local", "_self": "",
            "writableLocations": here, "readableLocations": here, "enableMultipleWriteLocations": false,
            "userConsistencyPolicy": {"defaultConsistencyLevel": "Session"},
            "queryEngineConfiguration": "{}",
        });
        if let Some(url) = framed_url {
            let here = json!([{"name": "Here", "databaseAccountEndpoint": url}]);
            account["thinClientReadableLocations"] = here.clone();
            account["thinClientWritableLocations"] = here;
        }
        let database = json!({"id": "bench", "_rid": "1AZDAA==", "_self": "dbs/1AZDAA==/", "_ts": 1});
        let item = json!({"id": "0", "pk": "0", "pad": "x".repeat(PAD)});
        let [account, database, item] = [account, database, item].map(|body| Bytes::from(body.to_string()));
        let narrow = Container::new(NARROW, "1AZDALB1Xbw=", 1);
        let wide = Container::new(WIDE, "1AZDAIKbJ5E=", PARTITIONS);
        let constant = |(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value));
        let framed = constant_frames::framed(&HEADERS.into_iter().map(constant).collect(), &item)?;
        let (nothing, lsn) = (Bytes::new(), AtomicU64::new(100));
        Ok(Self { account, database, narrow, wide, item, framed, nothing, lsn })
    }

    fn to(&self, method: &Method, path: &str, headers: &HeaderMap) -> Response<Full<Bytes>> {
        let segments: Vec<_> = path.split('/').filter(|segment| !segment.is_empty()).collect();
        let (count, last) = (segments.len(), segments.last().copied().unwrap_or_default());
        // By its name, or by its resource id.
        let is_wide = segments.get(3).is_some_and(|name| [WIDE, "1AZDAIKbJ5E="].contains(name));
        let container = if is_wide { &self.wide } else { &self.narrow };
        let is_known = |etag: &HeaderValue| etag == ETAG;
        let (status, body) = match (count, last) {
            (0, _) => (StatusCode::OK, &self.account),
            (2, _) => (StatusCode::OK, &self.database),
            (4, _) => (StatusCode::OK, &container.body),
            (5, "docs") if method == Method::POST => (StatusCode::CREATED, &self.item),
            (5, "pkranges") if headers.get(header::IF_NONE_MATCH).is_some_and(is_known) => {
                (StatusCode::NOT_MODIFIED, &self.nothing)
            }
            (5, "pkranges") => (StatusCode::OK, &container.ranges),
            _ => (StatusCode::OK, &self.item),
        };
        let mut response = Response::new(Full::new(body.clone()));
        *response.status_mut() = status;
        for (name, value) in HEADERS {
            response.headers_mut().insert(name, HeaderValue::from_static(value));
        }
        if status == StatusCode::CREATED {
            self.describe_write(container, headers, response.headers_mut());
        }
        response
    }

    /// Where a write went, and what its session has seen by now.
    fn describe_write(&self, container: &Container, headers: &HeaderMap, into: &mut HeaderMap) {
        let partition = container.partition_of(headers).unwrap_or(0);
        let lsn = self.lsn.fetch_add(1, Ordering::Relaxed);
        for (name, value) in [
            ("x-ms-documentdb-partitionkeyrangeid", partition.to_string()),
            ("x-ms-session-token", format!("{partition}:-1#{lsn}")),
        ] {
            let mut value = HeaderValue::try_from(value).expect("digits fit in a header");
            // Kept out of HTTP/2's table: how many partitions there are then changes nothing about how an answer is
            // packed, and what is left to measure is what the driver makes of it.
            value.set_sensitive(true);
            into.insert(name, value);
        }
    }
}

/// Prints its address and answers, over HTTP/1.1 and HTTP/2 in clear text, until it is stopped. With Gateway 2.0 it has a
/// second address, which the account names to clients that ask.
pub async fn serve(gateway2: bool) -> crate::Result<()> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    let url = format!("http://{}/", listener.local_addr()?);
    let framed = match gateway2 {
        true => Some(TcpListener::bind(("127.0.0.1", 0)).await?),
        false => None,
    };
    let framed_url = match &framed {
        Some(framed) => Some(format!("http://{}/", framed.local_addr()?)),
        None => None,
    };
    let answers = Arc::new(Answers::new(&url, framed_url.as_deref())?);
    if let Some(framed) = framed {
        let answers = Arc::clone(&answers);
        tokio::spawn(async move {
            while let Ok((stream, _)) = framed.accept().await {
                let _ = stream.set_nodelay(true);
                tokio::spawn(serve_frames(stream, Arc::clone(&answers)));
            }
        });
    }
    println!("{url}");
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        tokio::spawn(serve_connection(stream, Arc::clone(&answers)));
    }
}

async fn serve_frames(stream: TcpStream, answers: Arc<Answers>) {
    let service = service_fn(move |request: Request<Incoming>| {
        let answers = Arc::clone(&answers);
        async move {
            let (parts, body) = request.into_parts();
            let _ = body.collect().await;
            Ok::<_, Infallible>(constant_frames::answer(parts.uri.path(), &answers.framed))
        }
    });
    let mut builder = hyper_util::server::conn::auto::Builder::new(TokioExecutor::new());
    builder.http2().max_concurrent_streams(STREAMS);
    let _ = builder.serve_connection(TokioIo::new(stream), service).await;
}

async fn serve_connection(stream: TcpStream, answers: Arc<Answers>) {
    let service = service_fn(move |request: Request<Incoming>| {
        let answers = Arc::clone(&answers);
        async move {
            let (parts, body) = request.into_parts();
            // A body that is not read is refused, and a client with many of those is taken for an attacker.
            if parts.method == Method::POST {
                let _ = body.collect().await;
            }
            Ok::<_, Infallible>(answers.to(&parts.method, parts.uri.path(), &parts.headers))
        }
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
        let answers = Answers::new("http://127.0.0.1:1/", None).unwrap();
        let (none, mut known) = (HeaderMap::new(), HeaderMap::new());
        known.insert(header::IF_NONE_MATCH, HeaderValue::from_static(ETAG));
        for (path, headers, status, body) in [
            ("/", &none, 200, &answers.account),
            ("/dbs/bench", &none, 200, &answers.database),
            ("/dbs/1AZDAA==/colls/1AZDALB1Xbw=/", &none, 200, &answers.narrow.body),
            ("/dbs/bench/colls/bench/pkranges", &none, 200, &answers.narrow.ranges),
            ("/dbs/bench/colls/wide", &none, 200, &answers.wide.body),
            ("/dbs/bench/colls/wide/pkranges", &none, 200, &answers.wide.ranges),
            ("/dbs/bench/colls/bench/pkranges", &known, 304, &answers.nothing),
            ("/dbs/bench/colls/bench/docs/7", &known, 200, &answers.item),
        ] {
            let response = answers.to(&Method::GET, path, headers);
            assert_eq!(response.status(), status, "{path}");
            assert_eq!(response.headers().len(), HEADERS.len(), "{path}");
            let body_of = format!("{:?}", response.into_body());
            assert_eq!(body_of, format!("{:?}", Full::new(body.clone())), "{path}");
        }
    }

    #[test]
    fn a_write_is_in_the_partition_that_its_key_belongs_to() {
        let container = Container::new(WIDE, "1AZDAIKbJ5E=", PARTITIONS);
        let ranges: Value = serde_json::from_slice(&container.ranges).unwrap();
        let ranges = ranges["PartitionKeyRanges"].as_array().unwrap();
        for number in 0..2_000 {
            let key = PartitionKey::from(number.to_string());
            let mut request = HeaderMap::new();
            request.insert(headers::PARTITION_KEY, HeaderValue::try_from(key.to_string()).unwrap());
            let range = &ranges[container.partition_of(&request).unwrap() as usize];
            let effective = key.effective(&container.definition).unwrap().to_string();
            let (least, most) =
                (range["minInclusive"].as_str().unwrap(), range["maxExclusive"].as_str().unwrap());
            assert!(least <= &*effective && &*effective < most, "{effective} in {least}..{most}");
        }
    }
}
