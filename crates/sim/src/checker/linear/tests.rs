//! The two ways to decide linearisability against each other, on registers that err now and then.

use super::{search, zones};
use crate::checker::facts::Facts;
use crate::checker::words::{call_and_time, name_of_outcome};
use crate::history::{
    Account, Call, CallId, History, Key, Level, Micros, Operation, Outcome, Write, WriteKind,
};

const KEY: Key = Key { partition: 0, item: 0 };

/// Calls on one item whose effects happen somewhere within their time; `stale` of a hundred reads see the version before.
fn register(seed: u64, stale: u64, unknown: bool) -> History {
    let mut state = seed.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mut below = |end: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % end
    };
    let count = 6 + below(8);
    // When each call takes effect, and what it is.
    let mut turns: Vec<(Micros, CallId, u64)> =
        (1..=count).map(|id| (100 + below(300), id, below(10))).collect();
    turns.sort_unstable();
    let mut versions: Vec<CallId> = Vec::new();
    let mut calls = Vec::new();
    for (at, id, dice) in turns {
        let (invoked, returned) = (at - 1 - below(60), at + 1 + below(60));
        let (operation, outcome, returned) = if dice < 4 {
            let write = Write { key: KEY, kind: WriteKind::Upsert, if_match: None };
            versions.push(id);
            let outcome =
                if unknown && dice == 0 { Outcome::Unknown("lost".to_owned()) } else { Outcome::Written };
            (Operation::Write(write), outcome, returned)
        } else {
            let back = usize::from(below(100) < stale);
            let seen = versions.len().checked_sub(1 + back).map(|place| vec![versions[place]]);
            (Operation::Read(KEY), Outcome::Read(vec![(KEY, seen)]), returned)
        };
        let (session, region, has_token, returned) = (0, None, false, Some(returned));
        let sent_once = false;
        calls.push(Call { id, session, invoked, returned, operation, outcome, region, has_token, sent_once });
    }
    let account = Account {
        level: Level::Strong,
        multi_write: false,
        regions: vec!["East".to_owned()],
        conflict_margin: None,
        arrives_within: 0,
    };
    let (events, feeds, orchestrations) = (Vec::new(), Vec::new(), Vec::new());
    History {
        account,
        calls,
        events,
        feeds,
        orchestrations,
        ledger: Vec::new(),
        given: Vec::new(),
        kept: Vec::new(),
        unended: Vec::new(),
        ends: Vec::new(),
    }
}

fn verdicts(history: &History) -> (bool, bool) {
    let facts = Facts::new(history);
    let by_search = match search::check(&facts, KEY) {
        search::Answer::Linearisable => true,
        search::Answer::Impossible(_) => false,
        search::Answer::Undecided => panic!("so few calls can be decided: {history:#?}"),
    };
    (by_search, zones::check(&facts, KEY).is_none())
}

fn call_and_outcome(call: &Call) -> String {
    format!("{}: {}", call_and_time(call), name_of_outcome(&call.outcome))
}

#[test]
fn both_ways_agree() {
    let mut broken = 0;
    for seed in 0..4_000 {
        for unknown in [false, true] {
            let history = register(seed, 15, unknown);
            let (by_search, by_zones) = verdicts(&history);
            let calls: Vec<_> = history.calls.iter().map(call_and_outcome).collect();
            assert_eq!(by_search, by_zones, "seed {seed}, unknown {unknown}:\n{}", calls.join("\n"));
            broken += usize::from(!by_search);
        }
    }
    assert!((500..7_500).contains(&broken), "{broken} of 8,000 are broken");
}

#[test]
fn what_is_linearisable_is_so_both_ways() {
    for seed in 0..2_000 {
        assert_eq!(verdicts(&register(seed, 0, true)), (true, true), "seed {seed}");
    }
}
