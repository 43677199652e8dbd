//! Values read from outside of the orchestration that keeps them: by a client and by other orchestrations, while it
//! runs, after it has ended and after it is gone.
//!
//! After the key-value suite: reads from other instances, parents and children, deletion.

use duroxide::OrchestrationContext;
use duroxide::runtime::registry::OrchestrationRegistryBuilder;

use crate::harness::Account;
use crate::world::*;

fn readers_and_writers() -> OrchestrationRegistryBuilder {
    orchestrations()
        // Sets `v` to one event after the other, until the event is `end`.
        .register("Writer", |context: OrchestrationContext, first: String| async move {
            let mut value = first;
            while value != "end" {
                context.set_kv_value("v", value);
                value = context.schedule_wait("next").await;
            }
            Ok(String::new())
        })
        .register("Reader", |context: OrchestrationContext, path: String| async move {
            let (instance, key) = path.split_once('.').ok_or("no path")?;
            let value = context.get_kv_value_from_instance(instance, key).await?;
            // A turn in which the reading above is replayed.
            context.schedule_activity("Echo", "").await?;
            Ok(value.unwrap_or("none".to_owned()))
        })
}

#[tokio::test]
async fn other_orchestrations_and_clients_see_each_value_as_soon_as_its_turn_is_done() {
    for account in [Account::OneRegion, Account::ThreeRegions] {
        let world = World::start_on(account, options(), activities(), readers_and_writers()).await;
        world.begin("w", "Writer", "1").await;
        assert_eq!(world.client.wait_for_kv_value("w", "v", LONG).await.unwrap(), "1");
        assert_eq!(world.run("Reader", "w.v").await.unwrap(), "1");
        assert_eq!(world.run("Reader", "w.other").await.unwrap(), "none");
        assert_eq!(world.run("Reader", "nobody.v").await.unwrap(), "none");
        world.until_waiting("w", "next").await;
        world.client.raise_event("w", "next", "2").await.unwrap();
        let value = async || world.client.get_kv_value("w", "v").await.unwrap();
        until("the second value", async || value().await.as_deref() == Some("2")).await;
        // Many at once.
        for n in 0..10 {
            world.begin(&format!("r{n}"), "Reader", "w.v").await;
        }
        for n in 0..10 {
            assert_eq!(world.end(&format!("r{n}")).await.unwrap(), "2");
        }
        world.client.raise_event("w", "next", "end").await.unwrap();
        world.end("w").await.unwrap();
        assert_eq!(value().await.as_deref(), Some("2"), "after its end");
        world.stop().await;
    }
}

#[tokio::test]
async fn an_orchestration_reads_its_own_values_and_typed_ones_as_others_do() {
    let orchestrations =
        orchestrations().register("Own", |context: OrchestrationContext, _: String| async move {
            context.set_kv_value_typed("numbers", &[1, 2, 3]);
            context.schedule_activity("Echo", "").await?;
            let own = context.instance_id();
            let text = context.get_kv_value_from_instance(&own, "numbers").await?;
            let typed: Option<Vec<u32>> = context.get_kv_value_from_instance_typed(own, "numbers").await?;
            Ok(format!("{text:?} {typed:?}"))
        });
    let world = World::start(activities(), orchestrations).await;
    assert_eq!(world.run("Own", "").await.unwrap(), "Some(\"[1,2,3]\") Some([1, 2, 3])");
    world.stop().await;
}

#[tokio::test]
async fn parent_and_child_keep_apart_what_they_keep_and_lose_it_together_when_deleted() {
    let orchestrations = orchestrations()
        .register("Parent", |context: OrchestrationContext, _: String| async move {
            context.set_kv_value("role", "parent");
            let seen = context.schedule_sub_orchestration_with_id("Child", "child", "").await?;
            Ok(format!("{seen} {}", context.get_kv_value("role").unwrap_or_default()))
        })
        .register("Child", |context: OrchestrationContext, _: String| async move {
            let seen = context.get_kv_value("role").unwrap_or("nothing".to_owned());
            context.set_kv_value("role", "child");
            if context.execution_id() == 1 {
                context.set_kv_value("first", "1");
                return context.continue_as_new("").await;
            }
            Ok(seen)
        });
    let world = World::start(activities(), orchestrations).await;
    world.begin("parent", "Parent", "").await;
    // The child's second execution sees what its first has kept, and nothing of the parent's.
    assert_eq!(world.end("parent").await.unwrap(), "child parent");
    for (instance, keys) in [("parent", 1), ("child", 2)] {
        let kept = world.kept(instance).await;
        assert_eq!((kept.len(), &*kept["role"]), (keys, instance));
    }
    assert_eq!(world.client.delete_instance("parent", false).await.unwrap().instances_deleted, 2);
    for instance in ["parent", "child"] {
        assert!(world.kept(instance).await.is_empty());
        assert_eq!(world.client.get_kv_value(instance, "role").await.unwrap(), None);
    }
    // Nor are they there again for a namesake.
    world.begin("child", "Child", "").await;
    assert_eq!(world.end("child").await.unwrap(), "child");
    assert_eq!(world.kept("child").await.len(), 2);
    world.stop().await;
}
