//! Instances: their messages, their turns, their history and what else is stored of them.
//!
//! | file | what it answers |
//! | --- | --- |
//! | `send` | how does a message get to an instance? |
//! | `load` | what is there of an instance? |
//! | `fetch` | which instance has a turn to run, and with what? |
//! | `messages` | what do its messages say? |
//! | `fitting` | which of them fit its history? |
//! | `turns`, `histories` | what does this process remember of the instances it works on? |
//! | `lock` | how is a turn prolonged, or given up? |
//! | `plan` | what does a turn change? |
//! | `ahead` | what is written before a turn is committed, and goes if it never is? |
//! | `commit`, `stage` | how does that happen all at once, whatever its size? |
//! | `outbox` | how do other instances get what they are owed, exactly once? |
//! | `mending` | what is done when a forced failover has lost writes? |
//! | `read` | what can clients see? |

mod ahead;
mod commit;
mod fetch;
mod fitting;
mod histories;
mod load;
mod lock;
mod mending;
mod messages;
pub(crate) mod outbox;
mod plan;
mod read;
mod send;
mod stage;
mod turns;

pub(crate) use commit::ack;
pub(crate) use fetch::fetch;
pub(crate) use histories::Histories;
pub(crate) use load::is_whole;
pub(crate) use lock::{abandon, renew};
pub(crate) use mending::{News, mend};
pub(crate) use plan::Turn;
pub(crate) use read::{append, custom_status, history, instance_stats, kv_value, kv_values, latest_history};
pub(crate) use send::{send, to_text};
pub(crate) use turns::Turns;

use duroxide::providers::ProviderError;

/// The error of a token that is no lock, or not any more.
pub(crate) fn lost_lock(operation: &str) -> ProviderError {
    ProviderError::permanent(operation, "Invalid lock token: it was never given out, or its lock has ended")
}
