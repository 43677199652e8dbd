//! `cosmonaut bench`: a load, its result, and a container that is left as it was found.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use cosmonaut::{ContainerProperties, FeedScope};
use cosmonaut_emulator::{Effect, Fault, Operations};
use serde_json::{Value, json};

use crate::account::{Account, Ended, until};
use crate::cosmonaut;

/// As little as makes a result.
const SHORT: [&str; 6] = ["--seconds", "1", "--warm-up", "0", "--items", "20"];

fn bench<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&["bench"][..], &SHORT, more].concat()
}

fn databases(account: &Account) -> usize {
    account.block_on(async {
        let mut list = account.client.list_databases();
        let mut count = 0;
        while let Some(found) = list.next().await {
            found.unwrap();
            count += 1;
        }
        count
    })
}

#[test]
fn a_load_is_measured_by_operation_and_nothing_is_left() {
    let account = Account::start();
    let mix = ["--json", "--mix", "read=1,write=1,query=1", "--concurrency", "8"];
    let result = account.json(&bench(&mix));
    assert_eq!((&result["container"], &result["loop"]), (&json!("cosmonaut-bench/items"), &json!("closed")));
    assert_eq!((&result["stopped"], &result["failures"]), (&json!(false), &json!({})));
    let done = |of: &Value| of["done"].as_u64().unwrap();
    let kinds = result["operations"].as_object().unwrap();
    assert_eq!(kinds.keys().collect::<Vec<_>>(), ["query", "read", "write"]);
    assert_eq!(kinds.values().map(done).sum::<u64>(), done(&result["all"]));
    for of in kinds.values() {
        let at = |name: &str| of["latencyMs"][name].as_f64().unwrap();
        assert!(done(of) > 0 && of["requestCharge"].as_f64().unwrap() > 0.0, "{of}");
        assert!(0.0 < at("p50") && at("p50") <= at("p99") && at("p999") <= at("max"), "{of}");
    }
    assert!(result["regions"]["East US"].as_u64().unwrap() > 0, "{result}");
    assert_eq!(databases(&account), 0);
}

