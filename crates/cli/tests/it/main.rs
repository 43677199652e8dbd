//! The `cosmonaut` binary as a shell sees it, a file per command.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod account;
mod bench;
mod book;
mod completions;
#[cfg(unix)]
mod connection;
#[cfg(unix)]
mod copy;
mod crash;
mod demo;
mod doctor;
mod durable;
mod durable_dead;
mod durable_hubs;
mod durable_setup;
mod durable_stress;
mod explore;
mod files;
mod files_interrupted;
mod item;
mod options;
mod profile;
mod query;
mod region;
mod scripts;
#[cfg(unix)]
mod shell;
#[cfg(target_os = "linux")]
mod stress;
#[cfg(unix)]
mod terminal;
mod up;

use std::process::Command;

/// The binary in an environment without any variable of ours.
fn cosmonaut(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cosmonaut"));
    command.args(arguments);
    for (name, _) in std::env::vars_os() {
        let ours = ["AZURE_COSMOS_", "COSMOS_", "COSMOSDB_", "COSMONAUT_"];
        if ours.iter().any(|ours| name.to_string_lossy().starts_with(ours)) {
            command.env_remove(name);
        }
    }
    // Nor does a configuration of whoever runs this say anything.
    command.env("XDG_CONFIG_HOME", "/nonexistent").env("XDG_STATE_HOME", "/nonexistent");
    command
}
