//! How much throughput a container gets when the provider makes it.

use std::sync::Arc;

use bytes::Bytes;
use cosmonaut::ThroughputProperties;
use cosmonaut::options::CreateDatabaseOptions;
use cosmonaut_driver::platform::TokioPlatform;
use cosmonaut_driver::transport::{
    Authority, BoxFuture, HttpClient, HttpClientConfig, HttpClientFactory, HttpVersion, HyperClientFactory,
    SendProgress, TransportError,
};
use duroxide_cosmonaut::{CosmosProvider, CosmosProviderConfig, Throughput};
use http::{Request, Response, StatusCode};

use crate::harness::{Account, Home, Server};

async fn made_with(home: &Home, throughput: Throughput) -> Option<ThroughputProperties> {
    let config = CosmosProviderConfig { throughput, ..home.config() };
    CosmosProvider::connect(config).await.unwrap();
    home.documents().read_throughput().await.unwrap().into_value()
}

#[tokio::test]
async fn a_container_scales_by_itself_unless_something_else_is_said() {
    for (throughput, expected) in [
        (Throughput::default(), ThroughputProperties::autoscale(4_000, None)),
        (Throughput::Autoscale(10_000), ThroughputProperties::autoscale(10_000, None)),
        (Throughput::Manual(1_000), ThroughputProperties::manual(1_000)),
        (Throughput::Unset, ThroughputProperties::manual(400)),
    ] {
        let home = Server::shared(Account::OneRegion).home();
        assert_eq!(made_with(&home, throughput).await, Some(expected), "{throughput:?}");
        // A container that is there keeps what it has.
        assert_eq!(made_with(&home, Throughput::Manual(5_000)).await, Some(expected), "{throughput:?}");
    }
}

#[tokio::test]
async fn a_database_that_shares_its_throughput_goes_on_doing_so() {
    let home = Server::shared(Account::OneRegion).home();
    let shared = CreateDatabaseOptions {
        throughput: Some(ThroughputProperties::manual(400)),
        ..CreateDatabaseOptions::default()
    };
    home.client.create_database("sharing").options(shared).await.unwrap();
    let config = CosmosProviderConfig { database: "sharing".into(), ..home.config() };
    CosmosProvider::connect(config).await.unwrap();
    let container = home.client.database("sharing").container(&home.container);
    assert_eq!(container.read_throughput().await.unwrap().into_value(), None);
}

#[tokio::test]
async fn an_account_that_takes_no_throughput_gets_a_container_without() {
    let serverless =
        "Setting offer throughput or autopilot on container is not supported for serverless accounts.";
    let other = "Unsupported header.";
    for (refusal, throughput, is_made) in [
        (serverless, Throughput::Automatic, true),
        (serverless, Throughput::Manual(400), true),
        (serverless, Throughput::Unset, true),
        (other, Throughput::Automatic, true),
        (other, Throughput::Autoscale(1_000), false),
    ] {
        let server = Server::shared(Account::OneRegion);
        let inner =
            HyperClientFactory::new(HttpClientConfig::default(), Arc::new(TokioPlatform::new())).unwrap();
        let home = Home { client: server.client_on(Arc::new(Refusing { inner, refusal })), ..server.home() };
        let config = CosmosProviderConfig { throughput, ..home.config() };
        let connected = CosmosProvider::connect(config).await;
        assert_eq!(connected.is_ok(), is_made, "{refusal} {throughput:?}");
        assert!(connected.err().is_none_or(|error| error.to_string().contains(refusal)));
    }
}

/// A network to an account that refuses every mention of throughput.
struct Refusing {
    inner: HyperClientFactory,
    refusal: &'static str,
}

impl HttpClientFactory for Refusing {
    fn version<'a>(&'a self, server: &'a Authority) -> BoxFuture<'a, Result<HttpVersion, TransportError>> {
        self.inner.version(server)
    }

    fn create(&self, server: &Authority, version: HttpVersion) -> Arc<dyn HttpClient> {
        Arc::new(RefusingClient { inner: self.inner.create(server, version), refusal: self.refusal })
    }
}

struct RefusingClient {
    inner: Arc<dyn HttpClient>,
    refusal: &'static str,
}

impl HttpClient for RefusingClient {
    fn send<'a>(
        &'a self,
        request: Request<Bytes>,
        progress: &'a SendProgress,
    ) -> BoxFuture<'a, Result<Response<Bytes>, TransportError>> {
        let names_throughput = ["x-ms-offer-throughput", "x-ms-cosmos-offer-autopilot-settings"]
            .iter()
            .any(|name| request.headers().contains_key(*name));
        if !names_throughput && !request.uri().path().starts_with("/offers") {
            return self.inner.send(request, progress);
        }
        let body = serde_json::json!({"code": "BadRequest", "message": self.refusal}).to_string();
        let refusal = Response::builder().status(StatusCode::BAD_REQUEST).body(Bytes::from(body));
        Box::pin(std::future::ready(Ok(refusal.unwrap())))
    }
}
