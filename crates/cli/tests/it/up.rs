//! `cosmonaut up`: ready when it says so, reachable, and gone when it is told to stop.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, ExitStatus, Stdio};

use serde_json::Value;

use crate::cosmonaut;

/// A running emulator, killed if a test ends early.
pub(crate) struct Running {
    child: Child,
    output: BufReader<std::process::ChildStdout>,
}

impl Running {
    pub(crate) fn start(arguments: &[&str]) -> Self {
        Self::of(&mut cosmonaut(&[&["up"], arguments].concat()))
    }

    pub(crate) fn of(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { child, output }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line
    }

    pub(crate) fn ready(&mut self) -> Value {
        serde_json::from_str(&self.line()).unwrap()
    }

    pub(crate) fn url(&mut self) -> String {
        self.ready()["endpoints"][0]["url"].as_str().unwrap().to_owned()
    }

    #[cfg(target_os = "linux")]
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits until it ends by itself; says how, and what it has said.
    #[cfg(unix)]
    pub(crate) fn end(&mut self) -> (ExitStatus, String) {
        let mut error = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut error).unwrap();
        (self.child.wait().unwrap(), error)
    }

    #[cfg(unix)]
    pub(crate) fn signal(&mut self, name: &str) -> ExitStatus {
        let id = self.child.id().to_string();
        assert!(std::process::Command::new("kill").args(["-s", name, &id]).status().unwrap().success());
        self.child.wait().unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Already gone, in most tests.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn authority(url: &str) -> &str {
    url.split('/').nth(2).unwrap()
}

fn get(url: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(authority(url)).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn the_ready_line_names_where_and_with_which_key() {
    let mut up = Running::start(&["--port", "0", "--json", "--region", "West US 2"]);
    let ready = up.ready();
    assert_eq!(ready["ready"], true);
    assert_eq!(ready["endpoints"][0]["region"], "West US 2");
    assert!(ready["key"].as_str().unwrap().starts_with("C2y6yDjf5"));
    let url = ready["endpoints"][0]["url"].as_str().unwrap();
    assert!(get(url, "/").starts_with("HTTP/1.1 401"), "reachable as soon as it says so, and guarded");
}

#[test]
fn every_region_has_an_address_and_the_account_one_to_be_managed_at() {
    let regions = ["--regions", "East US, West US,North Europe", "--lag", "1ms..2ms", "--multi-write"];
    let more = ["--consistency", "eventual", "--partition-failover", "--management-port", "0", "--no-auth"];
    let mut up = Running::start(&[&["--port", "0", "--json"][..], &regions, &more].concat());
    let ready = up.ready();
    let endpoints = ready["endpoints"].as_array().unwrap();
    let names: Vec<_> = endpoints.iter().map(|endpoint| endpoint["region"].as_str().unwrap()).collect();
    assert_eq!(names, ["East US", "West US", "North Europe"]);
    let account = get(endpoints[2]["url"].as_str().unwrap(), "/");
    let port = authority(endpoints[1]["url"].as_str().unwrap()).rsplit(':').next().unwrap();
    let west = format!("http://localhost:{port}/");
    for part in ["\"Eventual\"", "\"enableMultipleWriteLocations\":true", west.as_str()] {
        assert!(account.contains(part), "{account}");
    }
    assert!(account.contains("\"enablePerPartitionFailoverBehavior\":true"), "{account}");
    let ready = get(ready["management"].as_str().unwrap(), "/ready");
    assert!(ready.starts_with("HTTP/1.1 200"), "{ready}");

    let mut up = Running::start(&["--port", "0", "--regions", "East US,West US", "--management-port", "0"]);
    let text: String = (0..7).map(|_| up.line()).collect();
    for part in ["East US", "takes writes", "West US", "--management http://127.0.0.1:"] {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn without_authentication_anybody_may_ask() {
    let mut up = Running::start(&["--port", "0", "--json", "--no-auth"]);
    let url = up.url();
    let answer = get(&url, "/");
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("writableLocations"), "{answer}");
}

#[test]
fn people_get_a_connection_string_but_not_their_own_key_back() {
    let mut up = Running::start(&["--port", "0"]);
    assert!(up.line().contains("http://127.0.0.1:"));
    up.line();
    assert!(up.line().contains("AccountEndpoint=http://127.0.0.1:"));

    let mut up = Running::start(&["--port", "0", "--key", "c2VjcmV0IHNlY3JldA=="]);
    let text: String = (0..3).map(|_| up.line()).collect();
    assert!(text.contains("AccountKey=<") && !text.contains("c2VjcmV0"), "{text}");
}

#[cfg(unix)]
#[test]
fn it_stops_cleanly_when_asked() {
    for signal in ["TERM", "INT"] {
        let mut up = Running::start(&["--port", "0", "--json"]);
        let url = up.url();
        assert!(up.signal(signal).success(), "{signal}");
        assert!(TcpStream::connect(authority(&url)).is_err(), "{signal}");
    }
}

#[cfg(unix)]
#[test]
fn what_was_kept_is_there_again() {
    let directory = std::env::temp_dir().join(format!("cosmonaut-up-{}", std::process::id()));
    let arguments = ["--port", "0", "--json", "--no-auth", "--data", directory.to_str().unwrap()];
    let mut up = Running::start(&arguments);
    let url = up.url();
    let mut stream = TcpStream::connect(authority(&url)).unwrap();
    let body = r#"{"id":"kept"}"#;
    write!(
        stream,
        "POST /dbs HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
    up.signal("KILL");

    let mut up = Running::start(&arguments);
    let url = up.url();
    assert!(get(&url, "/dbs/kept").starts_with("HTTP/1.1 200"));
    drop(up);
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn what_cannot_be_started_says_why() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    for (arguments, status, part) in [
        (&["--port", &port][..], 1, "another port"),
        (&["--port", "0", "--key", "not base64!"], 1, "base64"),
        (&["--port", "0", "--cert", "a.pem"], 2, "--cert-key"),
        (&["--port", "0", "--cert", "no-such.pem", "--cert-key", "b.pem"], 1, "no-such.pem"),
        (&["--key", "x", "--no-auth"], 2, "--no-auth"),
        (&["--port", "0", "--management-port", &port], 1, &port),
        (&["--port", "0", "--regions", "East US,eastus"], 2, "already"),
        (&["--port", "0", "--regions", "East US,,West US"], 2, "not empty"),
        (&["--port", "0", "--lag", "soon"], 2, "10ms..80ms"),
        (&["--port", "0", "--consistency", "weak"], 2, "eventual"),
    ] {
        let output = cosmonaut(&[&["up"], arguments].concat()).output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(status), "{arguments:?}: {error}");
        assert!(error.contains(part), "{arguments:?}: {error}");
    }
}
