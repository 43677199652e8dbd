//! Sessions: what was written is read, wherever it is read, and what a client has seen can be passed on.

use std::sync::atomic::{AtomicBool, Ordering};

use cosmonaut_driver::{NextStep, OperationOptions, OperationType};
use cosmonaut_options::{CosmosClientOptions, HedgingOptions, RegionOptions, RequestOptions};
use cosmonaut_wire::{PartitionKey, ReadConsistencyStrategy, RegionName, ResourceId, headers};

use crate::harness::{operation, read};
use crate::scripted::{Answer, Network, run};

const TOKEN: &str = "0:1#7";

/// Reads in the west, writes in the east.
fn options() -> CosmosClientOptions {
    CosmosClientOptions {
        regions: RegionOptions {
            preferred_regions: Some(vec![RegionName::from("west")]),
            ..Default::default()
        },
        hedging: HedgingOptions { hedging_enabled: Some(false), ..Default::default() },
        ..Default::default()
    }
}

#[tokio::test(start_paused = true)]
async fn a_read_carries_what_was_written_and_follows_it_to_the_write_region() {
    let network =
        Network::new(&["east", "west"], false, |region, request| match (region, request.method().as_str()) {
            (_, "POST") => Answer::With(201, "x-ms-session-token", TOKEN.to_owned()),
            ("west", _) => Answer::Status(404, 1002),
            _ => Answer::Status(200, 0),
        });
    let driver = network.driver(options());
    let create = operation(OperationType::Create, "/dbs/d/colls/c/docs").with_target(PartitionKey::from("a"));
    run(&driver, &create).await.unwrap();
    network.take_calls();
    let seen = std::sync::Arc::new(AtomicBool::new(true));
    let all_carry = std::sync::Arc::clone(&seen);
    network.now(move |region, request| {
        all_carry.fetch_and(request.headers()[headers::SESSION_TOKEN] == TOKEN, Ordering::Relaxed);
        if region == "west" { Answer::Status(404, 1002) } else { Answer::Status(200, 0) }
    });
    let response = run(&driver, &read("1", "a")).await.unwrap();
    assert_eq!(
        network.take_calls(),
        ["GET west", "GET west", "GET east"],
        "once more in place, then where it was written"
    );
    assert!(matches!(response.diagnostics().attempts()[0].next, NextStep::RetryForSession(_)));
    assert!(seen.load(Ordering::Relaxed), "every attempt carries the token");
}

#[tokio::test(start_paused = true)]
async fn a_token_from_elsewhere_is_used_and_an_eventual_read_carries_none() {
    let network = Network::new(&["east"], false, |_, request| {
        let token =
            request.headers().get(headers::SESSION_TOKEN).map(|token| token.to_str().unwrap().to_owned());
        Answer::With(200, "x-test-token", token.unwrap_or_else(|| "none".to_owned()))
    });
    let driver = network.driver(options());
    let eventual = RequestOptions {
        read_consistency_strategy: Some(ReadConsistencyStrategy::Eventual),
        ..Default::default()
    };
    for (case, options, expected) in [
        ("nothing seen yet", OperationOptions::default(), "none"),
        (
            "given with the call",
            OperationOptions { session_token: Some(TOKEN.parse().unwrap()), ..Default::default() },
            TOKEN,
        ),
        (
            "given, but of no use",
            OperationOptions {
                session_token: Some(TOKEN.parse().unwrap()),
                request: eventual,
                ..Default::default()
            },
            "none",
        ),
    ] {
        let response = driver.execute_operation(&read("1", "a"), &options).await.unwrap();
        assert_eq!(response.headers()["x-test-token"], expected, "{case}");
    }
    let container = cosmonaut_wire::ResourcePath::parse("/dbs/d/colls/c").unwrap();
    let rid = driver.container(&container).await.unwrap().rid;
    driver.adopt_session_token(rid, &TOKEN.parse().unwrap());
    assert_eq!(driver.session_token(rid).to_string(), TOKEN);
    assert_eq!(run(&driver, &read("1", "a")).await.unwrap().headers()["x-test-token"], TOKEN);
}

#[tokio::test(start_paused = true)]
async fn a_session_is_kept_though_the_container_may_not_be_read() {
    let rid = ResourceId::container(1, 1);
    let network = Network::new(&["east", "west"], false, move |_, request| {
        match (request.uri().path(), request.headers().get(headers::SESSION_TOKEN)) {
            ("/dbs/d/colls/other", _) => Answer::Status(403, 0),
            ("/dbs/d/colls/other/docs", _) => Answer::WithAll(
                201,
                vec![
                    ("x-ms-session-token", TOKEN.to_owned()),
                    ("x-ms-documentdb-partitionkeyrangeid", "0".to_owned()),
                    ("x-ms-content-path", rid.to_string()),
                ],
            ),
            (_, Some(token)) => Answer::With(200, "x-test-token", token.to_str().unwrap().to_owned()),
            (_, None) => Answer::With(200, "x-test-token", "none".to_owned()),
        }
    });
    let driver = network.driver(options());
    let on = |kind, path| operation(kind, path).with_target(PartitionKey::from("a"));
    let read = on(OperationType::Read, "/dbs/d/colls/other/docs/1");
    assert_eq!(run(&driver, &read).await.unwrap().headers()["x-test-token"], "none", "nothing is known yet");
    run(&driver, &on(OperationType::Create, "/dbs/d/colls/other/docs")).await.unwrap();
    assert_eq!(run(&driver, &read).await.unwrap().headers()["x-test-token"], TOKEN);
    assert_eq!(driver.session_token(rid).to_string(), TOKEN);
}

#[tokio::test(start_paused = true)]
async fn a_container_that_is_made_anew_has_another_session_though_it_may_not_be_read() {
    let (first, second) = (ResourceId::container(1, 1), ResourceId::container(1, 2));
    let is_made_anew = std::sync::Arc::new(AtomicBool::new(false));
    let anew = std::sync::Arc::clone(&is_made_anew);
    let network = Network::new(&["east", "west"], false, move |_, request| {
        let rid = if anew.load(Ordering::Relaxed) { second } else { first };
        let of = |name| request.headers().get(name).map(|value| value.to_str().unwrap().to_owned());
        match (request.uri().path(), of(headers::INTENDED_COLLECTION_RID), of(headers::SESSION_TOKEN)) {
            ("/dbs/d/colls/other", _, _) => Answer::Status(403, 0),
            (_, Some(meant), _) if meant != rid.to_string() => Answer::Status(400, 1024),
            ("/dbs/d/colls/other/docs", _, _) => Answer::WithAll(
                201,
                vec![("x-ms-session-token", TOKEN.to_owned()), ("x-ms-content-path", rid.to_string())],
            ),
            // What was seen of the first one, the second never has.
            (_, _, Some(_)) if rid == second => Answer::Status(404, 1002),
            _ => Answer::Status(200, 0),
        }
    });
    let driver = network.driver(options());
    let on = |kind, path| operation(kind, path).with_target(PartitionKey::from("a"));
    let read = on(OperationType::Read, "/dbs/d/colls/other/docs/1");
    run(&driver, &on(OperationType::Create, "/dbs/d/colls/other/docs")).await.unwrap();
    run(&driver, &read).await.unwrap();
    is_made_anew.store(true, Ordering::Relaxed);
    run(&driver, &read).await.unwrap();
    assert!(driver.session_token(first).is_empty());
}
