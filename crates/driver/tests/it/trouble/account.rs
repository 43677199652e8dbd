//! The account, its regions and the runtime under it: nothing loops, nothing stays stuck, nothing is marked wrongly.

use super::*;

#[test]
fn a_read_of_the_account_that_was_never_polled_does_not_block_all_others() {
    let tokio = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let net = Net::new(&["east"], false, |_, _, request| is_doc(request).then_some(Do::Say(0, 408, 0)));
    let first = tokio();
    // Aborts at once, and asks in the background whether the account has moved.
    let driver = first.block_on(async {
        let driver = net.driver(not_hedging());
        driver.initialize().await.unwrap();
        driver.execute_operation(&read("1", "a"), &within(1)).await.ok();
        let error = run(&driver, &write(OperationType::Create)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::OutcomeUnknown);
        driver
    });
    drop(first);
    let second = tokio();
    // The account moves to the west.
    *net.account.lock().unwrap() = account(&["west"], false);
    net.now(|_, region, request| {
        is_doc(request).then(|| if region == "west" { Do::Say(0, 201, 0) } else { Do::Say(0, 403, 3) })
    });
    let before = net.account_reads.load(Ordering::Relaxed);
    let result = second.block_on(driver.execute_operation(&write(OperationType::Create), &within(8_000)));
    let reads = net.account_reads.load(Ordering::Relaxed) - before;
    assert!(result.is_ok(), "{reads} account reads: {:?}", result.err());
}

#[test]
fn spawning_while_the_runtime_shuts_down_does_not_deadlock() {
    let (done, ended) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let tokio = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let handle = tokio.handle().clone();
        drop(tokio);
        let _entered = handle.enter();
        let key = Credential::master_key(EMULATOR_KEY).unwrap();
        let runtime = CosmosDriverRuntime::builder().environment(&no_environment).build().unwrap();
        let driver = runtime.create_driver("http://localhost:1", key, CosmosClientOptions::default());
        done.send(driver.is_ok()).ok();
    });
    assert!(ended.recv_timeout(Duration::from_secs(5)).is_ok(), "the thread hangs");
}

#[test]
fn a_runtime_that_is_dropped_while_an_operation_runs_comes_to_an_end() {
    let (done, ended) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let tokio =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let busy = Arc::new(AtomicBool::new(false));
        let is_busy = Arc::clone(&busy);
        let net = Net::new(&["east"], false, move |_, _, request| {
            if !is_doc(request) {
                return None;
            }
            // A moment of work on the worker, while the runtime is told to stop.
            busy.store(true, Ordering::SeqCst);
            std::thread::sleep(Duration::from_millis(300));
            Some(Do::Fail(0, TransportErrorKind::Disconnected, RequestSentStatus::Sent))
        });
        tokio.spawn(async move {
            let driver = net.driver(not_hedging());
            run(&driver, &write(OperationType::Create)).await.ok();
        });
        while !is_busy.load(Ordering::SeqCst) {
            std::thread::yield_now();
        }
        drop(tokio);
        done.send(()).ok();
    });
    assert!(ended.recv_timeout(Duration::from_secs(5)).is_ok(), "dropping the runtime never returns");
}

#[tokio::test(start_paused = true)]
async fn a_partition_leaves_a_region_that_leaves_the_account() {
    let net = Net::new(&["east", "west", "north"], false, |_, region, request| {
        is_doc(request).then(|| if region == "east" { Do::Say(1, 503, 0) } else { Do::Say(1, 200, 0) })
    });
    let driver = net.driver(not_hedging());
    for _ in 0..4 {
        run(&driver, &read("1", "a")).await.unwrap();
    }
    net.calls();
    run(&driver, &read("1", "a")).await.unwrap();
    assert_eq!(net.calls(), ["GET west"], "moved");
    *net.account.lock().unwrap() = account(&["east", "north"], false);
    net.now(|_, region, request| {
        is_doc(request).then(|| if region == "west" { Do::Say(1, 403, 1008) } else { Do::Say(1, 200, 0) })
    });
    for _ in 0..20 {
        run(&driver, &read("1", "a")).await.unwrap();
        crate::waiting::sleep(Duration::from_secs(5)).await;
    }
    let gone = net.calls().iter().filter(|call| *call == "GET west").count();
    assert!(gone <= 2, "{gone} of 20 reads over 100 s asked a region that is not the account's");
}

#[tokio::test(start_paused = true)]
async fn a_refused_metadata_write_says_nothing_about_items() {
    let net = Net::new(&["east", "west"], true, |_, region, request| {
        let is_metadata = request.method() == http::Method::POST && !is_doc(request);
        (is_metadata && region == "west").then_some(Do::Say(1, 403, 3))
    });
    let mut options = not_hedging();
    options.regions = RegionOptions {
        preferred_regions: Some(vec![RegionName::from("west"), RegionName::from("east")]),
        ..Default::default()
    };
    let driver = net.driver(options);
    run(&driver, &operation(OperationType::Create, "/dbs/d/colls").with_body("{}")).await.unwrap();
    net.calls();
    run(&driver, &write(OperationType::Create)).await.unwrap();
    assert_eq!(net.calls(), ["POST west"]);
}

