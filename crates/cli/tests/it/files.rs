//! `cosmonaut export` and `cosmonaut import`: what is in a file is what was in the container, and the other way round.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use cosmonaut::options::CreateContainerOptions;
use cosmonaut::{BulkOperation, ContainerClient, ContainerProperties, RawItem, ThroughputProperties};
use serde_json::{Value, json};

use crate::account::{Account, Ended};

/// A directory of a test, gone at its end.
pub(crate) struct Directory(PathBuf);

impl Directory {
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("cosmonaut-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }

    pub(crate) fn names(&self) -> Vec<String> {
        let names =
            fs::read_dir(&self.0).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names.collect();
        names.sort();
        names
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A container of several partitions.
pub(crate) fn wide(account: &Account, database: &str, container: &str) -> ContainerClient {
    account.block_on(async {
        account.client.create_database_if_not_exists(database).await.unwrap();
        let options = CreateContainerOptions::default().throughput(ThroughputProperties::manual(30_000));
        let database = account.client.database(database);
        let properties = ContainerProperties::new(container, "/pk");
        database.create_container(properties).options(options).await.unwrap();
        let container = database.container(container);
        assert!(container.feed_ranges().await.unwrap().len() > 1);
        container
    })
}

/// Writes items that are given as lines.
pub(crate) fn fill(account: &Account, container: &ContainerClient, lines: &[String]) {
    let operation = |line: &String| {
        let pk = serde_json::from_str::<Value>(line).unwrap()["pk"].as_str().unwrap().to_owned();
        BulkOperation::upsert(pk, RawItem::from(line.clone()))
    };
    let operations: Vec<_> = lines.iter().map(operation).collect();
    let summary = account.block_on(async { container.bulk().run_all(operations).unwrap().finish().await });
    assert!(summary.is_complete(), "{:?}", summary.failures.first());
}

/// The items of a container as lines, in the order of their text.
pub(crate) fn lines(account: &Account, name: &str) -> Vec<String> {
    sorted(account.ok(&["export", name, "-"]).lines().map(str::to_owned).collect())
}

pub(crate) fn sorted(mut lines: Vec<String>) -> Vec<String> {
    lines.sort();
    lines
}

/// Items with all that can get lost on the way.
fn odd() -> Vec<String> {
    let odd = [
        r#"{"id":"1","pk":"oslo","n":1.50,"big":12345678901234567890.10,"e":1e3}"#,
        r#"{"id":"007","pk":"oslo","text":"a,\"b\"\nc","seven":"7","empty":"","none":null,"yes":true}"#,
        r#"{"id":"true","pk":"rome","o":{"a":[1,2.0,{"b":"x"}]},"unicode":"Größe 漢字 😀"}"#,
        r#"{"id":"x","pk":"12","other":" blanks "}"#,
    ];
    sorted(odd.map(str::to_owned).to_vec())
}

#[test]
fn what_is_imported_is_what_was_exported_in_every_form() {
    let (account, files) = (Account::start(), Directory::new("forms"));
    fill(&account, &account.container("shop", "orders", &[]), &odd());
    assert_eq!(lines(&account, "shop/orders"), odd());
    for (nth, name) in
        ["a.jsonl", "b.json", "c.csv", "d.jsonl.gz", "e.csv.gz", "f.json.gz"].into_iter().enumerate()
    {
        let file = files.path(name);
        account.ok(&["export", "shop/orders", &file]);
        assert_eq!(fs::read(&file).unwrap().starts_with(&[0x1f, 0x8b]), name.ends_with(".gz"), "{name}");
        let copy = format!("copy/orders{nth}");
        let ended = account.run(&["import", &copy, &file]);
        assert_eq!(ended.status, 0, "{name}: {}", ended.error);
        assert!(ended.error.contains("made the container"), "by the definition beside it: {}", ended.error);
        assert_eq!(lines(&account, &copy), odd(), "{name}");
    }
    assert!(files.names().iter().all(|name| !name.contains(".part") && !name.contains(".state")));
    assert_eq!(fs::read_to_string(files.path("a.jsonl")).unwrap().lines().count(), 4);
}

#[test]
fn several_partitions_are_one_file_and_the_definition_goes_with_it() {
    let (account, files) = (Account::start(), Directory::new("wide"));
    let all =
        sorted((0..1500).map(|n| format!("{{\"id\":\"{n}\",\"pk\":\"p{}\",\"n\":{n}}}", n % 97)).collect());
    fill(&account, &wide(&account, "shop", "orders"), &all);
    let file = files.path("orders.json");
    let told = account.json(&["export", "shop/orders", &file, "--page", "100", "--json"]);
    assert_eq!((&told["items"], &told["resumed"]), (&json!(1500), &json!(false)));
    let definition: Value =
        serde_json::from_slice(&fs::read(files.path("orders.container.json")).unwrap()).unwrap();
    assert_eq!(definition["throughput"], json!({"manual": 30_000}));
    assert_eq!(definition["container"]["partitionKey"]["paths"], json!(["/pk"]));
    assert!(definition["container"].get("_rid").is_none(), "{definition}");
    let told = account.json(&["import", "other/orders", &file, "--json"]);
    assert_eq!((&told["items"], &told["written"], &told["refused"]), (&json!(1500), &json!(1500), &json!(0)));
    assert!(lines(&account, "other/orders") == all);
    let made = account.client.database("other").container("orders");
    assert!(account.block_on(made.feed_ranges()).unwrap().len() > 1, "it was made with the same throughput");
}

#[test]
fn databases_and_accounts_are_directories() {
    let (account, files) = (Account::start(), Directory::new("all"));
    let item = |id: &str| vec![format!("{{\"id\":\"{id}\",\"pk\":\"p\"}}")];
    for (database, container) in [("shop", "orders"), ("shop", "a.b"), ("other", "orders")] {
        fill(
            &account,
            &account.container(database, container, &[]),
            &item(&format!("{database}-{container}")),
        );
    }
    account.ok(&["export", "shop", &files.path("one"), "--gzip"]);
    account.ok(&["export", "--all", &files.path("all"), "--format", "csv"]);
    let fresh = Account::start();
    fresh.ok(&["import", "--all", &files.path("all")]);
    fresh.ok(&["import", "again", &files.path("one")]);
    for (from, to) in [
        ("shop/orders", "shop/orders"),
        ("shop/a.b", "shop/a.b"),
        ("other/orders", "other/orders"),
        ("shop/a.b", "again/a.b"),
    ] {
        assert_eq!(lines(&fresh, to), lines(&account, from), "{to}");
    }
    assert!(
        !Path::new(&files.path("all/export.state")).exists()
            && !Path::new(&files.path("all/import.state")).exists()
    );
    account.refused(&[(&["import", "none", &files.path("all")], 2, "no containers")]);
}

#[test]
fn what_is_refused_is_told_by_line_and_the_rest_is_written() {
    let (account, files) = (Account::start(), Directory::new("refused"));
    account.container("shop", "orders", &[]);
    let text = "{\"id\":\"a\",\"pk\":\"p\"}\nnonsense\n{\"pk\":\"p\"}\n\n{\"id\":\"b/\\u0000\",\"pk\":\"p\"}\n[1]\n{\"id\":\"c\",\"pk\":\"p\"}\n";
    fs::write(files.path("orders.jsonl"), text).unwrap();
    let errors = files.path("refused.jsonl");
    let ended = account.run(&["import", "shop/orders", &files.path("orders.jsonl"), "--errors", &errors]);
    assert_eq!(ended.status, 1, "{}", ended.error);
    assert!(ended.error.contains("items were refused"), "{}", ended.error);
    let told: Vec<Value> = fs::read_to_string(&errors)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let lines_told: Vec<_> = told.iter().map(|told| told["line"].as_u64().unwrap()).collect();
    assert_eq!(lines_told, [2, 3, 5, 6]);
    assert!(told[1]["error"].as_str().unwrap().contains("no id"), "{told:?}");
    assert_eq!((&told[2]["id"], &told[2]["status"]), (&json!("b/\u{0}"), &json!(400)));
    assert_eq!(lines(&account, "shop/orders").len(), 2);
}

#[test]
fn items_that_are_there_are_replaced_or_kept() {
    let (account, files) = (Account::start(), Directory::new("kept"));
    account.container("shop", "orders", &[json!({"id": "a", "pk": "p", "n": 1})]);
    fs::write(files.path("o.csv"), "id,pk,n\na,p,2\nb,p,3\n").unwrap();
    let told = account.json(&["import", "shop/orders", &files.path("o.csv"), "--keep-existing", "--json"]);
    assert_eq!((&told["written"], &told["kept"]), (&json!(1), &json!(1)));
    let has = |n: u32| lines(&account, "shop/orders")[0].contains(&format!("\"n\":{n}"));
    assert!(has(1));
    account.ok(&["import", "shop/orders", &files.path("o.csv")]);
    assert!(has(2));
}

#[test]
fn items_come_by_the_standard_input_and_go_to_the_standard_output() {
    let account = Account::start();
    let mut command = account.command(&["import", "shop/orders", "-", "--partition-key", "/tenant,/user"]);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"{\"id\":\"1\",\"tenant\":\"t\",\"user\":7}\n").unwrap();
    let ended = Ended::of(child.wait_with_output().unwrap());
    assert_eq!(ended.status, 0, "{}", ended.error);
    assert_eq!(account.ok(&["export", "shop/orders", "-"]), "{\"id\":\"1\",\"tenant\":\"t\",\"user\":7}\n");
    let csv = account.ok(&["export", "shop/orders", "-", "--format", "csv", "--columns", "user,id,none"]);
    assert_eq!(csv, "user,id,none\r\n7,1,\r\n");
    let system = account.ok(&["export", "shop/orders", "-", "--system"]);
    assert!(system.contains("\"_etag\":"), "{system}");
}

#[test]
fn what_makes_no_sense_is_refused_with_what_would() {
    let (account, files) = (Account::start(), Directory::new("nonsense"));
    account.container("shop", "orders", &[]);
    let (there, bad) = (files.path("there.jsonl"), files.path("bad.json"));
    fs::write(&there, "").unwrap();
    fs::write(&bad, "{}").unwrap();
    let none = files.path("none.jsonl");
    account.refused(&[
        (&["export", "shop/orders"], 2, "DATABASE/CONTAINER FILE"),
        (&["export", "shop/orders", &files.path("orders")], 2, "--format"),
        (&["export", "shop/none", &none], 1, "which has orders"),
        (&["export", "shop/orders", &there], 2, "--restart replaces it"),
        (&["export", "shop/orders", "-", "--format", "csv"], 2, "--columns"),
        (&["export", "shop/orders", "-", "--json"], 2, "--json"),
        (&["export", "none", &files.path("d")], 1, "no database \"none\""),
        (&["import", "shop/orders", &none], 1, "cannot read"),
        (&["import", "shop/none", &there], 1, "--partition-key"),
        (&["import", "shop/orders", &bad], 1, "not a JSON array"),
        (&["import", "shop/none", &there, "--partition-key", "pk"], 2, "--partition-key"),
    ]);
    assert_eq!(files.names(), ["bad.json", "there.jsonl"], "what is refused writes nothing");
    let ended = account.run(&["import", "shop/orders", &there]);
    assert_eq!(ended.status, 0, "an empty file has no items: {}", ended.error);
}
