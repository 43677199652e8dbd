//! Whatever a store that keeps its promises does, nothing is found.

use cosmonaut_sim::checker;
use cosmonaut_sim::history::{Level, Outcome, Refusal};

use crate::store::{Failover, Plan, count, run};

/// For each level and kind of trouble. `COSMONAUT_SEEDS` asks for more.
fn seeds() -> u64 {
    std::env::var("COSMONAUT_SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(60)
}

/// Every level at which a store can be run.
fn levels() -> [(Level, bool); 7] {
    let bounded = Level::Bounded { commits: 12, time: 2_000 };
    [
        (Level::Strong, false),
        (bounded, false),
        (Level::Session, false),
        (Level::Prefix, false),
        (Level::Eventual, false),
        (Level::Session, true),
        (Level::Eventual, true),
    ]
}

#[test]
fn legal_histories_pass() {
    let mut undecided = 0;
    for (level, multi_write) in levels() {
        for trouble in [false, true] {
            for failover in [Failover::None, Failover::Graceful, Failover::Forced] {
                if multi_write && failover != Failover::None {
                    continue;
                }
                for seed in 0..seeds() {
                    let calls = 40 + usize::try_from(seed % 4).unwrap() * 40;
                    let plan = Plan { seed, level, multi_write, calls, trouble, failover, mutation: None };
                    let verdict = checker::decide(&run(&plan));
                    assert!(verdict.violations.is_empty(), "{plan:?}: {:#?}", verdict.violations);
                    undecided += verdict.undecided;
                }
            }
        }
    }
    assert!(undecided < 50, "{undecided} items were given up");
}

/// Long histories are decided too, and not given up.
#[test]
fn a_thousand_calls_are_decided() {
    for (level, multi_write) in levels() {
        let (trouble, failover) = (true, Failover::Forced);
        let plan = Plan { seed: 3, level, multi_write, calls: 1_000, trouble, failover, mutation: None };
        let verdict = checker::decide(&run(&plan));
        assert_eq!(verdict, checker::Verdict::default(), "{plan:?}");
    }
}

/// What must be stood is there.
#[test]
fn legal_histories_are_worth_something() {
    let level = Level::Session;
    let (mut stale, mut unknown, mut crashed, mut refused) = (0, 0, 0, 0);
    for seed in 0..50 {
        let plan = Plan {
            seed,
            level,
            multi_write: false,
            calls: 150,
            trouble: true,
            failover: Failover::Forced,
            mutation: None,
        };
        let history = run(&plan);
        unknown += count(&history, |call| matches!(call.outcome, Outcome::Unknown(_)));
        crashed += count(&history, |call| call.outcome == Outcome::Crashed);
        refused += count(&history, |call| call.outcome == Outcome::Refused(Refusal::Session));
        let mut strict = history.clone();
        strict.account.level = Level::Strong;
        stale += checker::check(&strict).len();
    }
    assert!(
        stale > 50 && unknown > 50 && crashed > 20 && refused > 5,
        "{stale} {unknown} {crashed} {refused}"
    );
}

#[test]
fn a_run_repeats_itself() {
    let plan = Plan {
        seed: 7,
        level: Level::Session,
        multi_write: true,
        calls: 100,
        trouble: true,
        failover: Failover::None,
        mutation: None,
    };
    assert_eq!(run(&plan), run(&plan));
}
