//! The `cosmonaut` command line: reads the arguments and hands over to one file per command.
//!
//! It exits with 0 if all went well, 1 if the work failed, 2 if the arguments or the configuration cannot be
//! used, 130 if it was stopped before it was done.

// The commands.
mod bench;
mod completions;
mod copy;
mod demo;
mod doctor;
mod durable;
mod explore;
mod export;
mod import;
mod item;
mod man;
mod options;
mod query;
mod region;
mod resource;
mod shell;
mod up;

// What they share.
mod account;
mod cell;
mod confirm;
mod container;
mod data;
mod descriptors;
mod directories;
mod document;
mod failure;
mod profile;
mod request_log;
mod runtime;
mod screen;
mod served;
mod signal;
mod table;
mod time;
mod token;
mod variable;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

use crate::failure::Failure;

/// A Cosmos DB stack for Rust that keeps working while regions fail.
#[derive(Parser)]
#[command(name = "cosmonaut", version, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Watch three regions serve a shop while one of them fails: live, with a summary and a report
    Demo(demo::Arguments),
    /// Start a Cosmos DB account on this machine that any SDK can use, until it is stopped
    Up(up::Arguments),
    /// Break the regions of a running account and mend them: down, slow, failover, lag, faults and more
    Region(region::Arguments),
    /// Run a query and show its rows as a table, JSON or CSV, or explain how it is run
    Query(query::Arguments),
    /// Ask and look around in a session: history, completion, \\d, \\explain, \\watch and more; or run a script
    Shell(shell::Arguments),
    /// Read, write, change and delete single items
    Item(item::Arguments),
    /// Create, list, show, replace, delete and split containers; their size and throughput
    Container(resource::container::Arguments),
    /// Create, list, show and delete databases; their throughput
    Database(resource::database::Arguments),
    /// Write the items of containers to files: JSON lines, JSON or CSV, packed or not, with their definitions
    Export(export::Arguments),
    /// Write the items of files to containers, which are made if they are not there
    Import(import::Arguments),
    /// Copy a container to another one, in this account or elsewhere, and follow what is written meanwhile
    Copy(copy::Arguments),
    /// Look at durable orchestrations and steer them: list, show, history, tree, raise, cancel, delete and more
    Durable(durable::Arguments),
    /// Look at an account in a browser, and change it: data, queries, regions, requests and orchestrations
    Explore(explore::Arguments),
    /// Put a load on an account and measure rates, latencies and request units
    Bench(bench::Arguments),
    /// Find out what is wrong between this machine and an account: names, TLS, clock, key, regions and more
    Doctor(doctor::Arguments),
    /// List every option: where it can be set, its variable, default, value, and where that value came from
    Options(options::Arguments),
    /// Print a script by which bash, zsh, fish or PowerShell completes arguments
    Completions(completions::Arguments),
    /// Print a manual page, or write all of them into a directory
    Man(man::Arguments),
}

/// All that can be said to this program.
fn command() -> clap::Command {
    Arguments::command()
}

fn main() -> ExitCode {
    match run(Arguments::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

fn run(command: Command) -> Result<(), Failure> {
    match command {
        Command::Demo(arguments) => demo::run(&arguments),
        Command::Up(arguments) => up::run(&arguments),
        Command::Region(arguments) => region::run(&arguments),
        Command::Query(arguments) => query::run(&arguments),
        Command::Shell(arguments) => shell::run(&arguments),
        Command::Item(arguments) => item::run(&arguments),
        Command::Container(arguments) => resource::container::run(&arguments),
        Command::Database(arguments) => resource::database::run(&arguments),
        Command::Export(arguments) => export::run(&arguments),
        Command::Import(arguments) => import::run(&arguments),
        Command::Copy(arguments) => copy::run(&arguments),
        Command::Durable(arguments) => durable::run(&arguments),
        Command::Explore(arguments) => explore::run(&arguments),
        Command::Bench(arguments) => bench::run(&arguments),
        Command::Doctor(arguments) => doctor::run(&arguments),
        Command::Options(arguments) => options::run(&arguments, &mut std::io::stdout().lock()),
        Command::Completions(arguments) => completions::run(&arguments),
        Command::Man(arguments) => man::run(&arguments),
    }
}