#[tokio::test(start_paused = true)]
async fn a_check_that_fails_on_this_side_marks_no_endpoint() {
    let net = Net::new(&["east", "west"], false, |_, region, request| match region {
        "east" if is_doc(request) => {
            Some(Do::Fail(1, TransportErrorKind::Unreachable, RequestSentStatus::NotSent))
        }
        "east" if request.uri().path() == "/" => {
            Some(Do::Fail(1, TransportErrorKind::ProxyAuthentication, RequestSentStatus::NotSent))
        }
        _ => None,
    });
    let driver = net.driver(not_hedging());
    run(&driver, &read("1", "a")).await.unwrap();
    crate::waiting::sleep(Duration::from_secs(1)).await;
    let location = driver.location().unwrap();
    let east = location.account.preferred_read_endpoints()[0].clone();
    let mark = location.account.unavailability(&east, Access::Read, VirtualNow::now());
    assert!(mark.is_none(), "{mark:?}");
}

struct VirtualNow;

impl VirtualNow {
    /// Early, so that no mark has run out.
    fn now() -> cosmonaut_policy::Moment {
        cosmonaut_policy::Moment::START
    }
}

#[tokio::test(start_paused = true)]
async fn a_write_that_excludes_the_write_region_ends_the_same_with_and_without_ppaf() {
    for ppaf in [false, true] {
        let net = Net::new(&["east", "west"], false, |_, region, request| {
            is_doc(request).then(|| if region == "west" { Do::Say(1, 403, 3) } else { Do::Say(1, 201, 0) })
        });
        net.account.lock().unwrap()["enablePerPartitionFailoverBehavior"] = ppaf.into();
        let mut options = not_hedging();
        options.request.excluded_regions = Some(vec![RegionName::from("east")]);
        let (result, took) = timed(run(&net.driver(options), &write(OperationType::Create))).await;
        assert!(result.is_ok(), "PPAF {ppaf}: {} calls in {took:?}", net.calls().len());
    }
}

#[tokio::test(start_paused = true)]
#[expect(clippy::disallowed_methods, reason = "what happens beside the operation under test")]
async fn an_operation_that_is_under_way_survives_a_shutdown() {
    let net = Net::new(&["east"], false, |_, _, request| (request.uri().path() == "/").then_some(Do::Hang));
    let driver = net.driver(not_hedging());
    let other = driver.clone();
    let running = tokio::spawn(async move { run(&other, &read("1", "a")).await });
    crate::waiting::sleep(Duration::from_millis(100)).await;
    net.now(|_, _, _| None);
    driver.shutdown().await;
    let result = running.await.unwrap();
    assert!(result.is_ok(), "{:?}", result.err());
}

#[tokio::test(start_paused = true)]
async fn an_account_that_is_described_in_two_ways_makes_no_hot_loop() {
    let net = Net::new(&["east", "west"], false, |net, _, request| {
        if request.uri().path() == "/" {
            let odd = net.account_reads.load(Ordering::Relaxed) % 2 == 1;
            let regions = if odd { ["west", "east"] } else { ["east", "west"] };
            *net.account.lock().unwrap() = account(&regions, false);
        }
        is_doc(request).then_some(Do::Say(2, 403, 3))
    });
    let driver = net.driver(not_hedging());
    driver.initialize().await.unwrap();
    let mut writes = tokio::task::JoinSet::new();
    for _ in 0..10 {
        let driver = driver.clone();
        writes.spawn(async move {
            driver.execute_operation(&write(OperationType::Create), &within(10_000)).await.ok()
        });
    }
    writes.join_all().await;
    let (reads, calls) = (net.account_reads.load(Ordering::Relaxed), net.calls().len());
    assert!(reads < 100 && calls < 500, "10 writes in 10 s: {reads} account reads, {calls} attempts");
}

#[tokio::test(start_paused = true)]
async fn a_map_that_does_not_change_is_not_read_before_every_operation() {
    let maps = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&maps);
    let net = Net::new(&["east"], false, move |_, _, request| {
        if request.uri().path().ends_with("/pkranges") {
            count.fetch_add(1, Ordering::Relaxed);
        }
        is_doc(request).then_some(Do::From("7"))
    });
    let driver = net.driver(not_hedging());
    for _ in 0..50 {
        run(&driver, &read("1", "a")).await.unwrap();
    }
    let maps = maps.load(Ordering::Relaxed);
    assert!(maps <= 10, "{maps} reads of the map for 50 reads of items");
}

#[tokio::test(start_paused = true)]
async fn every_operation_ends_by_its_deadline() {
    for hangs in ["/", "/dbs/d/colls/c", "/dbs/d/colls/c/pkranges", "docs"] {
        for (multi_write, shut_down) in [(false, false), (true, false), (false, true), (true, true)] {
            for operation in [read("1", "a"), write(OperationType::Upsert), guarded_replace()] {
                let net = Net::new(&["east", "west"], multi_write, move |_, _, request| {
                    let path = request.uri().path();
                    (path == hangs || hangs == "docs" && is_doc(request)).then_some(Do::Hang)
                });
                let driver = net.driver(CosmosClientOptions::default());
                if shut_down {
                    driver.shutdown().await;
                }
                let (result, took) = timed(driver.execute_operation(&operation, &within(700))).await;
                let case = format!("{hangs} {multi_write} {shut_down} {:?}", operation.operation_type());
                assert!(result.is_err() && took <= Duration::from_millis(702), "{case}: {took:?}");
            }
        }
    }
}
