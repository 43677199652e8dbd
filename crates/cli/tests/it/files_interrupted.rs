//! Exports and imports that are killed in the middle, or stopped by the user, and run again: nothing is lost or doubled.
//!
//! Some thousand items by default; `TRANSFER_ITEMS=1000000` for the long form.
#![cfg(unix)]

use std::fs;
use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use cosmonaut_emulator::{Delay, Effect, Fault};
use serde_json::Value;

use crate::account::{Account, until};
use crate::files::{Directory, fill, lines, sorted, wide};

/// How many items travel.
pub(crate) fn count() -> usize {
    std::env::var("TRANSFER_ITEMS").map_or(4000, |text| text.parse().unwrap())
}

pub(crate) fn items() -> Vec<String> {
    let item = |n| format!("{{\"id\":\"{n}\",\"pk\":\"p{}\",\"n\":{n}.50,\"text\":\"größe {n}\"}}", n % 97);
    (0..count()).map(item).collect()
}

/// Makes each request take a while, so that there is a middle to be killed in.
pub(crate) fn slow(account: &Account) {
    let delay = Delay::Fixed(Duration::from_millis(30));
    account.block_on(account.control().add_fault(Fault::new(Effect::Slow(delay)))).unwrap();
}

pub(crate) fn fast(account: &Account) {
    account.block_on(account.control().clear()).unwrap();
}

/// How many items a state says that are done.
fn done(state: &str) -> Option<u64> {
    let state: Value = serde_json::from_slice(&fs::read(state).ok()?).ok()?;
    state["items"].as_u64()
}

/// Whether nothing is left to do but to name the file, or not even that.
fn is_whole(state: &str) -> bool {
    let state = fs::read(state).ok().map(|json| serde_json::from_slice::<Value>(&json).unwrap());
    state.is_none_or(|state| state["is_whole"] == true)
}

/// Starts a command and ends it by a signal once it has done something. Says whether it was in the middle.
pub(crate) fn interrupt(account: &Account, arguments: &[&str], state: &str, signal: &str) -> (bool, String) {
    let mut command = account.command(arguments);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let before = done(state).unwrap_or(0);
    until("something to be done", || {
        done(state).is_some_and(|items| items > before) || child.try_wait().unwrap().is_some()
    });
    send(&child, signal);
    let mut error = String::new();
    child.stderr.take().unwrap().read_to_string(&mut error).unwrap();
    let status = child.wait().unwrap();
    assert!(signal != "INT" || matches!(status.code(), Some(0 | 1 | 130)), "{status}: {error}");
    (!status.success(), error)
}

pub(crate) fn send(child: &Child, signal: &str) {
    // It may be gone already.
    let _ = Command::new("kill")
        .args(["-s", signal, &child.id().to_string()])
        .stderr(Stdio::null())
        .status()
        .unwrap();
}

#[test]
fn an_export_that_is_killed_goes_on_and_every_item_is_there_once() {
    let (account, files) = (Account::start(), Directory::new("killed-export"));
    let all = items();
    fill(&account, &wide(&account, "shop", "orders"), &all);
    slow(&account);
    for name in ["a.jsonl", "b.json.gz", "c.csv"] {
        let (file, state) = (files.path(name), files.path(&format!("{name}.state")));
        let export = ["export", "shop/orders", &file, "--page", "20", "--parallel", "2"];
        let mut middles = 0;
        for signal in ["KILL", "INT", "KILL"] {
            let (in_the_middle, error) = interrupt(&account, &export, &state, signal);
            middles += usize::from(in_the_middle);
            assert!(signal != "INT" || !in_the_middle || error.contains("run it again"), "{error}");
            if !in_the_middle || is_whole(&state) {
                break;
            }
            assert!(fs::metadata(&file).is_err(), "there is no file before it is whole");
        }
        assert!(middles > 0, "it was never in the middle");
        if fs::metadata(&state).is_ok() {
            let goes_on = !is_whole(&state);
            let ended = account.run(&["export", "shop/orders", &file]);
            assert_eq!(ended.status, 0, "{name}: {}", ended.error);
            assert!(!goes_on || ended.error.contains("goes on behind"), "{}", ended.error);
        }
        let copy = format!("copy/{}", &name[..1]);
        fast(&account);
        account.ok(&["import", &copy, &file]);
        let told = account.ok(&["query", &copy, "SELECT VALUE COUNT(1) FROM c", "-f", "csv"]);
        assert_eq!(told.lines().nth(1), Some(&*all.len().to_string()), "{name}");
        assert!(lines(&account, &copy) == sorted(all.clone()), "{name}: other items than those exported");
        if name.ends_with(".jsonl") {
            let text = fs::read_to_string(&file).unwrap();
            assert!(
                sorted(text.lines().map(str::to_owned).collect()) == sorted(all.clone()),
                "lost or doubled"
            );
        }
        slow(&account);
    }
}

