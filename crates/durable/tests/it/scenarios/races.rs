//! Orchestrations that wait for the first of several things.
//!
//! After the samples on timeouts and on an activity against an event.

use std::time::Duration;

use duroxide::{ActivityContext, Either2, OrchestrationContext};

use crate::harness::Account;
use crate::world::*;

/// Longer than any test runs.
const NEVER: Duration = Duration::from_secs(3600);

#[tokio::test]
async fn the_first_of_activity_timer_and_event_wins() {
    for account in [Account::OneRegion, Account::ThreeRegions] {
        let activities = activities().register("Endless", |context: ActivityContext, _: String| async move {
            context.cancelled().await;
            Err::<String, _>("cancelled".to_owned())
        });
        let orchestrations = orchestrations()
            .register("Timeout", |context: OrchestrationContext, _: String| async move {
                let timer = context.schedule_timer(Duration::from_millis(20));
                match context.select2(context.schedule_activity("Endless", ""), timer).await {
                    Either2::First(result) => result,
                    Either2::Second(()) => Err("timeout".to_owned()),
                }
            })
            .register("InTime", |context: OrchestrationContext, _: String| async move {
                let activity = context.schedule_activity("Echo", "done");
                match context.select2(context.schedule_timer(NEVER), activity).await {
                    Either2::First(()) => Err("timeout".to_owned()),
                    Either2::Second(result) => result,
                }
            })
            .register("Event", |context: OrchestrationContext, _: String| async move {
                let activity = context.schedule_activity("Endless", "");
                match context.select2(activity, context.schedule_wait("go")).await {
                    Either2::First(result) => result.map(|result| format!("activity {result}")),
                    Either2::Second(event) => Ok(format!("event {event}")),
                }
            });
        let world = World::start_on(account, options(), activities, orchestrations).await;
        assert_eq!(world.run("Timeout", "").await.unwrap_err(), "timeout");
        assert_eq!(world.run("InTime", "").await.unwrap(), "done");
        world.begin("e", "Event", "").await;
        world.until_waiting("e", "go").await;
        world.client.raise_event("e", "go", "ok").await.unwrap();
        assert_eq!(world.end("e").await.unwrap(), "event ok");
        world.stop().await;
    }
}
