//! Runs many worlds, and says what came of them.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

use cosmonaut_sim::checker::check;
use cosmonaut_sim::fault_plan::FaultKind;
use cosmonaut_sim::plan::WorldKind;
use cosmonaut_sim::timeline;
use serde::Serialize;

use crate::child::{Verdict, judged, lived};
use crate::commands::{Replay, Run, World};
use crate::shrink::shrunk;

/// How many violations are shown in full. The others are counted.
const SHOWN: usize = 5;

/// In so many worlds each kind of fault is to happen.
const ENOUGH_FOR_ALL: u64 = 1000;

/// In so many worlds of a kind everything is to happen that makes them hard to check.
const ENOUGH_OF_A_KIND: u64 = 30;

/// In so many worlds of items what is rarer is to happen too.
const ENOUGH_FOR_RARE: u64 = 300;

/// What some worlds of items have together.
const OFTEN: [&str; 8] = [
    "writes acknowledged",
    "items seen",
    "items seen in another region",
    "items seen late",
    "unknown writes seen",
    "unknown writes not seen",
    "partitions split",
    "orders looked for",
];

/// What many of them have.
const RARELY: [&str; 3] = ["sessions refused", "writes lost", "writes in two regions at once"];

/// What many worlds came to.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Summary {
    seeds: u64,
    violations: Vec<Found>,
    operations: u64,
    /// Summed up in whole microseconds: sums of fractions depend on which world ended first.
    #[serde(skip)]
    simulated_micros: u64,
    simulated_seconds: f64,
    elapsed_seconds: f64,
    /// How many faults were drawn.
    faults: u64,
    coverage: BTreeMap<String, u64>,
    /// Sums up the digests of all worlds.
    digest: String,
    #[serde(skip)]
    digests: u64,
    /// What the run did not have, and so says nothing about.
    lacking: Vec<String>,
    worlds: BTreeMap<String, u64>,
}

/// A rule that was broken in a world.
#[derive(Serialize)]
struct Found {
    seed: u64,
    world: String,
    rule: String,
    message: String,
    replay: String,
}

/// `run`.
#[expect(clippy::disallowed_methods, reason = "the command's own time is the machine's")]
pub(crate) fn run(arguments: &Run) -> ExitCode {
    let began = Instant::now();
    let (from, count) = match arguments.seed {
        Some(seed) => (seed, 1),
        None => (arguments.from, arguments.seeds),
    };
    // Behind the last seed there is none.
    let count = count.min((u64::MAX - from).saturating_add(1));
    let limit = arguments.minutes;
    let jobs = how_many_at_once(arguments.jobs);
    let next = AtomicU64::new(0);
    let (verdicts, bad) = (Mutex::new(Summary::default()), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                loop {
                    let nth = next.fetch_add(1, Ordering::Relaxed);
                    let is_over = nth >= count || limit.is_some_and(|limit| began.elapsed() > limit);
                    let Some(seed) = from.checked_add(nth).filter(|_| !is_over) else { return };
                    let world = World::whole(seed, arguments.world);
                    let verdict = judged(&world);
                    if let Ok(mut summary) = verdicts.lock() {
                        summary.add(&verdict);
                    }
                    if !verdict.violations.is_empty() {
                        eprintln!("seed {seed}: {}", verdict.violations[0].rule);
                        if let Ok(mut bad) = bad.lock() {
                            bad.push((world, verdict));
                        }
                    }
                }
            });
        }
    });
    let mut summary = verdicts.into_inner().unwrap_or_default();
    let mut bad = bad.into_inner().unwrap_or_default();
    bad.sort_by_key(|(world, _)| world.seed);
    for (nth, (world, verdict)) in bad.into_iter().enumerate() {
        let (world, verdict) = if nth < SHOWN { shrunk(&world, verdict) } else { (world, verdict) };
        for violated in &verdict.violations {
            summary.violations.push(Found {
                seed: world.seed,
                world: verdict.world.clone(),
                rule: violated.rule.clone(),
                message: violated.message.clone(),
                replay: replay_command(&world),
            });
        }
    }
    summary.simulated_seconds = summary.simulated_micros as f64 / 1e6;
    summary.elapsed_seconds = began.elapsed().as_secs_f64();
    summary.digest = format!("{:016x}", summary.digests);
    summary.lacking = summary.lacks(count);
    summary.show(arguments.json);
    if summary.violations.is_empty() && summary.lacking.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// As many as was said, or one for each processor.
