//! How many values an orchestration may keep and how large, and how it gets rid of old ones.
//!
//! After the key-value suite: limits, many keys, many writers, and pruning by age.

use std::time::UNIX_EPOCH;

use duroxide::OrchestrationContext;

use crate::world::*;

/// duroxide's limits.
const KEYS: u64 = 150;
const BYTES: u64 = 64 * 1024;

/// Sets so many keys.
async fn keys(context: OrchestrationContext, count: String) -> Result<String, String> {
    for n in 0..number(&count)? {
        context.set_kv_value(format!("k{n}"), n.to_string());
    }
    context.schedule_activity("Echo", "").await?;
    Ok(context.get_kv_length().to_string())
}

/// Sets so many keys, half of them in another execution.
async fn keys_in_two(context: OrchestrationContext, count: String) -> Result<String, String> {
    let count = number(&count)?;
    let (from, to) = if context.execution_id() == 1 { (0, count / 2) } else { (count / 2, count) };
    for n in from..to {
        context.set_kv_value(format!("k{n}"), n.to_string());
    }
    match context.execution_id() {
        1 => context.continue_as_new(count.to_string()).await,
        _ => Ok(context.get_kv_length().to_string()),
    }
}

#[tokio::test]
async fn keys_and_bytes_up_to_the_limit_are_kept_and_more_fail_the_orchestration() {
    let orchestrations = orchestrations()
        .register("Keys", keys)
        .register("KeysInTwo", keys_in_two)
        .register("Bytes", |context: OrchestrationContext, size: String| async move {
            let size = usize::try_from(number(&size)?).map_err(|error| error.to_string())?;
            context.set_kv_value("big", "x".repeat(size));
            context.schedule_activity("Echo", "").await?;
            Ok(context.get_kv_value("big").map_or(0, |value| value.len()).to_string())
        })
        .register("Refilled", |context: OrchestrationContext, count: String| async move {
            for n in 0..number(&count)? {
                context.set_kv_value(format!("old{n}"), "v");
            }
            context.clear_all_kv_values();
            for n in 0..number(&count)? {
                context.set_kv_value(format!("new{n}"), "v");
            }
            Ok(context.get_kv_length().to_string())
        });
    let world = World::start(activities(), orchestrations).await;
    for (orchestration, fits) in [("Keys", KEYS), ("KeysInTwo", KEYS), ("Bytes", BYTES), ("Refilled", KEYS)] {
        let fits = fits.to_string();
        assert_eq!(world.run(orchestration, &fits).await.unwrap(), fits, "{orchestration}");
    }
    assert_eq!(world.kept("Keys-150").await, world.kept("KeysInTwo-150").await);
    let refilled = world.kept("Refilled-150").await;
    assert!(refilled.len() == 150 && refilled.keys().all(|key| key.starts_with("new")), "{refilled:?}");
    for (orchestration, limit, why) in
        [("Keys", KEYS, "KV key count"), ("KeysInTwo", KEYS, "KV key count"), ("Bytes", BYTES, "65537 bytes")]
    {
        let error = world.run(orchestration, &(limit + 1).to_string()).await.unwrap_err();
        assert!(error.contains(why), "{orchestration}: {error}");
    }
    world.stop().await;
}

#[tokio::test]
async fn instances_that_write_at_the_same_time_keep_their_own_values() {
    let orchestrations =
        orchestrations().register("Own", |context: OrchestrationContext, own: String| async move {
            for n in 0..10 {
                context.set_kv_value(format!("k{n}"), format!("{own}.{n}"));
            }
            context.schedule_activity("Echo", "").await
        });
    let world = World::start(activities(), orchestrations).await;
    for n in 0..10 {
        world.begin(&format!("own{n}"), "Own", &n.to_string()).await;
    }
    for own in 0..10 {
        let instance = format!("own{own}");
        world.end(&instance).await.unwrap();
        let expected = (0..10).map(|n| (format!("k{n}"), format!("{own}.{n}"))).collect();
        assert_eq!(world.kept(&instance).await, expected);
    }
    world.stop().await;
}

/// Keeps a value per execution and the time between them, then drops what is older than the text says: `all`,
/// `none`, or `boundary` for what the first execution has set.
async fn ageing(context: OrchestrationContext, which: String) -> Result<String, String> {
    if context.execution_id() == 1 {
        context.set_kv_value("old", "1");
        return context.continue_as_new(which).await;
    }
    // Two turns in which the clock goes on: one behind the old value, one before the new one.
    let tick = std::time::Duration::from_millis(20);
    context.schedule_timer(tick).await;
    let boundary = context.utc_now().await?.duration_since(UNIX_EPOCH).map_err(|error| error.to_string())?;
    context.schedule_timer(tick).await;
    context.set_kv_value("new", "2");
    let removed = context.prune_kv_values_updated_before(match &*which {
        "all" => u64::MAX,
        "none" => 0,
        _ => u64::try_from(boundary.as_millis()).map_err(|error| error.to_string())?,
    });
    context.schedule_activity("Echo", "").await?;
    let mut keys = context.get_kv_all_keys();
    keys.sort();
    Ok(format!("{removed} removed, left: {}", keys.join(" ")))
}

#[tokio::test]
async fn values_older_than_a_moment_are_dropped_in_memory_and_in_the_store() {
    let orchestrations = orchestrations().register("Ageing", ageing).register(
        "Empty",
        |context: OrchestrationContext, _: String| async move {
            Ok(context.prune_kv_values_updated_before(u64::MAX).to_string())
        },
    );
    let world = World::start(activities(), orchestrations).await;
    for (which, output, left) in [
        ("none", "0 removed, left: new old", vec!["new", "old"]),
        // Of another execution: its age comes from the store.
        ("boundary", "1 removed, left: new", vec!["new"]),
        // Of this turn too, which has not been stored.
        ("all", "2 removed, left: ", vec![]),
    ] {
        assert_eq!(world.run("Ageing", which).await.unwrap(), output);
        let kept = world.kept(&format!("Ageing-{which}")).await;
        assert_eq!(kept.keys().collect::<Vec<_>>(), left);
    }
    assert_eq!(world.run("Empty", "").await.unwrap(), "0");
    world.stop().await;
}
