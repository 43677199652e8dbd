//! `cosmonaut copy`: within an account and to another one, killed in the middle, and behind writers that go on.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use cosmonaut::model::{ChangeFeedPolicy, UniqueKeyPolicy};
use cosmonaut::{ContainerClient, ContainerProperties, CosmosStatus};
use cosmonaut_emulator::{Effect, Fault, Operations};
use serde_json::{Value, json};

use crate::account::{Account, Ended, until};
use crate::cosmonaut;
use crate::files::{Directory, fill, lines, sorted, wide};
use crate::files_interrupted::{count, fast, interrupt, items, send, slow};

#[test]
fn a_container_is_copied_within_an_account_and_to_another_one() {
    let (account, other) = (Account::start(), Account::start());
    let all = sorted(items()[..500].to_vec());
    fill(&account, &wide(&account, "shop", "orders"), &all);
    let told = account.json(&["copy", "shop/orders", "shop/copy", "--json"]);
    assert_eq!((&told["items"], &told["refused"]), (&json!(500), &json!(0)));
    assert!(lines(&account, "shop/copy") == all);
    account.ok(&["copy", "shop/orders", "new/orders", "--to-endpoint", other.url()]);
    assert!(lines(&other, "new/orders") == all);
    let profiles = Directory::new("copy-profile");
    let file = profiles.path("config.json");
    fs::write(&file, json!({"profiles": {"new": {"endpoint": other.url()}}}).to_string()).unwrap();
    account.ok(&["copy", "shop/orders", "profile/orders", "--to-profile", "new", "--config", &file]);
    assert!(lines(&other, "profile/orders") == all);
    let mut command = account.command(&["copy", "shop/orders", "env/orders"]);
    let text = format!("AccountEndpoint={};AccountKey={};", other.url(), cosmonaut_emulator::EMULATOR_KEY);
    assert!(command.env("COSMONAUT_TO_CONNECTION_STRING", text).output().unwrap().status.success());
    assert!(lines(&other, "env/orders") == all);
}

#[test]
fn what_makes_no_sense_is_refused() {
    let account = Account::start();
    account.container("shop", "orders", &[]);
    // The same account by another address.
    let by_name = account.url().replace("127.0.0.1", "localhost");
    assert_ne!(by_name, account.url());
    account.refused(&[
        (&["copy", "shop/orders", "shop/orders"], 2, "to itself"),
        (&["copy", "shop/none", "shop/copy"], 1, "which has orders"),
        (&["copy", "shop/orders", "shop/orders", "--to-endpoint", &by_name], 2, "to itself"),
        (
            &["copy", "shop/orders", "a/b", "--to-endpoint", "https://b.example"],
            2,
            "COSMONAUT_TO_KEY or COSMONAUT_TO_",
        ),
        (&["copy", "shop/orders", "a/b", "--to-endpoint", "https://b.example"], 2, "--to-profile"),
        (&["copy", "shop/orders", "shop/copy", "--deletes"], 2, "--follow"),
    ]);
    let ended = account.run(&["copy", "shop/orders", "shop/copy", "--follow", "--deletes"]);
    assert_eq!(ended.status, 2, "{}", ended.error);
    assert!(ended.error.contains("change feed policy"), "{}", ended.error);
}

#[test]
fn a_copy_that_is_killed_goes_on() {
    let (account, files) = (Account::start(), Directory::new("killed-copy"));
    let all = items();
    fill(&account, &wide(&account, "shop", "orders"), &all);
    wide(&account, "shop", "copy");
    slow(&account);
    let state = files.path("state");
    let copy = ["copy", "shop/orders", "shop/copy", "--state", &state];
    let mut middles = 0;
    for signal in ["KILL", "INT", "KILL"] {
        let (in_the_middle, _) = interrupt(&account, &copy, &state, signal);
        middles += usize::from(in_the_middle);
    }
    assert!(middles > 0, "it was never in the middle");
    fast(&account);
    account.ok(&copy);
    assert!(lines(&account, "shop/copy") == sorted(all), "other items than those of the original");
    account.ok(&copy);
    account.refused(&[(&["copy", "shop/orders", "shop/third", "--state", &state], 2, "--restart")]);
    assert!(fs::metadata(&state).is_ok(), "a later run copies what came since");
}

