//! Several versions of one orchestration: which of them a start, a child and a new execution get.
//!
//! After the samples on versioning.

use duroxide::runtime::VersionPolicy;
use duroxide::{EventKind, OrchestrationContext};
use semver::Version;

use crate::harness::{Account, Server};
use crate::world::*;

async fn version(context: OrchestrationContext, _: String) -> Result<String, String> {
    Ok(context.orchestration_version())
}

#[tokio::test]
async fn a_start_takes_the_newest_version_unless_one_is_named_or_the_policy_pins_one() {
    let registry = orchestrations()
        .register("Versioned", version)
        .register_versioned("Versioned", "2.0.0", version)
        .register("Parent", |context: OrchestrationContext, _: String| async move {
            let pinned = Some("1.0.0".to_owned());
            let first = context.schedule_sub_orchestration_versioned("Versioned", pinned, "").await?;
            let second = context.schedule_sub_orchestration("Versioned", "").await?;
            Ok(format!("{first} {second}"))
        })
        .build();
    let home = Server::shared(Account::OneRegion).home();
    let world = World::join(home, options(), activities().build(), registry.clone()).await;
    assert_eq!(world.run("Versioned", "newest").await.unwrap(), "2.0.0");
    world.client.start_orchestration_versioned("named", "Versioned", "1.0.0", "").await.unwrap();
    assert_eq!(world.end("named").await.unwrap(), "1.0.0");
    assert_eq!(world.run("Parent", "").await.unwrap(), "1.0.0 2.0.0");
    registry.set_version_policy("Versioned", VersionPolicy::Exact(Version::new(1, 0, 0)));
    assert_eq!(world.run("Versioned", "pinned").await.unwrap(), "1.0.0");
    for (instance, stored) in
        [("Versioned-newest", "2.0.0"), ("named", "1.0.0"), ("Versioned-pinned", "1.0.0")]
    {
        let info = world.client.get_instance_info(instance).await.unwrap();
        assert_eq!(info.orchestration_version, stored, "{instance}");
    }
    world.stop().await;
}

#[tokio::test]
async fn continuing_as_new_upgrades_an_orchestration_to_the_newest_version() {
    let orchestrations = orchestrations()
        .register("Long", |context: OrchestrationContext, state: String| async move {
            context.continue_as_new(format!("{state} from the first")).await
        })
        .register_versioned("Long", "2.0.0", |_: OrchestrationContext, state: String| async move {
            Ok(format!("{state}, ended by the second"))
        });
    let world = World::start(activities(), orchestrations).await;
    world.client.start_orchestration_versioned("l", "Long", "1.0.0", "state").await.unwrap();
    assert_eq!(world.end("l").await.unwrap(), "state from the first, ended by the second");
    assert_eq!(world.client.list_executions("l").await.unwrap(), [1, 2]);
    let [old, new] = [1, 2].map(|execution| world.client.read_execution_history("l", execution));
    let (old, new) = (old.await.unwrap(), new.await.unwrap());
    assert_eq!(count(&old, |kind| matches!(kind, EventKind::OrchestrationContinuedAsNew { .. })), 1);
    match &new[0].kind {
        EventKind::OrchestrationStarted { version, input, .. } => {
            assert_eq!((&**version, &**input), ("2.0.0", "state from the first"));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(world.client.get_instance_info("l").await.unwrap().orchestration_version, "2.0.0");
    world.stop().await;
}
