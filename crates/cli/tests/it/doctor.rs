//! `cosmonaut doctor`: what is found between this machine and an account, and what it says to do.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
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
    let (_, found) = ask(&["--endpoint", "https://no-such-account.test", "--key", "aw=="]);
    assert_eq!(found, [("error".to_owned(), "name".to_owned())]);

    let account = Account::start();
    account.container("shop", "orders", &[]);
    let (_, found) = ask(&["--endpoint", account.url(), "--key", "aw=="]);
    assert_eq!(found, [("error".to_owned(), "key".to_owned())]);
    let (_, found) = ask(&["--endpoint", account.url(), "--prefer", "North Europe"]);
    assert_eq!(found, [("error".to_owned(), "region".to_owned())]);
    let text = Ended::of(
        cosmonaut(&["doctor", "--endpoint", account.url(), "--prefer", "North Europe"]).output().unwrap(),
    );
    assert!(text.output.contains("\n  -> prefer one of these regions"), "{}", text.output);
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

/// A server that answers every request with the same words.
fn answering(status: &str, body: &str) -> (String, std::thread::JoinHandle<()>) {
    let length = body.len();
    let answer = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let thread = std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, mut head) = (stream.unwrap(), Vec::new());
            let mut byte = [0];
            while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap_or(0) > 0 {
                head.push(byte[0]);
            }
            if head.starts_with(b"END") {
                return;
            }
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    (url, thread)
}

#[test]
fn a_clock_that_is_off_is_found_though_the_account_cannot_be_read() {
    let (url, thread) = answering(
        "403 Forbidden",
        "{\"code\":\"Forbidden\",\"message\":\"The authorization token is not valid at the current time. Please create \
         another token and retry (token start time: Thu, 27 Apr 2017 00:51:12 GMT, token expiry time: Thu, 27 Apr 2017 \
         01:11:12 GMT, current server time: Thu, 27 Apr 2017 00:51:12 GMT).\"}",
    );
    let asked =
        ["doctor", "--json", "--management", "http://127.0.0.1:1", "--endpoint", &url, "--key", "aw=="];
    let (report, found) = findings(&Ended::of(cosmonaut(&asked).output().unwrap()));
    assert_eq!(found, [("error".to_owned(), "clock".to_owned())], "{report}");
    assert!(report["clockAheadSeconds"].as_i64().unwrap() < -1_000_000, "{report}");
    TcpStream::connect(url.strip_prefix("http://").unwrap()).unwrap().write_all(b"END\r\n\r\n").unwrap();
    thread.join().unwrap();
}

/// Takes `CONNECT` for any name and leads to one port of this machine.
fn proxy_to(port: u16) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let (mut client, mut head, mut byte) = (client.unwrap(), Vec::new(), [0]);
            while !head.ends_with(b"\r\n\r\n") && client.read(&mut byte).unwrap_or(0) > 0 {
                head.push(byte[0]);
            }
            if !head.starts_with(b"CONNECT ") {
                continue;
            }
            let mut server = TcpStream::connect(("127.0.0.1", port)).unwrap();
            client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").unwrap();
            let (mut back, mut answers) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            std::thread::spawn(move || std::io::copy(&mut answers, &mut back));
            std::thread::spawn(move || std::io::copy(&mut client, &mut server));
        }
    });
    address
}

#[test]
fn an_account_behind_a_proxy_is_looked_at_through_it() {
    let account = Account::with(Emulator::builder().allow_host("account.test"));
    account.container("shop", "orders", &[]);
    let port: u16 = account.url().rsplit(':').next().unwrap().trim_end_matches('/').parse().unwrap();
    let proxy = proxy_to(port);
    let url = format!("http://account.test:{port}");
    let key = cosmonaut_emulator::EMULATOR_KEY;
    let asked = ["doctor", "--json", "--management", "http://127.0.0.1:1", "--endpoint", &url, "--key", key];
    let ask = |variable: &str, value: &str| {
        findings(&Ended::of(
            cosmonaut(&asked)
                .envs([(variable, value), ("AZURE_COSMOS_PROXY_FROM_ENVIRONMENT", "true")])
                .output()
                .unwrap(),
        ))
    };
    let (report, found) = ask("HTTP_PROXY", &format!("http://me:secret@{proxy}"));
    // The way is clear text, which is told; nothing else is wrong.
    assert_eq!(found, [("warning".to_owned(), "tls".to_owned())], "{report}");
    assert_eq!((&report["proxy"], &report["reads"]["count"]), (&json!(format!("http://{proxy}")), &json!(5)));
    assert_eq!(report["regions"][0]["byProxy"], true);
    assert!(!report.to_string().contains("secret"));
    let (report, found) = ask("HTTP_PROXY", "http://proxy.invalid:1");
    assert!(found.contains(&("error".to_owned(), "name".to_owned())), "{report}");
    assert!(report["findings"][0]["remedy"].as_str().unwrap().contains("NO_PROXY"), "{report}");
    let (report, _) = findings(&Ended::of(cosmonaut(&asked).env("HTTP_PROXY", &proxy).output().unwrap()));
    let remedy = report["findings"][0]["remedy"].as_str().unwrap();
    assert!(remedy.contains("AZURE_COSMOS_PROXY_FROM_ENVIRONMENT"), "{report}");
}

#[test]
fn a_certificate_is_verified_only_once_a_connection_has_been_made() {
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let url = format!("https://{nobody}");
    let asked = ["doctor", "--json", "--management", "http://127.0.0.1:1", "--endpoint", &url];
    let (report, _) = findings(&Ended::of(cosmonaut(&asked).output().unwrap()));
    assert_eq!(report["tls"], Value::Null, "{report}");
}

#[test]
fn an_emulator_is_looked_for_where_the_environment_says() {
    let account = Account::with(Emulator::builder().management(0));
    let ended = Ended::of(
        account
            .command(&["doctor", "--json"])
            .env("COSMONAUT_MANAGEMENT_URL", account.management())
            .output()
            .unwrap(),
    );
    let (report, _) = findings(&ended);
    assert_eq!(report["emulator"]["management"], account.management(), "{report}");
}