/// Follows while a writer writes, lets it stop, and cuts over.
fn cut_over(account: &Account, from: &ContainerClient, arguments: &[&str], deletes: bool) {
    let mut command = account
        .command(&[&["copy", "shop/orders", "shop/copy", "--follow", "--poll", "20"], arguments].concat());
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut told = BufReader::new(child.stderr.take().unwrap()).lines();
    let (written, enough) = (AtomicUsize::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut n = 0;
            while !enough.load(Ordering::Relaxed) {
                let id = (n % 700).to_string();
                let item = json!({"id": id, "pk": format!("p{}", n % 7), "n": n});
                account.block_on(from.upsert_item(format!("p{}", n % 7), &item)).unwrap();
                if deletes && n % 5 == 0 {
                    account.block_on(from.delete_item(format!("p{}", n % 7), &id)).unwrap();
                }
                n += 1;
                written.store(n, Ordering::Relaxed);
            }
        });
        let caught_up = told.by_ref().map(Result::unwrap).find(|line| line.starts_with("caught up"));
        assert!(caught_up.is_some(), "it never caught up");
        let so_far = written.load(Ordering::Relaxed);
        until("more to be written", || written.load(Ordering::Relaxed) > so_far + 200);
        enough.store(true, Ordering::Relaxed);
    });
    send(&child, "INT");
    let rest: Vec<_> = told.map(Result::unwrap).collect();
    let status = child.wait().unwrap();
    assert!(status.success(), "{status}: {rest:?}");
    assert!(lines(account, "shop/copy") == lines(account, "shop/orders"), "{rest:?}");
}

#[test]
fn a_copy_follows_writers_until_it_is_cut_over() {
    let account = Account::start();
    let from = wide(&account, "shop", "orders");
    fill(&account, &from, &items()[..1000.min(count())]);
    cut_over(&account, &from, &[], false);
}

#[test]
fn deletions_are_followed_where_all_versions_are_kept() {
    let account = Account::start();
    let from = account.block_on(async {
        account.client.create_database("shop").await.unwrap();
        let database = account.client.database("shop");
        let policy = ChangeFeedPolicy::retain_minutes(10);
        let properties = ContainerProperties::new("orders", "/pk").with_change_feed_policy(policy);
        database.create_container(properties).await.unwrap();
        database.container("orders")
    });
    fill(&account, &from, &items()[..300]);
    cut_over(&account, &from, &["--deletes"], true);
}

#[test]
fn what_the_account_refuses_ends_a_copy_and_is_copied_once_it_is_allowed() {
    let (account, files) = (Account::start(), Directory::new("refused-copy"));
    let all = items()[..300].to_vec();
    fill(&account, &wide(&account, "shop", "orders"), &all);
    wide(&account, "shop", "copy");
    let state = files.path("state");
    let copy = ["copy", "shop/orders", "shop/copy", "--state", &state];
    for (status, part) in [(CosmosStatus::FORBIDDEN, "403"), (CosmosStatus::UNAUTHORIZED, "401")] {
        let fault = Fault::new(Effect::status(status)).in_container("shop/copy").on(Operations::Write);
        account.block_on(account.control().add_fault(fault)).unwrap();
        account.refused(&[(&copy, 1, part)]);
        fast(&account);
    }
    let told = account.json(&[&copy[..], &["--json"]].concat());
    assert_eq!((&told["items"], &told["refused"]), (&json!(300), &json!(0)), "none was passed over");
    assert!(lines(&account, "shop/copy") == sorted(all));
}

#[test]
fn examples_and_hints_do_not_lead_keys_into_the_list_of_processes() {
    let help = Ended::of(cosmonaut(&["copy", "--help"]).output().unwrap()).output;
    assert!(!help.contains("--to-connection-string \""), "{help}");
    let words = help.split_whitespace().collect::<Vec<_>>().join(" ");
    for variable in
        ["COSMONAUT_KEY", "COSMONAUT_CONNECTION_STRING", "COSMONAUT_TO_KEY", "COSMONAUT_TO_CONNECTION_STRING"]
    {
        let warning = format!("others on this machine can see arguments, so rather set {variable}");
        assert!(words.contains(&warning), "{warning}: {help}");
    }
}

