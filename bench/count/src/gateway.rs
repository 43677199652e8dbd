//! A network without sockets that answers from constants: a container with one partition, and one with many.
//!
//! A write is answered with an LSN of its partition. Of each `writers` writes to one partition the first is answered
//! with the highest number, as if the others had been overtaken: the least that a session can have to remember.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use cosmonaut_driver::transport::{
    Authority, BoxFuture, HttpClient, HttpClientFactory, HttpVersion, SendProgress, TransportError,
};
use cosmonaut_wire::model::PartitionKeyDefinition;
use cosmonaut_wire::{PartitionKey, headers};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode};
use serde_json::json;

/// As many response headers as a point read has, with those that vary.
const HEADERS: [(&str, &str); 14] = [
    ("content-type", "application/json"),
    ("etag", "\"00000000-0000-0000-0000-000000000000\""),
    ("lsn", "12"),
    ("x-ms-activity-id", "00000000-0000-0000-0000-000000000000"),
    ("x-ms-alt-content-path", "dbs/bench/colls/bench"),
    ("x-ms-content-path", "1AZDALB1Xbw="),
    ("x-ms-cosmos-llsn", "12"),
    ("x-ms-gatewayversion", "2.0.0"),
    ("x-ms-global-committed-lsn", "12"),
    ("x-ms-item-lsn", "12"),
    ("x-ms-request-charge", "1"),
    ("x-ms-request-duration-ms", "0.1"),
    ("x-ms-schemaversion", "1.18"),
    ("x-ms-serviceversion", "version=2.14.0.0"),
];

/// Keys are hashed to 30 bits and more; a partition's range begins at the same part of those.
const KEY_SPACE: u64 = 1 << 30;

/// The network, and the account behind it.
pub struct Gateway {
    account: Bytes,
    container: Bytes,
    ranges: Bytes,
    item: Bytes,
    head: HeaderMap,
    definition: PartitionKeyDefinition,
    partitions: u64,
    writers: u64,
    writes: AtomicU64,
}

impl Gateway {
    pub fn new(partitions: u64, writers: u64) -> serde_json::Result<Self> {
        let key = json!({"paths": ["/pk"], "kind": "Hash", "version": 2});
        let definition = serde_json::from_value(key.clone())?;
        let here = json!([{"name": "Here", "databaseAccountEndpoint": "http://account.test/"}]);
        let account = json!({
            "id": "bench", "writableLocations": here, "readableLocations": here,
            "userConsistencyPolicy": {"defaultConsistencyLevel": "Session"},
        });
        let container = json!({"id": "bench", "_rid": "1AZDALB1Xbw=", "partitionKey": key});
        let bound = |number: u64| match number {
            0 => String::new(),
            number if number == partitions => "FF".to_owned(),
            number => format!("{:08X}", begin_of(number, partitions)),
        };
        let range = |number: u64| json!({"id": number.to_string(), "minInclusive": bound(number), "maxExclusive": bound(number + 1)});
        let ranges: Vec<_> = (0..partitions).map(range).collect();
        let ranges = json!({"_rid": "1AZDALB1Xbw=", "PartitionKeyRanges": ranges});
        let item = json!({"id": "0", "pk": "0", "pad": "x".repeat(1000)});
        let [account, container, ranges, item] =
            [account, container, ranges, item].map(|body| Bytes::from(body.to_string()));
        let constant = |(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value));
        let head = HEADERS.into_iter().map(constant).collect();
        let writes = AtomicU64::new(0);
        Ok(Self { account, container, ranges, item, head, definition, partitions, writers, writes })
    }

    fn answer(&self, request: &Request<Bytes>) -> Response<Bytes> {
        let is_write = request.method() == Method::POST;
        let body = match request.uri().path() {
            "/" => &self.account,
            "/dbs/bench/colls/bench" => &self.container,
            "/dbs/bench/colls/bench/pkranges" => &self.ranges,
            _ => &self.item,
        };
        let mut response = Response::new(body.clone());
        *response.headers_mut() = self.head.clone();
        if is_write {
            *response.status_mut() = StatusCode::CREATED;
        }
        if let Some(partition) = self.partition_of(request.headers()) {
            let lsn = if is_write { self.next_lsn() } else { 12 };
            let head = response.headers_mut();
            insert(head, headers::PARTITION_KEY_RANGE_ID, partition.to_string());
            insert(head, headers::SESSION_TOKEN, format!("{partition}:-1#{lsn}"));
        }
        response
    }

    fn next_lsn(&self) -> u64 {
        let write = self.writes.fetch_add(1, Ordering::Relaxed);
        let (round, nth) = (write / self.writers, write % self.writers);
        1_000_000 + round * self.writers + (self.writers - 1 - nth)
    }

    /// The partition that holds the key of a request; `None` for what has no key.
    fn partition_of(&self, headers: &HeaderMap) -> Option<u64> {
        let key: PartitionKey = headers.get(headers::PARTITION_KEY)?.to_str().ok()?.parse().ok()?;
        let effective = key.effective(&self.definition).ok()?;
        let first = u64::from(u32::from_be_bytes(effective.as_bytes().get(..4)?.try_into().ok()?));
        // The bounds are rounded down, so that the next one may begin at or before it.
        let near = first * self.partitions / KEY_SPACE;
        let next_holds = near + 1 < self.partitions && begin_of(near + 1, self.partitions) <= first;
        Some(if next_holds { near + 1 } else { near })
    }
}

fn begin_of(number: u64, partitions: u64) -> u64 {
    number * KEY_SPACE / partitions
}

fn insert(into: &mut HeaderMap, name: HeaderName, value: String) {
    into.insert(name, HeaderValue::try_from(value).expect("digits fit in a header"));
}

/// The factory of clients that all lead to one gateway.
pub struct Network(pub Arc<Gateway>);

impl HttpClientFactory for Network {
    fn version<'a>(&'a self, _: &'a Authority) -> BoxFuture<'a, Result<HttpVersion, TransportError>> {
        Box::pin(std::future::ready(Ok(HttpVersion::Http2)))
    }

    fn create(&self, _: &Authority, _: HttpVersion) -> Arc<dyn HttpClient> {
        Arc::new(Self(Arc::clone(&self.0)))
    }
}

impl HttpClient for Network {
    fn send<'a>(
        &'a self,
        request: Request<Bytes>,
        _: &'a SendProgress,
    ) -> BoxFuture<'a, Result<Response<Bytes>, TransportError>> {
        let answer = self.0.answer(&request);
        Box::pin(std::future::ready(Ok(answer)))
    }
}
