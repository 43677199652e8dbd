//! `cosmonaut export` and `cosmonaut import`: what is in a file is what was in the container, and the other way round.

use std::collections::HashSet;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use cosmonaut::model::UniqueKeyPolicy;
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
        (&["import", "shop/made", &none, "--partition-key", "/pk"], 1, "cannot read"),
        (&["container", "show", "shop/made"], 1, "which has orders"),
        (&["import", "shop/orders", &bad], 1, "not a JSON array"),
        (&["import", "shop/none", &there, "--partition-key", "pk"], 2, "--partition-key"),
    ]);
    assert_eq!(files.names(), ["bad.json", "there.jsonl"], "what is refused writes nothing");
    let ended = account.run(&["import", "shop/orders", &there]);
    assert_eq!(ended.status, 0, "an empty file has no items: {}", ended.error);
}

/// Runs a command whose output and errors have no reader from the beginning; the status.
fn unread(account: &Account, arguments: &[&str]) -> Option<i32> {
    let mut command = account.command(arguments);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop((child.stdout.take(), child.stderr.take()));
    child.wait().unwrap().code()
}

#[test]
fn a_reader_who_goes_away_does_not_end_the_work_or_hide_what_was_refused() {
    let (account, files) = (Account::start(), Directory::new("unread"));
    for name in ["a", "b", "c"] {
        account.container("shop", name, &[json!({"id": name, "pk": "p"})]);
    }
    for more in [&[][..], &["--json"]] {
        let to = files.path(&format!("all{}", more.len()));
        assert_eq!(unread(&account, &[&["export", "shop", &to], more].concat()), Some(0));
        for name in ["a", "b", "c"] {
            assert!(Path::new(&to).join(format!("shop/{name}.jsonl")).exists(), "{name} {more:?}");
        }
        let database = format!("copy{}", more.len());
        assert_eq!(unread(&account, &[&["import", &database, &to], more].concat()), Some(0));
        for name in ["a", "b", "c"] {
            assert_eq!(lines(&account, &format!("{database}/{name}")).len(), 1, "{name} {more:?}");
        }
        let bad = files.path("bad.jsonl");
        fs::write(&bad, "nonsense\n").unwrap();
        assert_eq!(unread(&account, &[&["import", "shop/a", &bad], more].concat()), Some(1), "{more:?}");
    }
}

#[test]
fn an_item_that_another_one_keeps_out_is_refused_and_not_kept() {
    let (account, files) = (Account::start(), Directory::new("unique"));
    let container = account.block_on(async {
        account.client.create_database("shop").await.unwrap();
        let unique = UniqueKeyPolicy::default().with_key(["/mail"]);
        let properties = ContainerProperties::new("people", "/pk").with_unique_key_policy(unique);
        account.client.database("shop").create_container(properties).await.unwrap();
        account.client.database("shop").container("people")
    });
    let there = "{\"id\":\"a\",\"pk\":\"p\",\"mail\":\"ada@example\"}".to_owned();
    fill(&account, &container, std::slice::from_ref(&there));
    let input = format!(
        "{there}\n{{\"id\":\"b\",\"pk\":\"p\",\"mail\":\"ada@example\"}}\n{{\"id\":\"c\",\"pk\":\"p\",\"mail\":\"c@example\"}}\n"
    );
    fs::write(files.path("people.jsonl"), input).unwrap();
    let errors = files.path("errors.jsonl");
    let file = files.path("people.jsonl");
    let import = ["import", "shop/people", &file, "--keep-existing", "--json", "--errors", &errors];
    let ended = account.run(&import);
    let told: Value = serde_json::from_str(&ended.output).unwrap();
    assert_eq!((&told["written"], &told["kept"], &told["refused"]), (&json!(1), &json!(1), &json!(1)));
    assert_eq!(ended.status, 1, "{}", ended.error);
    let refused: Value = serde_json::from_str(fs::read_to_string(&errors).unwrap().trim()).unwrap();
    assert_eq!((&refused["line"], &refused["id"], &refused["status"]), (&json!(2), &json!("b"), &json!(409)));
}

