//! What the command line refuses: whatever would show nothing and look like success.

use std::process::{Command, Output};

fn ran(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_cosmonaut-sim")).args(arguments).output().unwrap()
}

#[test]
fn a_run_that_shows_nothing_is_refused() {
    for arguments in [
        &["run", "--seeds", "0"][..],
        &["run", "--jobs", "0"],
        &["run", "--minutes", "-1"],
        &["run", "--minutes", "NaN"],
        &["mutations", "--seeds", "0"],
        &["mutations", "--jobs", "0"],
    ] {
        let output = ran(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {output:?}");
    }
}

#[test]
fn the_last_seed_is_a_seed_too() {
    let output =
        ran(&["run", "--from", "18446744073709551614", "--seeds", "9", "--world", "items", "--json"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text} {}", String::from_utf8_lossy(&output.stderr));
    let verdict: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(verdict["seeds"], 2);
}

#[test]
fn a_run_whose_time_is_over_before_it_has_shown_much_fails() {
    let output = ran(&["run", "--seeds", "120", "--minutes", "0"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("only 0 of 120 worlds"), "{text}");
}

#[cfg(not(cosmonaut_mutations))]
#[test]
fn no_bug_is_planted_in_a_build_that_has_none() {
    let output = ran(&["replay", "1", "--mutation", "session-token-not-sent"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
}

#[test]
fn what_a_run_says_of_a_world_its_replay_says_too() {
    // Without clients and readers of feeds nothing is seen at all.
    let barren = ["--world", "items", "--without-clients", "0,1,2,3", "--without-faults", "0,1,2,3,4,5,6,7"];
    let of = |command: &str, seed: u64| ran(&[&[command, &seed.to_string()], &barren[..]].concat());
    let verdict = |seed: u64| -> serde_json::Value {
        let lived = of("world", seed);
        serde_json::from_slice(&lived.stdout).unwrap()
    };
    let fails = |seed: &u64| verdict(*seed)["violations"][0]["rule"] == "malformed-history";
    let seed = (1..30).find(fails).expect("a world without readers of feeds");
    let replayed = of("replay", seed);
    assert!(!replayed.status.success(), "{replayed:?}");
}
