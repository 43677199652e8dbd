//! Worlds that have broken a rule once, and why: none of them does any more.

use std::process::Command;

/// The kind of a world, its seed, and what it has shown.
const SEEDS: [(&str, &str, &str); 1] = [(
    "orchestrations",
    "2660",
    "children answered to a turn that their parent had lost in a forced failover",
)];

#[test]
fn worlds_that_have_broken_a_rule_once_break_none() {
    for (kind, seed, why) in SEEDS {
        let mut replay = Command::new(env!("CARGO_BIN_EXE_cosmonaut-sim"));
        let output = replay.args(["replay", seed, "--world", kind]).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "cosmonaut-sim replay {seed} --world {kind} ({why}): {text}");
    }
}
