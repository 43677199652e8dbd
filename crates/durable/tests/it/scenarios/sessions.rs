//! Activities of a session: they run, know their session, mix with others, and outlive continue-as-new, whether the
//! runtime's workers have a name in common or each one of its own.
//!
//! After the session suite. How many sessions a runtime takes, and who gets them, is in `session_limits`.

use duroxide::runtime::RuntimeOptions;
use duroxide::runtime::registry::{ActivityRegistryBuilder, OrchestrationRegistryBuilder};
use duroxide::{ActivityContext, EventKind, OrchestrationContext};

use crate::harness::Account;
use crate::world::*;

/// `Where` gives back its input and its session.
fn workers() -> ActivityRegistryBuilder {
    activities()
        .register("Where", |context: ActivityContext, input: String| async move {
            Ok(format!("{input}@{}", context.session_id().unwrap_or("none")))
        })
        .register_typed::<u32, u32, _, _>("Twice", |_: ActivityContext, n| async move { Ok(2 * n) })
}

/// Runs `Where` on the session, or without one if it has no name.
async fn at(context: &OrchestrationContext, input: &str, session: &str) -> Result<String, String> {
    match session {
        "" => context.schedule_activity("Where", input).await,
        _ => context.schedule_activity_on_session("Where", input, session).await,
    }
}

fn users() -> OrchestrationRegistryBuilder {
    orchestrations()
        // The input is a list of `input@session`.
        .register("InTurn", |context: OrchestrationContext, list: String| async move {
            let mut results = Vec::new();
            for (input, session) in list.split(' ').filter_map(|word| word.split_once('@')) {
                results.push(at(&context, input, session).await?);
            }
            Ok(results.join(" "))
        })
        .register("AtOnce", |context: OrchestrationContext, list: String| async move {
            let words = list.split(' ').filter_map(|word| word.split_once('@'));
            let all = words.map(|(input, session)| at(&context, input, session)).collect();
            let results: Result<Vec<String>, String> = context.join(all).await.into_iter().collect();
            Ok(results?.join(" "))
        })
        .register("Typed", |context: OrchestrationContext, n: String| async move {
            let n = u32::try_from(number(&n)?).map_err(|error| error.to_string())?;
            let twice: u32 = context.schedule_activity_on_session_typed("Twice", &n, "s").await?;
            Ok(twice.to_string())
        })
        .register("Rounds", |context: OrchestrationContext, before: String| async move {
            let round = context.execution_id();
            let here = at(&context, &round.to_string(), "s").await?;
            let log = format!("{before} {here}");
            if round < 3 { context.continue_as_new(log).await } else { Ok(log) }
        })
        .register("Upgrade", |context: OrchestrationContext, _: String| async move {
            let here = at(&context, "old", "s").await?;
            context.continue_as_new_versioned("2.0.0", here).await
        })
        .register_versioned("Upgrade", "2.0.0", |context: OrchestrationContext, before: String| async move {
            Ok(format!("{before} {}", at(&context, "new", "s").await?))
        })
}

#[tokio::test]
async fn activities_of_sessions_run_beside_others_and_over_executions() {
    let named = |name: Option<&str>, workers| RuntimeOptions {
        worker_node_id: name.map(Into::into),
        worker_concurrency: workers,
        ..options()
    };
    for (account, options) in [
        (Account::OneRegion, named(None, 1)),
        (Account::OneRegion, named(None, 2)),
        (Account::OneRegion, named(Some("pod"), 4)),
        (Account::ThreeRegions, named(Some("pod"), 2)),
    ] {
        let world = World::start_on(account, options, workers(), users()).await;
        for (orchestration, input, output) in [
            ("InTurn", "a@s b@s c@s", "a@s b@s c@s"),
            ("InTurn", "a@ b@s c@", "a@none b@s c@none"),
            ("InTurn", "a@s1 b@s2 c@s1", "a@s1 b@s2 c@s1"),
            ("AtOnce", "a@s1 b@s2 c@s3", "a@s1 b@s2 c@s3"),
            ("AtOnce", "a@s1 b@ c@s2 d@", "a@s1 b@none c@s2 d@none"),
            ("AtOnce", "a@s1 b@s1 c@s2 d@s2 e@ f@", "a@s1 b@s1 c@s2 d@s2 e@none f@none"),
            ("Typed", "21", "42"),
            ("Rounds", "", " 1@s 2@s 3@s"),
        ] {
            assert_eq!(world.run(orchestration, input).await.unwrap(), output, "{orchestration} {input}");
        }
        world.client.start_orchestration_versioned("up", "Upgrade", "1.0.0", "").await.unwrap();
        assert_eq!(world.end("up").await.unwrap(), "old@s new@s");
        let is_session = |kind: &EventKind| match kind {
            EventKind::ActivityScheduled { session_id, .. } => session_id.as_deref() == Some("s1"),
            _ => false,
        };
        assert_eq!(count(&world.history("InTurn-a@s1 b@s2 c@s1").await, is_session), 2);
        world.stop().await;
    }
}

#[tokio::test]
async fn a_runtime_of_the_same_name_takes_up_the_sessions_of_the_one_before() {
    let named = || RuntimeOptions { worker_node_id: Some("pod".into()), ..options() };
    let world = World::start_on(Account::OneRegion, named(), workers(), users()).await;
    assert_eq!(world.run("InTurn", "a@s").await.unwrap(), "a@s");
    // The session is still held, for longer than this test waits.
    let home = world.stop().await;
    let world = World::join(home, named(), workers().build(), users().build()).await;
    assert_eq!(world.run("InTurn", "b@s").await.unwrap(), "b@s");
    world.stop().await;
}
