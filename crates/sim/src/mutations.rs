//! Plants bugs, one at a time, and counts how many seeds it takes until a rule is broken.

use std::process::{Command, ExitCode};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use cosmonaut_sim::plan::WorldKind;
use serde::Serialize;

use crate::child::judged;
use crate::commands::{Kind, Mutations, World};
use crate::report::how_many_at_once;

/// A planted bug, and in which worlds it can show.
struct Planted {
    name: &'static str,
    world: Kind,
    /// Whether one of the first few seeds shows it.
    is_quick: bool,
}

impl Planted {
    const fn quickly(self) -> Self {
        Self { is_quick: true, ..self }
    }
}

const fn in_items(name: &'static str) -> Planted {
    Planted { name, world: Kind::Items, is_quick: false }
}

const fn in_processors(name: &'static str) -> Planted {
    Planted { name, world: Kind::Processors, is_quick: false }
}

const fn in_orchestrations(name: &'static str) -> Planted {
    Planted { name, world: Kind::Orchestrations, is_quick: false }
}

/// All planted bugs.
const ALL: &[Planted] = &[
    in_items("session-token-not-sent"),
    in_items("writes-teach-no-session"),
    in_items("latest-token-wins"),
    in_items("child-forgets-the-parents-session"),
    in_items("every-write-is-repeated").quickly(),
    in_items("if-match-is-ignored").quickly(),
    in_items("replication-skips-a-commit").quickly(),
    in_items("the-last-to-arrive-wins").quickly(),
    in_items("strong-write-waits-for-nobody"),
    in_items("strong-read-waits-for-nobody"),
    in_items("strong-read-shows-what-may-be-lost"),
    in_items("session-is-not-waited-for"),
    in_items("session-is-refused-for-ever"),
    in_items("bounded-write-waits-for-nobody"),
    in_items("acknowledged-before-it-is-safe"),
    in_items("graceful-failover-loses-the-queue"),
    in_items("feed-skips-a-change").quickly(),
    in_items("feed-page-goes-too-far"),
    in_items("failover-forgets-the-session"),
    in_items("hedge-teaches-no-session"),
    in_items("hedged-refusal-is-certain"),
    in_items("lost-answer-counts-as-not-sent").quickly(),
    in_items("lost-write-goes-over-another-connection").quickly(),
    in_items("repeat-forgets-what-was-sent-before"),
    in_items("unknown-outcome-is-said-to-be-certain").quickly(),
    in_items("condition-is-dropped-on-a-repeat").quickly(),
    in_items("order-by-resumes-behind-a-tie").quickly(),
    in_items("order-by-repeats-a-tie").quickly(),
    in_items("token-is-ahead-of-its-page"),
    in_items("split-loses-a-child"),
    in_items("child-begins-anew-after-a-split"),
    in_items("read-many-forgets-an-item-after-a-split"),
    in_items("bulk-results-change-places").quickly(),
    in_items("bulk-repeats-what-is-unknown").quickly(),
    in_items("bulk-forgets-a-result").quickly(),
    in_processors("checkpoint-before-the-handler-is-done"),
    in_processors("processor-forgets-a-child-lease").quickly(),
    in_orchestrations("intent-is-struck-out-early"),
    in_orchestrations("time-is-that-of-the-own-clock").quickly(),
    // Emulator.
    in_items("refused-batch-is-not-undone").quickly(),
    in_items("settlement-keeps-the-older-version"),
    in_items("deletions-are-forgotten-early"),
    in_items("child-partition-counts-from-one").quickly(),
    in_items("child-partition-counts-anew-after-a-restart"),
    // Storage.
    in_items("read-shows-what-is-not-safe"),
    in_items("part-of-a-batch-is-not-written").quickly(),
    in_items("deleted-item-stays-on-disk").quickly(),
    in_items("version-tags-are-not-restored").quickly(),
    in_items("file-name-is-not-synced"),
    in_items("failed-sync-counts-as-done"),
    // Durable.
    in_orchestrations("what-is-owed-is-not-delivered-later"),
    in_orchestrations("lock-is-not-renewed").quickly(),
    in_orchestrations("dead-process-keeps-its-share"),
    in_orchestrations("turn-is-committed-without-its-lock"),
    in_orchestrations("message-of-a-turn-is-dropped").quickly(),
    in_orchestrations("message-is-delivered-twice").quickly(),
    in_orchestrations("events-are-not-carried-over").quickly(),
    in_orchestrations("timer-fires-at-once").quickly(),
    in_orchestrations("session-of-what-was-lost-is-kept"),
    in_orchestrations("nothing-is-mended-after-a-loss"),
];