#[test]
fn the_result_for_people_has_a_table_and_a_chart() {
    let account = Account::start();
    let ended = account.run(&bench(&["--mix", "read=1,write=1"]));
    assert_eq!(ended.error, "made the container cosmonaut-bench/items\n");
    let text = ended.output;
    for part in [
        "cosmonaut-bench/items: 16 at a time, 1.0 s counted\n",
        "P99.9",
        "\nread ",
        "\nall ",
        "█",
        "served by  East US",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn an_open_loop_keeps_its_rate_and_says_what_it_could_not_start() {
    let account = Account::start();
    let accounted =
        |result: &Value| result["all"]["done"].as_u64().unwrap() + result["notStarted"].as_u64().unwrap();
    let result = account.json(&bench(&["--json", "--rate", "50", "--mix", "read=1"]));
    assert_eq!((&result["loop"], &result["rate"]), (&json!("open"), &json!(50.0)));
    assert_eq!(accounted(&result), 50, "no more than was due, and what is missing is said: {result}");

    // One at a time, and each takes longer than there is time between them.
    let slow = Fault::new(Effect::Slow("50ms".parse().unwrap())).on(Operations::Read);
    account.block_on(account.control().add_fault(slow)).unwrap();
    let result = account.json(&bench(&["--json", "--rate", "100", "--concurrency", "1", "--mix", "read=1"]));
    assert_eq!(accounted(&result), 100, "{result}");
    assert!(result["notStarted"].as_u64().unwrap() > 50, "{result}");
    let p90 = result["all"]["latencyMs"]["p90"].as_f64().unwrap();
    assert!(p90 > 200.0, "what had to wait is measured from when it was due: {result}");
}

#[test]
fn a_container_that_is_there_keeps_what_is_not_ours() {
    let account = Account::start();
    let orders = account.container("shop", "orders", &[json!({"id": "mine", "pk": "a"})]);
    let count = || {
        let all = orders.query_items::<u64>("SELECT VALUE COUNT(1) FROM c", FeedScope::Container);
        account.block_on(all.collect()).unwrap()[0]
    };
    let ended = account.run(&bench(&["shop/orders", "--mix", "write=1"]));
    assert_eq!((ended.status, &*ended.error), (0, "uses the container shop/orders\n"));
    assert_eq!(count(), 1);
    account.ok(&bench(&["shop/orders", "--keep"]));
    assert_eq!(count(), 21);
    account.ok(&bench(&["shop/new"]));
    account.block_on(async {
        let shop = account.client.database("shop");
        assert!(shop.container("new").read().await.unwrap_err().is_not_found());
        shop.create_container(ContainerProperties::new("nested", "/a/b")).await.unwrap();
    });
    account.refused(&[(&bench(&["shop/nested"]), 2, "/a/b")]);
}

#[test]
fn failures_are_counted_by_kind_and_a_run_of_nothing_else_fails() {
    let account = Account::start();
    account.container("shop", "orders", &[]);
    let refuse = Fault::new(Effect::status(cosmonaut::CosmosStatus::FORBIDDEN)).on(Operations::Read);
    let refuse = Fault { partition: Some("0".into()), ..refuse.in_container("shop/orders") };
    account.block_on(account.control().add_fault(refuse)).unwrap();
    for (mix, status) in [("read=1,write=1", 0), ("read=1", 1)] {
        let ended = account.run(&bench(&["shop/orders", "--json", "--mix", mix]));
        assert_eq!(ended.status, status, "{}", ended.error);
        let result: Value = serde_json::from_str(&ended.output).unwrap();
        let read = &result["operations"]["read"];
        assert_eq!((&read["done"], &read["failed"]), (&json!(0), &result["failures"]["Forbidden 403/0"]));
        assert!(read["failed"].as_u64().unwrap() > 0, "{result}");
    }
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_it_with_the_result_so_far_and_nothing_left() {
    let account = Account::start();
    let mut child = account
        .command(&["bench", "--seconds", "600", "--warm-up", "0", "--items", "20", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut said).unwrap();
    let begun = account.control().requests();
    until("some load", || account.control().requests() > begun + 100);
    let id = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-s", "INT", &id]).status().unwrap().success());
    let ended = Ended::of(child.wait_with_output().unwrap());
    assert_eq!(ended.status, 0, "{}", ended.error);
    let result: Value = serde_json::from_str(&ended.output).unwrap();
    assert_eq!(result["stopped"], true);
    assert!(result["all"]["done"].as_u64().unwrap() > 0, "{result}");
    assert_eq!(databases(&account), 0);
}

#[cfg(unix)]
#[test]
fn ctrl_c_is_heard_while_the_container_is_looked_for_and_while_it_is_filled() {
    for (in_container, interrupts, said) in
        [(false, 1, "stopped before"), (true, 2, "what was written to shop/orders is left")]
    {
        let account = Account::start();
        account.container("shop", "orders", &[]);
        let hang = Fault::new(Effect::Hang);
        // Reading the container is no request to its partitions; writing items is.
        let partition = in_container.then(|| "0".into());
        let hang = Fault { partition, ..hang.in_container("shop/orders") };
        account.block_on(account.control().add_fault(hang)).unwrap();
        let child = account
            .command(&bench(&["shop/orders"]))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        until("a request that hangs", || account.control().faults()[0].hits > 0);
        let mut child = child;
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut error = String::new();
        for nth in 0..interrupts {
            let id = child.id().to_string();
            assert!(std::process::Command::new("kill").args(["-s", "INT", &id]).status().unwrap().success());
            // What it says to the first is awaited before the second.
            while nth + 1 < interrupts && !error.contains("once more") {
                error += &lines.next().unwrap().unwrap();
            }
        }
        error += &lines.map(Result::unwrap).collect::<Vec<_>>().join("\n");
        let status = child.wait().unwrap();
        assert_eq!(status.code(), Some(130), "{error}");
        assert!(error.contains(said), "{error}");
    }
}

#[cfg(unix)]
#[test]
fn on_a_terminal_progress_is_drawn_and_a_key_ends_it() {
    use crate::terminal::{CTRL_C, Terminal};

    let account = Account::start();
    let arguments = ["bench", "--seconds", "600", "--warm-up", "0", "--items", "20"];
    let terminal = Terminal::start(&arguments, &[("COSMONAUT_ENDPOINT", account.url())], (40, 120));
    terminal.wait_for("0 failed, 59");
    terminal.press(CTRL_C);
    let (status, screen, _) = terminal.end();
    assert!(status.success(), "{screen}");
    let result = screen.lines().find(|line| line.contains("stopped early"));
    assert!(result.is_some_and(|line| line.starts_with("cosmonaut-bench/items: 16 at a time")), "{screen}");
}

#[test]
fn arguments_that_make_no_sense_are_refused() {
    let (account, key) = (Account::start(), "bm9ib2R5LWtub3dzLXRoaXMta2V5");
    assert!(!account.run(&["bench", "--key", key]).error.contains(key));
    account.refused(&[
        (&["bench", "--mix", "read"], 2, "read=80"),
        (&["bench", "--mix", "delete=1"], 2, "read=80"),
        (&["bench", "--rate", "0"], 2, "500"),
        (&["bench", "--rate", "fast"], 2, "500"),
        (&["bench", "--concurrency", "0"], 2, "--concurrency"),
        (&["bench", "--seconds", "0"], 2, "--seconds"),
        (&["bench", "--items", "0"], 2, "--items"),
        (&["bench", "--item-size", "1"], 2, "--item-size"),
        (&["bench", "items"], 2, "shop/orders"),
        (&["bench", "--key", key], 1, "401"),
        (&["bench", "--throughput", "1"], 1, "400"),
    ]);
    assert_eq!(databases(&account), 0, "what could not be made in full is not left in part");
    let help = Ended::of(cosmonaut(&["bench", "--help"]).output().unwrap()).output;
    for part in ["open loop", "closed loop", "--rate 500", "Ctrl-C"] {
        assert!(help.to_lowercase().contains(&part.to_lowercase()), "{help}");
    }
}

#[test]
fn a_rate_that_no_account_can_keep_is_measured_all_the_same() {
    let account = Account::start();
    let hopeless =
        ["bench", "--rate", "100000", "--warm-up", "1", "--seconds", "1", "--items", "20", "--json"];
    let result = account.json(&hopeless);
    assert!(result["all"]["done"].as_u64().unwrap() > 0, "{result}");
    // Of the second that counts, and nothing of what warming up has left.
    assert!((1..=100_000).contains(&result["notStarted"].as_u64().unwrap()), "{result}");
}

#[cfg(unix)]
#[test]
fn a_result_fits_the_screen() {
    for columns in [40, 80] {
        let account = Account::start();
        let endpoint = [("COSMONAUT_ENDPOINT", account.url())];
        let arguments = bench(&["--mix", "read=1,write=1"]);
        let (status, screen, _) =
            crate::terminal::Terminal::start(&arguments, &endpoint, (80, columns)).end();
        assert!(status.success(), "{screen}");
        assert!(screen.contains("OPERATION   all\nDONE "), "{screen}");
        assert!(screen.contains("\nMAX "), "{screen}");
    }
}