#[test]
fn an_import_that_is_killed_goes_on_and_tells_of_each_refusal_once() {
    let (account, files) = (Account::start(), Directory::new("killed-import"));
    let mut all = items();
    let file = files.path("orders.jsonl");
    let mut text = all.clone();
    let bad = [3, text.len() / 3, text.len() / 2, text.len() - 1];
    bad.iter().for_each(|line| text[*line] = format!("bad {line}"));
    bad.iter().rev().for_each(|line| drop(all.remove(*line)));
    fs::write(&file, text.join("\n")).unwrap();
    wide(&account, "shop", "orders");
    slow(&account);
    let (state, errors) = (files.path("orders.jsonl.import"), files.path("errors"));
    let import = ["import", "shop/orders", &file, "--errors", &errors];
    let mut middles = 0;
    for signal in ["KILL", "INT", "KILL"] {
        let (in_the_middle, error) = interrupt(&account, &import, &state, signal);
        if fs::metadata(&state).is_err() {
            break;
        }
        middles += usize::from(in_the_middle);
        assert!(signal != "INT" || error.contains("run it again"), "{error}");
    }
    assert!(middles > 0, "it was never in the middle");
    fast(&account);
    if fs::metadata(&state).is_ok() {
        let ended = account.run(&import);
        assert_eq!(ended.status, 1, "{}", ended.error);
        assert!(
            ended.error.contains("goes on behind") && ended.error.contains("4 items were refused"),
            "{}",
            ended.error
        );
    }
    let told = fs::read_to_string(&errors).unwrap();
    let told: Vec<_> =
        told.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["line"].as_u64()).collect();
    assert_eq!(told, bad.map(|line| Some(line as u64 + 1)));
    assert!(lines(&account, "shop/orders") == sorted(all), "other items than those of the file");
    assert!(fs::metadata(&state).is_err());
}

/// A file whose import stops in the middle: behind the first items comes what is no item of an array. How many are done.
fn half_imported(account: &Account, file: &str) -> u64 {
    // The first items are a chunk of their own, however large they are.
    let first = items()[..700].join(",\n");
    fs::write(file, format!("[{first},\n{{\"id\":\"last\",\"pk\":\"p\"}}] nonsense")).unwrap();
    account.refused(&[(&["import", "shop/orders", file], 1, "behind the array")]);
    done(&format!("{file}.import")).expect("a state")
}

#[test]
fn a_state_of_something_else_is_not_gone_on_from() {
    let (account, files) = (Account::start(), Directory::new("other-state"));
    account.container("shop", "orders", &[]);
    let file = files.path("o.json");
    assert!(half_imported(&account, &file) > 0);
    Account::start().refused(&[
        (
            &["import", "shop/orders", &file, "--partition-key", "/pk"],
            2,
            "or of another account (use --restart)",
        ),
        (&["container", "show", "shop/orders"], 1, "there is no database"),
    ]);
    fs::write(&file, "[{\"id\":\"other\",\"pk\":\"p\"}]").unwrap();
    account.refused(&[(&["import", "shop/orders", &file], 2, "other content")]);
    account.ok(&["import", "shop/orders", &file, "--restart"]);
}

