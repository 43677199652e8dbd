//! Orchestrations that start others: and wait for them, one or many, several levels deep, or not at all.
//!
//! After the samples on sub-orchestrations (basic, continued as new, fan-out, chained) and detached orchestrations.

use std::time::Duration;

use duroxide::OrchestrationContext;
use duroxide::runtime::registry::OrchestrationRegistryBuilder;

use crate::harness::Account;
use crate::world::*;

fn family() -> OrchestrationRegistryBuilder {
    orchestrations()
        .register("Leaf", |context: OrchestrationContext, n: String| async move {
            context.schedule_activity("Double", n).await
        })
        .register("Middle", |context: OrchestrationContext, n: String| async move {
            Ok(format!("({})", context.schedule_sub_orchestration("Leaf", n).await?))
        })
        .register("Chain", |context: OrchestrationContext, n: String| async move {
            Ok(format!("<{}>", context.schedule_sub_orchestration("Middle", n).await?))
        })
        .register("Parent", |context: OrchestrationContext, count: String| async move {
            let children = (0..number(&count)?)
                .map(|n| context.schedule_sub_orchestration("Leaf", n.to_string()))
                .collect::<Vec<_>>();
            let results: Result<Vec<String>, String> = context.join(children).await.into_iter().collect();
            Ok(results?.join(","))
        })
        .register("Rounds", |context: OrchestrationContext, n: String| async move {
            match number(&n)? {
                3 => Ok(format!("round {n}")),
                n => context.continue_as_new((n + 1).to_string()).await,
            }
        })
        .register("Patient", |context: OrchestrationContext, n: String| async move {
            Ok(format!("after {}", context.schedule_sub_orchestration("Rounds", n).await?))
        })
}

#[tokio::test]
async fn a_parent_gets_what_its_children_give_however_many_and_however_deep() {
    for account in [Account::OneRegion, Account::ThreeRegions] {
        let world = World::start_on(account, options(), activities(), family()).await;
        for (orchestration, input, output) in [
            ("Middle", "1", "(2)"),
            ("Chain", "1", "<(2)>"),
            ("Parent", "4", "0,2,4,6"),
            // The answer is that of the child's last execution.
            ("Patient", "0", "after round 3"),
        ] {
            assert_eq!(world.run(orchestration, input).await.unwrap(), output, "{orchestration}");
        }
        assert_eq!(world.client.list_executions("Patient-0::sub::2").await.unwrap(), [1, 2, 3, 4]);
        let tree = world.client.get_instance_tree("Chain-1").await.unwrap();
        assert_eq!(tree.all_ids.len(), 3);
        world.stop().await;
    }
}

#[tokio::test]
async fn a_detached_orchestration_goes_its_own_way_and_its_start_is_replayed() {
    let orchestrations = family()
        .register("Slow", |context: OrchestrationContext, n: String| async move {
            context.schedule_timer(Duration::from_millis(5)).await;
            context.schedule_activity("Echo", n).await
        })
        .register("Coordinator", |context: OrchestrationContext, _: String| async move {
            context.schedule_orchestration("Slow", "W1", "A");
            context.schedule_orchestration("Slow", "W2", "B");
            Ok("sent".to_owned())
        })
        .register("Both", |context: OrchestrationContext, _: String| async move {
            context.schedule_orchestration("Slow", "W3", "C");
            context.schedule_activity("Echo", "a turn later").await
        });
    let world = World::start(activities(), orchestrations).await;
    assert_eq!(world.run("Coordinator", "").await.unwrap(), "sent");
    assert_eq!(world.run("Both", "").await.unwrap(), "a turn later");
    for (instance, output) in [("W1", "A"), ("W2", "B"), ("W3", "C")] {
        assert_eq!(world.end(instance).await.unwrap(), output);
        assert_eq!(world.client.get_instance_info(instance).await.unwrap().parent_instance_id, None);
    }
    let alone = world.client.get_instance_tree("Coordinator-").await.unwrap();
    assert!(alone.is_root_only(), "{alone:?}");
    world.stop().await;
}
