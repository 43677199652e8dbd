//! That sessions cost the same at any size, lose nothing, and never go back.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use cosmonaut_policy::{CosmosOperation, OperationType, ReadConsistency, SessionSource, resolve_session};
use cosmonaut_wire::{PartitionKey, ReadConsistencyStrategy, ResourcePath, headers};
use http::HeaderValue;
use proptest::prelude::*;

use super::*;

const THREADS: usize = 8;

fn rid() -> ResourceId {
    ResourceId::container(1, 1)
}

fn partition(range: usize) -> PartitionId {
    PartitionId::new(rid(), range.to_string().as_str())
}

fn answer(token: &str) -> HeaderMap {
    HeaderMap::from_iter([(headers::SESSION_TOKEN, HeaderValue::from_str(token).unwrap())])
}

fn shown(store: &SessionStore, range: usize) -> Option<String> {
    let seen = store.of_range(rid(), partition(range).range())?;
    Some(seen.header(partition(range).range()).to_str().unwrap().to_owned())
}

fn store_of(partitions: usize) -> SessionStore {
    let store = SessionStore::default();
    for range in 0..partitions {
        store.capture(rid(), Some(&partition(range)), &answer(&format!("{range}:0#1")));
    }
    store
}

/// A map as the service describes it: id, from, to, parents.
fn map(ranges: &[(usize, &str, &str, &[usize])]) -> Arc<RangeMap> {
    let descriptions = ranges.iter().map(|(id, min, max, parents)| {
        let parents: Vec<String> = parents.iter().map(usize::to_string).collect();
        let text =
            format!(r#"{{"id":"{id}","minInclusive":"{min}","maxExclusive":"{max}","parents":{parents:?}}}"#);
        serde_json::from_str(&text).unwrap()
    });
    Arc::new(RangeMap::merge(None, rid(), descriptions.collect(), None).unwrap())
}

#[test]
fn remembering_costs_the_same_however_many_partitions_there_are() {
    let cost = |partitions: usize| {
        let (store, zero, next) = (store_of(partitions), partition(0), answer("0:0#2"));
        let counted = allocation_counter::measure(|| store.capture(rid(), Some(&zero), &next));
        (counted.count_total, counted.bytes_total)
    };
    assert_eq!(cost(1), cost(1_000));
    assert_eq!(cost(1), cost(10_000));
}

#[test]
fn remembering_costs_the_same_however_many_write() {
    const WRITES: u64 = 200;
    let cost = |writers: usize| {
        let store = store_of(200);
        let write = |range: usize| {
            let answers: Vec<HeaderMap> =
                (0..WRITES).map(|nth| answer(&format!("{range}:0#{}", 1000 + nth))).collect();
            let own = partition(range);
            // The first look of a thread registers it with `arc-swap`.
            let _ = store.of_range(rid(), own.range());
            // The allocations of this thread alone.
            let counted = allocation_counter::measure(|| {
                answers.iter().for_each(|answer| store.capture(rid(), Some(&own), answer));
            });
            (counted.count_total, counted.bytes_total)
        };
        std::thread::scope(|scope| {
            let running: Vec<_> =
                (100..100 + writers).map(|range| scope.spawn(move || write(range))).collect();
            running.into_iter().map(|one| one.join().unwrap()).collect::<Vec<_>>()
        })
    };
    let alone = cost(1)[0];
    assert_eq!(cost(64), [alone; 64]);
}

#[test]
fn looking_up_a_token_allocates_nothing() {
    let (store, one) = (store_of(100), partition(42));
    let counted = allocation_counter::measure(|| assert!(store.of_range(rid(), one.range()).is_some()));
    assert_eq!(counted.count_total, 0);
}

#[test]
fn concurrent_answers_lose_nothing() {
    const WRITES: u64 = 500;
    let store = SessionStore::default();
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let store = &store;
            scope.spawn(move || {
                for lsn in 1..=WRITES {
                    let own = partition(thread);
                    // Half of them know their partition, as cross-partition queries do not.
                    let known = (lsn % 2 == 0).then_some(&own);
                    store.capture(rid(), known, &answer(&format!("{thread}:0#{lsn}")));
                }
            });
        }
    });
    for thread in 0..THREADS {
        assert_eq!(shown(&store, thread), Some(format!("{thread}:0#{WRITES}")));
    }
    store.forget(rid());
    assert!(store.of_container(rid()).is_empty());
}

