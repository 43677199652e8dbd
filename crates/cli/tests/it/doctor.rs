//! `cosmonaut doctor`: what is found between this machine and an account, and what it says to do.

use std::net::TcpListener;
use std::time::Duration;

use cosmonaut_emulator::{Delay, Effect, Emulator, Fault};
use serde_json::{Value, json};

use crate::account::{Account, Ended};
use crate::cosmonaut;

/// What it finds; the status is 1 if there are errors.
fn findings(ended: &Ended) -> (Value, Vec<(String, String)>) {
    let report: Value = serde_json::from_str(&ended.output).unwrap_or_else(|_| panic!("{}", ended.error));
    let found = report["findings"].as_array().unwrap().iter();
    let word = |finding: &Value, name: &str| finding[name].as_str().unwrap().to_owned();
    let found: Vec<_> = found.map(|finding| (word(finding, "level"), word(finding, "kind"))).collect();
    assert_eq!(ended.status, i32::from(found.iter().any(|(level, _)| level == "error")), "{}", ended.error);
    assert!(report["findings"].as_array().unwrap().iter().all(|finding| finding["remedy"] != ""));
    (report, found)
}

#[test]
fn a_healthy_account_is_described_and_nothing_is_wrong() {
    let account = Account::with(Emulator::builder().regions(["East US", "West US"]).management(0));
    account.container("shop", "orders", &[]);
    let ended = account.run(&["doctor", "--prefer", "West US", "--json"]);
    let (report, found) = findings(&ended);
    assert_eq!(found, [], "{report}");
    assert_eq!(report["regions"].as_array().unwrap().len(), 2);
    assert!(report["regions"][0]["roundTripMs"].is_number() && report["regions"][0]["takesWrites"] == true);
    assert_eq!(report["reads"]["servedBy"], json!(["West US"]));
    assert_eq!(report["reads"]["count"], 5);
    assert_eq!(report["containers"][0]["name"], "shop/orders");
    assert!(report["clockAheadSeconds"].as_i64().is_some_and(|apart| apart.abs() < 60), "{report}");
    let text = account.ok(&["doctor"]);
    assert!(text.contains("nothing is wrong") && text.contains("East US") && text.contains("RU/s"), "{text}");
}

#[test]
fn what_is_wrong_comes_with_a_remedy() {
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let ask = |arguments: &[&str]| {
        let all = [&["doctor", "--json", "--management", "http://127.0.0.1:1"], arguments].concat();
        findings(&Ended::of(cosmonaut(&all).output().unwrap()))
    };
    let (_, found) = ask(&["--endpoint", &format!("http://{nobody}")]);
    assert_eq!(found, [("error".to_owned(), "connection".to_owned())]);
    let (_, found) = ask(&["--endpoint", "https://no-such-account.invalid", "--key", "aw=="]);
    assert_eq!(found, [("error".to_owned(), "name".to_owned())]);

    let account = Account::start();
    account.container("shop", "orders", &[]);
    let (_, found) = ask(&["--endpoint", account.url(), "--key", "aw=="]);
    assert_eq!(found, [("error".to_owned(), "key".to_owned())]);
    let (_, found) = ask(&["--endpoint", account.url(), "--prefer", "North Europe"]);
    assert_eq!(found, [("error".to_owned(), "region".to_owned())]);
    let (_, found) = ask(&["--endpoint", account.url(), "shop/none"]);
    assert!(found.contains(&("error".to_owned(), "account".to_owned())), "{found:?}");
}

#[test]
fn an_emulator_that_breaks_requests_says_so() {
    let account = Account::with(Emulator::builder().management(0));
    let fault = Fault::new(Effect::Slow(Delay::Fixed(Duration::from_millis(1))));
    account.block_on(account.control().add_fault(fault)).unwrap();
    let ended = account.run(&["doctor", "--json", "--management", account.management()]);
    let (report, found) = findings(&ended);
    assert_eq!(found, [("warning".to_owned(), "emulator".to_owned())], "{report}");
    assert_eq!(report["emulator"]["faults"], 1);
}
