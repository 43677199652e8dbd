//! Making good what a forced failover has lost.
//!
//! Each partition goes back to an earlier moment, and is whole as of then. So an instance goes on from what is there:
//! its turn is run again with the messages that are there again. What lies in two partitions may not fit together any
//! more. A delivery whose target has lost it is made again here. And what this process has in memory may be wrong: it
//! looks at all that waits.
//!
//! Which deliveries are looked at depends on what is known. A failover shows by the versions of partitions, which are
//! written down: then all deliveries are checked that were made since shortly before the partition was last seen in its
//! version before, by every process, and by whoever gets its slots later. Without such a sign, a process that gets slots,
//! as when it starts, checks the deliveries of the last minutes, a thousand at most. That costs one query, and one request
//! for each partition that they went to. It does not see what was lost earlier, or beyond the thousand, by a failover that
//! no version shows.
//!
//! | file | what it answers |
//! | --- | --- |
//! | `checklist` | what is still to be looked at? |
//! | `deliveries` | what was delivered and is gone? |
//! | `forgotten` | who may have sent something that is gone and not known any more? |
//! | `locked` | which instances has a deletion locked? |
//! | `waiting` | what waits, whatever this process believes? |
//! | `record` | what have other processes seen of failovers? |

mod checklist;
mod deliveries;
mod forgotten;
mod locked;
mod record;
mod waiting;

use std::sync::Weak;
use std::time::Duration;

use cosmonaut::mutation;
use duroxide::providers::ProviderError;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::clock;
use crate::core::Core;
use crate::lease::Slots;
use checklist::{Checklist, Loss, Subject};

/// How long what cannot be looked at is left alone.
const AGAIN: Duration = Duration::from_secs(1);
/// How often a process that shares the container asks what others have seen of failovers.
const ASK: Duration = Duration::from_secs(10);
/// How often one does that has the container for itself, to write down what it has seen.
const SELDOM: Duration = Duration::from_secs(600);
/// How many documents are looked at with one request.
const PAGE: u32 = 100;
/// How long a partition may take to say what is there. Others wait for it meanwhile.
const PATIENCE: Duration = Duration::from_secs(5);
/// How many deliveries are remembered whose targets do not answer.
const MOST_LATE: usize = 10_000;

/// What a mender hears of.
pub(crate) struct News {
    pub(crate) losses: watch::Receiver<u64>,
    /// The slots of this process.
    pub(crate) own: watch::Receiver<Slots>,
}

/// Mends whatever is lost, for ever. It says in `rests` whether there is nothing left to look at.
pub(crate) async fn mend(core: Weak<Core>, mut news: News, rests: watch::Sender<Slots>) {
    let (mut checklist, mut ask_at) = (Checklist::default(), clock::instant() + ASK);
    // Deliveries whose targets did not answer.
    let mut late = Vec::new();
    // Whether all partitions have been seen since slots came.
    let mut is_seen = false;
    loop {
        let Some(strong) = core.upgrade() else { return };
        if news.own.has_changed().unwrap_or(false) {
            let slots = *news.own.borrow_and_update();
            // An instance may be deleted and made again while others have its slot.
            strong.histories.keep_only(&slots);
            checklist.own(slots, strong.store.losses().lost());
            is_seen = false;
        }
        if news.losses.has_changed().unwrap_or(false) {
            news.losses.mark_unchanged();
            if let Some(span) = strong.store.losses().lost()
                && !mutation!("nothing-is-mended-after-a-loss")
            {
                let forgotten = strong.store.losses().take_forgotten();
                checklist.everything(Loss { span, forgotten });
                // The others are told soon, and whoever comes after this process.
                ask_at = clock::instant();
            }
        }
        // Who has no slots has sent nothing that could be lost.
        let asks = !checklist.owned().is_empty();
        if asks && clock::instant() >= ask_at {
            ask_at = clock::instant() + if strong.dispatch.is_shared() { ASK } else { SELDOM };
            if let Err(error) = record::compare(&strong).await {
                tracing::warn!(%error, "what is known of failovers cannot be read or written now");
                ask_at = clock::instant() + ASK;
            }
            if news.losses.has_changed().unwrap_or(false) {
                continue;
            }
        }
        let call = strong.store.mending_call(strong.settings.call_timeout.min(PATIENCE));
        let is_failing = match checklist.first() {
            // So many can be remembered: the rest waits until they are dealt with.
            Some(_) if late.len() >= MOST_LATE => true,
            Some(part) => {
                let looked = match part.subject {
                    Subject::Recent => deliveries::look_at_recent(&strong, &call, part, &mut late).await,
                    Subject::Lost(span) => deliveries::look(&strong, &call, part, span, &mut late).await,
                    Subject::Forgotten(span) => forgotten::look(&strong, &call, part, span).await,
                    Subject::Locked => locked::look(&strong, &call, part).await,
                    Subject::Waiting => waiting::look(&strong, &call, part).await,
                };
                match looked {
                    Ok(continuation) => checklist.looked(continuation),
                    Err(error) => {
                        tracing::warn!(%error, "what a failover may have lost cannot be looked at yet");
                        checklist.put_off();
                    }
                }
                checklist.is_failing()
            }
            None if !late.is_empty() => true,
            // By now queries have been to all partitions that this process has to do with.
            None if asks && !is_seen => {
                (is_seen, ask_at) = (true, clock::instant());
                continue;
            }
            None => {
                rests.send_replace(checklist.owned());
                drop(strong);
                let until = if asks { ask_at } else { clock::instant() + SELDOM };
                wait(&mut news, until).await;
                continue;
            }
        };
        if is_failing && !late.is_empty() {
            let some = late.drain(..late.len().min(PAGE as usize)).collect();
            // Behind the others, so that each has its turn.
            late.extend(deliveries::check(&strong, some).await);
        }
        drop(strong);
        if is_failing {
            clock::sleep(AGAIN).await;
        }
    }
}

/// Waits for news, or until some moment.
async fn wait(news: &mut News, until: Instant) {
    let News { losses, own } = news;
    let changed = async {
        tokio::select! {
            lost = losses.changed() => if lost.is_ok() { losses.mark_changed() },
            got = own.changed() => if got.is_ok() { own.mark_changed() },
        }
    };
    clock::until(until, changed).await;
}

/// A row that cannot be read is said to be so, and passed.
fn readable<T>(row: Result<T, ProviderError>) -> Option<T> {
    row.inspect_err(|error| tracing::error!(%error, "a document is passed that may have to be mended")).ok()
}