#[test]
fn a_file_that_was_edited_meanwhile_is_not_gone_on_with() {
    let (account, files) = (Account::start(), Directory::new("edited"));
    account.container("shop", "orders", &[]);
    let file = files.path("o.json");
    // Long enough that the edit is far behind the beginning, and of the same length.
    let item =
        |n: usize, text: &str| format!("{{\"id\":\"{n}\",\"pk\":\"p\",\"text\":\"{}\"}}", text.repeat(200));
    let all = |edited: usize| {
        let items: Vec<_> = (0..600).map(|n| item(n, if n == edited { "new " } else { "old " })).collect();
        items.join(",\n")
    };
    let nonsense = " nonsense";
    let blanks = " ".repeat(nonsense.len());
    fs::write(&file, format!("[{}]{nonsense}", all(usize::MAX))).unwrap();
    let import = ["import", "shop/orders", &file];
    account.refused(&[(&import, 1, "behind the array")]);
    let state = format!("{file}.import");
    let at = done(&state).unwrap();
    assert!(at > 400, "{at} items are done");
    fs::write(&file, format!("[{}]{blanks}", all(400))).unwrap();
    account.refused(&[(&import, 2, "other content than an earlier run has read")]);
    // What comes behind it was not read, and may be other.
    fs::write(&file, format!("[{}]{blanks}", all(usize::MAX))).unwrap();
    account.ok(&import);
    assert_eq!(lines(&account, "shop/orders").len(), 600);
}

#[test]
fn one_run_at_a_time_writes_a_file() {
    let (account, files) = (Account::start(), Directory::new("two-runs"));
    let all = items();
    fill(&account, &wide(&account, "shop", "orders"), &all);
    slow(&account);
    let (file, state) = (files.path("o.jsonl"), files.path("o.jsonl.state"));
    let export = ["export", "shop/orders", &file, "--page", "20", "--parallel", "1"];
    let mut first = account.command(&export).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    until("something to be done", || done(&state).is_some_and(|items| items > 0));
    account.refused(&[
        (&export, 1, "another run"),
        (&["export", "shop/orders", &file, "--restart"], 1, "another run"),
    ]);
    fast(&account);
    assert!(first.wait().unwrap().success());
    let text = fs::read_to_string(&file).unwrap();
    assert!(sorted(text.lines().map(str::to_owned).collect()) == sorted(all.clone()), "lost or doubled");
    assert!(!files.names().iter().any(|name| name.ends_with(".lock")), "{:?}", files.names());

    slow(&account);
    let (import, state) =
        (["import", "shop/copy", &file, "--partition-key", "/pk"], files.path("o.jsonl.import"));
    let mut first = account.command(&import).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    until("something to be done", || done(&state).is_some_and(|items| items > 0));
    account.refused(&[(&import, 1, "another run")]);
    fast(&account);
    assert!(first.wait().unwrap().success());
    assert!(lines(&account, "shop/copy") == sorted(all), "other items than those of the file");
}

#[test]
fn an_import_goes_on_only_as_it_was_begun() {
    let (account, files) = (Account::start(), Directory::new("as-begun"));
    wide(&account, "shop", "orders");
    let file = files.path("o.csv");
    let rows: String = (0..6000).map(|n| format!("{n},p{},{n}\n", n % 97)).collect();
    fs::write(&file, format!("id,pk,zip\n{rows}")).unwrap();
    slow(&account);
    let state = files.path("o.csv.import");
    let import = ["import", "shop/orders", &file, "--text", "zip"];
    let (in_the_middle, error) = interrupt(&account, &import, &state, "KILL");
    assert!(in_the_middle, "{error}");
    fast(&account);
    account.refused(&[
        (&["import", "shop/orders", &file], 2, "--text"),
        (&["import", "shop/orders", &file, "--text", "zip", "--format", "jsonl"], 2, "another format"),
    ]);
    account.ok(&import);
    assert!(
        lines(&account, "shop/orders").iter().all(|line| line.contains("\"zip\":\"")),
        "one column, one type"
    );
}

#[test]
fn a_run_that_still_looks_for_its_container_can_be_stopped() {
    let files = Directory::new("stopped-early");
    let file = files.path("o.jsonl");
    fs::write(&file, "").unwrap();
    let (out, all) = (files.path("out.jsonl"), files.path("all"));
    let arguments: [&[&str]; 3] =
        [&["export", "shop/orders", &out], &["export", "--all", &all], &["import", "shop/orders", &file]];
    for arguments in arguments {
        // Each has an account of its own, so that what hangs is its own request.
        let account = Account::start();
        account.container("shop", "orders", &[]);
        // Of this container only: the client of the test asks for the account now and then.
        let hang = Fault::new(Effect::Hang).in_container("shop/orders");
        account.block_on(account.control().add_fault(hang)).unwrap();
        let mut command = account.command(arguments);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        until("a request that hangs", || account.control().faults()[0].hits > 0);
        send(&child, "INT");
        assert_eq!(child.wait().unwrap().code(), Some(130), "{arguments:?}");
    }
}
