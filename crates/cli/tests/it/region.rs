//! `cosmonaut region`: a user breaks regions from a shell and sees what is broken.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use serde_json::{Value, json};

use crate::cosmonaut;
use crate::up::{Running, authority};

/// An account of two regions with a container `d/c`, and where it is managed.
struct Account {
    _up: Running,
    management: String,
    urls: Vec<String>,
}

impl Account {
    fn start() -> Self {
        let regions = ["--regions", "East US,West US", "--partition-failover", "--management-port", "0"];
        let mut up = Running::start(&[&["--port", "0", "--json", "--no-auth"][..], &regions].concat());
        let ready = up.ready();
        let url = |endpoint: &Value| endpoint["url"].as_str().unwrap().to_owned();
        let account = Self {
            _up: up,
            management: ready["management"].as_str().unwrap().to_owned(),
            urls: ready["endpoints"].as_array().unwrap().iter().map(url).collect(),
        };
        let container = json!({"id": "c", "partitionKey": {"paths": ["/pk"], "version": 2}});
        assert_eq!(account.post(0, "/dbs", &json!({"id": "d"})), 201);
        assert_eq!(account.post(0, "/dbs/d/colls", &container), 201);
        account
    }

    /// The status of a POST in a region.
    fn post(&self, region: usize, path: &str, body: &Value) -> u16 {
        let mut stream = TcpStream::connect(authority(&self.urls[region])).unwrap();
        let body = body.to_string();
        let length = body.len();
        write!(
            stream,
            "POST {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer[9..12].parse().unwrap()
    }

    fn write(&self, region: usize, id: &str) -> u16 {
        self.post(region, "/dbs/d/colls/c/docs", &json!({"id": id, "pk": id}))
    }

    /// What a command prints, and its status.
    fn run(&self, arguments: &[&str]) -> (i32, String, String) {
        let output = cosmonaut(&[&["region"], arguments].concat())
            .env("COSMONAUT_MANAGEMENT_URL", &self.management)
            .output()
            .unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    }

    fn ok(&self, arguments: &[&str]) -> String {
        let (status, output, error) = self.run(arguments);
        assert_eq!(status, 0, "{arguments:?}: {error}");
        output
    }

    fn json(&self, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.ok(&[arguments, &["--json"]].concat())).unwrap()
    }
}

#[test]
fn a_region_goes_down_and_comes_back() {
    let account = Account::start();
    let down = account.ok(&["down", "West US"]);
    let row = down.lines().find(|line| line.starts_with("West US")).unwrap();
    assert!(row.contains("refuse"), "{down}");
    assert!(TcpStream::connect(authority(&account.urls[1])).is_err());
    account.ok(&["down", "westus", "--mode", "unavailable"]);
    assert_eq!(account.post(1, "/dbs", &json!({"id": "x"})), 503);
    let up = account.json(&["up", "westus"]);
    assert_eq!(up["regions"][1]["state"], "up");
    account.ok(&["slow", "westus", "1ms..2ms"]);
    assert_eq!(account.json(&["list"])["regions"][1]["state"], "slow");
    assert!(account.ok(&["clear"]).contains("no faults"));
}

#[test]
fn writes_move_and_are_forbidden_and_allowed() {
    let account = Account::start();
    assert!(account.ok(&["failover", "West US"]).contains("nothing is lost"));
    assert_eq!(account.write(1, "a"), 201);
    account.ok(&["forbid-writes", "West US"]);
    assert_eq!(account.write(1, "b"), 403);
    account.ok(&["allow-writes", "West US"]);
    assert_eq!(account.write(1, "b"), 201);
    account.ok(&["failover", "East US", "--forced"]);
    assert_eq!(account.json(&["list"])["regions"][0]["name"], "East US");
}

