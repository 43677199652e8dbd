//! Each promise that the store breaks is found, by the rule that says so.

use cosmonaut_sim::checker;
use cosmonaut_sim::history::Level;

use crate::store::{Failover, Mutation, Plan, run};

const SEEDS: u64 = 60;

struct Case {
    mutation: Mutation,
    level: Level,
    multi_write: bool,
    failover: Failover,
    /// One of these must be found.
    rules: &'static [&'static str],
}

const BOUNDED: Level = Level::Bounded { commits: 12, time: 2_000 };

fn one(mutation: Mutation, level: Level, rules: &'static [&'static str]) -> Case {
    Case { mutation, level, multi_write: false, failover: Failover::None, rules }
}

fn failing(mutation: Mutation, level: Level, failover: Failover, rules: &'static [&'static str]) -> Case {
    Case { failover, ..one(mutation, level, rules) }
}

fn several(mutation: Mutation, level: Level, rules: &'static [&'static str]) -> Case {
    Case { multi_write: true, ..one(mutation, level, rules) }
}

fn cases() -> Vec<Case> {
    use Mutation::*;
    let sessions =
        &["read-your-writes", "monotonic-reads", "session-floor", "monotonic-writes", "writes-follow-reads"];
    vec![
        one(StaleRead, Level::Strong, &["stale-read"]),
        one(StaleRead, Level::Strong, &["new-then-old"]),
        one(AbsentAfterCreate, Level::Strong, &["stale-read"]),
        one(AbsentAfterCreate, Level::Session, &["read-your-writes"]),
        one(HalfBatch, Level::Eventual, &["half-a-batch"]),
        one(UncommittedRead, Level::Strong, &["new-then-old", "not-linearisable", "refused-write-visible"]),
        one(ValueOfTheFuture, Level::Eventual, &["future-value", "garbage"]),
        one(TokenIgnored, Level::Session, &["read-your-writes"]),
        one(TokenIgnored, Level::Session, &["monotonic-reads"]),
        one(TokenIgnored, Level::Session, &["session-floor", "writes-follow-reads"]),
        one(TokenIgnored, Level::Session, &["monotonic-writes"]),
        one(TokenLostAtSplit, Level::Session, sessions),
        several(TokenIgnored, Level::Session, &["read-your-writes"]),
        several(TokenIgnored, Level::Session, &["monotonic-reads"]),
        several(TokenIgnored, Level::Session, &["session-floor", "writes-follow-reads", "monotonic-writes"]),
        several(FloorBySum, Level::Session, sessions),
        failing(SessionRefusalIsAbsence, Level::Session, Failover::Forced, sessions),
        one(SessionRefusalForEver, Level::Session, &["failure-after-the-last-fault"]),
        failing(SurvivorMissing, Level::Session, Failover::Forced, sessions),
        one(CrashLosesCommits, Level::Eventual, &["acknowledged-write-lost", "deleted-item-back"]),
        failing(StrongFailoverLoses, Level::Strong, Failover::Forced, &["acknowledged-write-lost"]),
        failing(GracefulFailoverLoses, Level::Session, Failover::Graceful, &["acknowledged-write-lost"]),
        failing(HoleInTheLoss, Level::Session, Failover::Forced, &["hole-in-what-was-lost", "lost-update"]),
        failing(
            LostWritesComeBack,
            Level::Session,
            Failover::Forced,
            &["hole-in-what-was-lost", "deleted-item-back"],
        ),
        one(LagBeyondTheBound, BOUNDED, &["staleness-by-time"]),
        one(LagBeyondTheBound, BOUNDED, &["staleness-by-commits"]),
        one(TwoWriters, Level::Eventual, &["acknowledged-write-lost"]),
        one(ReplicaOutOfOrder, Level::Eventual, &["torn-page"]),
        one(ReplicaOutOfOrder, BOUNDED, &["region-goes-back", "region-forgets"]),
        one(PatchTwice, Level::Eventual, &["applied-twice"]),
        one(FeedSkips, Level::Eventual, &["feed-skips"]),
        one(FeedSkips, Level::Eventual, &["feed-incomplete"]),
        one(FeedGoesBack, Level::Eventual, &["feed-out-of-order"]),
        one(FeedRepeats, Level::Eventual, &["change-twice"]),
        failing(FeedPlaceUsedAgain, Level::Eventual, Failover::Forced, &["feed-incomplete"]),
        failing(FeedPlaceUsedAgain, Level::Session, Failover::Forced, &["feed-skips"]),
        one(DeletedItemBack, Level::Session, &["monotonic-reads", "read-your-writes"]),
        one(RowTwice, Level::Eventual, &["row-twice"]),
        one(RegionsDiffer, Level::Eventual, &["regions-differ"]),
        several(LowestWins, Level::Eventual, &["earlier-write-won"]),
        several(CausallyLaterLoses, Level::Eventual, &["causally-later-write-lost"]),
        several(UpdateBeatsDelete, Level::Eventual, &["update-beat-delete"]),
        several(TieBrokenByRegion, Level::Eventual, &["regions-differ"]),
        one(RefusedButApplied, Level::Eventual, &["refused-write-visible"]),
        one(ConditionIgnored, Level::Eventual, &["two-successes-on-one-version"]),
        one(ConditionIgnored, Level::Eventual, &["condition-ignored"]),
        one(PreconditionWithoutChange, Level::Eventual, &["unexplained-precondition"]),
        one(NotFoundThoughThere, Level::Eventual, &["unexplained-not-found"]),
        one(ConflictThoughAbsent, Level::Eventual, &["unexplained-conflict"]),
    ]
}

/// The first seed that shows the fault by one of the rules.
fn caught(case: &Case, trouble: bool) -> Option<u64> {
    let shows = |seed: &u64| {
        let plan = Plan {
            seed: *seed,
            level: case.level,
            multi_write: case.multi_write,
            calls: 150,
            trouble,
            failover: case.failover,
            mutation: Some(case.mutation),
        };
        checker::check(&run(&plan)).iter().any(|violation| case.rules.contains(&violation.rule))
    };
    (0..SEEDS).find(shows)
}

#[test]
fn every_fault_is_caught() {
    let mut missed = Vec::new();
    for case in cases() {
        for trouble in [false, true] {
            match caught(&case, trouble) {
                Some(seed) => {
                    println!("{:?}, trouble {trouble}: {:?} by seed {seed}", case.mutation, case.rules)
                }
                None => missed.push((case.mutation, trouble, case.rules)),
            }
        }
    }
    assert!(missed.is_empty(), "not caught by {SEEDS} seeds: {missed:#?}");
}
