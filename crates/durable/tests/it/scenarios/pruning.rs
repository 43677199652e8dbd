//! Pruning the past executions of instances, ended or running, one or many.
//!
//! After the prune suite.

use duroxide::runtime::registry::OrchestrationRegistryBuilder;
use duroxide::{InstanceFilter, OrchestrationContext, PruneOptions};

use crate::harness::Account;
use crate::world::*;

fn chains() -> OrchestrationRegistryBuilder {
    orchestrations()
        // So many executions.
        .register("Chain", |context: OrchestrationContext, left: String| async move {
            match number(&left)? {
                1 => Ok("done".to_owned()),
                left => context.continue_as_new((left - 1).to_string()).await,
            }
        })
        // Stops in an activity of each execution.
        .register("Slow", |context: OrchestrationContext, left: String| async move {
            context.schedule_activity("Stop", "").await?;
            match number(&left)? {
                1 => Ok("done".to_owned()),
                left => context.continue_as_new((left - 1).to_string()).await,
            }
        })
        // Waits in the last one.
        .register("Patient", |context: OrchestrationContext, left: String| async move {
            match number(&left)? {
                1 => Ok(context.schedule_wait("go").await),
                left => context.continue_as_new((left - 1).to_string()).await,
            }
        })
}

fn keep(last: Option<u32>) -> PruneOptions {
    PruneOptions { keep_last: last, ..PruneOptions::default() }
}

#[tokio::test]
async fn pruning_keeps_the_last_executions_and_always_the_current_one() {
    for account in [Account::OneRegion, Account::ThreeRegions] {
        let world = World::start_on(account, options(), activities(), chains()).await;
        for (last, left) in [
            (Some(2), vec![5, 6]),
            (Some(1), vec![6]),
            (Some(0), vec![6]),
            (None, vec![6]),
            (Some(9), vec![1, 2, 3, 4, 5, 6]),
        ] {
            let instance = format!("chain{last:?}");
            world.begin(&instance, "Chain", "6").await;
            world.end(&instance).await.unwrap();
            let pruned = world.client.prune_executions(&instance, keep(last)).await.unwrap();
            let counts = (pruned.instances_processed, pruned.executions_deleted);
            assert_eq!(counts, (1, 6 - left.len() as u64), "{last:?}");
            assert_eq!(world.client.list_executions(&instance).await.unwrap(), left, "{last:?}");
            for execution in 1..=6 {
                let history = world.client.read_execution_history(&instance, execution).await.unwrap();
                assert_eq!(!history.is_empty(), left.contains(&execution), "{last:?}, {execution}");
            }
            assert_eq!(world.end(&instance).await.unwrap(), "done");
        }
        world.stop().await;
    }
}

#[tokio::test]
async fn an_orchestration_that_is_pruned_while_it_goes_on_as_new_comes_to_its_end() {
    let gate = Gate::new();
    let activities = activities_with_stop(&gate);
    let world = World::start(activities, chains()).await;
    world.begin("slow", "Slow", "5").await;
    for execution in 1..=5 {
        gate.reached().await;
        let pruned = world.client.prune_executions("slow", keep(Some(1))).await.unwrap();
        assert_eq!((pruned.instances_processed, pruned.executions_deleted), (1, u64::from(execution > 1)));
        assert_eq!(world.client.get_instance_info("slow").await.unwrap().status, "Running");
        assert_eq!(world.client.list_executions("slow").await.unwrap(), [execution]);
        gate.open();
    }
    assert_eq!(world.end("slow").await.unwrap(), "done");
    world.stop().await;
}

#[tokio::test]
async fn bulk_pruning_takes_the_instances_of_its_filter_also_those_that_run() {
    let world = World::start(activities(), chains()).await;
    for n in 0..3 {
        world.begin(&format!("chain{n}"), "Chain", "4").await;
        world.end(&format!("chain{n}")).await.unwrap();
    }
    world.begin("patient", "Patient", "4").await;
    world.until_waiting("patient", "go").await;
    let executions = async |instance: &str| world.client.list_executions(instance).await.unwrap();
    let some = InstanceFilter {
        instance_ids: Some(vec!["chain0".into(), "chain1".into()]),
        ..InstanceFilter::default()
    };
    let pruned = world.client.prune_executions_bulk(some, keep(Some(1))).await.unwrap();
    assert_eq!((pruned.instances_processed, pruned.executions_deleted), (2, 6));
    for (instance, left) in [
        ("chain0", vec![4]),
        ("chain1", vec![4]),
        ("chain2", vec![1, 2, 3, 4]),
        ("patient", vec![1, 2, 3, 4]),
    ] {
        assert_eq!(executions(instance).await, left, "{instance}");
    }
    let all = InstanceFilter { limit: Some(100), ..InstanceFilter::default() };
    let pruned = world.client.prune_executions_bulk(all, keep(Some(2))).await.unwrap();
    assert_eq!((pruned.instances_processed, pruned.executions_deleted), (4, 4));
    for (instance, left) in [("chain0", vec![4]), ("chain2", vec![3, 4]), ("patient", vec![3, 4])] {
        assert_eq!(executions(instance).await, left, "{instance}");
    }
    assert_eq!(world.client.get_instance_info("patient").await.unwrap().status, "Running");
    world.client.raise_event("patient", "go", "on").await.unwrap();
    assert_eq!(world.end("patient").await.unwrap(), "on");
    world.stop().await;
}