#[test]
fn containers_with_other_keys_are_not_copied() {
    let account = Account::start();
    account.container("shop", "orders", &[json!({"id": "1", "pk": "a", "city": "x"})]);
    account.ok(&["container", "create", "shop/cities", "/city"]);
    account.ok(&["container", "create", "shop/both", "/pk", "/city"]);
    account.ok(&["container", "create", "shop/same", "/pk"]);
    account.refused(&[
        (
            &["copy", "shop/orders", "shop/cities"],
            2,
            "shop/orders has the partition key /pk, and shop/cities has /city",
        ),
        (&["copy", "shop/orders", "shop/both"], 2, "cosmonaut export"),
    ]);
    assert!(lines(&account, "shop/cities").is_empty());
    account.ok(&["copy", "shop/orders", "shop/same"]);
}

/// A container in which no two items of a key have the same mail.
fn people(account: &Account, name: &str) -> ContainerClient {
    account.block_on(async {
        account.client.create_database_if_not_exists("shop").await.unwrap();
        let database = account.client.database("shop");
        let unique = UniqueKeyPolicy::default().with_key(["/mail"]);
        let properties = ContainerProperties::new(name, "/pk").with_unique_key_policy(unique);
        database.create_container(properties).await.unwrap();
        database.container(name)
    })
}

fn put(account: &Account, container: &ContainerClient, id: &str, mail: &str) {
    let item = json!({"id": id, "pk": "p", "mail": mail});
    account.block_on(container.upsert_item("p", &item)).unwrap();
}

#[test]
fn items_that_swap_a_unique_value_are_copied_as_they_are_in_the_end() {
    let (account, files) = (Account::start(), Directory::new("swapped"));
    let from = people(&account, "people");
    for (id, mail) in [("a", "1"), ("b", "2"), ("c", "3"), ("d", "4"), ("e", "5")] {
        put(&account, &from, id, mail);
    }
    let (state, errors) = (files.path("state"), files.path("errors"));
    let copy = ["copy", "shop/people", "shop/copy", "--state", &state, "--errors", &errors];
    account.ok(&copy);
    assert_eq!(lines(&account, "shop/copy"), lines(&account, "shop/people"));
    // Two swap, and three pass theirs on.
    for (id, mail) in [("a", "0"), ("b", "1"), ("a", "2"), ("e", "6"), ("d", "5"), ("c", "4")] {
        put(&account, &from, id, mail);
    }
    account.ok(&copy);
    assert_eq!(lines(&account, "shop/copy"), lines(&account, "shop/people"));
    assert_eq!(fs::read_to_string(&errors).unwrap(), "");
}

#[test]
fn what_stays_refused_is_told_and_tried_again_by_a_later_run() {
    let (account, files) = (Account::start(), Directory::new("stays-refused"));
    let (from, to) = (people(&account, "people"), people(&account, "copy"));
    put(&account, &from, "a", "1");
    put(&account, &from, "b", "2");
    let (state, errors) = (files.path("state"), files.path("errors"));
    let copy = ["copy", "shop/people", "shop/copy", "--state", &state, "--errors", &errors];
    account.ok(&copy);
    // An item that is only there has what one gets that was copied before, and a new one has what that one had.
    put(&account, &to, "z", "9");
    put(&account, &from, "b", "9");
    put(&account, &from, "c", "2");
    let ended = account.run(&copy);
    assert_eq!(ended.status, 1, "{}", ended.error);
    let told = fs::read_to_string(&errors).unwrap();
    let told: Vec<Value> = told.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let b = told.iter().find(|told| told["id"] == "b").unwrap();
    assert_eq!((&b["partitionKey"], &b["status"]), (&json!(["p"]), &json!(409)));
    account.block_on(to.delete_item("p", "z")).unwrap();
    account.ok(&copy);
    assert_eq!(lines(&account, "shop/copy"), lines(&account, "shop/people"));
    assert_eq!(fs::read_to_string(&errors).unwrap(), "");
    let notes = files.path("notes");
    fs::write(&notes, "of somebody else").unwrap();
    account.refused(&[
        (&["copy", "shop/people", "shop/copy", "--errors", &notes], 2, "name another file"),
        (&["copy", "shop/people", "shop/copy", "--state", &state, "--errors", &state], 2, "how far it came"),
    ]);
}
