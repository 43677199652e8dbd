//! Worlds in which something was wrong once. Each holds now.

use std::process::Command;

use serde_json::Value;

/// The kind of the world, its seed, and what was wrong.
const SEEDS: [(&str, u64, &str); 1] = [(
    "processors",
    10,
    "a forced failover lost the leases and left the marker: nothing was processed again",
)];

#[test]
fn worlds_in_which_something_was_wrong_hold() {
    for (kind, seed, why) in SEEDS {
        let seed = seed.to_string();
        let arguments = ["world", &seed, "--world", kind];
        let output = Command::new(env!("CARGO_BIN_EXE_cosmonaut-sim")).args(arguments).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let verdict: Value = serde_json::from_str(text.lines().last().unwrap_or_default()).unwrap();
        let replay = format!("cosmonaut-sim replay {seed} --world {kind}");
        assert_eq!(verdict["violations"], Value::Array(Vec::new()), "{why} ({replay})");
    }
}
