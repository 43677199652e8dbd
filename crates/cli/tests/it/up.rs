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
    get_with(url, path, "")
}

/// A request with one more line in its head.
fn get_with(url: &str, path: &str, line: &str) -> String {
    let mut stream = TcpStream::connect(authority(url)).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nhost: localhost\r\n{line}connection: close\r\n\r\n").unwrap();
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
fn gateway_2_is_there_if_it_is_asked_for() {
    let arguments = ["--port", "0", "--json", "--no-auth", "--management-port", "0"];
    let mut up = Running::start(&[&arguments[..], &["--gateway2", "--regions", "East US,West US"]].concat());
    for endpoint in up.ready()["endpoints"].as_array().unwrap() {
        let url = endpoint["gateway2"].as_str().unwrap();
        // It is spoken over HTTP/2 alone, and says so.
        assert!(get(url, "/").starts_with("HTTP/1.1 505"), "{endpoint}");
    }
    let mut up = Running::start(&arguments);
    assert!(up.ready()["endpoints"][0].get("gateway2").is_none());
}

#[test]
fn the_accounts_own_address_outlives_every_region() {
    let arguments = ["--port", "0", "--json", "--no-auth", "--management-port", "0"];
    let mut up = Running::start(&[&arguments[..], &["--regions", "East US,West US"]].concat());
    let ready = up.ready();
    let endpoint = ready["endpoint"].as_str().unwrap();
    assert!(ready["endpoints"].as_array().unwrap().iter().all(|region| region["url"] != endpoint));
    for region in ["East US", "West US"] {
        let management = ready["management"].as_str().unwrap();
        let down = cosmonaut(&["region", "--management", management, "down", region]).output().unwrap();
        assert!(down.status.success(), "{}", String::from_utf8_lossy(&down.stderr));
        let account = get(endpoint, "/");
        assert!(account.starts_with("HTTP/1.1 200") && account.contains("West US"), "{account}");
    }
    // One region is its account.
    let mut up = Running::start(&["--port", "0", "--json"]);
    let ready = up.ready();
    assert_eq!(ready["endpoint"], ready["endpoints"][0]["url"]);
}

#[test]
fn a_key_need_not_be_an_argument() {
    let own = "c2VjcmV0IHNlY3JldA==";
    let file = std::env::temp_dir().join(format!("cosmonaut-key-{}", std::process::id()));
    std::fs::write(&file, format!("{own}\n")).unwrap();
    let mut by_file = Running::start(&["--port", "0", "--json", "--key-file", file.to_str().unwrap()]);
    assert_eq!(by_file.ready()["key"], own);
    std::fs::remove_file(&file).unwrap();
    let mut by_variable = Running::of(cosmonaut(&["up", "--port", "0", "--json"]).env("COSMONAUT_KEY", own));
    assert_eq!(by_variable.ready()["key"], own);
}

/// Whoever wants a key of their own must not get the one that everybody knows.
#[cfg(unix)]
#[test]
fn a_key_that_cannot_be_read_is_refused() {
    use std::os::unix::ffi::OsStrExt;
    let file = std::env::temp_dir().join(format!("cosmonaut-no-key-{}", std::process::id()));
    std::fs::write(&file, "\n").unwrap();
    let name = file.to_str().unwrap();
    let empty = Running::start(&["--port", "0", "--json", "--key-file", name]).end();
    std::fs::remove_file(&file).unwrap();
    assert_eq!(empty.0.code(), Some(2));
    assert!(empty.1.contains(name) && empty.1.contains("no key"), "{}", empty.1);

    let mut command = cosmonaut(&["up", "--port", "0", "--json"]);
    let unreadable = Running::of(command.env("COSMONAUT_KEY", std::ffi::OsStr::from_bytes(b"\xff"))).end();
    assert_eq!(unreadable.0.code(), Some(2));
    assert!(unreadable.1.contains("COSMONAUT_KEY"), "{}", unreadable.1);
}

/// For https://cosmos.azure.com until the year 2100, signed by [`ENTRA_KEY`]; both made by another program.
const ENTRA_TOKEN: &str = include_str!("../../../emulator/tests/entra/signed.jwt");

const ENTRA_KEY: &str = include_str!("../../../emulator/tests/entra/public.pem");

#[test]
fn entra_tokens_are_accepted_as_the_argument_says() {
    let file = std::env::temp_dir().join(format!("cosmonaut-entra-{}", std::process::id()));
    let name = file.to_str().unwrap();
    std::fs::write(&file, ENTRA_KEY).unwrap();
    let forged = format!("{}.c2ln", ENTRA_TOKEN.rsplit_once('.').unwrap().0);
    for (arguments, whole, altered) in [
        (&["--entra", "any"][..], "200", "200"),
        (&["--entra", name], "200", "401"),
        (&["--entra", "off"], "401", "401"),
        (&[], "401", "401"),
    ] {
        let mut up =
            Running::start(&[&["--port", "0", "--json", "--management-port", "0"], arguments].concat());
        let url = up.url();
        for (token, code) in [(ENTRA_TOKEN, whole), (&forged, altered)] {
            let line = format!("authorization: type%3Daad%26ver%3D1.0%26sig%3D{token}\r\n");
            let answer = get_with(&url, "/dbs", &line);
            assert!(answer.starts_with(&format!("HTTP/1.1 {code}")), "{arguments:?}: {answer}");
        }
    }
    std::fs::write(&file, "no key").unwrap();
    let no_key = Running::start(&["--port", "0", "--json", "--entra", name]).end();
    std::fs::remove_file(&file).unwrap();
    let no_file = Running::start(&["--port", "0", "--json", "--entra", name]).end();
    for (status, output) in [no_key, no_file] {
        assert_eq!(status.code(), Some(2));
        assert!(output.contains("--entra") && output.contains(name), "{output}");
    }
}

#[cfg(unix)]
#[test]
fn a_log_has_a_line_for_each_request() {
    for (flag, part) in [("--log", "GET /dbs/a  401"), ("--log=json", r#""path":"/dbs/a""#)] {
        let mut up = Running::start(&["--port", "0", "--json", flag]);
        let url = up.url();
        get(&url, "/dbs/a?secret=1");
        up.signal("TERM");
        let mut log = String::new();
        up.child.stderr.take().unwrap().read_to_string(&mut log).unwrap();
        assert_eq!(log.lines().count(), 1, "{log}");
        assert!(log.contains(part) && !log.contains("secret"), "{log}");
    }
}

#[cfg(unix)]
#[test]
fn connections_that_do_nothing_make_room_for_others() {
    let program = cosmonaut(&[]).get_program().to_owned();
    let mut limited = Command::new("sh");
    limited.args(["-c", "ulimit -n 64; exec \"$0\" up --port 0 --json --management-port 0"]).arg(program);
    let mut up = Running::of(&mut limited);
    let url = up.url();
    let idle: Vec<_> = (0..200).map(|_| TcpStream::connect(authority(&url)).unwrap()).collect();
    assert!(get(&url, "/").starts_with("HTTP/1.1 401"));
    drop(idle);
}

#[cfg(unix)]
#[test]
fn the_limit_of_connections_is_raised_as_far_as_it_goes() {
    let program = cosmonaut(&[]).get_program().to_owned();
    let mut limited = Command::new("sh");
    limited.args(["-c", "ulimit -S -n 64; exec \"$0\" up --port 0 --json --management-port 0"]).arg(program);
    let mut up = Running::of(&mut limited);
    up.ready();
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", up.child.id()));
    // Only Linux shows them.
    if let Ok(limits) = limits {
        let files = limits.lines().find(|line| line.starts_with("Max open files")).unwrap();
        let [soft, hard] = [3, 4].map(|nth| files.split_whitespace().nth(nth).unwrap());
        assert_eq!(soft, hard, "{files}");
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
        "POST /dbs HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
    up.signal("KILL");
    for kept in std::fs::read_dir(&directory).unwrap() {
        let kept = kept.unwrap();
        let mode = std::os::unix::fs::PermissionsExt::mode(&kept.metadata().unwrap().permissions());
        assert_eq!(mode & 0o777, 0o600, "{kept:?} is the user's alone");
    }

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

#[test]
fn an_account_ends_with_its_input_if_it_is_told_to() {
    let mut command =
        cosmonaut(&["up", "--port", "0", "--management-port", "0", "--json", "--until-input-ends"]);
    let mut up = Running::of(command.stdin(Stdio::piped()));
    let url = up.url();
    assert!(get(&url, "/").starts_with("HTTP/1.1 401"));
    let input = up.child.stdin.take();
    drop(input);
    assert!(up.child.wait().unwrap().success());
    // Others do not look at their input.
    let mut up = Running::of(
        cosmonaut(&["up", "--port", "0", "--management-port", "0", "--json"]).stdin(Stdio::null()),
    );
    let url = up.url();
    assert!(get(&url, "/").starts_with("HTTP/1.1 401"));
}
