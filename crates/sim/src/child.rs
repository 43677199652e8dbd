//! One world in a process of its own, so that nothing that another world leaves behind can matter.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use cosmonaut_sim::checker::{decide, worth};
use cosmonaut_sim::history::Outcome;
use cosmonaut_sim::plan::Plan;
use cosmonaut_sim::{host, world};
use serde::{Deserialize, Serialize};

use crate::commands::World;

/// How much of a processor's time a world may take. Most take less than a second.
const PATIENCE: Duration = Duration::from_secs(120);
/// How long a world may take by the machine's clock, which others use too.
const LONGEST: Duration = Duration::from_secs(900);

/// The rule that a world breaks which does not end.
pub(crate) const STUCK: &str = "stuck";

/// What a process says of its world.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Verdict {
    pub(crate) seed: u64,
    pub(crate) world: String,
    pub(crate) operations: u64,
    pub(crate) simulated_micros: u64,
    pub(crate) coverage: BTreeMap<String, u64>,
    pub(crate) violations: Vec<Violated>,
    /// Sums up everything that happened: the same for the same world.
    pub(crate) digest: String,
    /// How many clients and faults it had.
    pub(crate) clients: Vec<u32>,
    pub(crate) faults: usize,
    pub(crate) calls: u32,
}

/// A rule that was broken.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Violated {
    pub(crate) rule: String,
    pub(crate) message: String,
}

/// What came of a world, with all that is known of it.
pub(crate) struct Lived {
    pub(crate) plan: Plan,
    pub(crate) ended: world::Ended,
}

/// Lives a world in this process, which must have lived none before.
pub(crate) fn lived(arguments: &World) -> Lived {
    end_with_the_first_panic();
    host::begin(arguments.seed);
    #[cfg(cosmonaut_mutations)]
    arguments.mutation.iter().for_each(|name| cosmonaut_wire::mutations::activate(name));
    let plan = arguments.plan();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime can be made");
    let ended = runtime.block_on(async {
        host::begin_time();
        world::run(plan.clone()).await
    });
    // What is left of the world is not taken apart: the process ends.
    std::mem::forget(runtime);
    Lived { plan, ended }
}

/// Whoever panics ends the world: tasks and handlers would keep it to themselves, and nobody would hear of it.
fn end_with_the_first_panic() {
    let tell = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        tell(panic);
        std::process::exit(101);
    }));
}

/// Lives a world, and prints the verdict.
pub(crate) fn live(arguments: &World) -> ExitCode {
    let lived = lived(arguments);
    let verdict = lived.verdict();
    let line = serde_json::to_string(&verdict).expect("a verdict is JSON");
    println!("{line}");
    // Threads and tasks of the world end here.
    let _ = std::io::stdout().flush();
    std::process::exit(0)
}

impl Lived {
    pub(crate) fn verdict(&self) -> Verdict {
        let history = &self.ended.history;
        let decided = decide(history);
        let mut violations: Vec<Violated> = decided
            .violations
            .into_iter()
            .map(|found| Violated { rule: found.rule.to_owned(), message: found.message })
            .collect();
        violations.extend(self.too_little());
        let mut coverage = self.ended.coverage.clone();
        let asked = [("orders looked for", decided.asked), ("orders undecided", decided.undecided)];
        let good = [("calls that succeeded", self.good_calls())];
        for (what, times) in worth(history).counts().into_iter().chain(asked).chain(good) {
            if times > 0 {
                *coverage.entry(what.to_owned()).or_default() += times as u64;
            }
        }
        let calls = history.calls.iter().filter_map(|call| call.returned);
        let orchestrations = history.orchestrations.iter();
        let endings = orchestrations.filter_map(|one| one.ended.as_ref().map(|(ended, _)| *ended));
        let last = calls.chain(endings).max().unwrap_or(0);
        Verdict {
            seed: self.plan.seed,
            world: self.plan.kind.name().to_owned(),
            operations: history.calls.len() as u64,
            simulated_micros: last,
            coverage,
            violations,
            digest: format!("{:016x}", self.digest()),
            clients: self.plan.clients.iter().map(|client| client.id).collect(),
            faults: self.plan.faults.len(),
            calls: most_calls(&self.plan),
        }
    }

