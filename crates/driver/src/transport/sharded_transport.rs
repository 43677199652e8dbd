//! HTTP/2 to one endpoint: a request goes out on a shard, and what came of it is counted against that shard.

use std::sync::Arc;

use bytes::Bytes;
use cosmonaut_policy::{Moment, ShardStats, ShardingConfig};
use http::{Request, Response};

use super::endpoint::Authority;
use super::error::TransportError;
use super::http_client::{HttpClientFactory, SendProgress};
use super::shard::{ClientShard, ShardLease};
use super::shard_pool::EndpointShardPool;
use super::time_limit::TimeLimit;

/// HTTP/2 to one endpoint.
pub(super) struct ShardedHttpTransport {
    pool: EndpointShardPool,
}

impl ShardedHttpTransport {
    pub(super) fn new(
        server: Authority,
        factory: Arc<dyn HttpClientFactory>,
        config: ShardingConfig,
        now: Moment,
    ) -> Self {
        Self { pool: EndpointShardPool::new(server, factory, config, now) }
    }

    /// A place for a request, on another shard than `avoid` where that can be.
    pub(super) fn lease(&self, avoid: Option<u64>, now: Moment) -> ShardLease {
        self.pool.lease(avoid, now)
    }

    /// Sends on a place that was taken; also says when that was over. Whoever drops this gives the place
    /// back, and nothing is counted.
    pub(super) async fn send(
        &self,
        lease: &ShardLease,
        request: Request<Bytes>,
        progress: &SendProgress,
        limit: &TimeLimit<'_>,
    ) -> (Result<Response<Bytes>, TransportError>, Moment) {
        let shard = lease.shard();
        let (result, ended) = limit.apply(shard.client().send(request, progress), progress).await;
        match &result {
            Ok(_) => shard.record_success(ended),
            Err(error) if error.kind().blames_connection() => shard.record_failure(),
            Err(_) => {}
        }
        (result, ended)
    }

    pub(super) fn sweep(&self, cpu: Option<f64>, now: Moment) -> Vec<Arc<ClientShard>> {
        self.pool.sweep(cpu, now)
    }

    pub(super) fn stats(&self) -> Vec<ShardStats> {
        self.pool.stats()
    }
}