pub(crate) fn how_many_at_once(said: Option<NonZeroUsize>) -> usize {
    said.or_else(|| thread::available_parallelism().ok()).map_or(1, usize::from)
}

fn replay_command(world: &World) -> String {
    format!("cargo run --release -p cosmonaut-sim -- replay {}", world.arguments().join(" "))
}

impl Summary {
    /// What this run should have had if so many worlds were asked for, and had not.
    fn lacks(&self, asked: u64) -> Vec<String> {
        let number = |what: &str| self.coverage.get(what).copied().unwrap_or(0);
        let mut lacking = Vec::new();
        if self.seeds * 2 < asked {
            lacking.push(format!(
                "only {} of {asked} worlds were lived before the time was over (give more --minutes, or fewer --seeds)",
                self.seeds
            ));
        }
        if number("orders undecided") * 100 > number("orders looked for") {
            lacking.push(format!(
                "of {} items nobody knows whether one order of all calls explains them, of {}",
                number("orders undecided"),
                number("orders looked for")
            ));
        }
        let of = |kind: WorldKind| self.worlds.get(kind.name()).copied().unwrap_or(0);
        let (items, durable) =
            (of(WorldKind::Items) + of(WorldKind::Processors), of(WorldKind::Orchestrations));
        if items >= ENOUGH_OF_A_KIND && number("calls that succeeded") * 3 < self.operations {
            lacking.push(format!(
                "only {} of {} calls succeeded",
                number("calls that succeeded"),
                self.operations
            ));
        }
        let mut expected: Vec<&str> = Vec::new();
        let mut expect = |is_due: bool, what: &[&'static str]| {
            if is_due {
                expected.extend(what);
            }
        };
        expect(self.faults > 0, &["faults met"]);
        expect(items >= ENOUGH_OF_A_KIND, &OFTEN);
        expect(items >= ENOUGH_FOR_RARE, &RARELY);
        expect(of(WorldKind::Processors) >= ENOUGH_OF_A_KIND, &["changes processed"]);
        expect(durable >= ENOUGH_OF_A_KIND, &["orchestrations ended", "activities kept"]);
        expect(self.seeds >= ENOUGH_FOR_ALL, &FaultKind::NAMES);
        let missing = expected.into_iter().filter(|what| number(what) == 0);
        lacking.extend(missing.map(|what| format!("there was not once: {what}")));
        lacking
    }

    fn add(&mut self, verdict: &Verdict) {
        self.seeds += 1;
        self.operations += verdict.operations;
        self.faults += verdict.faults as u64;
        self.simulated_micros += verdict.simulated_micros;
        // A sum: worlds end in any order.
        let digest = u64::from_str_radix(&verdict.digest, 16).unwrap_or_default();
        self.digests = self.digests.wrapping_add(digest);
        *self.worlds.entry(verdict.world.clone()).or_default() += 1;
        for (what, times) in &verdict.coverage {
            *self.coverage.entry(what.clone()).or_default() += times;
        }
    }

    fn show(&self, json: bool) {
        if json {
            println!("{}", serde_json::to_string(self).expect("a summary is JSON"));
            return;
        }
        println!(
            "{} worlds, {} operations, {:.0} simulated seconds in {:.1} s: {} violations",
            self.seeds,
            self.operations,
            self.simulated_seconds,
            self.elapsed_seconds,
            self.violations.len()
        );
        for (what, times) in &self.coverage {
            println!("  {times:>8}  {what}");
        }
        for what in &self.lacking {
            println!("covered too little: {what}");
        }
        for found in self.violations.iter().take(20) {
            println!("\n{} in seed {} ({}): {}", found.rule, found.seed, found.world, found.message);
            println!("  {}", found.replay);
        }
    }
}

