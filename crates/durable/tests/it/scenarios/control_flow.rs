//! Orchestrations that call activities: in order, in branches and loops, all at once, with large inputs; and what
//! the runtime itself gives them.
//!
//! After the samples hello world, control flow, loop, greetings in parallel, system activities and status.

use duroxide::OrchestrationContext;
use duroxide::runtime::OrchestrationStatus;

use crate::harness::{Account, Server};
use crate::world::*;

async fn greet(context: OrchestrationContext, name: String) -> Result<String, String> {
    let first = context.schedule_activity("Echo", "Hello").await?;
    let second = context.schedule_activity("Echo", name).await?;
    Ok(format!("{first}, {second}!"))
}

async fn choose(context: OrchestrationContext, wish: String) -> Result<String, String> {
    if context.schedule_activity("Echo", wish).await? == "more" {
        context.schedule_activity("Double", "21").await
    } else {
        context.schedule_activity("Echo", "nothing").await
    }
}

async fn repeat(context: OrchestrationContext, n: String) -> Result<String, String> {
    let mut n = n;
    while n.len() < 3 {
        n = context.schedule_activity("Double", n).await?;
    }
    Ok(n)
}

async fn fan_out(context: OrchestrationContext, count: String) -> Result<String, String> {
    let doubles =
        (0..number(&count)?).map(|n| context.schedule_activity("Double", n.to_string())).collect::<Vec<_>>();
    let doubles: Result<Vec<String>, String> = context.join(doubles).await.into_iter().collect();
    Ok(doubles?.join(","))
}

#[tokio::test]
async fn activities_run_one_after_the_other_by_control_flow_and_all_at_once() {
    for account in [Account::OneRegion, Account::ThreeRegions] {
        let orchestrations = orchestrations()
            .register("Greet", greet)
            .register("Choose", choose)
            .register("Repeat", repeat)
            .register("FanOut", fan_out);
        let world = World::start_on(account, options(), activities(), orchestrations).await;
        for (orchestration, input, output) in [
            ("Greet", "World", "Hello, World!"),
            ("Choose", "more", "42"),
            ("Choose", "less", "nothing"),
            ("Repeat", "7", "112"),
            ("FanOut", "2", "0,2"),
        ] {
            assert_eq!(world.run(orchestration, input).await.unwrap(), output, "{orchestration} {input}");
        }
        // More than one transaction holds.
        let many: Vec<_> = (0..150).map(|n| (n * 2).to_string()).collect();
        assert_eq!(world.run("FanOut", "150").await.unwrap(), many.join(","));
        world.stop().await;
    }
}

#[tokio::test]
async fn an_input_larger_than_a_document_passes_through_orchestration_and_activity() {
    let orchestrations = orchestrations()
        .register("Echo", |context: OrchestrationContext, text: String| async move {
            context.schedule_activity("Echo", text).await
        });
    let world = World::start(activities(), orchestrations).await;
    let large = format!("\"ä\n{}", "x".repeat(2_200_000));
    world.begin("echo", "Echo", &large).await;
    assert!(world.end("echo").await.unwrap() == large);
    world.stop().await;
}

#[tokio::test]
async fn the_time_and_a_guid_are_the_same_when_a_turn_is_replayed() {
    let orchestrations =
        orchestrations().register("System", |context: OrchestrationContext, _: String| async move {
            let (now, guid) = (context.utc_now().await?, context.new_guid().await?);
            // Kept before the turns that replay what is above.
            context.set_kv_value("first", format!("{now:?} {guid}"));
            context.schedule_activity("Echo", "a turn later").await?;
            Ok(format!("{now:?} {guid}"))
        });
    let world = World::start(activities(), orchestrations).await;
    let output = world.run("System", "").await.unwrap();
    assert_eq!(world.kept("System-").await["first"], output);
    let guid = output.rsplit(' ').next().unwrap();
    assert_eq!((guid.len(), guid.matches('-').count()), (36, 4), "{guid}");
    world.stop().await;
}

#[tokio::test]
async fn a_status_goes_from_absent_over_running_to_completed() {
    let orchestrations =
        orchestrations().register("Patient", |context: OrchestrationContext, _: String| async move {
            context.set_custom_status("waiting");
            Ok(context.schedule_wait("go").await)
        });
    let world = World::start(activities(), orchestrations).await;
    let status = async || world.client.get_orchestration_status("p").await.unwrap();
    assert_eq!(status().await, OrchestrationStatus::NotFound);
    world.begin("p", "Patient", "").await;
    world.until_waiting("p", "go").await;
    match status().await {
        OrchestrationStatus::Running { custom_status, .. } => {
            assert_eq!(custom_status.as_deref(), Some("waiting"));
        }
        other => panic!("{other:?}"),
    }
    world.client.raise_event("p", "go", "now").await.unwrap();
    assert_eq!(world.end("p").await.unwrap(), "now");
    match status().await {
        OrchestrationStatus::Completed { output, custom_status, .. } => {
            assert_eq!((&*output, custom_status.as_deref()), ("now", Some("waiting")));
        }
        other => panic!("{other:?}"),
    }
    world.stop().await;
}

#[tokio::test]
async fn an_orchestration_outlives_the_runtime_that_began_it() {
    let registry = orchestrations()
        .register("Patient", |context: OrchestrationContext, _: String| async move {
            let first = context.schedule_activity("Echo", "first").await?;
            let event = context.schedule_wait("go").await;
            let second = context.schedule_activity("Echo", event).await?;
            Ok(format!("{first} {second}"))
        })
        .build();
    let home = Server::shared(Account::OneRegion).home();
    let world = World::join(home, options(), activities().build(), registry.clone()).await;
    world.begin("p", "Patient", "").await;
    world.until_waiting("p", "go").await;
    let home = world.stop().await;
    let world = World::join(home, options(), activities().build(), registry).await;
    world.client.raise_event("p", "go", "second").await.unwrap();
    assert_eq!(world.end("p").await.unwrap(), "first second");
    world.stop().await;
}
