//! Which requests rules hit.

use std::time::Duration;

use super::*;

fn tags() -> RequestTags {
    let endpoint = CosmosEndpoint::regional("West US", "http://west.example:8081").unwrap();
    RequestTags {
        operation: OperationType::Read,
        resource: ResourceType::Container,
        region: endpoint.region().cloned(),
        endpoint,
        container: Some("/dbs/d/colls/c".into()),
        partition: Some(PartitionKeyRangeId::from("3")),
        shard: Some(7),
    }
}

#[test]
fn a_rule_hits_what_all_its_conditions_match() {
    let any = FaultInjectionCondition::default;
    for (case, condition, expected) in [
        ("nothing set", any(), true),
        ("operation", FaultInjectionCondition { operation: Some(OperationType::Read), ..any() }, true),
        (
            "other operation",
            FaultInjectionCondition { operation: Some(OperationType::Create), ..any() },
            false,
        ),
        ("resource", FaultInjectionCondition { resource: Some(ResourceType::Container), ..any() }, true),
        (
            "other resource",
            FaultInjectionCondition { resource: Some(ResourceType::DatabaseAccount), ..any() },
            false,
        ),
        ("region", FaultInjectionCondition { region: Some(RegionName::from("westus")), ..any() }, true),
        (
            "other region",
            FaultInjectionCondition { region: Some(RegionName::from("East US")), ..any() },
            false,
        ),
        ("host", FaultInjectionCondition { endpoint: Some("WEST.example:8081".to_owned()), ..any() }, true),
        ("other host", FaultInjectionCondition { endpoint: Some("west.example".to_owned()), ..any() }, false),
        (
            "container",
            FaultInjectionCondition { container: Some("/dbs/d/colls/c".to_owned()), ..any() },
            true,
        ),
        (
            "other container",
            FaultInjectionCondition { container: Some("/dbs/d/colls/x".to_owned()), ..any() },
            false,
        ),
        (
            "partition",
            FaultInjectionCondition { partition: Some(PartitionKeyRangeId::from("3")), ..any() },
            true,
        ),
        (
            "other partition",
            FaultInjectionCondition { partition: Some(PartitionKeyRangeId::from("4")), ..any() },
            false,
        ),
        ("shard", FaultInjectionCondition { shard: Some(7), ..any() }, true),
        ("other shard", FaultInjectionCondition { shard: Some(8), ..any() }, false),
        ("never", FaultInjectionCondition { probability: 0.0, ..any() }, false),
        ("sometimes, not now", FaultInjectionCondition { probability: 0.5, ..any() }, false),
        ("often, so now", FaultInjectionCondition { probability: 0.6, ..any() }, true),
        ("no more", FaultInjectionCondition { max_hits: Some(0), ..any() }, false),
    ] {
        let rule = ActiveRule::new(FaultInjectionRule::new("r", FaultInjectionResult::Hang).when(condition));
        assert_eq!(rule.hit(&tags(), Moment::START, || 0.5), expected, "{case}");
        assert_eq!(rule.hits(), u64::from(expected), "{case}");
    }
}

#[test]
fn a_rule_hits_within_its_window_and_its_count() {
    let condition = FaultInjectionCondition {
        window: Some((Duration::from_secs(1), Duration::from_secs(3))),
        max_hits: Some(2),
        ..Default::default()
    };
    let rule = ActiveRule::new(FaultInjectionRule::new("r", FaultInjectionResult::Hang).when(condition));
    let hits_at = |second: u64| rule.hit(&tags(), Moment::START + Duration::from_secs(second), || 0.0);
    // The window opens a second after the first request, at 10.
    let seen: Vec<bool> = [10, 11, 12, 12, 13].into_iter().map(hits_at).collect();
    assert_eq!(seen, [false, true, true, false, false]);
}

#[test]
fn many_threads_hit_exactly_as_often_as_allowed() {
    let injector = FaultInjector::new();
    let condition = FaultInjectionCondition { max_hits: Some(1000), ..Default::default() };
    injector.set(FaultInjectionRule::new("r", FaultInjectionResult::Hang).when(condition));
    let platform = crate::platform::TokioPlatform::new();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..1000).filter(|_| injector.pick(&tags(), &platform).is_some()).count());
        }
    });
    assert_eq!(injector.hits("r"), Some(1000));
}

#[test]
fn rules_are_changed_and_removed_by_name() {
    let (injector, platform) = (FaultInjector::new(), crate::platform::TokioPlatform::new());
    assert_eq!(injector.pick(&tags(), &platform), None);
    injector.set(FaultInjectionRule::new("a", FaultInjectionResult::Hang));
    injector.set(FaultInjectionRule::new("b", FaultInjectionResult::ResponseLost));
    assert_eq!(injector.pick(&tags(), &platform), Some(FaultInjectionResult::Hang));
    injector.set(FaultInjectionRule::new("a", FaultInjectionResult::ConnectionRefused));
    assert_eq!(injector.hits("a"), Some(0));
    assert_eq!(injector.pick(&tags(), &platform), Some(FaultInjectionResult::ConnectionRefused));
    injector.remove("a");
    assert_eq!(injector.pick(&tags(), &platform), Some(FaultInjectionResult::ResponseLost));
    injector.clear();
    assert_eq!((injector.pick(&tags(), &platform), injector.hits("b")), (None, None));
}