/// `replay`.
pub(crate) fn replay(arguments: &Replay) -> ExitCode {
    let lived = lived(&arguments.world);
    print!("{}", lived.plan);
    if arguments.trace {
        lived.ended.trace.iter().for_each(|line| println!("{line}"));
        lived.ended.history.calls.iter().for_each(|call| println!("{call:?}"));
    }
    let violations = check(&lived.ended.history);
    for violation in &violations {
        println!("\n{}", timeline::text(&lived.ended.history, violation));
    }
    if let (Some(file), Some(violation)) = (&arguments.html, violations.first()) {
        let page = timeline::html(&lived.ended.history, violation);
        if let Err(error) = std::fs::write(file, page) {
            eprintln!("{} cannot be written: {error}", file.display());
            return ExitCode::FAILURE;
        }
        println!("\nthe timeline is in {}", file.display());
    }
    let too_little = lived.too_little();
    if let Some(violated) = &too_little {
        println!("\n{}: {}", violated.rule, violated.message);
    }
    if violations.is_empty() && too_little.is_none() {
        println!("no rule is broken");
        return ExitCode::SUCCESS;
    }
    ExitCode::FAILURE
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(kind: WorldKind, worlds: u64, met: &[&str]) -> Summary {
        Summary {
            seeds: worlds,
            faults: 3,
            operations: 100,
            worlds: BTreeMap::from([(kind.name().to_owned(), worlds)]),
            coverage: met.iter().map(|what| ((*what).to_owned(), 100)).collect(),
            ..Summary::default()
        }
    }

    #[test]
    fn a_run_that_was_cut_short_shows_too_little() {
        let run = |worlds: u64| run(WorldKind::Items, worlds, &["faults met"]);
        assert_eq!(run(0).lacks(120).len(), 1);
        assert_eq!(run(14).lacks(29).len(), 1);
        assert_eq!(run(15).lacks(29), [""; 0]);
    }

    #[test]
    fn a_run_lacks_what_it_never_had() {
        let items = |worlds: u64, met: &[&str]| run(WorldKind::Items, worlds, met).lacks(worlds);
        assert_eq!(items(5, &[]), ["there was not once: faults met"]);
        let mut met = vec!["faults met", "calls that succeeded"];
        assert_eq!(items(ENOUGH_OF_A_KIND, &met).len(), OFTEN.len());
        assert_eq!(items(ENOUGH_OF_A_KIND, &met[..1]).len(), OFTEN.len() + 1, "no call succeeded");
        met.extend(OFTEN);
        assert_eq!(items(ENOUGH_OF_A_KIND, &met), [""; 0]);
        assert_eq!(items(ENOUGH_FOR_RARE, &met).len(), RARELY.len());
        met.extend(RARELY);
        assert_eq!(items(999, &met), [""; 0]);
        assert_eq!(items(1000, &met).len(), FaultKind::NAMES.len());
        met.extend(FaultKind::NAMES);
        assert_eq!(items(1000, &met), [""; 0]);
        met.retain(|what| *what != "keys rotated");
        assert_eq!(items(1000, &met), ["there was not once: keys rotated"]);
        let durable = run(WorldKind::Orchestrations, ENOUGH_OF_A_KIND, &["faults met", "activities kept"]);
        assert_eq!(durable.lacks(30), ["there was not once: orchestrations ended"]);
    }

    #[test]
    fn a_run_lacks_what_was_not_decided() {
        let with = |undecided: u64| {
            let mut run = run(WorldKind::Items, 1, &["faults met"]);
            run.coverage
                .extend([("orders looked for".to_owned(), 100), ("orders undecided".to_owned(), undecided)]);
            run.lacks(1).len()
        };
        assert_eq!((with(1), with(2)), (0, 1));
    }
}
