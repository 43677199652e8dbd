//! From a request to bytes and back: connections, shards, and which of them a request takes.

mod adaptive;
mod body;
mod broken;
mod connector;
mod dial;
mod endpoint;
mod error;
mod flight;
mod http1_client;
mod http1_pool;
mod http2_client;
mod http2_connection;
mod http_client;
mod hyper_client;
mod negotiate;
mod proxy;
mod proxy_variables;
mod resolver;
mod shard;
mod shard_pool;
mod sharded_transport;
mod strategy;
mod time_limit;
mod timeline;
mod tls;

pub(crate) use adaptive::{AdaptiveTransport, Sent, SentOver, Try};
pub use connector::HttpVersion;
pub use endpoint::{Authority, InvalidEndpoint};
pub use error::{RequestSentStatus, TransportError, TransportErrorKind};
pub use http_client::{BoxFuture, HttpClient, HttpClientConfig, HttpClientFactory, SendProgress};
pub use hyper_client::HyperClientFactory;
pub use proxy::{EnvironmentProxies, InvalidProxyUser, Proxy, ProxyCredentials, ProxyRoute};
pub(crate) use proxy_variables::{InvalidProxyVariable, ProxySources, ProxyVariables};
pub use resolver::{Resolver, SystemResolver};
pub use timeline::Timeline;
pub use tls::Trust;
