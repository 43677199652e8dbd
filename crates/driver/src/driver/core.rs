//! What all operations on one account share, and the requests that the driver makes for its own sake.

use std::collections::HashSet;
use std::future::Future;
use std::pin::pin;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, Weak};
use std::task::Poll;

use cosmonaut_policy::{CosmosEndpoint, CosmosOperation, Deadline, RetryLimits};
use cosmonaut_wire::model::AccountProperties;
use http::HeaderValue;

use crate::cache::{ContainerCache, SingleFlight};
use crate::error::Error;
use crate::location::{LatencyBook, LocationStateStore};
use crate::options::{LayeredOptions, OperationOptions};
use crate::pipeline::{OperationPipeline, TransportPipeline, out_of_time};
use crate::platform::Platform;
use crate::race::{Either, race};
use crate::response::CosmosResponse;
use crate::session::SessionStore;
use crate::tasks::BackgroundTaskManager;
use crate::transport::BoxFuture;

/// What all operations on one account share.
pub(crate) struct DriverCore {
    pub(crate) options: LayeredOptions,
    pub(crate) metadata_options: OperationOptions,
    pub(crate) platform: Arc<dyn Platform>,
    pub(crate) transport: TransportPipeline,
    pub(crate) location: LocationStateStore,
    pub(crate) account: SingleFlight<AccountProperties>,
    /// When the account was last read, in nanoseconds since the start.
    pub(crate) account_read: AtomicU64,
    /// Other endpoints to find the account by.
    pub(crate) custom_endpoints: Vec<CosmosEndpoint>,
    pub(crate) containers: ContainerCache,
    pub(crate) sessions: SessionStore,
    pub(crate) latencies: LatencyBook,
    pub(crate) limits: RetryLimits,
    /// Held by the driver alone, so that tasks which hold this do not keep themselves alive.
    pub(crate) tasks: Weak<BackgroundTaskManager>,
    /// Endpoints that are being tried.
    pub(crate) probing: Mutex<HashSet<CosmosEndpoint>>,
    pub(crate) this: Weak<DriverCore>,
}

impl DriverCore {
    /// Runs an operation for the driver's own sake. Boxed: an operation may need such operations to find its
    /// target.
    pub(crate) fn run_metadata<'a>(
        &'a self,
        operation: &'a CosmosOperation,
        deadline: Option<Deadline>,
    ) -> BoxFuture<'a, Result<CosmosResponse, Error>> {
        Box::pin(OperationPipeline::new(self, operation, &self.metadata_options, deadline).run())
    }

    /// Waits for something until the deadline.
    pub(crate) async fn within<T>(
        &self,
        deadline: Option<Deadline>,
        work: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        let Some(deadline) = deadline else { return work.await };
        let mut work = pin!(work);
        // Ready at once in the usual case, which then needs no timer.
        let first = std::future::poll_fn(|context| {
            Poll::Ready(match work.as_mut().poll(context) {
                Poll::Ready(result) => Some(result),
                Poll::Pending => None,
            })
        });
        if let Some(result) = first.await {
            return result;
        }
        let remaining = deadline.remaining(self.platform.now());
        match race(work, self.platform.sleep(remaining).as_mut()).await {
            Either::First(result) => result,
            Either::Second(()) => Err(out_of_time()),
        }
    }

    /// A name for an operation: a random UUID.
    pub(crate) fn new_activity_id(&self) -> HeaderValue {
        let (high, low) = (self.platform.random(), self.platform.random());
        let mut name =
            HeaderValue::from_bytes(&uuid(high, low)).expect("hexadecimal and dashes are printable ASCII");
        // No secret, but never sent twice: this keeps HTTP/2 from remembering it on both ends.
        name.set_sensitive(true);
        name
    }
}

/// A random UUID (version 4) from 128 random bits.
fn uuid(high: u64, low: u64) -> [u8; 36] {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    const DASHES: [usize; 4] = [8, 13, 18, 23];
    let mut bits = u128::from(high) << 64 | u128::from(low);
    bits = bits & !(0xf << 76) | 0x4 << 76;
    bits = bits & !(0x3 << 62) | 0x2 << 62;
    let mut text = [b'-'; 36];
    let mut shift = 128;
    for (place, character) in text.iter_mut().enumerate() {
        if !DASHES.contains(&place) {
            shift -= 4;
            *character = HEX[(bits >> shift & 0xf) as usize];
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uuid_has_its_version_and_variant() {
        for (high, low, expected) in [
            (0, 0, "00000000-0000-4000-8000-000000000000"),
            (u64::MAX, u64::MAX, "ffffffff-ffff-4fff-bfff-ffffffffffff"),
            (0x0123_4567_89ab_cdef, 0x0123_4567_89ab_cdef, "01234567-89ab-4def-8123-456789abcdef"),
        ] {
            assert_eq!(std::str::from_utf8(&uuid(high, low)).unwrap(), expected);
        }
    }
}