#[test]
fn refusals_are_not_written_over_other_files() {
    let (account, files) = (Account::start(), Directory::new("errors"));
    account.container("shop", "orders", &[]);
    let input = "{\"id\":\"a\",\"pk\":\"p\"}\nnonsense\n";
    let (file, notes) = (files.path("o.jsonl"), files.path("notes.txt"));
    fs::write(&file, input).unwrap();
    fs::write(&notes, "of somebody else\n").unwrap();
    let beside = files.path("../") + files.path("").rsplit('/').nth(1).unwrap() + "/o.jsonl";
    let state = files.path("o.jsonl.import");
    account.refused(&[
        (&["import", "shop/orders", &file, "--errors", &file], 2, "is what is imported"),
        (&["import", "shop/orders", &file, "--errors", &beside], 2, "is what is imported"),
        (&["import", "shop/orders", &file, "--errors", &state], 2, "how far it came"),
        (&["import", "shop/orders", &file, "--errors", &notes], 2, "--restart replaces it"),
    ]);
    assert_eq!(fs::read_to_string(&file).unwrap(), input);
    assert_eq!(fs::read_to_string(&notes).unwrap(), "of somebody else\n");
    assert_eq!(files.names(), ["notes.txt", "o.jsonl"]);
    let again = ["import", "shop/orders", &file, "--errors", &notes, "--restart"];
    assert_eq!(account.run(&again).status, 1);
    assert!(fs::read_to_string(&notes).unwrap().starts_with("{\"error\""), "now it has the refusal");
}

#[test]
fn names_from_an_account_do_not_steer_the_terminal() {
    let (account, files) = (Account::start(), Directory::new("escapes"));
    account.container("shop", "a\u{1b}[31mb", &[]);
    let out = account.run(&["export", "--all", &files.path("all")]);
    assert_eq!(out.status, 0, "{}", out.error);
    let back = account.run(&["import", "copy", &files.path("all")]);
    assert_eq!(back.status, 0, "{}", back.error);
    for said in [out.error, back.error] {
        assert!(said.contains("a\\u{1b}[31mb: 0 items") && !said.contains('\u{1b}'), "{said:?}");
    }
}

/// Writes a directory as `export` does, of two containers of which the second one cannot be read yet.
fn half_a_backup(account: &Account, files: &Directory) -> (String, String) {
    for (container, id) in [("a", "1"), ("b", "2")] {
        account.container("shop", container, &[json!({"id": id, "pk": "p"})]);
    }
    let (backup, second) = (files.path("backup"), files.path("backup/shop/b.json"));
    account.ok(&["export", "shop", &backup, "--format", "json"]);
    let whole = fs::read(&second).unwrap();
    fs::write(&second, "{}").unwrap();
    account.ok(&["database", "delete", "shop", "--yes"]);
    account.refused(&[(&["import", "--all", &backup], 1, "not a JSON array")]);
    fs::write(&second, whole).unwrap();
    (backup, second)
}

#[test]
fn an_import_of_a_directory_goes_on_only_where_it_was_begun() {
    let (account, other) = (Account::start(), Account::start());
    let files = Directory::new("half-imported");
    let (backup, _) = half_a_backup(&account, &files);
    other.container("shop", "a", &[]);
    other.refused(&[(&["import", "--all", &backup], 2, "of another account (use --restart)")]);
    Account::start().refused(&[(&["import", "--all", &backup], 2, "no container shop/a in this account")]);
    account.refused(&[
        (&["import", "again", &backup], 2, "from an import to shop/a"),
        (&["import", "--all", &backup, "--keep-existing"], 2, "with other options"),
    ]);
    let ended = account.run(&["import", "--all", &backup]);
    assert_eq!(ended.status, 0, "{}", ended.error);
    assert!(!ended.error.contains("shop/a:"), "what is finished is not imported again: {}", ended.error);
    for name in ["shop/a", "shop/b"] {
        assert_eq!(lines(&account, name).len(), 1, "{name}");
    }
    assert!(!Path::new(&backup).join("import.state").exists());
}

#[test]
fn an_import_of_a_directory_passes_over_nothing_that_was_made_or_written_anew() {
    let (account, files) = (Account::start(), Directory::new("made-anew"));
    let (backup, _) = half_a_backup(&account, &files);
    account.ok(&["container", "delete", "shop/a", "--yes"]);
    account.container("shop", "a", &[]);
    account.refused(&[(&["import", "--all", &backup], 2, "deleted and made anew")]);
    account.ok(&["import", "--all", &backup, "--restart"]);
    assert_eq!(lines(&account, "shop/a").len(), 1);

    let (account, files) = (Account::start(), Directory::new("written-anew"));
    let (backup, _) = half_a_backup(&account, &files);
    let first = Path::new(&backup).join("shop/a.json");
    let text = fs::read_to_string(&first).unwrap();
    fs::write(&first, text.replace("\"1\"", "\"7\"")).unwrap();
    account.refused(&[(&["import", "--all", &backup], 2, "other content (use --restart)")]);
    account.ok(&["import", "--all", &backup, "--restart"]);
    assert_eq!(lines(&account, "shop/a").len(), 2);
}

