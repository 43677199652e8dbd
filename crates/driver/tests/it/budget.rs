//! What a point read costs beyond sending it: heap allocations, counted over a network that makes none of
//! its own.

use std::sync::Arc;

use bytes::Bytes;
use cosmonaut_driver::platform::TokioPlatform;
use cosmonaut_driver::transport::{
    Authority, BoxFuture, HttpClient, HttpClientFactory, HttpVersion, SendProgress, TransportError,
};
use cosmonaut_driver::{CosmosDriver, CosmosDriverRuntime, Credential, OperationOptions};
use cosmonaut_wire::EMULATOR_KEY;
use http::{Request, Response};

use crate::harness::{no_environment, read};

/// The driver may make so many of its own for a point read.
const BUDGET: u64 = 25;

struct Constant;

impl HttpClientFactory for Constant {
    fn version<'a>(&'a self, _: &'a Authority) -> BoxFuture<'a, Result<HttpVersion, TransportError>> {
        Box::pin(std::future::ready(Ok(HttpVersion::Http2)))
    }

    fn create(&self, _: &Authority, _: HttpVersion) -> Arc<dyn HttpClient> {
        Arc::new(Self)
    }
}

impl HttpClient for Constant {
    fn send<'a>(
        &'a self,
        request: Request<Bytes>,
        _: &'a SendProgress,
    ) -> BoxFuture<'a, Result<Response<Bytes>, TransportError>> {
        let body = match request.uri().path() {
            "/" => {
                r#"{"id":"a","writableLocations":[],"readableLocations":[],
                    "userConsistencyPolicy":{"defaultConsistencyLevel":"Session"}}"#
            }
            "/dbs/d/colls/c" => {
                r#"{"id":"c","_rid":"1FAbAPmd4Rw=","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2}}"#
            }
            "/dbs/d/colls/c/pkranges" => {
                r#"{"_rid":"1FAbAPmd4Rw=","PartitionKeyRanges":[{"id":"0","minInclusive":"","maxExclusive":"FF"}]}"#
            }
            _ => "{}",
        };
        Box::pin(std::future::ready(Ok(Response::new(Bytes::from_static(body.as_bytes())))))
    }
}

fn driver() -> CosmosDriver {
    let runtime = CosmosDriverRuntime::builder()
        .environment(&no_environment)
        .platform(Arc::new(TokioPlatform::new()))
        .http_client_factory(Arc::new(Constant))
        .build()
        .unwrap();
    let key = Credential::master_key(EMULATOR_KEY).unwrap();
    runtime.create_driver("http://account.test", key, Default::default()).unwrap()
}

#[test]
fn a_point_read_keeps_to_its_budget() {
    let tokio = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let _entered = tokio.enter();
    let (driver, read, options) = (driver(), read("1", "a"), OperationOptions::default());
    let run = || drop(tokio.block_on(driver.execute_operation(&read, &options)).unwrap());
    run();
    let counted = allocation_counter::measure(run);
    assert!(
        counted.count_total <= BUDGET,
        "{} allocations, {} bytes",
        counted.count_total,
        counted.bytes_total
    );
}

#[tokio::test]
async fn an_operation_takes_little_room() {
    let (driver, read, options) = (driver(), read("1", "a"), OperationOptions::default());
    // It is moved about by whoever awaits it, and each task holds one.
    let size = size_of_val(&driver.execute_operation(&read, &options));
    assert!(size <= 4096, "{size} bytes");
}
