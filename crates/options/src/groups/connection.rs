//! Connections: timeouts, protocol, proxy, and the pool of HTTP/1.1 connections.
//!
//! How HTTP/2 load is spread over connections is in `sharding`.

use std::net::IpAddr;
use std::time::Duration;

use crate::check::{at_least_one, some_time};
use crate::value::duration;
use crate::{CosmosOptions, HttpProtocol, ProxyUri, ShardingOptions};

/// How the driver connects. Layers: runtime, account.
#[derive(Clone, Debug, PartialEq, CosmosOptions)]
#[options(layers(runtime, account))]
pub struct ConnectionOptions {
    /// How long one attempt at a request may take at most. Reads, metadata and query plans get less at first, and
    /// more with each attempt.
    #[option(env = "AZURE_COSMOS_REQUEST_TIMEOUT", default = Duration::from_secs(65), check = some_time)]
    pub request_timeout: Option<Duration>,

    /// How long establishing a connection may take, TLS included.
    #[option(env = "AZURE_COSMOS_CONNECT_TIMEOUT", default = Duration::from_secs(5), check = some_time)]
    pub connect_timeout: Option<Duration>,

    /// How often TCP asks an idle peer whether it is still there, so that dead connections are found early.
    #[option(env = "AZURE_COSMOS_TCP_KEEPALIVE", default = Duration::from_secs(30), check = some_time)]
    pub tcp_keepalive: Option<Duration>,

    /// After how much silence of the peer an HTTP/2 connection asks it with a PING whether it is still there,
    /// also while no request is under way.
    #[option(
        env = "AZURE_COSMOS_HTTP2_KEEPALIVE_PING_DELAY_IN_SECONDS",
        parse = duration::seconds,
        default = Duration::from_secs(1),
        check = some_time
    )]
    pub http2_keepalive_interval: Option<Duration>,

    /// How long the answer to such a PING may take. Then the connection is closed.
    #[option(
        env = "AZURE_COSMOS_HTTP2_KEEPALIVE_PING_TIMEOUT_IN_SECONDS",
        parse = duration::seconds,
        default = Duration::from_secs(2),
        check = some_time
    )]
    pub http2_keepalive_timeout: Option<Duration>,

    /// Which HTTP version to speak.
    #[option(env = "AZURE_COSMOS_HTTP_PROTOCOL", default = HttpProtocol::Negotiated, copy)]
    pub http_protocol: Option<HttpProtocol>,

    /// The proxy to connect through.
    #[option(env = "AZURE_COSMOS_PROXY")]
    pub proxy: Option<ProxyUri>,

    /// Whether a proxy is taken from `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY`, unless `proxy` names
    /// one. A user name and password in these variables are used, and never shown.
    #[option(env = "AZURE_COSMOS_PROXY_FROM_ENVIRONMENT", default = false)]
    pub proxy_from_environment: Option<bool>,

    /// The local address to connect from.
    pub local_address: Option<IpAddr>,

    /// Whether a server's certificate may be invalid. For local emulators only, so no variable turns it on.
    #[option(default = false)]
    pub accept_invalid_certs: Option<bool>,

    /// Whether `http://` may lead to a public host. Loopback and private addresses and local names need no
    /// permission. For a protected network only, so no variable turns it on; tokens are never sent that way.
    #[option(default = false)]
    pub allow_clear_text: Option<bool>,

    /// Whether items are never asked for by Gateway 2.0, also where the account has it and it answers.
    #[option(env = "AZURE_COSMOS_CONNECTION_POOL_GATEWAY_V2_DISABLED", env_override, default = false)]
    pub gateway_v2_disabled: Option<bool>,

    /// The same as the .NET SDK says it: `false` switches Gateway 2.0 off.
    #[option(env = "AZURE_COSMOS_THIN_CLIENT_ENABLED", default = true)]
    pub thin_client_enabled: Option<bool>,

    /// The pool of HTTP/1.1 connections.
    #[option(nested)]
    pub connection_pool: Option<ConnectionPoolOptions>,

    /// How HTTP/2 requests are spread over connections.
    #[option(nested)]
    pub sharding: Option<ShardingOptions>,
}

/// The pool of HTTP/1.1 connections. Layers: runtime, account.
#[derive(Clone, Debug, PartialEq, CosmosOptions)]
#[options(layers(runtime, account))]
pub struct ConnectionPoolOptions {
    /// How long a connection may be idle before it is closed.
    #[option(env = "AZURE_COSMOS_POOL_IDLE_TIMEOUT", default = Duration::from_secs(60), check = some_time)]
    pub idle_timeout: Option<Duration>,

    /// How many connections an endpoint may have.
    #[option(env = "AZURE_COSMOS_POOL_MAX_CONNECTIONS", default = 1000, check = at_least_one)]
    pub max_connections: Option<usize>,

    /// How many of them may be kept idle.
    #[option(default = 100)]
    pub max_idle_per_host: Option<usize>,
}
