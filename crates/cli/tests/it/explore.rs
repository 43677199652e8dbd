//! The explorer of `cosmonaut up`, and `cosmonaut explore`.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::Value;

use crate::account::Account;
use crate::cosmonaut;
use crate::up::Running;

/// The status and the body of what the explorer at this address answers.
fn ask(link: &str, line: &str, with_secret: bool) -> (u16, String) {
    let (address, secret) = link.strip_prefix("http://").unwrap().split_once("/#k=").unwrap();
    let key = if with_secret { format!("x-cosmonaut-key: {secret}\r\n") } else { String::new() };
    let mut stream = TcpStream::connect(address).unwrap();
    let request =
        format!("{line} HTTP/1.1\r\nhost: {address}\r\n{key}content-length: 0\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

#[test]
fn up_has_an_explorer_whose_address_has_a_secret() {
    for more in [&[][..], &["--tls"], &["--key", "c2VjcmV0LWtleQ=="]] {
        let free = ["--port", "0", "--management-port", "0", "--explorer-port", "0", "--json"];
        let mut up = Running::start(&[&free, more].concat());
        let ready = up.ready();
        let link = ready["explorer"].as_str().unwrap().to_owned();
        assert_eq!(ask(&link, "GET /", false).0, 200);
        assert_eq!(ask(&link, "GET /api/account", false).0, 401);
        let (status, body) = ask(&link, "GET /api/account", true);
        assert_eq!(status, 200, "{more:?}: {body}");
        let account: Value = serde_json::from_str(&body).unwrap();
        assert_eq!((&account["isEmulator"], &account["readOnly"]), (&true.into(), &Value::Null));
        assert!(!body.contains(ready["key"].as_str().unwrap()), "{body}");
        assert_eq!(ask(&link, "GET /api/manage/regions", true).0, 200);
        let (_, requests) = ask(&link, "GET /api/requests", true);
        assert!(requests.contains("\"GET\""), "{requests}");
        let (_, request) = ask(&link, "GET /api/requests/1", true);
        assert!(request.contains("x-ms-gatewayversion") && !request.contains("sig%3D"), "{request}");
    }
}

#[test]
fn up_can_do_without_or_only_show() {
    let free = ["--port", "0", "--management-port", "0", "--json"];
    let mut without = Running::start(&[&free, &["--no-explorer"][..]].concat());
    assert_eq!(without.ready()["explorer"], Value::Null);
    let mut showing =
        Running::start(&[&free, &["--explorer-port", "0", "--explorer-read-only"][..]].concat());
    let link = showing.ready()["explorer"].as_str().unwrap().to_owned();
    let (status, body) = ask(&link, "DELETE /api/manage/faults", true);
    assert_eq!(status, 403, "{body}");
}

#[test]
fn any_account_is_explored_and_one_elsewhere_is_only_looked_at() {
    let account = Account::start();
    let mut explore =
        Running::of(&mut cosmonaut(&["explore", "--endpoint", account.url(), "--port", "0", "--json"]));
    let ready = explore.ready();
    assert_eq!(ready["readOnly"], false);
    let link = ready["explorer"].as_str().unwrap().to_owned();
    assert_eq!(ask(&link, "GET /api/databases", true), (200, "{\"databases\":[]}".to_owned()));
    let (status, body) = ask(&link, "GET /api/manage/regions", true);
    assert!(status == 404 && body.contains("--management"), "{body}");

    let elsewhere = "AccountEndpoint=https://a.example;AccountKey=ZQ==;";
    let start = |more: &[&str]| {
        let arguments = ["explore", "--connection-string", elsewhere, "--port", "0", "--json"];
        let mut explore = Running::of(&mut cosmonaut(&[&arguments, more].concat()));
        explore.ready()["readOnly"].clone()
    };
    assert_eq!(start(&[]), true);
    assert_eq!(start(&["--allow-writes"]), false);
    assert_eq!(start(&["--read-only"]), true);
}
