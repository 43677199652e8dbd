//! Deleting instances that ended, that run, that have a family; one, many and by a filter; and what may then be done
//! with their names.
//!
//! After the deletion and bulk-deletion suites. What deletion does when it is interrupted is told by the file of
//! this name beside this folder.

use duroxide::providers::ProviderAdmin;
use duroxide::runtime::registry::OrchestrationRegistryBuilder;
use duroxide::{ActivityContext, EventKind, InstanceFilter, OrchestrationContext};

use crate::harness::Account;
use crate::world::*;

fn kinds() -> OrchestrationRegistryBuilder {
    orchestrations()
        .register("Quick", |_: OrchestrationContext, input: String| async move { Ok(input) })
        .register("Work", |context: OrchestrationContext, input: String| async move {
            context.schedule_activity("Echo", input).await
        })
        .register("Broken", |context: OrchestrationContext, why: String| async move {
            context.schedule_activity("Fail", why).await
        })
        .register("Event", |context: OrchestrationContext, _: String| async move {
            Ok(context.schedule_wait("go").await)
        })
        .register("Timer", |context: OrchestrationContext, _: String| async move {
            context.schedule_timer(std::time::Duration::from_secs(3600)).await;
            Ok(String::new())
        })
        .register("Activity", |context: OrchestrationContext, _: String| async move {
            context.schedule_activity("Endless", "").await
        })
        .register("Parent", |context: OrchestrationContext, child: String| async move {
            let children =
                (0..2).map(|n| context.schedule_sub_orchestration(&*child, n.to_string())).collect();
            let results: Result<Vec<String>, String> = context.join(children).await.into_iter().collect();
            Ok(results?.join(" "))
        })
        .register("Grandparent", |context: OrchestrationContext, child: String| async move {
            context.schedule_sub_orchestration("Parent", child).await
        })
}

/// Whether an instance is there.
async fn exists(world: &World, instance: &str) -> bool {
    world.client.get_instance_info(instance).await.is_ok()
}

#[tokio::test]
async fn what_has_ended_is_deleted_with_its_family_and_all_that_was_stored_of_it() {
    for account in [Account::OneRegion, Account::ThreeRegions] {
        let world = World::start_on(account, options(), activities(), kinds()).await;
        for (orchestration, input, members) in
            [("Work", "x", 1), ("Broken", "x", 1), ("Parent", "Work", 3), ("Grandparent", "Quick", 4)]
        {
            world.run(orchestration, input).await.unwrap_or_else(|error| error);
            world.until_quiet().await;
            let root = format!("{orchestration}-{input}");
            let family = world.client.get_instance_tree(&root).await.unwrap();
            assert_eq!(family.size(), members);
            let deleted = world.client.delete_instance(&root, false).await.unwrap();
            assert_eq!(
                (deleted.instances_deleted, deleted.executions_deleted),
                (members as u64, members as u64)
            );
            assert!(deleted.events_deleted >= 2 * members as u64, "{deleted:?}");
            for instance in &family.all_ids {
                assert!(!exists(&world, instance).await, "{instance}");
                assert!(world.history(instance).await.is_empty(), "{instance}");
            }
        }
        assert!(world.client.list_all_instances().await.unwrap().is_empty());
        world.stop().await;
    }
}

#[tokio::test]
async fn what_runs_is_deleted_only_by_force_whatever_it_waits_for() {
    let begun = Gate::new();
    let at = begun.clone();
    let activities = activities().register("Endless", move |context: ActivityContext, _: String| {
        let at = at.clone();
        async move {
            at.arrive();
            context.cancelled().await;
            Ok(String::new())
        }
    });
    let world = World::start(activities, kinds()).await;
    for kind in ["Event", "Timer", "Activity"] {
        world.begin(kind, kind, "").await;
        let is_waiting = |kind: &EventKind| {
            use EventKind::{ActivityScheduled, ExternalSubscribed, TimerCreated};
            matches!(kind, ExternalSubscribed { .. } | TimerCreated { .. } | ActivityScheduled { .. })
        };
        world.until_history(kind, "it waits", is_waiting).await;
    }
    begun.reached().await;
    for kind in ["Event", "Timer", "Activity"] {
        let error = world.client.delete_instance(kind, false).await.unwrap_err().to_string();
        assert!(error.to_lowercase().contains("running"), "{error}");
        assert!(exists(&world, kind).await);
        assert_eq!(world.client.delete_instance(kind, true).await.unwrap().instances_deleted, 1);
        assert!(!exists(&world, kind).await);
    }
    // The runtime goes on: it works on others, and on one that takes the name of the first.
    for n in 0..3 {
        assert_eq!(world.run("Work", &n.to_string()).await.unwrap(), n.to_string());
    }
    world.begin("Event", "Event", "").await;
    world.until_waiting("Event", "go").await;
    world.client.raise_event("Event", "go", "again").await.unwrap();
    assert_eq!(world.end("Event").await.unwrap(), "again");
    world.stop().await;
}

