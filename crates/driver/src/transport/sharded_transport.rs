//! HTTP/2 to one endpoint: a request goes out on a shard, and what came of it is counted against that shard.

use std::sync::Arc;

use bytes::Bytes;
use cosmonaut_policy::{Moment, ShardStats, ShardingConfig};
use http::{Request, Response};

use super::endpoint::Authority;
use super::error::{TransportError, TransportErrorKind};
use super::http_client::{HttpClientFactory, SendProgress};
use super::shard::ShardLease;
use super::shard_pool::{EndpointShardPool, Replacement, Swept};
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
    /// back; if the request had been sent and the shard was silent since, that counts as a failure.
    pub(super) async fn send(
        &self,
        lease: &ShardLease,
        request: Request<Bytes>,
        progress: &SendProgress,
        limit: &TimeLimit<'_>,
    ) -> (Result<Response<Bytes>, TransportError>, Moment) {
        let shard = lease.shard();
        let mut waiting = Waiting { lease, progress, is_over: false };
        let (result, ended) = limit.apply(shard.client().send(request, progress), progress).await;
        waiting.is_over = true;
        match &result {
            Ok(_) => shard.record_success(ended),
            Err(error) if error.kind() == TransportErrorKind::Timeout => {
                shard.record_given_up(progress.sent_at(lease.began()));
            }
            Err(error) if error.kind().blames_connection() => shard.record_failure(),
            Err(_) => {}
        }
        (result, ended)
    }

    pub(super) fn sweep(&self, cpu: Option<f64>, now: Moment) -> Swept {
        self.pool.sweep(cpu, now)
    }

    /// Puts a connected successor in the place of a shard.
    pub(super) fn replace(&self, replacement: Replacement, now: Moment) {
        self.pool.replace(replacement, now);
    }

    pub(super) fn stats(&self) -> Vec<ShardStats> {
        self.pool.stats()
    }
}

/// A request that waits for its answer. Its caller may go away without a word, as that of a losing hedge leg.
struct Waiting<'a> {
    lease: &'a ShardLease,
    progress: &'a SendProgress,
    is_over: bool,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            self.lease.shard().record_given_up(self.progress.sent_at(self.lease.began()));
        }
    }
}
