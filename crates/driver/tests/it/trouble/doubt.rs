//! Writes that may have been applied, or have nowhere to go: told truly, not sent twice, and patient.

use super::*;

#[tokio::test(start_paused = true)]
async fn a_hedged_write_in_doubt_is_not_sent_again() {
    let mut wrong = Vec::new();
    for (case, east) in [
        ("unavailable", (410, 1022)),
        ("conflict with another write", (449, 0)),
        ("write forbidden", (403, 3)),
        ("split", (410, 1002)),
    ] {
        let third = AtomicUsize::new(0);
        let net = Net::new(&["east", "west"], true, move |_, region, request| {
            if !is_doc(request) {
                return None;
            }
            match (third.fetch_add(1, Ordering::Relaxed), region) {
                (0, _) => Some(Do::Say(150, east.0, east.1)),
                (1, _) => Some(Do::Say(100, 408, 0)),
                _ => Some(ok()),
            }
        });
        let driver = net.driver(hedging_after(100));
        let result = run(&driver, &write(OperationType::Upsert)).await;
        let kind = result.map(|_| ()).map_err(|error| error.kind());
        let calls = net.calls();
        if kind != Err(ErrorKind::OutcomeUnknown) || calls.len() != 2 {
            wrong.push(format!("{case}: {kind:?} after {calls:?}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[tokio::test(start_paused = true)]
async fn a_leg_that_fails_on_this_side_does_not_settle_a_write() {
    let net = Net::new(&["east", "west"], true, |_, region, request| {
        is_doc(request).then_some(match region {
            "east" => Do::Say(500, 201, 0),
            _ => Do::Fail(1, TransportErrorKind::Certificate, RequestSentStatus::NotSent),
        })
    });
    let result = run(&net.driver(hedging_after(100)), &write(OperationType::Create)).await;
    let kind = result.map(|_| ()).map_err(|error| error.kind());
    assert!(matches!(kind, Ok(()) | Err(ErrorKind::OutcomeUnknown)), "{kind:?}");
}

#[tokio::test(start_paused = true)]
async fn a_leg_that_fails_on_this_side_does_not_fail_a_read() {
    let net = Net::new(&["east", "west"], false, |_, region, request| {
        is_doc(request).then_some(match region {
            "east" => Do::Say(200, 200, 0),
            _ => Do::Fail(1, TransportErrorKind::Certificate, RequestSentStatus::NotSent),
        })
    });
    let result = run(&net.driver(hedging_after(100)), &read("1", "a")).await;
    assert!(result.is_ok(), "{:?}", result.err());
}

#[tokio::test(start_paused = true)]
async fn a_write_in_doubt_that_ends_between_attempts_ends_in_doubt() {
    let mut wrong = Vec::new();
    for (case, ranges) in [
        ("refused", Do::Fail(0, TransportErrorKind::Unreachable, RequestSentStatus::NotSent)),
        ("forbidden, as by a new firewall rule", Do::Say(0, 403, 0)),
        ("silent", Do::Hang),
    ] {
        let net = Net::new(&["east", "west"], false, |_, _, _| None);
        let driver = net.driver(not_hedging());
        run(&driver, &read("1", "a")).await.unwrap();
        let asked = AtomicUsize::new(0);
        net.now(move |_, _, request| {
            if request.uri().path().ends_with("/pkranges") {
                return Some(ranges);
            }
            is_doc(request).then(|| match asked.fetch_add(1, Ordering::Relaxed) {
                0 => Do::Say(0, 408, 0),
                _ => Do::Say(0, 410, 1002),
            })
        });
        let result = driver.execute_operation(&guarded_replace(), &within(20_000)).await;
        let kind = result.unwrap_err().kind();
        if kind != ErrorKind::OutcomeUnknown {
            wrong.push(format!("{case}: {kind:?}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[tokio::test(start_paused = true)]
async fn a_failure_on_this_side_is_no_definite_answer_to_a_repeat() {
    let asked = AtomicUsize::new(0);
    let net = Net::new(&["east"], false, move |_, _, request| {
        is_doc(request).then(|| match asked.fetch_add(1, Ordering::Relaxed) {
            0 => Do::Say(0, 408, 0),
            _ => Do::Fail(0, TransportErrorKind::ProxyAuthentication, RequestSentStatus::NotSent),
        })
    });
    let create = write(OperationType::Create).with_repeats_allowed();
    let error = run(&net.driver(not_hedging()), &create).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutcomeUnknown);
}

#[tokio::test(start_paused = true)]
async fn writes_of_a_moved_partition_find_it() {
    let mut wrong = Vec::new();
    for (case, east) in [
        ("503", Do::Say(5, 503, 0)),
        ("408", Do::Say(5, 408, 0)),
        ("silence", Do::Hang),
        ("lost after it was sent", Do::Fail(5, TransportErrorKind::Disconnected, RequestSentStatus::Sent)),
    ] {
        let net = Net::new(&["east", "west"], false, move |_, region, request| {
            is_doc(request).then(|| if region == "east" { east } else { Do::Say(5, 201, 0) })
        });
        net.account.lock().unwrap()["enablePerPartitionFailoverBehavior"] = true.into();
        let driver = net.driver(CosmosClientOptions::default());
        let mut successes = 0;
        for _ in 0..50 {
            let result = driver.execute_operation(&write(OperationType::Create), &within(5_000)).await;
            successes += usize::from(result.is_ok());
            crate::waiting::sleep(Duration::from_secs(10)).await;
        }
        let calls = net.calls();
        let west = calls.iter().filter(|call| *call == "POST west").count();
        if successes == 0 {
            wrong.push(format!("{case}: of 50 writes over 8 minutes none succeeded, {west} asked the west"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[tokio::test(start_paused = true)]
async fn refusals_do_not_use_up_the_retries_for_other_failures() {
    let asked = AtomicUsize::new(0);
    let net = Net::new(&["east", "west"], false, move |_, _, request| {
        is_doc(request).then(|| match asked.fetch_add(1, Ordering::Relaxed) {
            0..15 => Do::Say(1, 403, 3),
            15..17 => Do::Fail(1, TransportErrorKind::Unreachable, RequestSentStatus::NotSent),
            _ => Do::Say(1, 201, 0),
        })
    });
    let (result, took) = timed(run(&net.driver(not_hedging()), &write(OperationType::Create))).await;
    assert!(result.is_ok(), "after {took:?}: {:?}", result.err());
}

#[tokio::test(start_paused = true)]
#[expect(clippy::disallowed_methods, reason = "what happens beside the operation under test")]
async fn a_write_outlasts_the_failover_of_a_dead_region() {
    let unreachable = || Some(Do::Fail(1, TransportErrorKind::Unreachable, RequestSentStatus::NotSent));
    let net = Net::new(&["east", "west"], false, |_, _, _| None);
    let driver = net.driver(not_hedging());
    run(&driver, &read("1", "a")).await.unwrap();
    net.now(move |_, region, request| match region {
        "east" => unreachable(),
        // The account's own endpoint still leads there.
        "global" if is_doc(request) => unreachable(),
        _ => None,
    });
    let moving = Arc::clone(&net);
    tokio::spawn(async move {
        crate::waiting::sleep(Duration::from_secs(30)).await;
        *moving.account.lock().unwrap() = account(&["west", "east"], false);
    });
    let (result, took) = timed(run(&driver, &write(OperationType::Create))).await;
    assert!(result.is_ok(), "gave up after {took:?}: {:?}", result.err().map(|error| error.kind()));
}

#[tokio::test(start_paused = true)]
async fn a_probe_does_not_cost_a_user_an_unguarded_write() {
    let net = Net::new(&["east", "west"], false, |_, region, request| {
        is_doc(request).then(|| if region == "west" { Do::Say(1, 201, 0) } else { Do::Say(1, 403, 3) })
    });
    net.account.lock().unwrap()["enablePerPartitionFailoverBehavior"] = true.into();
    let driver = net.driver(not_hedging());
    run(&driver, &write(OperationType::Create)).await.unwrap();
    net.now(|_, region, request| {
        is_doc(request).then(|| if region == "west" { Do::Say(1, 201, 0) } else { Do::Hang })
    });
    let mut lost = 0;
    for _ in 0..200 {
        crate::waiting::sleep(Duration::from_secs(10)).await;
        let result = driver.execute_operation(&write(OperationType::Create), &within(5_000)).await;
        lost += usize::from(result.is_err());
    }
    assert_eq!(lost, 0, "writes of 200 over half an hour whose outcome is unknown, with the west healthy");
}

#[tokio::test(start_paused = true)]
async fn a_partition_that_was_thought_to_have_moved_is_found_at_home() {
    let net = Net::new(&["east", "west", "north"], false, |_, region, request| {
        is_doc(request).then(|| if region == "east" { Do::Say(5, 408, 0) } else { Do::Say(5, 403, 3) })
    });
    net.account.lock().unwrap()["enablePerPartitionFailoverBehavior"] = true.into();
    let driver = net.driver(not_hedging());
    let in_doubt = driver.execute_operation(&write(OperationType::Patch), &within(5_000)).await;
    assert_eq!(in_doubt.unwrap_err().kind(), ErrorKind::OutcomeUnknown);
    // The account's own endpoint leads to the east, where the partition has been all the time.
    net.now(|_, region, request| {
        let is_home = ["east", "global"].contains(&region);
        is_doc(request).then_some(if is_home { Do::Say(5, 200, 0) } else { Do::Say(5, 403, 3) })
    });
    run(&driver, &write(OperationType::Patch)).await.unwrap();
    net.calls();
    run(&driver, &write(OperationType::Patch)).await.unwrap();
    assert_eq!(net.calls(), ["PATCH east"]);
}
