//! How long a step takes: activities one after the other, timed where they run.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use duroxide::runtime::registry::ActivityRegistry;
use duroxide::runtime::{Runtime, RuntimeOptions};
use duroxide::{ActivityContext, Client, OrchestrationContext, OrchestrationRegistry};

use super::report::Cost;
use super::signals::Signals;
use super::store::Store;
use crate::Result;

pub const DISPATCHERS: usize = 2;
/// How many activities an orchestration runs.
const LENGTH: usize = 50;
/// What connects, and is not counted.
const FIRST: usize = 5;
const ORCHESTRATION: &str = "Chain";
const ACTIVITY: &str = "Mark";
const PATIENCE: Duration = Duration::from_secs(120);

/// What a run measured.
pub struct Measured {
    pub p50: Duration,
    pub p99: Duration,
    pub steps: u64,
    pub cost: Option<Cost>,
}

/// Runs one chain after the other for some time.
pub async fn measure(store: &Store, time: Duration) -> Result<Measured> {
    let marks = Arc::new(Mutex::new(Vec::new()));
    let signals = Arc::new(Signals::default());
    let runtime = start(store, &marks, &signals).await;
    let client = Client::new(Arc::clone(&store.provider));
    let (started, before) = (Instant::now(), store.cost());
    let (mut times, mut chains) = (Vec::new(), 0);
    while chains == 0 || started.elapsed() < time {
        let instance = format!("chain-{chains}");
        let ended = signals.expect(&instance);
        client.start_orchestration(&*instance, ORCHESTRATION, "").await?;
        tokio::time::timeout(PATIENCE, ended).await.map_err(|_| format!("{instance} does not end"))??;
        chains += 1;
        let marks = std::mem::take(&mut *marks.lock().unwrap_or_else(PoisonError::into_inner));
        times.extend(marks.windows(2).skip(FIRST).map(|pair| pair[1] - pair[0]));
    }
    let cost = store.cost().zip(before).map(|(now, before)| now - before);
    runtime.shutdown(None).await;
    let (p50, p99) = quantiles(times).ok_or("no step was timed")?;
    Ok(Measured { p50, p99, steps: chains * LENGTH as u64, cost })
}

async fn start(store: &Store, marks: &Arc<Mutex<Vec<Instant>>>, signals: &Arc<Signals>) -> Arc<Runtime> {
    let marks = Arc::clone(marks);
    let activities =
        ActivityRegistry::builder().register(ACTIVITY, move |_: ActivityContext, input: String| {
            marks.lock().unwrap_or_else(PoisonError::into_inner).push(Instant::now());
            async move { Ok(input) }
        });
    let signals = Arc::clone(signals);
    let orchestrations = OrchestrationRegistry::builder().register(
        ORCHESTRATION,
        move |context: OrchestrationContext, _: String| {
            let signals = Arc::clone(&signals);
            async move {
                for step in 0..LENGTH {
                    context.schedule_activity(ACTIVITY, step.to_string()).await?;
                }
                signals.raise(&context.instance_id());
                Ok(String::new())
            }
        },
    );
    let options = RuntimeOptions {
        orchestration_concurrency: DISPATCHERS,
        worker_concurrency: DISPATCHERS,
        ..RuntimeOptions::default()
    };
    let provider = Arc::clone(&store.provider);
    Runtime::start_with_options(provider, activities.build(), orchestrations.build(), options).await
}

/// The middle one, and the one that a hundredth is longer than.
fn quantiles(mut times: Vec<Duration>) -> Option<(Duration, Duration)> {
    times.sort();
    let at = |share: usize| times.get(times.len() * share / 100).copied();
    Some((at(50)?, at(99)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_times_that_were_measured() {
        let ms = Duration::from_millis;
        assert_eq!(quantiles((1..=200).rev().map(ms).collect()), Some((ms(101), ms(199))));
        assert_eq!(quantiles(vec![ms(7)]), Some((ms(7), ms(7))));
        assert_eq!(quantiles(Vec::new()), None);
    }
}
