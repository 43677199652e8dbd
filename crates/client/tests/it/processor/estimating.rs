//! How far a processor is behind.

use cosmonaut::ChangeFeedEstimator;

use super::harness::{Ledger, Shop, patiently};

async fn total(estimator: &ChangeFeedEstimator) -> u64 {
    estimator.lag().await.unwrap().total()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_lag_is_what_was_not_read_yet_lease_by_lease() {
    let shop = Shop::open().await;
    let estimator = shop.processor().estimator();
    assert_eq!(total(&estimator).await, 1, "there are no leases yet");
    let ledger = Ledger::default();
    let one = ledger.start("one", shop.processor()).await;
    shop.write(1).await;
    ledger.until(30).await;
    let owned = one.estimator().lag().await.unwrap();
    assert_eq!(owned.leases.len(), 5);
    assert!(owned.leases.iter().all(|lease| lease.owner.as_deref() == Some("one")), "{owned:?}");
    one.stop().await;
    assert_eq!(total(&estimator).await, 0, "everything was read");

    shop.write(2).await;
    shop.write(3).await;
    let lag = estimator.lag().await.unwrap();
    assert_eq!(lag.total(), 60, "{lag:?}");
    assert!(lag.leases.iter().all(|lease| lease.owner.is_none() && lease.lag > 0), "{lag:?}");
    crate::partitioned::split(&shop.bench, "c", 0);
    let lag = estimator.lag().await.unwrap();
    assert_eq!(lag.leases[0].lag, 1, "its partition is not there any more: somebody is to look at it");

    let (told, mut hears) = tokio::sync::mpsc::unbounded_channel();
    let reporting = async {
        let interval = std::time::Duration::from_millis(1);
        estimator.report(interval, |lag| told.send(lag.unwrap().total()).unwrap()).await;
    };
    let hearing = async {
        for _ in 0..3 {
            assert!(hears.recv().await.unwrap() > 0);
        }
    };
    patiently(async {
        tokio::select! {
            () = reporting => unreachable!("it goes on for as long as it is polled"),
            () = hearing => {}
        }
    })
    .await;
}