    fn good_calls(&self) -> usize {
        let is_good = |outcome: &Outcome| {
            matches!(outcome, Outcome::Written | Outcome::Read(_) | Outcome::Pages { complete: true, .. })
        };
        self.ended.history.calls.iter().filter(|call| is_good(&call.outcome)).count()
    }

    /// A world in which little succeeded shows nothing.
    pub(crate) fn too_little(&self) -> Option<Violated> {
        let (history, good) = (&self.ended.history, self.good_calls());
        let unread = history.feeds.iter().find(|feed| good > 0 && feed.changes.is_empty());
        let message = if good * 10 < history.calls.len() {
            format!("only {good} of {} calls succeeded", history.calls.len())
        } else if let Some(feed) = unread {
            format!("the feed {} gave nothing", feed.name)
        } else if !history.orchestrations.is_empty() && history.ledger.is_empty() {
            "no activity ran".to_owned()
        } else {
            return None;
        };
        Some(Violated { rule: "covered-too-little".to_owned(), message })
    }

    /// FNV-1a over everything that happened.
    fn digest(&self) -> u64 {
        let mut sum = 0xcbf2_9ce4_8422_2325_u64;
        let mut add = |text: &str| {
            for byte in text.bytes() {
                sum = (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
            }
        };
        self.ended.trace.iter().for_each(|line| add(line));
        add(&format!("{:?}", self.ended.history));
        sum
    }
}

/// How many calls a task makes at most.
fn most_calls(plan: &Plan) -> u32 {
    plan.clients.iter().map(|client| client.calls).max().unwrap_or(0)
}

/// Has a process of its own live a world.
#[expect(clippy::disallowed_methods, reason = "a world that does not end is seen by the machine's clock")]
pub(crate) fn judged(world: &World) -> Verdict {
    let failed = |rule: &str, message: String| {
        let plan = world.plan();
        Verdict {
            seed: world.seed,
            world: plan.kind.name().to_owned(),
            violations: vec![Violated { rule: rule.to_owned(), message }],
            clients: plan.clients.iter().map(|client| client.id).collect(),
            faults: plan.faults.len(),
            calls: most_calls(&plan),
            ..Verdict::default()
        }
    };
    let program = std::env::current_exe().expect("this program has a name");
    let mut child = Command::new(program)
        .arg("world")
        .args(world.arguments())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("this program can be started");
    let (mut out, mut err) =
        (child.stdout.take().expect("it is piped"), child.stderr.take().expect("it is piped"));
    let said = std::thread::spawn(move || {
        let mut text = String::new();
        let _ = std::io::Read::read_to_string(&mut err, &mut text);
        text
    });
    let told = std::thread::spawn(move || {
        let mut text = String::new();
        let _ = std::io::Read::read_to_string(&mut out, &mut text);
        text
    });
    let began = Instant::now();
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if began.elapsed() > PATIENCE && has_had_enough(&child, began.elapsed()) => {
                let _ = child.kill();
                let _ = child.wait();
                return failed(STUCK, format!("the world did not end in {} s", PATIENCE.as_secs()));
            }
            _ => std::thread::sleep(Duration::from_millis(2)),
        }
    };
    let (told, said) = (told.join().unwrap_or_default(), said.join().unwrap_or_default());
    // duroxide's runtime may have written lines before.
    match serde_json::from_str(told.lines().last().unwrap_or_default()) {
        Ok(verdict) if status.success() => verdict,
        _ => failed("panic", format!("the world ended with {status}: {}", said.trim())),
    }
}

/// Whether a world has had all the time that it may take. On a machine that does other things too, it may have had little of
/// the time that has passed.
fn has_had_enough(world: &Child, passed: Duration) -> bool {
    // A world lives in one thread; the first number is how many nanoseconds that has run.
    let spent = std::fs::read_to_string(format!("/proc/{}/schedstat", world.id()));
    let spent = spent.ok().and_then(|text| text.split_whitespace().next()?.parse().ok());
    passed > LONGEST || spent.is_none_or(|spent| Duration::from_nanos(spent) > PATIENCE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_world_that_had_no_processor_has_not_had_enough() {
        // It waits for input that never comes.
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        assert!(!has_had_enough(&child, 2 * PATIENCE));
        assert!(has_had_enough(&child, LONGEST + PATIENCE));
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