/// Up to where a read of a child asks to see, after it was split from partition 0.
fn asked_for(store: &SessionStore, child: usize) -> i64 {
    let path = ResourcePath::parse("/dbs/d/colls/c/docs/1").unwrap();
    let read = CosmosOperation::new(OperationType::Read, path).with_target(PartitionKey::from("a"));
    let strategy = ReadConsistencyStrategy::Default;
    let consistency = ReadConsistency { uses_session: true, level: None, strategy };
    let (child, parents) = (partition(child), [PartitionKeyRangeId::from("0")]);
    let source = SessionSource {
        seen: store,
        given: None,
        container: Some(rid()),
        partition: Some(&child),
        parents: &parents,
        heirs: &[],
    };
    let sent = resolve_session(&read, consistency, false, source).session_token;
    let token: Option<SessionToken> = sent.map(|sent| sent.to_str().unwrap().parse().unwrap());
    token.map_or(0, |token| token.get(child.range()).unwrap().global().0)
}

/// Ends what runs beside a test, also when the test fails.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_token_never_goes_back_and_a_split_loses_nothing() {
    const WRITES: i64 = 300;
    for round in 0..20 {
        let store = SessionStore::default();
        let before = map(&[(0, "", "FF", &[])]);
        let after = || map(&[(1, "", "80", &[0]), (2, "80", "FF", &[0])]);
        store.settle(rid(), &before);
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let writers: Vec<_> = (0..4)
                .map(|writer: i64| {
                    let store = &store;
                    scope.spawn(move || {
                        for lsn in 1..=WRITES {
                            // Late answers of the parent come between those of its children.
                            let range = (lsn + writer) % 3;
                            store.capture(rid(), None, &answer(&format!("{range}:0#{lsn}")));
                            let bound = if range == 0 { &[1, 2][..] } else { &[range as usize] };
                            for child in bound {
                                let asked = asked_for(store, *child);
                                assert!(asked >= lsn, "round {round}: {asked} after {lsn} of {range}");
                            }
                        }
                    })
                })
                .collect();
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    store.settle(rid(), &after());
                }
            });
            for child in [1, 2] {
                let (store, is_over) = (&store, &is_over);
                scope.spawn(move || {
                    let mut last = 0;
                    while !is_over.load(Ordering::Relaxed) {
                        let now = asked_for(store, child);
                        assert!(now >= last, "round {round}: {now} after {last}");
                        last = now;
                    }
                });
            }
            let _over = Over(&is_over);
            writers.into_iter().for_each(|writer| writer.join().unwrap());
        });
        // Two maps after the last answer, nothing of the parent is left.
        (0..2).for_each(|_| store.settle(rid(), &after()));
        let lsn =
            |range| store.of_range(rid(), partition(range).range()).map(|seen| seen.progress().global().0);
        assert_eq!((lsn(0), lsn(1), lsn(2)), (None, Some(WRITES), Some(WRITES)), "round {round}");
    }
}

#[test]
fn partitions_that_are_gone_are_dropped_once_their_children_have_inherited() {
    let store = SessionStore::default();
    store.adopt(rid(), &"0:0#5,1:0#7,9:0#1".parse().unwrap());
    let split = [(2, "", "40", &[0][..]), (3, "40", "80", &[0]), (1, "80", "FF", &[])];
    store.settle(rid(), &map(&split));
    assert_eq!(store.of_container(rid()).to_string(), "0:0#5,1:0#7,2:0#5,3:0#5,9:0#1", "kept for one more");
    let merged = [(2, "", "40", &[0][..]), (4, "40", "FF", &[0, 3, 1])];
    store.settle(rid(), &map(&merged));
    assert_eq!(store.of_container(rid()).to_string(), "1:0#7,2:0#5,3:0#5,4:0#7,9:0#1");
    store.settle(rid(), &map(&merged));
    assert_eq!(store.of_container(rid()).to_string(), "2:0#5,4:0#7,9:0#1", "9 may be newer than the map");
}

