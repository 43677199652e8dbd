//! Checkpoints that a handler makes: at once, later, or begun and left.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

use cosmonaut::{Changes, Poison, RawItem, Result};
use serde_json::{Value, json};

use super::harness::{Ledger, Note, Shop, patiently, pause, shared};
use crate::partitioned::ONE;

type Begun = Pin<Box<dyn Future<Output = Result<()>> + Send>>;

/// Starts a future, and leaves it.
async fn begin(begun: &mut Begun) {
    poll_fn(|context| {
        drop(begun.as_mut().poll(context));
        Poll::Ready(())
    })
    .await;
}

/// Waits until the only lease is as it is to be.
async fn lease_when(shop: &Shop, is_done: impl Fn(&Value) -> bool) -> Value {
    patiently(async {
        loop {
            let lease = shop.lease_documents().await.remove("0").unwrap();
            if is_done(&lease) {
                return lease;
            }
            pause().await;
        }
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_checkpoint_that_is_begun_and_left_is_made_and_keeps_no_lease_from_being_renewed() {
    for is_dropped in [true, false] {
        let shop = Shop::with(ONE, "/id").await;
        shop.write(1).await;
        let (ledger, left, last) = (Ledger::default(), shared(Vec::new()), shared(String::new()));
        let handler = {
            let (ledger, left, last) = (ledger.clone(), left.clone(), last.clone());
            move |changes: Changes<Note>| {
                let (ledger, left, last) = (ledger.clone(), left.clone(), last.clone());
                async move {
                    let context = changes.context.clone();
                    *last.lock().unwrap() = context.continuation().to_owned();
                    let mut begun: Begun = Box::pin(async move { context.checkpoint().await });
                    begin(&mut begun).await;
                    if !is_dropped {
                        left.lock().unwrap().push(begun);
                    }
                    ledger.add("one", changes);
                    Ok(())
                }
            }
        };
        let one = shop.processor().manual_checkpoints().instance_name("one").start(handler).await.unwrap();
        ledger.until(30).await;
        let last = last.lock().unwrap().clone();
        let made = lease_when(&shop, |lease| lease["ContinuationToken"] == *last).await;
        // Three renewals, which nothing but time brings about.
        let mut before = made;
        for _ in 0..3 {
            before = lease_when(&shop, |lease| lease["timestamp"] != before["timestamp"]).await;
            assert_eq!(
                (&before["Owner"], &before["ContinuationToken"]),
                (&"one".into(), &last.clone().into())
            );
        }
        patiently(one.stop()).await;
        assert_eq!(left.lock().unwrap().is_empty(), is_dropped);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_checkpoint_that_was_left_says_what_came_of_it_when_somebody_asks() {
    let shop = Shop::with(ONE, "/id").await;
    shop.write_one("a", 1).await;
    let (ledger, kept) = (Ledger::default(), shared(None));
    let handler = {
        let (ledger, kept) = (ledger.clone(), kept.clone());
        move |changes: Changes<Note>| {
            *kept.lock().unwrap() = Some(changes.context.clone());
            ledger.add("one", changes);
            async { Ok(()) }
        }
    };
    let one = shop.processor().manual_checkpoints().start(handler).await.unwrap();
    ledger.until(1).await;
    let context = kept.lock().unwrap().take().unwrap();
    let mut begun: Begun = {
        let context = context.clone();
        Box::pin(async move { context.checkpoint().await })
    };
    begin(&mut begun).await;
    lease_when(&shop, |lease| lease["ContinuationToken"] == context.continuation()).await;
    patiently(one.stop()).await;
    begun.await.unwrap();
    let late = context.checkpoint().await.unwrap_err();
    assert!(late.is_precondition_failed(), "{late}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_context_that_is_kept_keeps_no_page() {
    let shop = Shop::with(ONE, "/id").await;
    // A page that takes several frames has memory of its own, which it shares with no connection.
    for id in ["1", "2", "3"] {
        let item = json!({"id": id, "pk": "key", "text": "x".repeat(100_000)});
        shop.notes.create_item("key", &item).await.unwrap();
    }
    let (first, contexts) = (shared(Vec::new()), shared(Vec::new()));
    let handler = {
        let (first, contexts) = (first.clone(), contexts.clone());
        move |mut changes: Changes<RawItem>| {
            first.lock().unwrap().push(changes.items.swap_remove(0));
            contexts.lock().unwrap().push(changes.context);
            async { Ok(()) }
        }
    };
    let one = shop.processor().manual_checkpoints().start(handler).await.unwrap();
    patiently(async {
        while contexts.lock().unwrap().is_empty() {
            pause().await;
        }
    })
    .await;
    // An item is a part of its page, which nobody has besides.
    let item = first.lock().unwrap().remove(0).into_bytes();
    patiently(async {
        while !item.is_unique() {
            pause().await;
        }
    })
    .await;
    let last = contexts.lock().unwrap().last().cloned().unwrap();
    assert!(last.request_charge() > 0.0 && !last.diagnostics().attempts().is_empty());
    last.checkpoint().await.unwrap();
    one.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_that_cannot_be_read_keeps_no_page() {
    let shop = Shop::with(ONE, "/id").await;
    shop.write(1).await;
    let poison = shared(Vec::new());
    let keep = {
        let poison = poison.clone();
        move |change: Poison| {
            poison.lock().unwrap().push(change);
            async { Ok(()) }
        }
    };
    let builder = shop.processor().on_poison(keep);
    let one = builder.start(|_: Changes<u32>| async { Ok(()) }).await.unwrap();
    patiently(async {
        while poison.lock().unwrap().len() < 30 {
            pause().await;
        }
    })
    .await;
    one.stop().await;
    for change in poison.lock().unwrap().drain(..) {
        assert!(change.json.into_bytes().is_unique());
    }
}