#[test]
fn an_export_of_a_directory_goes_on_only_as_it_was_begun() {
    let (account, other, files) = (Account::start(), Account::start(), Directory::new("half-exported"));
    for account in [&account, &other] {
        for name in ["a", "b"] {
            account.container("shop", name, &[json!({"id": name, "pk": "p"})]);
        }
    }
    let backup = files.path("backup");
    let (first, second) = (Path::new(&backup).join("shop/a.jsonl"), Path::new(&backup).join("shop/b.jsonl"));
    fs::create_dir_all(second.parent().unwrap()).unwrap();
    fs::write(&second, "in the way").unwrap();
    let export = ["export", "shop", &backup];
    account.refused(&[(&export, 2, "is there already")]);
    fs::remove_file(&second).unwrap();
    let more = |more: &'static str| [&export[..], &[more]].concat();
    other.refused(&[(&export, 2, "or of another account (go on as it was begun, or use --restart)")]);
    account.container("more", "c", &[]);
    account.refused(&[
        (&more("--system"), 2, "other members"),
        (&more("--gzip"), 2, "another format"),
        (&["export", "more", &backup], 2, "shop/a belongs to"),
    ]);
    // What is finished is written anew if its file is gone, and only then.
    fs::remove_file(&first).unwrap();
    let ended = account.run(&export);
    assert_eq!(ended.status, 0, "{}", ended.error);
    assert!(ended.error.contains("shop/a: 1 items"), "{}", ended.error);
    for (path, id) in [(first, "a"), (second, "b")] {
        assert_eq!(fs::read_to_string(path).unwrap(), format!("{{\"id\":\"{id}\",\"pk\":\"p\"}}\n"));
    }
}

#[test]
fn containers_whose_names_differ_only_in_capitals_have_files_of_their_own() {
    let (account, files) = (Account::start(), Directory::new("capitals"));
    for name in ["orders", "Orders", "ORDERS", "con"] {
        account.container("shop", name, &[json!({"id": name, "pk": "p"})]);
    }
    account.ok(&["export", "shop", &files.path("all")]);
    let found = fs::read_dir(files.path("all/shop")).unwrap();
    let names: HashSet<_> =
        found.map(|entry| entry.unwrap().file_name().into_string().unwrap().to_lowercase()).collect();
    assert_eq!(names.len(), 8, "a file and a definition each: {names:?}");
    account.ok(&["import", "copy", &files.path("all")]);
    for name in ["orders", "Orders", "ORDERS", "con"] {
        assert!(lines(&account, &format!("copy/{name}"))[0].contains(&format!("\"id\":\"{name}\"")));
    }
}

#[test]
fn a_quote_within_a_cell_of_csv_loses_no_row() {
    let (account, files) = (Account::start(), Directory::new("quotes"));
    let (file, errors) = (files.path("o.csv"), files.path("errors"));
    fs::write(&file, "id,name,n\r\n1,5\" pipe,10\r\n2,6\" pipe,20\r\n3,\"7\" pipe\",25\r\n4,plain,30")
        .unwrap();
    let import = ["import", "shop/orders", &file, "--partition-key", "/id", "--errors", &errors];
    let ended = account.run(&import);
    assert_eq!(ended.status, 1, "{}", ended.error);
    let expected = [
        r#"{"id":"1","name":"5\" pipe","n":10}"#,
        r#"{"id":"2","name":"6\" pipe","n":20}"#,
        r#"{"id":"4","name":"plain","n":30}"#,
    ];
    assert_eq!(lines(&account, "shop/orders"), expected);
    let refused: Value = serde_json::from_str(fs::read_to_string(&errors).unwrap().trim()).unwrap();
    assert_eq!(refused["line"], 4);
    assert!(refused["error"].as_str().unwrap().contains("behind its closing quote"), "{refused}");
}
