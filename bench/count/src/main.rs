//! How many instructions, and misses of the caches, one operation takes, by valgrind: what a clock cannot say on a
//! machine that others use too.
//!
//! `cargo run --release --manifest-path bench/count/Cargo.toml` runs each load twice under valgrind, with few and with
//! many operations; the difference is what the operations take. The network answers from constants without a socket;
//! its own part, alike in all loads, is in the counts. Valgrind knows no instructions for SHA-256, so that a signature
//! counts for more than it costs. With the name and number of a load it only runs that: for profiling.

mod gateway;
mod work;

use std::process::{Command, ExitCode};

use work::Load;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

const FEW: u64 = 1_000;
const MANY: u64 = 6_000;

/// The goals: a read through the client, of the driver's; a write with many partitions, of that with one.
const MOST_OF_DRIVER: f64 = 1.03;
const MOST_OF_ONE: f64 = 1.1;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let result = match arguments.as_slice() {
        [] => table(),
        [name, operations] => run(name, operations),
        _ => Err("usage: cosmonaut-count [LOAD OPERATIONS]".into()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(name: &str, operations: &str) -> Result<()> {
    let names: Vec<&str> = Load::ALL.iter().map(Load::name).collect();
    let load = Load::ALL.iter().find(|load| load.name() == name);
    let load = load.ok_or_else(|| format!("{name:?} is none of {}", names.join(", ")))?;
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?
        .block_on(load.run(operations.parse()?))
}

fn table() -> Result<()> {
    println!("{:<28}{:>14}{:>10}{:>12}{:>12}", "load", "instructions", "of base", "L1 misses", "LL misses");
    let mut base = 0.0;
    for load in Load::ALL {
        let counts = each(load.name())?;
        let of_base =
            if load.is_base() { String::new() } else { format!("{:.3} ×", counts.instructions / base) };
        if load.is_base() {
            base = counts.instructions;
        }
        let Counts { instructions, first_level, last_level } = counts;
        println!("{:<28}{instructions:>14.0}{of_base:>10}{first_level:>12.1}{last_level:>12.2}", load.name());
    }
    println!(
        "goals: a read through the client ≤ {MOST_OF_DRIVER} ×, a write with many partitions ≤ {MOST_OF_ONE} ×"
    );
    Ok(())
}

/// What one operation takes.
struct Counts {
    instructions: f64,
    first_level: f64,
    last_level: f64,
}

fn each(name: &str) -> Result<Counts> {
    let (few, many) = (count(name, FEW)?, count(name, MANY)?);
    let each = |nth: usize| (many[nth] as f64 - few[nth] as f64) / (MANY - FEW) as f64;
    Ok(Counts { instructions: each(0), first_level: each(1), last_level: each(2) })
}

/// Instructions and misses of data at the first and the last level, of a whole run.
fn count(name: &str, operations: u64) -> Result<[u64; 3]> {
    let output = Command::new("valgrind")
        .args(["--tool=cachegrind", "--cache-sim=yes", "--cachegrind-out-file=/dev/null"])
        .arg(std::env::current_exe()?)
        .args([name, &operations.to_string()])
        .output()
        .map_err(|error| format!("valgrind: {error} (is it installed?)"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        return Err(format!("{name} under valgrind: {said}").into());
    }
    let number = |label: &str| -> Result<u64> {
        let line = said.lines().find(|line| line.contains(label));
        let digits = line.and_then(|line| line.split(':').nth(1)?.split_whitespace().next());
        Ok(digits.ok_or_else(|| format!("valgrind did not say {label}"))?.replace(',', "").parse()?)
    };
    Ok([number("I   refs")?, number("D1  misses")?, number("LLd misses")?])
}
