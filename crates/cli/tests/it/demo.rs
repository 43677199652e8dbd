//! `cosmonaut demo` as a newcomer meets it: nothing lost, a summary, a report, and a picture that moves.

use std::path::PathBuf;
use std::process::Output;

use serde_json::Value;

use crate::cosmonaut;

/// A file of one test's own, gone at its end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let directory = std::env::temp_dir().join(format!("cosmonaut-demo-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        Self(directory)
    }

    fn report(&self) -> String {
        self.0.join("report.html").to_str().unwrap().to_owned()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn demo(arguments: &[&str]) -> Output {
    cosmonaut(&[&["demo"], arguments].concat()).output().unwrap()
}

/// The summary of a run for which the exit status vouches.
fn summary(scenario: &str, seconds: &str) -> Value {
    let output = demo(&["--json", "--no-report", "--scenario", scenario, "--seconds", seconds]);
    let (json, progress) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{scenario}: {json}\n{progress}");
    serde_json::from_str(&json).unwrap_or_else(|error| panic!("{scenario}: {error} in {json}"))
}

fn assert_unharmed(scenario: &str, summary: &Value) {
    for what in ["lost", "duplicated", "failuresAfterMend"] {
        assert_eq!(summary[what], 0, "{scenario}: {what} in {summary:#}");
    }
    let orchestrations = &summary["orchestrations"];
    assert_eq!(orchestrations["started"], orchestrations["completed"], "{scenario}: {summary:#}");
    assert!(orchestrations["started"].as_u64().unwrap() > 0, "{scenario}: {summary:#}");
}

#[test]
fn a_region_goes_down_and_comes_back_and_nothing_is_lost() {
    let summary = summary("region-down", "6");
    assert_unharmed("region-down", &summary);
    assert_eq!((&summary["scenario"], &summary["seconds"]), (&"region-down".into(), &6.into()));
    assert_eq!(summary["regions"][1]["name"], "West US");
    assert!(summary["recovery"]["firstSuccessMs"].as_f64().is_some(), "{summary:#}");
    let phases = summary["phases"].as_array().unwrap();
    let names: Vec<_> = phases.iter().map(|phase| phase["phase"].as_str().unwrap()).collect();
    assert_eq!(names, ["healthy", "fault", "mended"]);
    let mut operations = 0;
    for phase in phases {
        for kind in ["reads", "writes", "queries"] {
            assert!(phase[kind]["p50Ms"].as_f64() <= phase[kind]["p99Ms"].as_f64(), "{summary:#}");
            assert!(phase[kind]["p99Ms"].as_f64().is_some(), "{summary:#}");
            operations += phase[kind]["operations"].as_u64().unwrap();
        }
    }
    assert_eq!(summary["operations"], operations);
    for kind in ["reads", "writes", "queries"] {
        let longest = summary["longestGapMs"][kind].as_f64().unwrap();
        let in_phase = |phase: &Value| phase["longestGapMs"][kind].as_f64().unwrap();
        let longest_of_phases = phases.iter().map(in_phase).fold(0.0, f64::max);
        assert!(longest > 0.0 && longest >= longest_of_phases, "{kind}: {summary:#}");
    }
}

#[test]
fn no_scenario_loses_anything() {
    for scenario in ["region-slow", "partition-down", "write-failover", "throttling", "split"] {
        assert_unharmed(scenario, &summary(scenario, "4"));
    }
}

#[test]
fn where_nothing_moves_there_are_plain_lines_a_table_and_a_report() {
    let scratch = Scratch::new("plain");
    let report = scratch.report();
    let output = demo(&["--seconds", "4", "--report", &report]);
    let (shown, errors) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{shown}{errors}");
    assert!(!shown.contains('\x1b') && errors.is_empty(), "{shown}{errors}");
    for part in [
        "*** West US goes down ***",
        "*** West US is back ***",
        "PHASE",
        "Longest gap",
        "0 lost, 0 duplicated",
        &report,
    ] {
        assert!(shown.contains(part), "{part} is not in\n{shown}");
    }
    assert!(shown.lines().filter(|line| line.contains(" op/s ")).count() >= 3, "a line a second:\n{shown}");
    let page = std::fs::read_to_string(&report).unwrap();
    assert!(page.starts_with("<!doctype html>") && page.contains("</html>"), "{}", page.len());
    assert!(!page.contains("C2y6yDjf5"), "the key is nobody's business");
}

#[test]
fn what_cannot_be_done_is_refused_before_anything_starts() {
    let nowhere = std::env::temp_dir().join("no-such-directory").join("report.html");
    for (arguments, part) in [
        (&["--seconds", "2"][..], "3..=3600"),
        (&["--seconds", "soon"], "soon"),
        (&["--scenario", "flood"], "region-slow"),
        (&["--report", nowhere.to_str().unwrap()], "--no-report"),
        (&["--report", "a.html", "--no-report"], "--no-report"),
        (&["faster"], "faster"),
    ] {
        let output = demo(arguments);
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
        assert!(error.contains(part) && output.stdout.is_empty(), "{arguments:?}: {error}");
    }
}

#[cfg(unix)]
mod in_a_terminal {
    use super::Scratch;
    use crate::terminal::{CTRL_C, Terminal};

    #[test]
    fn the_picture_moves_and_the_moments_stay() {
        let scratch = Scratch::new("live");
        let report = scratch.report();
        let terminal = Terminal::start(&["demo", "--seconds", "4", "--report", &report], &[], (40, 120));
        for part in ["● healthy", "● fault", "● mended", "waiting for what is under way", "PHASE"] {
            terminal.wait_for(part);
        }
        let (status, screen, written) = terminal.end();
        assert!(status.success(), "{screen}");
        assert!(written.contains("\x1b[3"), "in colour");
        for part in ["▼ West US goes down", "▲ West US is back", "0 lost, 0 duplicated", "Report"] {
            assert!(screen.contains(part), "{part} is not in\n{screen}");
        }
        assert!(!screen.contains("● mended"), "the picture is gone at the end:\n{screen}");
    }

    #[test]
    fn ctrl_c_stops_early_mends_and_sums_up() {
        let scratch = Scratch::new("stopped");
        let report = scratch.report();
        let arguments = ["demo", "--seconds", "60", "--report", &report];
        let terminal = Terminal::start(&arguments, &[("NO_COLOR", "1")], (40, 120));
        let screen = terminal.wait_for("started");
        for part in ["reads from", "writes to", "no success for", "failovers", "under way", "P99"] {
            assert!(screen.contains(part), "{part} is not in\n{screen}");
        }
        terminal.press(CTRL_C);
        let (status, screen, written) = terminal.end();
        assert_eq!(status.code(), Some(130), "{screen}");
        for part in ["Stopped", "of 60 s", "0 lost, 0 duplicated", "nothing was broken yet"] {
            assert!(screen.contains(part), "{part} is not in\n{screen}");
        }
        assert!(!written.contains("\x1b[3"), "no colour was wanted");
    }
}