#[test]
fn regions_come_and_go_and_links_lag() {
    let account = Account::start();
    assert!(account.ok(&["add", "North Europe"]).contains("North Europe"));
    account.ok(&["lag", "10ms..80ms", "--to", "North Europe"]);
    account.ok(&["pause", "--from", "East US"]);
    let links = account.json(&["links"]);
    let late = |link: &&Value| link["from"] == "East US" && link["to"] == "North Europe";
    let link = links["links"].as_array().unwrap().iter().find(late).unwrap();
    assert_eq!((&link["lag"], &link["paused"]), (&json!("10ms..80ms"), &json!(true)));
    assert!(account.ok(&["faults"]).contains("paused"));
    account.ok(&["resume"]);
    account.ok(&["lag", "none"]);
    assert!(!account.ok(&["remove", "northeurope"]).contains("North Europe"));
}

#[test]
fn partitions_fail_and_move_and_split() {
    let account = Account::start();
    let failed =
        account.ok(&["partition", "fail", "d/c", "0", "East US", "--status", "410", "--sub-status", "1022"]);
    assert!(failed.starts_with("fault 1 is in force"), "{failed}");
    assert_eq!(account.write(0, "a"), 410);
    let faults = account.ok(&["faults"]);
    assert!(faults.contains("status 410/1022") && faults.contains("d/c"), "{faults}");
    account.ok(&["clear", "1"]);
    account.ok(&["partition", "slow", "d/c", "0", "East US", "1ms"]);
    assert_eq!(account.write(0, "a"), 201);
    assert!(account.ok(&["partition", "failover", "d/c", "0", "West US"]).contains("nothing is lost"));
    assert!(account.ok(&["split", "d/c", "0"]).contains("1 and 2"));
    assert!(account.ok(&["partition", "list", "d/c"]).contains("West US: "));
}

#[test]
fn a_fault_strikes_those_it_is_for() {
    let account = Account::start();
    account.ok(&["fault", "throttle", "--operations", "write", "--container", "d/c", "--count", "1"]);
    assert_eq!(account.write(0, "a"), 429);
    assert_eq!(account.write(0, "a"), 201);
    let faults = account.json(&["faults"]);
    assert_eq!((&faults["faults"][0]["hits"], &faults["faults"][0]["left"]), (&json!(1), &json!(0)));
    let retry = ["fault", "status", "--status", "503", "--region", "westus", "--probability", "0.5"];
    assert!(account.ok(&retry).starts_with("fault 2"));
}

#[test]
fn what_cannot_be_done_says_why_and_what_to_try() {
    let account = Account::start();
    for (arguments, status, part) in [
        (&["down", "Mars"][..], 2, "East US, West US"),
        (&["down", "East US", "--mode", "gently"], 2, "unavailable"),
        (&["slow", "East US", "soon"], 2, "50ms"),
        (&["lag", "soon"], 2, "10ms..80ms"),
        (&["remove", "East US"], 2, "move"),
        (&["split", "d", "0"], 2, "database/container"),
        (&["split", "d/c", "9"], 2, "there are: 0"),
        (&["clear", "99"], 2, "99"),
        (&["fault", "explode"], 2, "drop-response"),
        (&["fault", "slow"], 2, "delay"),
        (&["fault", "hang", "--partition", "0"], 2, "--container"),
        (&["sideways"], 2, "sideways"),
        (&["list", "--management", "localhost:8080"], 2, "http://127.0.0.1:8080"),
    ] {
        let (found, _, error) = account.run(arguments);
        assert_eq!(found, status, "{arguments:?}: {error}");
        assert!(error.contains(part), "{arguments:?}: {error}");
    }
}

#[test]
fn where_no_emulator_is_says_how_to_start_or_find_one() {
    // Nobody listens there any more.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let output =
        cosmonaut(&["region", "list", "--management", &format!("http://127.0.0.1:{port}")]).output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(error.contains("cosmonaut up") && error.contains(&port.to_string()), "{error}");

    // The account itself is not its management.
    let account = Account::start();
    let output = cosmonaut(&["region", "list", "--management", &account.urls[0]]).output().unwrap();
    assert!(!output.status.success());
}

#[test]
fn the_help_teaches_by_example() {
    let output = cosmonaut(&["region", "--help"]).output().unwrap();
    let help = String::from_utf8(output.stdout).unwrap();
    for part in ["failover \"West US\" --forced", "p50=20ms,p99=400ms", "COSMONAUT_MANAGEMENT_URL"] {
        assert!(help.contains(part), "{help}");
    }
}
