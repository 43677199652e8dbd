//! Who runs the activities of a session, and how many sessions a runtime takes at a time.
//!
//! After the session suite: concurrency within a session, the limit on sessions, several workers.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use duroxide::runtime::RuntimeOptions;
use duroxide::runtime::registry::{ActivityRegistryBuilder, OrchestrationRegistryBuilder};
use duroxide::{ActivityContext, OrchestrationContext};
use tokio::sync::Barrier;

use crate::harness::{Account, Server};
use crate::world::*;

/// Runs the activity `Work` on every session that the input names, all at once.
fn together() -> OrchestrationRegistryBuilder {
    orchestrations().register("Together", |context: OrchestrationContext, sessions: String| async move {
        let all = sessions
            .split(' ')
            .map(|session| context.schedule_activity_on_session("Work", session, session))
            .collect::<Vec<_>>();
        let results: Result<Vec<String>, String> = context.join(all).await.into_iter().collect();
        Ok(results?.join(" "))
    })
}

/// `Work` ends only when so many of it run at the same time, and says where it did.
fn meeting(barrier: &Arc<Barrier>, place: &'static str) -> ActivityRegistryBuilder {
    let barrier = Arc::clone(barrier);
    activities().register("Work", move |_: ActivityContext, session: String| {
        let barrier = Arc::clone(&barrier);
        async move {
            barrier.wait().await;
            Ok(format!("{session}@{place}"))
        }
    })
}

fn named(name: Option<&str>, sessions: usize) -> RuntimeOptions {
    RuntimeOptions {
        worker_node_id: name.map(Into::into),
        worker_concurrency: 2,
        max_sessions_per_runtime: sessions,
        // A worker that waits while the runtime has all sessions that it may asks for none until it asks again.
        dispatcher_long_poll_timeout: Duration::from_millis(500),
        ..options()
    }
}

#[tokio::test]
async fn workers_with_a_common_name_run_activities_of_one_session_at_the_same_time() {
    // One session is one, however many of its activities run.
    for sessions in [1, 10] {
        let barrier = Arc::new(Barrier::new(2));
        let options = named(Some("pod"), sessions);
        let world = World::start_on(Account::OneRegion, options, meeting(&barrier, "a"), together()).await;
        assert_eq!(world.run("Together", "s s").await.unwrap(), "s@a s@a");
        world.stop().await;
    }
}

#[tokio::test]
async fn a_worker_alone_has_its_session_and_a_runtime_no_more_sessions_than_it_may() {
    for (options, sessions) in [
        // Each worker has a name of its own: a session is of one of them.
        (named(None, 10), "s s"),
        (named(None, 1), "s1 s2"),
        (named(Some("pod"), 1), "s1 s2"),
    ] {
        let gate = Gate::new();
        let at = gate.clone();
        let activities = activities().register("Work", move |_: ActivityContext, session: String| {
            let at = at.clone();
            async move {
                at.pass().await;
                Ok(session)
            }
        });
        let orchestrations =
            together().register("Plain", |context: OrchestrationContext, _: String| async move {
                for _ in 0..3 {
                    context.schedule_activity("Echo", "").await?;
                }
                Ok(String::new())
            });
        let world = World::start_on(Account::OneRegion, options, activities, orchestrations).await;
        world.begin("t", "Together", sessions).await;
        gate.reached().await;
        // The other worker is free, as it shows, and yet does not take the second one.
        world.run("Plain", "").await.unwrap();
        assert_eq!(gate.waiting(), 0, "{sessions}");
        gate.open();
        gate.reached().await;
        gate.open();
        assert_eq!(world.end("t").await.unwrap(), sessions);
        world.stop().await;
    }
}

fn rounds() -> OrchestrationRegistryBuilder {
    together().register("Rounds", |context: OrchestrationContext, before: String| async move {
        let on = |input: &str, session: &str| context.schedule_activity_on_session("Log", input, session);
        if context.execution_id() > 1 {
            let last = context.join2(on("e", "alpha"), on("f", "gamma")).await;
            return Ok(format!("{before} {} {}", last.0?, last.1?));
        }
        let plain = context.schedule_activity("Log", "d");
        let all = vec![on("a", "alpha"), on("b", "alpha"), on("c", "beta"), plain];
        let results: Result<Vec<String>, String> = context.join(all).await.into_iter().collect();
        context.continue_as_new(results?.join(" ")).await
    })
}

#[tokio::test]
async fn two_processes_share_the_sessions_and_each_activity_runs_once() {
    for account in [Account::OneRegion, Account::ThreeRegions] {
        let home = Server::shared(account).home();
        let log = Arc::new(Mutex::new(Vec::new()));
        let logging = || {
            let log = Arc::clone(&log);
            activities().register("Log", move |context: ActivityContext, input: String| {
                let entry = format!("{input}@{}", context.session_id().unwrap_or("none"));
                log.lock().unwrap().push(entry.clone());
                async move { Ok(entry) }
            })
        };
        let first =
            World::share(home.clone(), "a", named(Some("a"), 4), logging().build(), rounds().build()).await;
        let second =
            World::share(home.clone(), "b", named(Some("b"), 4), logging().build(), rounds().build()).await;
        let expected = "a@alpha b@alpha c@beta d@none e@alpha f@gamma";
        for n in 0..4 {
            let client = if n % 2 == 0 { &first.client } else { &second.client };
            client.start_orchestration(format!("r{n}"), "Rounds", "").await.unwrap();
        }
        for n in 0..4 {
            assert_eq!(first.end(&format!("r{n}")).await.unwrap(), expected);
        }
        let mut ran = log.lock().unwrap().clone();
        ran.sort();
        let each: Vec<_> = expected.split(' ').flat_map(|entry| std::iter::repeat_n(entry, 4)).collect();
        assert_eq!(ran, each);
        first.stop().await;
        second.stop().await;
    }
}

#[tokio::test]
async fn what_a_runtime_may_not_take_goes_to_another_that_may() {
    let home = Server::shared(Account::OneRegion).home();
    // All three at once is only possible if one takes no more than it may, and the other what is left.
    let barrier = Arc::new(Barrier::new(3));
    // Two of its workers may take a session each at the same moment. It then gives one up, and the session is free
    // when it was not used for a while.
    let small = RuntimeOptions {
        session_lock_timeout: Duration::from_secs(1),
        session_idle_timeout: Duration::from_secs(2),
        ..named(Some("small"), 1)
    };
    let small =
        World::share(home.clone(), "a", small, meeting(&barrier, "small").build(), together().build()).await;
    let large = World::share(
        home.clone(),
        "b",
        named(Some("large"), 10),
        meeting(&barrier, "large").build(),
        together().build(),
    )
    .await;
    let output = small.run("Together", "x y z").await.unwrap();
    assert_eq!((output.matches("@small").count(), output.matches("@large").count()), (1, 2), "{output}");
    small.stop().await;
    large.stop().await;
}
