//! Activities that fail: what the orchestration sees, what it makes of it, and what is stored of it.
//!
//! After the samples on error handling, compensation, errors through nested functions, recovery; and retries.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use duroxide::{ActivityContext, EventKind, OrchestrationContext, RetryPolicy};

use crate::world::*;

async fn careless(context: OrchestrationContext, why: String) -> Result<String, String> {
    context.schedule_activity("Fail", why).await
}

async fn careful(context: OrchestrationContext, why: String) -> Result<String, String> {
    match context.schedule_activity("Fail", why).await {
        Ok(_) => Err("it should have failed".to_owned()),
        Err(why) => context.schedule_activity("Echo", format!("made up for {why}")).await,
    }
}

/// Fails only if its input is not a number.
async fn nested(context: OrchestrationContext, n: String) -> Result<String, String> {
    async fn steps(context: &OrchestrationContext, n: &str) -> Result<String, String> {
        let doubled = context.schedule_activity("Double", n).await?;
        context.schedule_activity("Echo", format!("twice is {doubled}")).await
    }
    steps(&context, &n).await
}

async fn reporting(context: OrchestrationContext, n: String) -> Result<String, String> {
    match context.schedule_activity("Double", n.clone()).await {
        Ok(doubled) => Ok(doubled),
        Err(error) => {
            let report = context.schedule_activity("Echo", format!("reported {error}")).await?;
            Err(format!("{n}: {report}"))
        }
    }
}

#[tokio::test]
async fn a_failure_reaches_the_orchestration_which_may_make_up_for_it_or_fail_with_it() {
    let orchestrations = orchestrations()
        .register("Careless", careless)
        .register("Careful", careful)
        .register("Nested", nested)
        .register("Reporting", reporting)
        .register("Above", |context: OrchestrationContext, _: String| async move {
            context.schedule_sub_orchestration("Careless", "below").await
        });
    let world = World::start(activities(), orchestrations).await;
    for (orchestration, input, expected) in [
        ("Careless", "broken", Err("broken")),
        ("Careful", "broken", Ok("made up for broken")),
        ("Nested", "4", Ok("twice is 8")),
        ("Nested", "four", Err("\"four\": invalid digit")),
        ("Reporting", "4", Ok("8")),
        ("Reporting", "four", Err("four: reported \"four\": invalid digit")),
        ("Above", "", Err("below")),
    ] {
        match (world.run(orchestration, input).await, expected) {
            (Ok(output), Ok(expected)) => assert_eq!(output, expected),
            (Err(error), Err(expected)) => assert!(error.contains(expected), "{error}"),
            (ended, expected) => panic!("{orchestration} {input}: {ended:?} and not {expected:?}"),
        }
    }
    let mut failed = world.client.list_instances_by_status("Failed").await.unwrap();
    failed.sort();
    assert_eq!(failed, ["Above-", "Above-::sub::2", "Careless-broken", "Nested-four", "Reporting-four"]);
    let history = world.history("Careful-broken").await;
    assert_eq!(count(&history, |kind| matches!(kind, EventKind::ActivityFailed { .. })), 1);
    world.stop().await;
}

#[tokio::test]
async fn an_activity_is_tried_again_as_often_as_its_policy_says() {
    let tries = Arc::new(AtomicU64::new(0));
    let tried = Arc::clone(&tries);
    let activities = activities().register("Third", move |_: ActivityContext, _: String| {
        let attempt = tried.fetch_add(1, Ordering::Relaxed) + 1;
        async move { if attempt < 3 { Err(format!("attempt {attempt}")) } else { Ok(attempt.to_string()) } }
    });
    let orchestrations = orchestrations()
        .register("Lucky", |context: OrchestrationContext, _: String| async move {
            context.schedule_activity_with_retry("Third", "", RetryPolicy::new(3)).await
        })
        .register("Stubborn", |context: OrchestrationContext, why: String| async move {
            context.schedule_activity_with_retry("Fail", why, RetryPolicy::new(2)).await
        });
    let world = World::start(activities, orchestrations).await;
    assert_eq!(world.run("Lucky", "").await.unwrap(), "3");
    assert!(world.run("Stubborn", "broken").await.unwrap_err().contains("broken"));
    let history = world.history("Stubborn-broken").await;
    assert_eq!(count(&history, |kind| matches!(kind, EventKind::ActivityFailed { .. })), 2);
    assert_eq!(tries.load(Ordering::Relaxed), 3);
    world.stop().await;
}
