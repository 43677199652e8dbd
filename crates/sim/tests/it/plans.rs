//! What seeds draw.

use std::collections::BTreeSet;

use cosmonaut_sim::fault_plan::FaultKind;
use cosmonaut_sim::plan::{Plan, WorldKind};

#[test]
fn worlds_of_each_kind_have_faults_of_each_kind() {
    for kind in WorldKind::ALL {
        let plans = (0..1000).map(|seed| Plan::draw(seed, Some(kind)));
        let drawn: BTreeSet<_> = plans.flat_map(|plan| plan.faults).map(|fault| fault.what.name()).collect();
        assert_eq!(drawn, BTreeSet::from(FaultKind::NAMES), "{}", kind.name());
    }
}

#[test]
fn clients_make_many_calls() {
    for seed in 0..1000 {
        let plan = Plan::draw(seed, None);
        let calls: u32 = plan.clients.iter().map(|client| client.tasks * client.calls).sum();
        assert!((500..2500).contains(&calls), "{calls} calls in the world of seed {seed}");
    }
}
