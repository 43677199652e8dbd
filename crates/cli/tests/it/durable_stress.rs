//! `cosmonaut durable stress`: orchestrations under load, in a container of their own.

use crate::account::Account;

#[test]
fn so_many_orchestrations_as_are_asked_for_run_and_nothing_is_left() {
    let account = Account::start();
    let arguments =
        ["durable", "stress", "--instances", "6", "--activities", "2", "--seconds", "60", "--json"];
    let json = account.json(&arguments);
    assert_eq!((&json["done"], &json["failed"]), (&6.into(), &0.into()), "{json}");
    assert!(json["each"]["requests"].as_f64().unwrap() > 1.0, "{json}");
    // However fast the machine is, no orchestration ends before its activities.
    assert!(json["latencyMs"]["p50"].as_f64().unwrap() >= 10.0, "{json}");
    account.block_on(async {
        assert!(account.client.database("duroxide").read().await.unwrap_err().is_not_found());
    });
}

#[test]
fn a_container_that_is_there_is_left_alone() {
    let account = Account::start();
    let few = ["durable", "stress", "--instances", "2", "--activities", "1", "--activity-time", "0"];
    let text = account.ok(&[&few[..], &["--keep"]].concat());
    assert!(text.contains("orchestrations  2 done, 0 failed\n"), "{text}");
    account.refused(&[(&few, 1, "a container of its own")]);
    let list = account.json(&["durable", "list", "--json", "--container", "cosmonaut-stress"]);
    assert_eq!(list.as_array().unwrap().len(), 2);
    account.ok(&[&few[..], &["--container", "another"]].concat());
    account.block_on(async {
        let database = account.client.database("duroxide");
        assert!(database.container("another").read().await.unwrap_err().is_not_found());
        assert!(database.container("cosmonaut-stress").read().await.is_ok());
    });
}