#[test]
fn one_map_that_is_taken_in_by_many_counts_once() {
    let store = SessionStore::default();
    store.adopt(rid(), &"0:0#5".parse().unwrap());
    let split = map(&[(2, "", "40", &[0]), (3, "40", "FF", &[0])]);
    (0..10).for_each(|_| store.settle(rid(), &split));
    assert!(shown(&store, 0).is_some());
}

/// Tokens of one partition, as an account with several write regions sends them while its topology changes.
fn tokens() -> impl Strategy<Value = Vec<String>> {
    let token =
        (0..3_usize, 1..4_i64, 0..50_i64, 0..50_i64, 0..50_i64).prop_map(|(range, version, g, a, b)| {
            // Each version has its own set of regions.
            match version {
                1 => format!("{range}:1#{g}#1={a}"),
                2 => format!("{range}:2#{g}#1={a}#2={b}"),
                _ => format!("{range}:3#{g}#2={b}"),
            }
        });
    proptest::collection::vec(token, 1..60)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
    #[test]
    fn many_writers_end_where_one_after_the_other_would(tokens in tokens(), order in any::<u64>()) {
        let mut folded: BTreeMap<PartitionKeyRangeId, Seen> = BTreeMap::new();
        let mut shuffled: Vec<&String> = tokens.iter().collect();
        shuffled.rotate_left(order as usize % tokens.len());
        if order % 2 == 0 {
            shuffled.reverse();
        }
        for token in shuffled {
            for (range, progress) in token.parse::<SessionToken>().unwrap().iter() {
                if let Some(next) = Seen::after(folded.get(range), range, progress) {
                    folded.insert(range.clone(), next);
                }
            }
        }
        let store = SessionStore::default();
        std::thread::scope(|scope| {
            for part in tokens.chunks(tokens.len().div_ceil(4)) {
                let store = &store;
                scope.spawn(move || part.iter().for_each(|token| store.capture(rid(), None, &answer(token))));
            }
        });
        for (range, seen) in folded {
            let found = store.of_range(rid(), &range).unwrap();
            prop_assert_eq!(found.header(&range), seen.header(&range));
            prop_assert_eq!(found.progress(), seen.progress());
        }
    }
}

#[test]
fn containers_that_are_not_in_use_make_room_for_others() {
    let store = SessionStore::default();
    let container = |number: usize| ResourceId::container(1, u32::try_from(number).unwrap());
    let answered = |number| {
        let partition = PartitionId::new(container(number), "0");
        store.capture(container(number), Some(&partition), &answer("0:0#1"));
    };
    let is_known = |number| store.of_range(container(number), &"0".into()).is_some();
    for number in 1..MOST_CONTAINERS + 500 {
        answered(number);
        // One answers all the time.
        answered(1);
    }
    let known = (1..MOST_CONTAINERS + 500).filter(|number| is_known(*number)).count();
    assert_eq!(known, MOST_CONTAINERS);
    assert!(is_known(1) && is_known(MOST_CONTAINERS + 499), "those in use are kept");
}

#[test]
fn containers_that_are_in_use_stay_when_many_others_come_at_once() {
    const IN_USE: u32 = 5_000;
    const NEW: u32 = 32;
    let container = |number: u32| ResourceId::container(1, number);
    let most = u32::try_from(MOST_CONTAINERS).unwrap();
    let mut ranges: Vec<Arc<RangeSessions>> = (0..=IN_USE).map(|_| Arc::default()).collect();
    let unused = ranges.pop().unwrap();
    unused.take_use();
    ranges.resize(MOST_CONTAINERS, unused);
    for round in 0..10 {
        ranges[..IN_USE as usize].iter().for_each(|ranges| ranges.note_use());
        let known = (0..most).map(container).zip(ranges.iter().cloned()).collect();
        let store = SessionStore::default();
        store.containers.store(Arc::new(Containers { known, hand: 0 }));
        let token = "0:0#1".parse().unwrap();
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                let (store, token) = (&store, &token);
                let own = (most..most + NEW).skip(thread).step_by(THREADS);
                scope.spawn(move || own.for_each(|number| store.adopt(container(number), token)));
            }
        });
        let containers = store.containers.load();
        let gone = (0..IN_USE).filter(|number| containers.get(container(*number)).is_none());
        assert_eq!((gone.count(), containers.known.len()), (0, MOST_CONTAINERS), "round {round}");
    }
}
