//! The `cosmonaut` binary as a shell sees it, a file per command.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod crash;
mod options;
mod region;
mod up;

use std::process::Command;

/// The binary in an environment without any variable of ours.
fn cosmonaut(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cosmonaut"));
    command.args(arguments);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("AZURE_COSMOS_") || name == "COSMONAUT_MANAGEMENT_URL" {
            command.env_remove(name);
        }
    }
    command
}
