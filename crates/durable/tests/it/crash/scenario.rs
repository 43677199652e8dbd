//! What the processes run: fan-out, timers, children, continue-as-new and keys, with one possible result.

use std::time::Duration;

use duroxide::runtime::RuntimeOptions;
use duroxide::runtime::registry::ActivityRegistry;
use duroxide::{ActivityContext, OrchestrationContext, OrchestrationRegistry};

/// The orchestration to start.
pub(super) const MAIN: &str = "Main";

/// How many children an instance has in the end.
pub(super) const CHILDREN: usize = 4;

/// How long what a process has is its own. Short, so that what a dead one had is soon free again, and long enough
/// that the living keep theirs on a machine that has much to do.
pub(super) const LOCK: Duration = Duration::from_secs(2);

/// The input of an instance that first runs so many activities at once, and its output.
pub(super) fn input_and_output(fan: u64) -> (String, String) {
    // Two children double their input, in each of two rounds; the fan of the second round is 3.
    let children = |sum: u64| 2 * sum + 2 * (sum + 1);
    let first = children(fan * fan.saturating_sub(1));
    (format!("1,{fan},0"), format!("{} after round 1", children(6 + first)))
}

/// Attempts are not limited: on a machine that is busy enough locks end all the same.
pub(super) fn options() -> RuntimeOptions {
    RuntimeOptions {
        orchestrator_lock_timeout: LOCK,
        orchestrator_lock_renewal_buffer: LOCK / 2,
        worker_lock_timeout: LOCK,
        worker_lock_renewal_buffer: LOCK / 2,
        worker_concurrency: 4,
        max_attempts: 1000,
        ..RuntimeOptions::default()
    }
}

/// The activity doubles a number. `run` writes a run down, and numbers it; the number is part of the result, by
/// which an audit knows which run's it is.
pub(super) fn activities(
    run: impl Fn(&ActivityContext, &str) -> String + Send + Sync + 'static,
) -> ActivityRegistry {
    ActivityRegistry::builder()
        .register("Double", move |context: ActivityContext, n: String| {
            let run = run(&context, &n);
            async move { Ok(format!("{}#{run}", 2 * number(&n)?)) }
        })
        .build()
}

/// The run that a result is of.
pub(super) fn run_of(result: &str) -> &str {
    result.split_once('#').map_or("", |(_, run)| run)
}

fn number(text: &str) -> Result<u64, String> {
    let digits = text.split('#').next().unwrap_or_default();
    digits.parse().map_err(|error| format!("{text:?} is no number: {error}"))
}

fn sum(results: Vec<Result<String, String>>) -> Result<u64, String> {
    results.into_iter().map(|result| number(&result?)).sum()
}

pub(super) fn orchestrations() -> OrchestrationRegistry {
    OrchestrationRegistry::builder().register("Child", child).register(MAIN, main).build()
}

async fn child(context: OrchestrationContext, n: String) -> Result<String, String> {
    let double = context.schedule_activity("Double", n).await?;
    context.schedule_timer(Duration::from_millis(10)).await;
    Ok(number(&double)?.to_string())
}

async fn main(context: OrchestrationContext, input: String) -> Result<String, String> {
    let mut parts = input.split(',');
    let mut next = || number(parts.next().unwrap_or_default());
    let (round, fan, so_far) = (next()?, next()?, next()?);
    let before = context.get_kv_value("round").unwrap_or_default();
    context.set_kv_value("round", round.to_string());
    let doubles = (0..fan).map(|n| context.schedule_activity("Double", n.to_string())).collect();
    let doubles = sum(context.join(doubles).await)? + so_far;
    context.schedule_timer(Duration::from_millis(20)).await;
    let children = [doubles, doubles + 1].map(|n| context.schedule_sub_orchestration("Child", n.to_string()));
    let total = sum(context.join(children.into()).await)?;
    match round {
        1 => context.continue_as_new(format!("2,3,{total}")).await,
        _ => Ok(format!("{total} after round {before}")),
    }
}
