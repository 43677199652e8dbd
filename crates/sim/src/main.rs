//! `cosmonaut-sim`: runs worlds by their seeds, replays one, and shows that seeded bugs are caught.

mod child;
mod commands;
mod mutations;
mod report;
mod shrink;

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    match commands::Arguments::parse().command {
        commands::Command::Run(run) => report::run(&run),
        commands::Command::Mutations(mutations) => mutations::run(&mutations),
        commands::Command::Replay(replay) => report::replay(&replay),
        commands::Command::World(world) => child::live(&world),
    }
}
