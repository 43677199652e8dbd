//! Timers: one, many, none at all, in order and at once, across restarts, and when they are due.
//!
//! After the timer suite.

use std::time::Duration;

use duroxide::runtime::registry::OrchestrationRegistryBuilder;
use duroxide::{Either2, EventKind, OrchestrationContext};

use crate::harness::Account;
use crate::world::*;

fn millis(text: &str) -> Result<Duration, String> {
    Ok(Duration::from_millis(number(text)?))
}

fn sleepers() -> OrchestrationRegistryBuilder {
    orchestrations()
        .register("InTurn", |context: OrchestrationContext, times: String| async move {
            for time in times.split(' ') {
                context.schedule_timer(millis(time)?).await;
            }
            context.schedule_activity("Echo", times).await
        })
        .register("AtOnce", |context: OrchestrationContext, times: String| async move {
            let timers: Result<Vec<_>, String> =
                times.split(' ').map(|time| Ok(context.schedule_timer(millis(time)?))).collect();
            let (_, work) =
                context.join2(context.join(timers?), context.schedule_activity("Echo", times)).await;
            work
        })
}

#[tokio::test]
async fn timers_fire_in_turn_and_at_once_and_none_before_its_time() {
    for account in [Account::OneRegion, Account::ThreeRegions] {
        let world = World::start_on(account, options(), activities(), sleepers()).await;
        for (orchestration, times) in
            [("InTurn", "30"), ("InTurn", "0"), ("InTurn", "40 20 30"), ("AtOnce", "30 10 20 0 10")]
        {
            assert_eq!(world.run(orchestration, times).await.unwrap(), times);
            let history = world.history(&format!("{orchestration}-{times}")).await;
            for event in &history {
                let EventKind::TimerFired { fire_at_ms } = event.kind else { continue };
                assert!(event.timestamp_ms >= fire_at_ms, "{times}: {event:?}");
                let created = history.iter().find(|created| Some(created.event_id) == event.source_event_id);
                assert_eq!(created.map(|event| &event.kind), Some(&EventKind::TimerCreated { fire_at_ms }));
            }
            let fired = count(&history, |kind| matches!(kind, EventKind::TimerFired { .. }));
            assert_eq!(fired, times.split(' ').count(), "{times}");
        }
        world.stop().await;
    }
}

#[tokio::test]
async fn timers_outlive_the_process_whether_they_are_due_before_or_after_the_next_one_starts() {
    let world = World::start(activities(), sleepers()).await;
    let cases = [("InTurn", "1"), ("InTurn", "1500"), ("AtOnce", "1 700 1400"), ("AtOnce", "1 2 3")];
    for (orchestration, times) in cases {
        world.begin(times, orchestration, times).await;
        world.until_history(times, "a timer", |kind| matches!(kind, EventKind::TimerCreated { .. })).await;
    }
    let home = world.stop().await;
    let world = World::join(home, options(), activities().build(), sleepers().build()).await;
    for (_, times) in cases {
        assert_eq!(world.end(times).await.unwrap(), times);
    }
    world.stop().await;
}

#[tokio::test]
async fn a_timer_counts_from_the_turn_that_sets_it_and_not_from_an_earlier_one() {
    const HOUR: Duration = Duration::from_secs(3600);
    let orchestrations =
        orchestrations().register("Late", |context: OrchestrationContext, _: String| async move {
            context.schedule_timer(Duration::from_millis(50)).await;
            context.schedule_activity("Echo", "some time passes").await?;
            let timer = context.schedule_timer(HOUR);
            match context.select2(timer, context.schedule_activity("Echo", "in time")).await {
                Either2::First(()) => Err("too early".to_owned()),
                Either2::Second(result) => result,
            }
        });
    let world = World::start(activities(), orchestrations).await;
    assert_eq!(world.run("Late", "").await.unwrap(), "in time");
    let history = world.history("Late-").await;
    let before = history.iter().find(|event| matches!(event.kind, EventKind::ActivityCompleted { .. }));
    let due: Vec<_> = history
        .iter()
        .filter_map(|event| match event.kind {
            EventKind::TimerCreated { fire_at_ms } => Some(fire_at_ms),
            _ => None,
        })
        .collect();
    let hour = u64::try_from(HOUR.as_millis()).unwrap();
    assert!(due[1] >= before.unwrap().timestamp_ms + hour, "{due:?} {history:?}");
    world.stop().await;
}
