//! Finds a smaller world in which the same rule is broken.

use crate::child::{STUCK, Verdict, judged};
use crate::commands::World;

/// How many worlds are tried at most.
const TRIES: usize = 60;

/// The smallest world that was found, and its verdict.
pub(crate) fn shrunk(world: &World, verdict: Verdict) -> (World, Verdict) {
    // A world that does not end is not tried again and again: each time takes as long as patience does.
    let rule = verdict.violations.first().map(|violated| violated.rule.clone());
    let Some(rule) = rule.filter(|rule| rule != STUCK) else {
        return (world.clone(), verdict);
    };
    let mut best = (world.clone(), verdict);
    let mut tries = 0;
    let mut attempt = |best: &mut (World, Verdict), smaller: World| {
        tries += 1;
        if tries > TRIES {
            return false;
        }
        let verdict = judged(&smaller);
        let is_same = verdict.violations.iter().any(|violated| violated.rule == rule);
        if is_same {
            *best = (smaller, verdict);
        }
        is_same
    };
    let (faults, clients, calls) = (best.1.faults, best.1.clients.clone(), best.1.calls);
    for place in (0..faults).rev() {
        let mut smaller = best.0.clone();
        smaller.without_faults.push(place);
        attempt(&mut best, smaller);
    }
    for client in clients.into_iter().rev() {
        // Where nobody runs orchestrations all of them are stuck, whatever was wrong.
        if best.1.clients.len() == 1 {
            break;
        }
        let mut smaller = best.0.clone();
        smaller.without_clients.push(client);
        attempt(&mut best, smaller);
    }
    let (mut least, mut most) = (0, calls);
    while most - least > 1 {
        let middle = least.midpoint(most);
        let smaller = World { calls: Some(middle), ..best.0.clone() };
        if attempt(&mut best, smaller) { most = middle } else { least = middle }
    }
    best
}
