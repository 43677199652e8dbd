//! `cosmonaut container …` and `cosmonaut database …`: what an account consists of, made, shown, changed and deleted.

pub(crate) mod container;
pub(crate) mod database;
mod stats;
mod throughput;

use cosmonaut::Response;

use crate::account::AccountArguments;
use crate::failure::Failure;
use crate::screen::note;

/// What the commands of both have in common.
#[derive(clap::Args)]
pub(crate) struct Common {
    /// Print JSON
    #[arg(long, global = true)]
    json: bool,

    /// Show every request on the standard error, and what it has cost
    #[arg(long, global = true)]
    stats: bool,

    #[command(flatten)]
    account: AccountArguments,
}

impl Common {
    fn stats<T>(&self, answer: &Response<T>) -> Result<(), Failure> {
        if self.stats {
            note(&format!("{}\n{:.2} RU", answer.diagnostics(), answer.request_charge()));
        }
        Ok(())
    }
}