/// What became of a planted bug.
#[derive(Serialize)]
struct Hunted {
    name: &'static str,
    world: &'static str,
    caught: bool,
    /// How many seeds it took, or how many were tried.
    seeds: u64,
    /// The rule that was broken first.
    rule: Option<String>,
}

#[derive(Serialize)]
struct Summary {
    mutations: Vec<Hunted>,
}

/// `mutations`.
pub(crate) fn run(arguments: &Mutations) -> ExitCode {
    if !cfg!(cosmonaut_mutations) {
        return run_build_with_bugs();
    }
    let jobs = how_many_at_once(arguments.jobs);
    let is_meant = |planted: &&Planted| {
        let is_named = arguments.only.as_deref().is_none_or(|only| only == planted.name);
        is_named && (planted.is_quick || !arguments.quick)
    };
    let mut summary = Summary { mutations: Vec::new() };
    for planted in ALL.iter().filter(is_meant) {
        let result = hunt(planted, arguments.seeds, jobs);
        if !arguments.json {
            let rule = result.rule.as_deref().unwrap_or("NOT CAUGHT");
            println!("{:>5}  {:<36}  {rule}", result.seeds, result.name);
        }
        summary.mutations.push(result);
    }
    if arguments.json {
        println!("{}", serde_json::to_string(&summary).expect("a summary is JSON"));
    }
    if summary.mutations.is_empty() {
        eprintln!("there is no such mutation");
        return ExitCode::FAILURE;
    }
    if summary.mutations.iter().all(|result| result.caught) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Tries seeds until one shows the bug.
fn hunt(planted: &Planted, seeds: u64, jobs: usize) -> Hunted {
    let (next, found) = (AtomicU64::new(1), Mutex::new(None::<(u64, String)>));
    thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    let is_found = found.lock().is_ok_and(|found| found.is_some());
                    if seed > seeds || is_found {
                        return;
                    }
                    let mutation = Some(planted.name.to_owned());
                    let verdict = judged(&World { mutation, ..World::whole(seed, Some(planted.world)) });
                    let Some(violated) = verdict.violations.into_iter().next() else { continue };
                    // A rule that is broken in this world anyway shows nothing.
                    if !judged(&World::whole(seed, Some(planted.world))).violations.is_empty() {
                        continue;
                    }
                    if let Ok(mut found) = found.lock()
                        && found.as_ref().is_none_or(|(earlier, _)| seed < *earlier)
                    {
                        *found = Some((seed, violated.rule));
                    }
                }
            });
        }
    });
    let (seed, rule) = found.into_inner().unwrap_or_default().unzip();
    let world: WorldKind = planted.world.world();
    Hunted {
        name: planted.name,
        world: world.name(),
        caught: seed.is_some(),
        seeds: seed.unwrap_or(seeds),
        rule,
    }
}

/// This build has no bugs planted in it; runs one that has, with the same arguments.
fn run_build_with_bugs() -> ExitCode {
    let profile = if cfg!(debug_assertions) { "dev" } else { "release" };
    let status = Command::new("cargo")
        .args(["run", "--quiet", "--profile", profile, "-p", "cosmonaut-sim"])
        .args(["--target-dir", "target/mutations", "--"])
        .args(std::env::args_os().skip(1))
        .env("RUSTFLAGS", "--cfg cosmonaut_mutations")
        .status();
    match status {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("cargo cannot be started: {error} (run this in the project, with cargo installed)");
            ExitCode::FAILURE
        }
    }
}
