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
use cosmonaut_sim::timeline;
use serde::Serialize;

use crate::child::{Verdict, judged, lived};
use crate::commands::{Replay, Run, World};
use crate::shrink::shrunk;

/// How many violations are shown in full. The others are counted.
const SHOWN: usize = 5;

/// In so many worlds each kind of fault is to happen.
const ENOUGH_FOR_ALL: u64 = 1000;

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
    summary.lacking = lacking(summary.seeds, summary.faults, &summary.coverage);
    summary.show(arguments.json);
    if summary.violations.is_empty() && summary.lacking.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// What many worlds should have had, and these had not.
fn lacking(worlds: u64, faults: u64, coverage: &BTreeMap<String, u64>) -> Vec<String> {
    let has = |what: &str| coverage.get(what).is_some_and(|times| *times > 0);
    let mut lacking = Vec::new();
    if faults > 0 && !has("faults met") {
        lacking.push("a fault that any call met".to_owned());
    }
    if worlds >= ENOUGH_FOR_ALL {
        lacking.extend(FaultKind::NAMES.iter().filter(|name| !has(name)).map(|name| (*name).to_owned()));
    }
    lacking
}

/// As many as was said, or one for each processor.
pub(crate) fn how_many_at_once(said: Option<NonZeroUsize>) -> usize {
    said.or_else(|| thread::available_parallelism().ok()).map_or(1, usize::from)
}

fn replay_command(world: &World) -> String {
    format!("cargo run --release -p cosmonaut-sim -- replay {}", world.arguments().join(" "))
}

impl Summary {
    fn add(&mut self, verdict: &Verdict) {
        self.seeds += 1;
        self.operations += verdict.operations;
        self.faults += verdict.faults as u64;
        self.simulated_micros += verdict.simulated_micros;
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
            println!("covered too little: there was not once {what}");
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

    fn covered(what: &[&str]) -> BTreeMap<String, u64> {
        what.iter().map(|what| ((*what).to_owned(), 1)).collect()
    }

    #[test]
    fn a_run_lacks_what_it_never_had() {
        let met = covered(&["faults met"]);
        assert_eq!(lacking(5, 0, &covered(&[])), [""; 0]);
        assert_eq!(lacking(5, 3, &covered(&[])), ["a fault that any call met"]);
        assert_eq!(lacking(999, 3000, &met), [""; 0]);
        assert_eq!(lacking(1000, 3000, &met).len(), FaultKind::NAMES.len());
        let mut all = covered(&FaultKind::NAMES);
        all.extend(met);
        assert_eq!(lacking(1000, 3000, &all), [""; 0]);
        all.remove("keys rotated");
        assert_eq!(lacking(1000, 3000, &all), ["keys rotated"]);
    }
}
