//! Callers that go on and on while regions fail.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use cosmonaut_driver::{CosmosOperation, CosmosResponse, Error};
use tokio::task::JoinSet;

use super::account::Client;
use super::clock::eventually;

/// How many requests are under way at once.
pub(crate) const CALLERS: usize = 64;

/// Callers that each make one request after the other.
pub(crate) struct Load {
    callers: JoinSet<Vec<Result<CosmosResponse, Error>>>,
    shared: Arc<Shared>,
}

struct Shared {
    stop: AtomicBool,
    /// How many requests of each caller have succeeded.
    successes: Vec<AtomicU64>,
}

impl Load {
    /// Begins; `request` makes the caller's nth request.
    pub(crate) fn start(
        client: &Client,
        request: impl Fn(usize, usize) -> CosmosOperation + Send + Sync + 'static,
    ) -> Self {
        let successes = (0..CALLERS).map(|_| AtomicU64::new(0)).collect();
        let shared = Arc::new(Shared { stop: AtomicBool::new(false), successes });
        let request = Arc::new(request);
        let mut callers = JoinSet::new();
        for caller in 0..CALLERS {
            let (client, shared, request) = (client.clone(), Arc::clone(&shared), Arc::clone(&request));
            callers.spawn(async move {
                let mut results = Vec::new();
                while !shared.stop.load(Ordering::Relaxed) {
                    let result = client.run(request(caller, results.len())).await;
                    shared.successes[caller].fetch_add(u64::from(result.is_ok()), Ordering::Relaxed);
                    results.push(result);
                }
                results
            });
        }
        Self { callers, shared }
    }

    /// Waits until each caller has succeeded so many times more.
    pub(crate) async fn succeeds(&self, times: u64) {
        let count = |caller: &AtomicU64| caller.load(Ordering::Relaxed);
        let before: Vec<u64> = self.shared.successes.iter().map(count).collect();
        eventually("every caller gets through", async || {
            self.shared.successes.iter().zip(&before).all(|(caller, before)| count(caller) >= before + times)
        })
        .await;
    }

    /// Ends, and says what came of every request.
    pub(crate) async fn stop(self) -> Vec<Result<CosmosResponse, Error>> {
        self.shared.stop.store(true, Ordering::Relaxed);
        self.callers.join_all().await.into_iter().flatten().collect()
    }
}

/// All requests at once, one of each caller.
pub(crate) async fn at_once(
    client: &Client,
    request: impl Fn(usize) -> CosmosOperation,
) -> Vec<Result<CosmosResponse, Error>> {
    let mut callers = JoinSet::new();
    for caller in 0..CALLERS {
        let (client, request) = (client.clone(), request(caller));
        callers.spawn(async move { client.run(request).await });
    }
    callers.join_all().await
}
