//! `cosmonaut item`, `container` and `database`: what they make, show, change and delete, and what they ask before.

use std::io::Write;
use std::process::Stdio;

use cosmonaut_emulator::Emulator;
use serde_json::{Value, json};

use crate::account::{Account, Ended};

fn shop() -> Account {
    let account = Account::start();
    account.container("shop", "orders", &[json!({"id": "1", "pk": "oslo", "total": 12.5})]);
    account
}

const FIRST: [&str; 5] = ["shop/orders", "1", "-k", "\"oslo\"", "--json"];

fn first(account: &Account) -> Value {
    account.json(&[&["item", "get"][..], &FIRST].concat())
}

/// A command that reads this from its standard input.
fn fed(account: &Account, arguments: &[&str], input: &str) -> Ended {
    let mut command = account.command(arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    Ended::of(child.wait_with_output().unwrap())
}

#[test]
fn an_item_is_written_read_changed_and_deleted() {
    let account = shop();
    let put = account.json(&["item", "put", "shop/orders", r#"{"id":"7","pk":"rome","n":1}"#, "--json"]);
    assert_eq!((&put["id"], &put["done"]), (&json!("7"), &json!("created")));
    assert!(put["requestCharge"].as_f64().unwrap() > 0.0 && put["etag"].is_string(), "{put}");
    let again = account.ok(&["item", "put", "shop/orders", r#"{"id":"7","pk":"rome","n":2}"#]);
    assert_eq!(again, "replaced item \"7\" of shop/orders\n");

    let place = ["shop/orders", "7", "-k", "\"rome\""];
    let change =
        ["item", "patch", "shop/orders", "7", "set:/state=\"sent\"", "increment:/n=5", "-k", "\"rome\""];
    assert_eq!(account.ok(&change), "changed item \"7\" of shop/orders\n");
    let found = account.json(&[&["item", "get"][..], &place].concat());
    assert_eq!((&found["n"], &found["state"], found["_etag"].is_string()), (&json!(7), &json!("sent"), true));

    let ended = account.run(&[&["item", "get"][..], &place, &["--stats"]].concat());
    assert!(ended.error.ends_with(" RU\n") && ended.error.contains("East US"), "{}", ended.error);

    assert_eq!(
        account.ok(&[&["item", "delete"][..], &place, &["--yes"]].concat()),
        "deleted item \"7\" of shop/orders\n"
    );
    account.refused(&[(&[&["item", "get"][..], &place].concat(), 1, "\"7\"")]);
}

#[test]
fn an_item_comes_from_an_argument_a_file_or_the_standard_input() {
    let account = shop();
    let ended = fed(
        &account,
        &["item", "put", "shop/orders", "-"],
        r#"{"id":"a","pk":"x","big":12345678901234567890}"#,
    );
    assert_eq!(ended.status, 0, "{}", ended.error);
    let file = std::env::temp_dir().join(format!("cosmonaut-item-{}.json", std::process::id()));
    std::fs::write(&file, "\u{feff}{\"id\":\"b\",\n\"pk\":\"x\"}").unwrap();
    account.ok(&["item", "put", "shop/orders", "--file", file.to_str().unwrap(), "--create"]);
    let again = account.run(&["item", "put", "shop/orders", "--file", file.to_str().unwrap(), "--create"]);
    assert!(again.status == 1 && again.output.is_empty(), "{}", again.error);
    std::fs::remove_file(file).unwrap();
    let ids =
        account.ok(&["query", "shop/orders", "SELECT VALUE c.id FROM c WHERE c.pk = 'x'", "-k", "\"x\""]);
    assert_eq!(ids, "\"a\"\n\"b\"\n");
}

#[test]
fn a_write_can_depend_on_the_version_that_was_seen() {
    let account = shop();
    let etag = first(&account)["_etag"].as_str().unwrap().to_owned();
    let bare = etag.trim_matches('"').to_owned();
    let put = |etag: &str| {
        account.run(&["item", "put", "shop/orders", r#"{"id":"1","pk":"oslo","n":1}"#, "--if-match", etag])
    };
    assert_eq!(put(&bare).status, 0, "the quotes of a version may be left out");
    let ended = put(&etag);
    assert!(ended.status == 1 && ended.error.contains("412"), "{}", ended.error);
    let late = ["item", "delete", "shop/orders", "1", "-k", "\"oslo\"", "--if-match", &etag, "--yes"];
    assert_eq!(account.run(&late).status, 1);
    let patch = ["item", "patch", "shop/orders", "1", "set:/n=2", "-k", "\"oslo\"", "--where", "c.n = 7"];
    assert_eq!(account.run(&patch).status, 1);
    assert_eq!(first(&account)["n"], 1);
}

#[test]
fn nothing_is_deleted_without_a_yes() {
    let account = shop();
    account.refused(&[
        (&["item", "delete", "shop/orders", "1", "-k", "\"oslo\""], 2, "--yes"),
        (&["container", "delete", "shop/orders"], 2, "--yes"),
        (&["database", "delete", "shop"], 2, "--yes"),
    ]);
    assert_eq!(first(&account)["id"], "1");
    account.ok(&["container", "delete", "shop/orders", "--yes"]);
    account.ok(&["database", "delete", "shop", "--yes"]);
    assert_eq!(account.ok(&["database", "list"]), "the account has no databases\n");
}

#[cfg(unix)]
#[test]
fn a_person_is_asked_and_no_is_the_usual_answer() {
    use crate::terminal::Terminal;

    let account = shop();
    for (columns, answer, is_left) in [(40, "\r", true), (80, "n\r", true), (80, "y\r", false)] {
        let arguments = ["item", "delete", "shop/orders", "1", "-k", "\"oslo\""];
        let terminal = Terminal::start(&arguments, &[("COSMONAUT_ENDPOINT", account.url())], (24, columns));
        terminal.wait_for("[y/N]");
        terminal.press(answer.as_bytes());
        let (status, screen, _) = terminal.end();
        assert_eq!(status.code(), Some(i32::from(is_left)), "{screen}");
        let get = account.run(&[&["item", "get"][..], &FIRST].concat());
        assert_eq!(get.status == 0, is_left);
    }
}

#[cfg(unix)]
#[test]
fn on_a_terminal_an_item_is_set_in_lines_and_cannot_steer() {
    use crate::terminal::Terminal;

    let account = Account::start();
    let item = json!({"id": "1", "pk": "東京", "note": "a\u{202e}b\u{9b}2J🎉", "n": 1.5, "o": {"l": [1]}});
    account.container("d", "c", &[item]);
    for columns in [40, 80] {
        let arguments = ["item", "get", "d/c", "1", "-k", "\"東京\""];
        let (status, screen, written) =
            Terminal::start(&arguments, &[("COSMONAUT_ENDPOINT", account.url())], (40, columns)).end();
        assert!(status.success(), "{screen}");
        assert!(!written.contains(['\u{202e}', '\u{9b}']), "{written:?}");
        let start = screen.find('{').unwrap();
        assert!(screen[start..].starts_with("{\n  \"id\": \"1\",\n  \"n\": 1.5,\n"), "{screen}");
        assert!(
            screen.contains("a\\u202eb\\u009b2J🎉")
                && screen.contains("\n  \"pk\": \"東京\"\n}")
                && !screen.contains("_rid"),
            "{screen}"
        );
    }
}

#[test]
fn what_makes_no_sense_is_said_with_the_remedy() {
    let account = shop();
    account.refused(&[
        (&["item", "get", "shop/orders", "1"], 2, "partition key in /pk"),
        (&["item", "get", "shop/orders", "9", "-k", "\"oslo\""], 1, "\"9\""),
        (&["item", "get", "shop/order", "1", "-k", "\"oslo\""], 1, "which has orders"),
        (&["item", "get", "shop/orders", "1", "-k", "oslo"], 2, "quotes"),
        (&["item", "put", "shop/orders", "{"], 2, "not JSON"),
        (&["item", "put", "shop/orders", "{\"pk\":1}"], 2, "\"id\""),
        (&["item", "put", "shop/orders"], 2, "ITEM"),
        (&["item", "put", "shop/orders", "--file", "/nonexistent/x"], 2, "/nonexistent/x"),
        (&["item", "patch", "shop/orders", "1", "state=1", "-k", "1"], 2, "set:/PATH"),
        (&["container", "create", "shop/x"], 2, "PATH"),
        (&["container", "create", "nowhere/x", "/pk"], 1, "cosmonaut database create nowhere"),
        (&["container", "create", "shop/orders", "/pk"], 1, "409"),
        (&["container", "show", "shop/order"], 1, "which has orders"),
        (&["container", "list", "shops"], 1, "the account has shop"),
        (
            &["container", "create", "shop/x", "/pk", "--throughput", "400", "--autoscale", "4000"],
            2,
            "--autoscale",
        ),
        (&["database", "show", "shops"], 1, "the account has shop"),
    ]);
}

#[test]
fn a_container_is_made_shown_replaced_and_measured() {
    let account = shop();
    let created = account.ok(&[
        "container",
        "create",
        "shop/carts",
        "/tenant",
        "/user",
        "--throughput",
        "500",
        "--ttl",
        "60",
    ]);
    assert_eq!(created, "container shop/carts: created\n");
    let again = ["container", "create", "shop/carts", "/tenant", "/user", "--if-not-exists", "--json"];
    assert_eq!(account.json(&again)["done"], "there already");
    let shown = account.ok(&["container", "show", "shop/carts"]);
    let definition: Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(
        (&definition["partitionKey"]["paths"], &definition["defaultTtl"]),
        (&json!(["/tenant", "/user"]), &json!(60))
    );
    assert!(
        definition["_rid"].is_null()
            && account.json(&["container", "show", "shop/carts", "--system"])["_rid"].is_string()
    );

    let replaced = fed(&account, &["container", "replace", "shop/carts", "-"], &shown.replace("60", "120"));
    assert_eq!(
        (replaced.status, &*replaced.output),
        (0, "container shop/carts: replaced\n"),
        "{}",
        replaced.error
    );
    assert_eq!(account.json(&["container", "show", "shop/carts"])["defaultTtl"], 120);
    let other = fed(&account, &["container", "replace", "shop/orders", "-"], &shown);
    assert!(other.status == 2 && other.error.contains("renamed"), "{}", other.error);

    assert_eq!(account.ok(&["container", "throughput", "shop/carts"]), "shop/carts: 500 RU/s\n");
    assert_eq!(
        account.ok(&["container", "throughput", "shop/carts", "--autoscale", "4000"]),
        "shop/carts: up to 4000 RU/s (autoscale)\n"
    );
    let stats = account.json(&["container", "stats", "shop/orders", "--json"]);
    assert_eq!((&stats["usage"]["documentsCount"], &stats["partitions"]), (&json!(1), &json!(1)), "{stats}");
    let list = account.json(&["container", "list", "shop", "--json"]);
    assert_eq!(list.as_array().unwrap().len(), 2);
}

#[test]
fn a_database_is_made_shown_and_has_a_throughput_if_it_was_given_one() {
    let account = Account::start();
    assert_eq!(account.ok(&["database", "create", "shop"]), "database \"shop\": created\n");
    assert_eq!(account.run(&["database", "create", "shop"]).status, 1);
    assert_eq!(
        account.ok(&["database", "create", "shop", "--if-not-exists"]),
        "database \"shop\": there already\n"
    );
    account.ok(&["database", "create", "shared", "--throughput", "600"]);
    assert_eq!(account.ok(&["database", "throughput", "shared"]), "shared: 600 RU/s\n");
    assert_eq!(account.ok(&["database", "throughput", "shop"]), "shop: none of its own\n");
    assert_eq!(account.json(&["database", "show", "shop"])["id"], "shop");
    let list = account.ok(&["database", "list"]);
    assert_eq!(list, "DATABASE  CONTAINERS\nshared    0\nshop      0\n");
}

#[test]
fn a_partition_of_an_emulator_is_split() {
    let account = Account::with(Emulator::builder().management(0));
    account.container("shop", "orders", &[]);
    let management = account.management().to_owned();
    let split = account.ok(&["container", "split", "shop/orders", "0", "--management", &management]);
    assert!(split.starts_with("partition 0 is now "), "{split}");
    assert_eq!(account.json(&["container", "stats", "shop/orders", "--json"])["partitions"], 2);
}
