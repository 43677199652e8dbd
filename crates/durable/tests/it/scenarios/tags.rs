//! Activities with tags, which go only to the runtimes that ask for them.
//!
//! After the samples on heterogeneous workers, starvation-safe tags and two runtimes that need each other.

use std::time::Duration;

use duroxide::runtime::RuntimeOptions;
use duroxide::runtime::registry::{ActivityRegistry, ActivityRegistryBuilder, OrchestrationRegistryBuilder};
use duroxide::{ActivityContext, Either2, EventKind, OrchestrationContext, TagFilter};

use crate::harness::{Account, Server};
use crate::world::*;

/// `Here` says in which runtime it ran, and for which tag.
fn place(name: &'static str) -> ActivityRegistryBuilder {
    ActivityRegistry::builder().register("Here", move |context: ActivityContext, _: String| async move {
        Ok(format!("{}@{name}", context.tag().unwrap_or("none")))
    })
}

fn pipeline() -> OrchestrationRegistryBuilder {
    orchestrations()
        .register("Pipeline", |context: OrchestrationContext, _: String| async move {
            let first = context.schedule_activity("Here", "").with_tag("gpu").await?;
            let second = context.schedule_activity("Here", "").with_tag("cpu").await?;
            let third = context.schedule_activity("Here", "").await?;
            Ok(format!("{first} {second} {third}"))
        })
        .register("Fallback", |context: OrchestrationContext, _: String| async move {
            let tagged = context.schedule_activity("Here", "").with_tag("gpu");
            match context.select2(tagged, context.schedule_timer(Duration::from_millis(100))).await {
                Either2::First(place) => place,
                Either2::Second(()) => context.schedule_activity("Here", "").await,
            }
        })
}

fn taking(filter: TagFilter) -> RuntimeOptions {
    RuntimeOptions { worker_tag_filter: filter, ..options() }
}

#[tokio::test]
async fn tags_are_kept_in_the_history_and_one_runtime_may_take_them_all() {
    for account in [Account::OneRegion, Account::ThreeRegions] {
        let all = taking(TagFilter::default_and(["gpu", "cpu"]));
        let world = World::start_on(account, all, place("a"), pipeline()).await;
        assert_eq!(world.run("Pipeline", "").await.unwrap(), "gpu@a cpu@a none@a");
        let history = world.history("Pipeline-").await;
        let tags: Vec<_> = history
            .iter()
            .filter_map(|event| match &event.kind {
                EventKind::ActivityScheduled { tag, .. } => Some(tag.as_deref()),
                _ => None,
            })
            .collect();
        assert_eq!(tags, [Some("gpu"), Some("cpu"), None]);
        world.stop().await;
    }
}

#[tokio::test]
async fn an_activity_whose_tag_nobody_takes_waits_and_a_timer_makes_up_for_it() {
    let world =
        World::start_on(Account::OneRegion, taking(TagFilter::default()), place("a"), pipeline()).await;
    assert_eq!(world.run("Fallback", "").await.unwrap(), "none@a");
    // The one that lost is taken from the queue with the turn that gave it up.
    assert_eq!(world.home.count("work").await, 0);
    world.stop().await;
}

#[tokio::test]
async fn runtimes_for_different_tags_do_an_orchestration_together_in_one_process_or_in_two() {
    let plain = || taking(TagFilter::default_and(["cpu"]));
    // It works on activities alone.
    let special = || RuntimeOptions { orchestration_concurrency: 0, ..taking(TagFilter::tags(["gpu"])) };
    let orchestrations = || pipeline().build();
    for in_one in [true, false] {
        let home = Server::shared(Account::OneRegion).home();
        let (a, b) = (place("a").build(), place("b").build());
        let first = World::share(home.clone(), "first", plain(), a, orchestrations()).await;
        let second = if in_one {
            World::on(home, first.store.clone(), special(), b, orchestrations()).await
        } else {
            World::share(home, "second", special(), b, orchestrations()).await
        };
        for n in ["1", "2", "3", "4"] {
            first.begin(n, "Pipeline", "").await;
        }
        for n in ["1", "2", "3", "4"] {
            assert_eq!(first.end(n).await.unwrap(), "gpu@b cpu@a none@a", "in one process: {in_one}");
        }
        second.stop().await;
        first.stop().await;
    }
}
