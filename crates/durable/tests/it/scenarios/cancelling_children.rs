//! Children that nobody waits for any more: they are cancelled, and their parent goes on.
//!
//! After the cancellation suite: losers of a race, dropped futures, children with a name of their own.

use std::time::Duration;

use duroxide::runtime::registry::OrchestrationRegistryBuilder;
use duroxide::{Either2, EventKind, OrchestrationContext};

use crate::harness::Account;
use crate::world::*;

const MOMENT: Duration = Duration::from_millis(30);

fn parents() -> OrchestrationRegistryBuilder {
    orchestrations()
        .register("Patient", |context: OrchestrationContext, _: String| async move {
            Ok(context.schedule_wait("never").await)
        })
        .register("Race", |context: OrchestrationContext, _: String| async move {
            let child = context.schedule_sub_orchestration("Patient", "");
            match context.select2(child, context.schedule_timer(MOMENT)).await {
                Either2::First(result) => result,
                Either2::Second(()) => Ok("timer".to_owned()),
            }
        })
        .register("RaceNamed", |context: OrchestrationContext, _: String| async move {
            let child = context.schedule_sub_orchestration_with_id("Patient", "named", "");
            match context.select2(child, context.schedule_timer(MOMENT)).await {
                Either2::First(result) => result,
                Either2::Second(()) => Ok("timer".to_owned()),
            }
        })
        .register("Drop", |context: OrchestrationContext, _: String| async move {
            drop(context.schedule_sub_orchestration("Patient", ""));
            context.schedule_timer(MOMENT).await;
            Ok("timer".to_owned())
        })
        .register("Scope", |context: OrchestrationContext, _: String| async move {
            {
                let _unused = context.schedule_sub_orchestration("Patient", "");
            }
            context.schedule_timer(MOMENT).await;
            Ok("timer".to_owned())
        })
}

#[tokio::test]
async fn a_child_whose_future_is_dropped_is_cancelled_and_its_parent_goes_on() {
    for account in [Account::OneRegion, Account::ThreeRegions] {
        let world = World::start_on(account, options(), activities(), parents()).await;
        for (parent, child) in [
            ("Race", "Race-::sub::2"),
            ("RaceNamed", "named"),
            ("Drop", "Drop-::sub::2"),
            ("Scope", "Scope-::sub::2"),
        ] {
            assert_eq!(world.run(parent, "").await.unwrap(), "timer");
            assert_eq!(world.cancelled(child).await, "parent dropped sub-orchestration future");
            let history = world.history(&format!("{parent}-")).await;
            let given_up: Vec<_> = history
                .iter()
                .filter(|event| match &event.kind {
                    EventKind::SubOrchestrationCancelRequested { reason } => reason == "dropped_future",
                    _ => false,
                })
                .map(|event| event.source_event_id)
                .collect();
            assert_eq!(given_up, [Some(2)], "{parent}");
            let parent_of = world.client.get_instance_info(child).await.unwrap().parent_instance_id;
            assert_eq!(parent_of, Some(format!("{parent}-")));
        }
        world.stop().await;
    }
}