#[tokio::test]
async fn a_name_is_free_again_after_deletion_and_its_next_bearer_knows_nothing_of_the_last() {
    let world = World::start(activities(), kinds()).await;
    for round in ["first", "second"] {
        world.begin("name", "Work", round).await;
        assert_eq!(world.end("name").await.unwrap(), round);
        assert_eq!(count(&world.history("name").await, |_| true), 4);
        world.client.delete_instance("name", false).await.unwrap();
    }
    world.begin("name", "Event", "").await;
    world.until_waiting("name", "go").await;
    world.client.delete_instance("name", true).await.unwrap();
    world.begin("name", "Quick", "after force").await;
    assert_eq!(world.end("name").await.unwrap(), "after force");
    world.stop().await;
}

#[tokio::test]
async fn what_is_not_there_and_children_of_others_are_not_deleted() {
    let world = World::start(activities(), kinds()).await;
    let error = world.client.delete_instance("nobody", false).await.unwrap_err().to_string();
    assert!(error.contains("not found"), "{error}");
    world.begin("parent", "Parent", "Event").await;
    world.until_waiting("parent::sub::2", "go").await;
    world.until_waiting("parent::sub::3", "go").await;
    for force in [false, true] {
        let error = world.client.delete_instance("parent::sub::2", force).await.unwrap_err().to_string();
        assert!(error.contains("root") || error.contains("sub-orchestration"), "{error}");
    }
    assert!(exists(&world, "parent::sub::2").await);
    assert_eq!(world.client.delete_instance("parent", true).await.unwrap().instances_deleted, 3);
    assert!(world.client.list_all_instances().await.unwrap().is_empty());
    world.stop().await;
}

#[tokio::test]
async fn a_parent_is_not_deleted_without_its_children() {
    let world = World::start(activities(), kinds()).await;
    world.run("Parent", "Quick").await.unwrap();
    let family = world.client.get_instance_tree("Parent-Quick").await.unwrap().all_ids;
    let alone = ["Parent-Quick".to_owned()];
    let error = world.store.delete_instances_atomic(&alone, false).await.unwrap_err();
    assert!(error.message.contains("has a child"), "{error}");
    for instance in &family {
        assert!(exists(&world, instance).await);
    }
    world.store.delete_instances_atomic(&family, false).await.unwrap();
    assert!(world.client.list_all_instances().await.unwrap().is_empty());
    world.stop().await;
}

#[tokio::test]
async fn of_two_deletions_at_the_same_time_one_deletes_and_the_other_finds_nothing_more() {
    let world = World::start(activities(), kinds()).await;
    world.run("Quick", "x").await.unwrap();
    let delete = || world.client.delete_instance("Quick-x", false);
    let (one, two) = tokio::join!(delete(), delete());
    assert!(one.is_ok() || two.is_ok(), "{one:?} {two:?}");
    for error in [one, two].into_iter().filter_map(Result::err) {
        assert!(error.to_string().contains("not found"), "{error}");
    }
    assert!(!exists(&world, "Quick-x").await);
    world.stop().await;
}

#[tokio::test]
async fn a_bulk_deletion_takes_what_its_filter_names_as_much_as_it_may_and_nothing_that_runs() {
    let world = World::start(activities(), kinds()).await;
    for n in 0..6 {
        world.begin(&format!("q{n}"), "Quick", "").await;
        world.end(&format!("q{n}")).await.unwrap();
    }
    world.begin("running", "Event", "").await;
    world.until_waiting("running", "go").await;
    world.begin("parent", "Parent", "Quick").await;
    world.end("parent").await.unwrap();
    let delete = async |ids: Option<&[&str]>, limit| {
        let instance_ids = ids.map(|ids| ids.iter().map(|id| (*id).to_owned()).collect());
        let filter = InstanceFilter { instance_ids, limit, ..InstanceFilter::default() };
        world.client.delete_instance_bulk(filter).await.unwrap().instances_deleted
    };
    assert_eq!(delete(Some(&["q0", "q1", "running", "nobody"]), None).await, 2);
    assert_eq!(delete(Some(&["parent"]), None).await, 3, "with its children");
    assert_eq!(world.client.list_all_instances().await.unwrap().len(), 5);
    for left in [2, 2, 0] {
        assert_eq!(delete(None, Some(2)).await, left);
    }
    assert_eq!(world.client.list_all_instances().await.unwrap(), ["running"]);
    world.stop().await;
}
