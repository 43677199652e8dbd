//! Many writers in all regions while writes move, partitions split and links break: nothing hangs, all counts are
//! right.

use std::sync::atomic::AtomicBool;

use super::*;
use crate::engine::Failover;

/// Runs writers, each of which makes so many items, while `disturb` is called over and over.
fn under(account: &Account, disturb: impl Fn(u64) + Sync, write: impl Fn(usize, String) + Sync) {
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for n in 0.. {
                if done.load(Ordering::Relaxed) {
                    break;
                }
                disturb(n);
                account.engine.pump();
            }
        });
        let write = &write;
        let writers: Vec<_> = (0..3)
            .map(|writer| scope.spawn(move || (0..150).for_each(|n| write(writer, format!("{writer}-{n}")))))
            .collect();
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        done.store(true, Ordering::Relaxed);
    });
}

fn split_one(container: &Container) {
    let layout = container.layout();
    if layout.ranges().len() < 8 {
        let oldest = layout.ranges().iter().min_by_key(|range| range.number).unwrap();
        let _ = container.split(&oldest.id).unwrap();
    }
}

#[test]
fn writes_follow_as_they_move() {
    let account = started(three());
    let (engine, container) = (&account.engine, &account.container);
    let disturb = |n: u64| {
        let _ = engine.move_writes(RegionId((n % 3) as u8), Failover::Graceful).unwrap();
        match n % 50 {
            7 => split_one(container),
            11 => {
                let new = engine.add_region(format!("new {n}").as_str().into()).unwrap();
                engine.remove_region(new).unwrap();
            }
            13 => engine.sweep(),
            _ => {}
        }
    };
    under(&account, disturb, |_, key| {
        let item = || with(&key, "", &json!({"id": "1", "pk": key}));
        while !(0..3).any(|region| match container.create_item(RegionId(region), item()) {
            Ok(_) => true,
            Err(failure) => {
                assert_eq!(failure.status, CosmosStatus::WRITE_FORBIDDEN, "{failure}");
                false
            }
        }) {
            std::thread::yield_now();
        }
    });
    account.engine.pump();
    assert_eq!(account.agreed().len(), 450);
}

#[test]
fn all_regions_write_and_agree() {
    let account = started(everywhere());
    let (engine, container) = (&account.engine, &account.container);
    let disturb = |n: u64| {
        let (from, to) = (RegionId((n % 3) as u8), RegionId((n / 3 % 3) as u8));
        engine.set_link(from, to, if n.is_multiple_of(2) { PAUSED } else { OPEN });
        match n % 40 {
            7 => split_one(container),
            11 => engine.sweep(),
            13 => {
                let new = engine.add_region(format!("new {n}").as_str().into()).unwrap();
                engine.remove_region(new).unwrap();
            }
            _ => {}
        }
    };
    under(&account, disturb, |writer, key| {
        let region = RegionId(writer as u8);
        container.create_item(region, with(&key, "", &json!({"id": "1", "pk": key}))).unwrap();
        // Many that all of them make.
        let nth = key.rsplit('-').next().unwrap();
        let shared = json!({"id": "shared", "pk": nth, "by": writer});
        container.upsert_item(region, with(nth, "", &shared)).unwrap();
        // One that all of them fight for.
        let fought = json!({"id": "fought", "pk": "k", "by": key});
        let reply = container.upsert_item(region, with("k", "", &fought)).unwrap();
        let seen = reply.session();
        let request = ItemRequest { session: Some(&seen), ..at("k", "fought") };
        assert!(container.read_item(region, request).is_ok(), "a region has what it wrote");
    });
    account.open();
    assert_eq!(account.agreed().len(), 601);
}
