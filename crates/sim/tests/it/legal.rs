//! Whatever a store that keeps its promises does, nothing is found.

use cosmonaut_sim::checker::{self, Worth};
use cosmonaut_sim::history::{Level, Outcome};

use crate::script::{A, script, upsert};
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
        assert_eq!((verdict.violations, verdict.undecided), (Vec::new(), 0), "{plan:?}");
        assert_eq!(verdict.asked > 0, level == Level::Strong, "{plan:?}");
    }
}

/// What must be stood is there.
#[test]
fn legal_histories_are_worth_something() {
    let total = |level, multi_write, failover| {
        let mut total = Worth::default();
        let mut crashed = 0;
        for seed in 0..240 {
            let plan = Plan { seed, level, multi_write, calls: 150, trouble: true, failover, mutation: None };
            let history = run(&plan);
            crashed += count(&history, |call| call.outcome == Outcome::Crashed);
            let worth = checker::worth(&history);
            total.acknowledged += worth.acknowledged;
            total.seen += worth.seen;
            total.seen_elsewhere += worth.seen_elsewhere;
            total.stale += worth.stale;
            total.session_refusals += worth.session_refusals;
            total.unknown_applied += worth.unknown_applied;
            total.unknown_unseen += worth.unknown_unseen;
            total.lost += worth.lost;
            total.conflicts += worth.conflicts;
        }
        (total, crashed)
    };
    let (one, crashed) = total(Level::Session, false, Failover::Forced);
    assert!(
        one.acknowledged > 500 && one.seen > 500 && one.seen_elsewhere > 100 && one.stale > 100,
        "{one:?}"
    );
    assert!(
        one.unknown_applied > 50 && one.unknown_unseen > 50 && crashed > 20,
        "{one:?}, {crashed} crashed"
    );
    assert!(one.session_refusals > 5 && one.lost > 5 && one.conflicts == 0, "{one:?}");
    let (several, _) = total(Level::Session, true, Failover::None);
    assert!(several.session_refusals > 5 && several.conflicts > 5 && several.lost == 0, "{several:?}");
    let (strong, _) = total(Level::Strong, false, Failover::Forced);
    assert!(strong.stale == 0 && strong.lost == 0, "{strong:?}");
}

/// A weaker level does not keep the promises of a stronger one.
#[test]
fn a_weaker_level_fails_the_stronger_check() {
    let fails = |level: Level, stronger: Level| {
        (0..20).any(|seed| {
            let (trouble, failover) = (false, Failover::None);
            let plan =
                Plan { seed, level, multi_write: false, calls: 150, trouble, failover, mutation: None };
            let mut history = run(&plan);
            history.account.level = stronger;
            history.calls.iter_mut().for_each(|call| call.has_token = stronger == Level::Session);
            !checker::check(&history).is_empty()
        })
    };
    let bounded = Level::Bounded { commits: 2, time: 20 };
    for level in [Level::Session, Level::Prefix, Level::Eventual] {
        assert!(fails(level, Level::Strong) && fails(level, bounded), "{level:?}");
    }
    assert!(fails(Level::Prefix, Level::Session) && fails(Level::Eventual, Level::Session));
    assert!(!fails(Level::Strong, Level::Session) && !fails(Level::Strong, bounded));
    assert!(!fails(Level::Session, Level::Eventual));
}

/// Too many calls at once are given up, not condemned.
#[test]
fn what_takes_too_long_is_undecided() {
    let history = (1..=70).fold(script(Level::Strong), |script, id| script.write(id, 0, 0..100, upsert(A)));
    let verdict = checker::decide(&history.0);
    assert_eq!((verdict.violations.len(), verdict.undecided), (0, 1));
    let history =
        (1..=16).fold(script(Level::Strong), |script, id| script.write(id, 0, 0..100 + id, upsert(A)));
    let history = history.read(17, 1, 50..130, A, &[3]);
    let verdict = checker::decide(&history.0);
    assert_eq!((verdict.violations.len(), verdict.undecided), (0, 1));
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
