//! Legs that race: what settles a race, what a loser still does, and how often there is a race at all.

use super::*;

#[tokio::test(start_paused = true)]
async fn hedging_comes_back_at_one_in_ten() {
    let net = Net::new(&["east", "west"], false, |_, region, request| {
        is_doc(request).then(|| if region == "east" { Do::Say(150, 200, 0) } else { Do::Say(1_000, 200, 0) })
    });
    let driver = net.driver(hedging_after(100));
    for _ in 0..100 {
        run(&driver, &read("1", "a")).await.unwrap();
    }
    let first = net.calls().iter().filter(|call| *call == "GET west").count();
    for _ in 0..300 {
        run(&driver, &read("1", "a")).await.unwrap();
    }
    let hedges = net.calls().iter().filter(|call| *call == "GET west").count();
    // Then the east goes dark.
    net.now(|_, region, request| is_doc(request).then(|| if region == "east" { Do::Hang } else { ok() }));
    let (result, took) = timed(run(&driver, &read("1", "a"))).await;
    result.unwrap();
    assert!(
        (20..=40).contains(&hedges) && took < Duration::from_secs(5),
        "{first} of the first 100, {hedges} of 300 more; with the east dark a read takes {took:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn metadata_writes_are_not_hedged() {
    let net = Net::new(&["east", "west"], true, |_, region, request| {
        (request.method() == http::Method::DELETE)
            .then(|| if region == "east" { Do::Say(3_000, 204, 0) } else { Do::Say(100, 204, 0) })
    });
    let driver = net.driver(CosmosClientOptions::default());
    run(&driver, &operation(OperationType::Delete, "/dbs/d/colls/c")).await.unwrap();
    let (result, took) =
        timed(run(&driver, &operation(OperationType::Create, "/dbs/d/colls").with_body("{}"))).await;
    result.unwrap();
    assert_eq!(
        net.calls(),
        ["DELETE east", "POST east"],
        "made anew {took:?} later, while a deletion is on its way"
    );
}

#[tokio::test(start_paused = true)]
async fn a_lost_leg_does_not_fail_the_next_writes() {
    let net = Net::new(&["east", "west"], true, |_, region, request| {
        is_doc(request).then(|| if region == "east" { Do::Hang } else { Do::Say(5, 201, 0) })
    });
    let driver = net.driver(hedging_after(100));
    run(&driver, &write(OperationType::Create)).await.unwrap();
    let mut took = Vec::new();
    for _ in 0..10 {
        let (result, time) =
            timed(driver.execute_operation(&write(OperationType::Create), &within(2_000))).await;
        took.push((time.as_millis(), result.err().map(|error| error.to_string())));
    }
    assert!(took.iter().all(|(_, error)| error.is_none()), "{took:#?}");
}

#[tokio::test(start_paused = true)]
async fn an_item_is_not_created_while_a_lost_deletion_may_still_take_it_away() {
    let net = Net::new(&["east", "west"], true, |_, region, request| {
        let status = if request.method() == http::Method::DELETE { 204 } else { 201 };
        is_doc(request)
            .then(|| if region == "east" { Do::Say(1_000, status, 0) } else { Do::Say(5, status, 0) })
    });
    let driver = net.driver(hedging_after(100));
    run(&driver, &write(OperationType::Delete)).await.unwrap();
    let (result, took) = timed(run(&driver, &write(OperationType::Create))).await;
    result.unwrap();
    // 105 ms of the second that the deletion takes in the east were over.
    assert!(took >= Duration::from_millis(890), "created {took:?} after the deletion was answered");
}

#[tokio::test(start_paused = true)]
async fn a_lost_leg_does_not_stall_the_next_writes() {
    let net = Net::new(&["east", "west"], true, |_, region, request| {
        is_doc(request).then(|| if region == "east" { Do::Hang } else { Do::Say(5, 201, 0) })
    });
    let driver = net.driver(hedging_after(100));
    let (_, took) = timed(async {
        for _ in 0..20 {
            run(&driver, &write(OperationType::Create)).await.unwrap();
        }
    })
    .await;
    assert!(took < Duration::from_secs(10), "20 writes, one after the other: {took:?}");
}

#[tokio::test(start_paused = true)]
async fn a_final_answer_does_not_wait_for_a_dark_region() {
    let mut slow = Vec::new();
    for (case, multi_write, operation, status, expected) in [
        ("an item that is not there", false, read("1", "a"), 404, ErrorKind::NotFound),
        ("a bad request", true, write(OperationType::Create), 400, ErrorKind::BadRequest),
        ("a wrong key", true, write(OperationType::Create), 401, ErrorKind::Unauthorized),
        ("too large", true, write(OperationType::Upsert), 413, ErrorKind::TooLarge),
        // The dark region may have replaced it.
        ("another version", true, guarded_replace(), 412, ErrorKind::OutcomeUnknown),
    ] {
        let net = Net::new(&["east", "west"], multi_write, move |_, region, request| {
            is_doc(request).then(|| if region == "east" { Do::Say(150, status, 0) } else { Do::Hang })
        });
        let (result, took) = timed(run(&net.driver(hedging_after(100)), &operation)).await;
        let kind = result.unwrap_err().kind();
        if took > Duration::from_secs(2) || kind != expected {
            slow.push(format!("{case}: {kind:?} after {took:?}"));
        }
    }
    assert!(slow.is_empty(), "{slow:#?}");
}

#[tokio::test(start_paused = true)]
async fn what_a_left_write_is_answered_is_learned() {
    let net = Net::new(&["east", "west"], true, |_, region, request| {
        is_doc(request).then(|| if region == "east" { Do::Say(1_000, 403, 3) } else { Do::Say(5, 201, 0) })
    });
    let driver = net.driver(hedging_after(100));
    driver.initialize().await.unwrap();
    let before = net.account_reads.load(Ordering::Relaxed);
    run(&driver, &write(OperationType::Upsert)).await.unwrap();
    crate::waiting::sleep(Duration::from_secs(3)).await;
    let reads = net.account_reads.load(Ordering::Relaxed) - before;
    assert_eq!(reads, 1, "a late 403/3 refreshes");
}

#[tokio::test(start_paused = true)]
async fn a_write_that_has_succeeded_is_not_sent_again() {
    let net = Net::new(&["east", "west"], true, |_, region, request| {
        is_doc(request).then(|| if region == "east" { Do::Say(1, 429, 0) } else { Do::Say(5, 201, 0) })
    });
    let driver = net.driver(hedging_after(500));
    run(&driver, &write(OperationType::Upsert)).await.unwrap();
    net.calls();
    net.now(|_, _, request| is_doc(request).then_some(Do::Say(1, 200, 0)));
    crate::waiting::sleep(Duration::from_secs(10)).await;
    assert_eq!(net.calls(), [""; 0], "after the operation had succeeded");
}

#[tokio::test(start_paused = true)]
async fn metadata_is_found_in_the_one_region_that_answers() {
    let net = Net::new(&["east", "west", "north"], false, |_, region, _| {
        (region == "east" || region == "west").then_some(Do::Hang)
    });
    let driver = net.driver(not_hedging());
    driver.initialize().await.unwrap();
    let (result, took) = timed(run(&driver, &read("1", "a"))).await;
    let failure = result.as_ref().err().map(|error| error.kind());
    assert!(failure.is_none() && took < Duration::from_secs(60), "{failure:?} after {took:?}");
}
