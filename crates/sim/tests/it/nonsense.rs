//! A history that cannot be is complained about, never a reason to stop.

use cosmonaut_sim::history::{History, Level, Outcome};
use cosmonaut_sim::{checker, timeline};

use crate::store::{Failover, Plan, Random, run};

/// Turns numbers of a history into others.
fn spoil(history: &mut History, random: &mut Random) {
    let times = [0, 1, 500, 2_000, 1_000_000, u64::MAX];
    let mut time = || times[usize::try_from(random.below(6)).unwrap()];
    let (one, other, third, fourth) = (time(), time(), time(), time());
    let calls = history.calls.len() as u64;
    for _ in 0..3 {
        let place = usize::try_from(random.below(calls)).unwrap();
        let with = usize::try_from(random.below(calls)).unwrap();
        let call = history.calls[with].clone();
        match random.below(8) {
            0 => history.calls[place].invoked = one,
            1 => history.calls[place].returned = Some(other),
            2 => history.calls[place].returned = None,
            3 => history.calls[place].id = random.below(calls),
            4 => history.calls[place].outcome = call.outcome,
            5 => history.calls[place].operation = call.operation,
            6 => history.calls[place].region = Some("nowhere".to_owned()),
            _ => {
                if let Outcome::Read(items) = &mut history.calls[place].outcome {
                    let garbage = (0..random.below(4)).map(|_| random.below(calls + 9)).collect();
                    items.iter_mut().for_each(|(_, trail)| *trail = Some(Vec::clone(&garbage)));
                }
            }
        }
    }
    if let Some(event) = history.events.first_mut() {
        (event.at, event.until) = (third, fourth);
    }
    history.ends.iter_mut().for_each(|end| end.items.truncate(1));
    history.account.regions.truncate(1);
}

#[test]
fn nonsense_is_stood() {
    let levels = [Level::Strong, Level::Bounded { commits: 3, time: 50 }, Level::Session, Level::Eventual];
    let mut found = 0;
    for seed in 0..200 {
        let level = levels[usize::try_from(seed % 4).unwrap()];
        let multi_write = seed % 8 > 4 && level != Level::Strong;
        let (trouble, failover) = (true, Failover::Forced);
        let mut history =
            run(&Plan { seed, level, multi_write, calls: 40, trouble, failover, mutation: None });
        spoil(&mut history, &mut Random::new(seed));
        checker::worth(&history);
        for violation in checker::check(&history) {
            found += 1;
            assert!(!timeline::text(&history, &violation).is_empty());
            assert!(!timeline::html(&history, &violation).is_empty());
        }
    }
    assert!(found > 200, "{found}");
}
