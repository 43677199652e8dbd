//! An instance that is paused past its lease, as by `SIGSTOP`: its only thread does nothing for a while.

use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use cosmonaut::{Changes, ErrorKind};

use super::harness::{Events, Ledger, Note, PATIENCE, Shop, client, quick, shared};
use crate::partitioned::ONE;

/// What a paused instance is told, and what it tells.
struct Paused {
    resume: std::sync::mpsc::Sender<()>,
    holds_a_page: Receiver<()>,
    done: thread::JoinHandle<Option<ErrorKind>>,
}

/// An instance in a thread and a runtime of its own. Its handler stops everything until it is told to go on; then it
/// checkpoints if that is its business, and the instance stops when it has lost its lease.
fn start_paused(shop: &Shop, is_manual: bool, events: &Events) -> Paused {
    let (resume, resumed) = channel();
    let (held, holds_a_page) = channel();
    let (url, key) = (shop.bench.emulator.url().to_owned(), shop.bench.emulator.key().to_owned());
    let events = events.clone();
    let done = thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async move {
            let database = client(&url, &key).database("d");
            let builder = database.container("c").change_feed_processor("p", &database.container("leases"));
            // Others take its lease by what they are set to. This is how long its own requests may take.
            let mut builder = quick(builder).lease_expiry(Duration::from_secs(60)).instance_name("paused");
            if is_manual {
                builder = builder.manual_checkpoints();
            }
            let (result, resumed) = (shared(None), shared(resumed));
            let handler = {
                let result = result.clone();
                move |changes: Changes<Note>| {
                    held.send(()).unwrap();
                    // Nothing of this instance runs meanwhile: no renewal either.
                    resumed.lock().unwrap().recv_timeout(PATIENCE).unwrap();
                    let result = result.clone();
                    async move {
                        if is_manual {
                            let checkpoint = changes.context.checkpoint().await;
                            assert!(!changes.context.is_leased());
                            *result.lock().unwrap() = checkpoint.err().map(|error| error.kind());
                        }
                        Ok(())
                    }
                }
            };
            let processor = builder.max_leases(1).on_event(events.listener()).start(handler).await.unwrap();
            events.until("released 0 LeaseLost").await;
            processor.stop().await;
            *result.lock().unwrap()
        })
    });
    Paused { resume, holds_a_page, done }
}

async fn overtake(is_manual: bool) {
    let shop = Shop::with(ONE, "/id").await;
    shop.write(1).await;
    let (ledger, events) = (Ledger::default(), Events::default());
    let paused = start_paused(&shop, is_manual, &events);
    let holds_a_page = paused.holds_a_page;
    tokio::task::spawn_blocking(move || holds_a_page.recv_timeout(PATIENCE).unwrap()).await.unwrap();

    let two = ledger.start("two", shop.processor().lease_expiry(Duration::from_secs(2))).await;
    ledger.until(30).await;
    shop.write(2).await;
    ledger.until(60).await;
    two.stop().await;
    let before = shop.lease_documents().await;
    // The lease is nobody's now: even so, it is not the paused instance's to write to.
    paused.resume.send(()).unwrap();
    let kind = tokio::task::spawn_blocking(|| paused.done.join().unwrap()).await.unwrap();
    assert_eq!(kind, is_manual.then_some(ErrorKind::PreconditionFailed));
    let after = shop.lease_documents().await;
    assert_eq!(before["0"]["ContinuationToken"], after["0"]["ContinuationToken"]);
    ledger.check_order();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_instance_that_was_paused_past_its_lease_checkpoints_nothing() {
    overtake(false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handler_that_was_paused_past_its_lease_is_told_so() {
    overtake(true).await;
}
