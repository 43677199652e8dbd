//! `cosmonaut query`: rows in every form, what they cost, how they are found, and what is wrong with a query.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::account::{Account, Ended, until};
use crate::cosmonaut;

fn shop() -> Account {
    let account = Account::start();
    let items = [
        json!({"id": "1", "pk": "oslo", "total": 12.5, "name": "Ada, \"A\""}),
        json!({"id": "2", "pk": "oslo", "total": 7, "lines": [{"n": 1}, {"n": 2}]}),
        json!({"id": "3", "pk": "rome", "total": 30, "name": null}),
    ];
    account.container("shop", "orders", &items);
    account
}

const SOME: &str = "SELECT c.id, c.total, c.name, c.lines FROM c ORDER BY c.id";

#[test]
fn rows_come_as_table_json_lines_and_csv() {
    let account = shop();
    let ask = |format| account.ok(&["query", "shop/orders", SOME, "--format", format]);
    assert_eq!(
        ask("table"),
        "id  total  name      lines\n1   12.5   Ada, \"A\"\n2   7                [{\"n\":1},{\"n\":2}]\n3   30     null\n"
    );
    let lines = "{\"id\":\"1\",\"total\":12.5,\"name\":\"Ada, \\\"A\\\"\"}\n\
                 {\"id\":\"2\",\"total\":7,\"lines\":[{\"n\":1},{\"n\":2}]}\n\
                 {\"id\":\"3\",\"total\":30,\"name\":null}\n";
    assert_eq!(ask("jsonl"), lines);
    assert_eq!(account.ok(&["query", "shop/orders", SOME]), lines, "what is read by programs is JSON lines");
    assert_eq!(serde_json::from_str::<Vec<Value>>(&ask("json")).unwrap().len(), 3);
    assert_eq!(
        ask("csv"),
        "id,total,name,lines\r\n1,12.5,\"Ada, \"\"A\"\"\",\r\n2,7,,\"[{\"\"n\"\":1},{\"\"n\"\":2}]\"\r\n3,30,null,\r\n"
    );
    assert_eq!(
        account.ok(&["query", "shop/orders", "SELECT VALUE COUNT(1) FROM c", "-f", "table"]),
        "value\n3\n"
    );
    let none = account.ok(&["query", "shop/orders", "SELECT * FROM c WHERE c.id = 'x'", "-f", "json"]);
    assert_eq!(none, "[]\n");
}

#[test]
fn a_table_has_what_the_service_adds_only_when_asked() {
    let account = shop();
    let table = |more: &[&str]| {
        account.ok(&[&["query", "shop/orders", "SELECT * FROM c", "--format", "table"], more].concat())
    };
    let heading = |table: &str| table.lines().next().unwrap().to_owned();
    assert!(!heading(&table(&[])).contains("_rid"));
    assert!(heading(&table(&["--system"])).contains("_rid"));
}

#[test]
fn the_cost_goes_to_the_standard_error() {
    let account = shop();
    let ended = account.run(&["query", "shop/orders", SOME]);
    let parts: Vec<_> = ended.error.trim().split(", ").collect();
    let [rows, charge, pages, requests, region, time] = parts[..] else { panic!("{}", ended.error) };
    assert_eq!((rows, pages, requests, region), ("3 rows", "1 page", "1 request", "East US"));
    assert!(charge.ends_with(" RU") && charge != "0.00 RU" && time.ends_with(" ms"), "{}", ended.error);
    let ended = account.run(&["query", "shop/orders", SOME, "--stats"]);
    let first = ended.error.lines().next().unwrap();
    assert!(first.starts_with("Query docs ") && first.contains("East US"), "{}", ended.error);
}

#[test]
fn a_query_is_narrowed_by_parameters_key_and_number() {
    let account = shop();
    let ids = |more: &[&str]| {
        let text = "SELECT VALUE c.id FROM c WHERE c.total >= @min AND c.total < @max";
        account.ok(&[&["query", "shop/orders", text, "-p", "max=30", "--param", "@min=0"], more].concat())
    };
    assert_eq!(ids(&[]), "\"1\"\n\"2\"\n");
    assert_eq!(ids(&["-k", "\"rome\""]), "");
    assert_eq!(ids(&["--partition-key", "[\"oslo\"]", "--max", "1"]), "\"1\"\n");

    let mut child = account
        .command(&["query", "shop/orders", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"SELECT VALUE 1 +\n 1").unwrap();
    assert_eq!(Ended::of(child.wait_with_output().unwrap()).output, "2\n");
}

#[test]
fn an_explanation_names_plan_partitions_and_indexes() {
    let account = shop();
    let text = "SELECT c.total FROM c WHERE c.total > 7 ORDER BY c.total DESC";
    let told = account.ok(&["query", "shop/orders", text, "--explain"]);
    for part in [
        "plan        made by this client",
        "sent        SELECT ",
        "order by    c.total DESC",
        "merging     of all partitions, here",
        "partitions  1 of 1",
        "indexes     /total/?",
        "East US",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    let told = account.json(&["query", "shop/orders", text, "--explain", "--format", "json"]);
    assert_eq!((&told["plannedBy"], &told["merged"]), (&json!("client"), &json!(true)));
    assert_eq!(told["plan"]["orderBy"], json!(["Descending"]));
    assert_eq!(told["partitions"][0]["rows"], 2);
    assert_eq!(told["indexes"]["used"][0]["paths"], json!(["/total/?"]));
    assert!(told["requestCharge"].as_f64().unwrap() > 0.0);

    let text = "SELECT c.pk, COUNT(1) AS n, AVG(c.total) AS mean FROM c GROUP BY c.pk";
    let told = account.ok(&["query", "shop/orders", text, "--explain"]);
    assert!(told.contains("group by    c.pk") && told.contains("Count"), "{told}");
    let told = account.ok(&["query", "shop/orders", "SELECT DISTINCT TOP 2 c.pk FROM c", "--explain"]);
    assert!(told.contains("distinct") && told.contains("top         2"), "{told}");
}

#[test]
fn a_mistake_in_a_query_is_shown_where_it_is() {
    let account = shop();
    let ended = account.run(&["query", "shop/orders", "SELECT * FORM c"]);
    assert_eq!((ended.status, &*ended.output), (1, ""));
    let lines: Vec<_> = ended.error.lines().collect();
    assert!(lines[0].starts_with("error: syntax error at line 1, column 10: found "), "{}", ended.error);
    assert_eq!(lines[1..], ["  SELECT * FORM c", "           ^^^^"]);
}

#[test]
fn what_is_not_there_is_said_with_what_is() {
    let account = shop();
    account.container("shop", "carts", &[]);
    account.refused(&[
        (
            &["query", "shop/order", SOME],
            1,
            "no container \"order\" in database \"shop\", which has carts, orders",
        ),
        (&["query", "shop/order", SOME, "--explain"], 1, "which has carts, orders"),
        (&["query", "shops/orders", SOME], 1, "no database \"shops\": the account has shop"),
    ]);
    let list = account.ok(&["query", "--list"]);
    assert_eq!(list, "CONTAINER    PARTITION KEY\nshop/carts   /pk\nshop/orders  /pk\n");
    account.block_on(account.client.create_database("empty").into_future()).unwrap();
    let list = account.ok(&["query", "--list"]);
    assert!(list.contains("\nempty/       (no containers)\n"), "{list}");
    let list = account.json(&["query", "--list", "--json"]);
    assert_eq!(list[0], json!({"database": "empty", "container": null, "partitionKey": null}));
    assert_eq!(list[2], json!({"database": "shop", "container": "orders", "partitionKey": ["/pk"]}));
}

#[test]
fn arguments_that_make_no_sense_are_refused() {
    shop().refused(&[
        (&["query"], 2, "DATABASE/CONTAINER"),
        (&["query", "shop/orders"], 2, "QUERY"),
        (&["query", "orders", SOME], 2, "shop/orders"),
        (&["query", "shop/orders", SOME, "-p", "min"], 2, "NAME=JSON"),
        (&["query", "shop/orders", SOME, "-p", "city=Oslo"], 2, "'\"Oslo\"'"),
        (&["query", "shop/orders", SOME, "-k", "oslo"], 2, "quotes"),
        (&["query", "shop/orders", SOME, "-k", "[\"a\",\"b\"]"], 1, "partition key"),
        (&["query", "shop/orders", SOME, "--max", "0"], 2, "--max"),
        (&["query", "shop/orders", SOME, "--format", "yaml"], 2, "jsonl"),
        (&["query", "shop/orders", SOME, "--explain", "--format", "csv"], 2, "--format json"),
        (&["query", "--list", "shop/orders", SOME], 2, "--list"),
        (&["query", "shop/orders", "SELECT * FROM c WHERE c.n = @n"], 1, "@n"),
    ]);
}

#[test]
fn no_secret_is_ever_printed() {
    let account = shop();
    let key = "bm9ib2R5LWtub3dzLXRoaXMta2V5";
    let text = format!("AccountEndpoint={};AccountKey={key};", account.url());
    let broken = format!("AccountKey={key};AccountEndpoint");
    for (arguments, status) in [
        (vec!["--key", key], 1),
        (vec!["--connection-string", &text], 1),
        (vec!["--connection-string", &broken], 2),
        (vec!["--key", "not base64, and secret"], 2),
    ] {
        for more in [&[][..], &["--explain"], &["--stats"]] {
            let ended = account.run(&[&["query", "shop/orders", SOME][..], &arguments, more].concat());
            assert_eq!(ended.status, status, "{arguments:?}: {}", ended.error);
            let said = ended.output + &ended.error;
            assert!(!said.contains(key) && !said.contains("and secret") && !said.is_empty(), "{said}");
        }
    }
}

#[test]
fn an_account_that_is_not_there_is_said_with_how_to_start_one() {
    // Nobody listens there any more.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let url = format!("http://127.0.0.1:{port}");
    let ended = Ended::of(cosmonaut(&["query", "a/b", SOME, "--endpoint", &url]).output().unwrap());
    assert_eq!(ended.status, 1, "{}", ended.error);
    assert!(ended.error.contains("cosmonaut up") && ended.error.contains("--endpoint"), "{}", ended.error);
}

#[test]
fn what_the_service_says_cannot_steer_the_terminal_and_is_cut() {
    let account = shop();
    let long = "x".repeat(50_000);
    for name in ["NO_SUCH\u{1b}[31m\u{202e}", &long] {
        let ended = account.run(&["query", "shop/orders", &format!("SELECT {name}(1) FROM c")]);
        assert_eq!(ended.status, 1, "{}", ended.error);
        assert!(!ended.error.contains(['\u{1b}', '\u{202e}']), "{:?}", ended.error);
        assert!(ended.error.lines().all(|line| line.chars().count() < 2_100), "{}", ended.error.len());
    }
}

#[test]
fn a_server_that_does_not_answer_is_told_of_and_given_up() {
    use cosmonaut_emulator::{Effect, Fault, Operations};

    let account = shop();
    let hang = Fault::new(Effect::Hang).on(Operations::Read).in_container("shop/orders");
    account.block_on(account.control().add_fault(hang)).unwrap();
    let ended = account
        .command(&["query", "shop/orders", SOME])
        .env("AZURE_COSMOS_END_TO_END_TIMEOUT", "7s")
        .output()
        .unwrap();
    let ended = Ended::of(ended);
    assert_eq!((ended.status, &*ended.output), (1, ""), "{}", ended.error);
    assert!(
        ended.error.starts_with("no answer for 5 s; still waiting (Ctrl-C ends it)\n"),
        "{}",
        ended.error
    );
    assert!(
        ended.error.contains("\nerror: ") && ended.error.contains("end_to_end_timeout"),
        "{}",
        ended.error
    );
}

#[test]
fn a_reader_that_goes_away_is_not_a_failure() {
    let account = shop();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let ended = account
        .command(&["query", "shop/orders", SOME])
        .stdout(writer)
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    assert_eq!(ended.status.code(), Some(0));
}

#[cfg(unix)]
#[test]
fn a_query_that_is_stopped_leaves_whole_json() {
    use cosmonaut_emulator::{Effect, Fault, Operations};

    let account = Account::start();
    let container = account.container("d", "c", &[]);
    account.block_on(async {
        for batch in 0..30 {
            let items =
                (0..100).map(|n| json!({"id": format!("{batch}-{n}"), "pk": "a", "pad": "x".repeat(500)}));
            items.fold(container.batch("a"), |batch, item| batch.create(item)).execute().await.unwrap();
        }
    });
    let mut child = account
        .command(&["query", "d/c", "SELECT * FROM c", "-k", "\"a\"", "--format", "json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut output = child.stdout.take().unwrap();
    // A page is larger than a pipe: the command waits with what it has until it is read.
    let mut start = [0; 1];
    output.read_exact(&mut start).unwrap();
    let hang = Fault::new(Effect::Hang).on(Operations::Read);
    account.block_on(account.control().add_fault(hang)).unwrap();
    let rest = std::thread::spawn(move || {
        let mut rest = String::new();
        output.read_to_string(&mut rest).unwrap();
        rest
    });
    until("a request that hangs", || account.control().faults()[0].hits > 0);
    let id = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-s", "INT", &id]).status().unwrap().success());
    let status = child.wait().unwrap();
    let rows: Vec<Value> = serde_json::from_str(&format!("[{}", rest.join().unwrap())).unwrap();
    assert_eq!(status.code(), Some(130));
    assert!((1000..3000).contains(&rows.len()), "{}", rows.len());
}

#[cfg(unix)]
#[test]
fn on_a_terminal_rows_are_a_table_that_fits() {
    use crate::terminal::Terminal;

    let account = shop();
    let text = "SELECT c.id, c.total, 'a rather long text that does not fit' AS note FROM c ORDER BY c.id";
    let terminal =
        Terminal::start(&["query", "shop/orders", text], &[("COSMONAUT_ENDPOINT", account.url())], (24, 30));
    let (status, screen, _) = terminal.end();
    assert!(status.success(), "{screen}");
    let lines: Vec<_> = screen.lines().collect();
    assert_eq!(lines[..2], ["id  total  note", "1   12.5   a rather long text…"]);
    assert!(screen.contains("3 rows"), "{screen}");
}

#[cfg(unix)]
#[test]
fn what_fits_no_screen_is_a_line_for_each_member_and_nothing_in_it_steers() {
    use crate::terminal::Terminal;

    let account = Account::start();
    let item = json!({"id": "1", "pk": "東京都", "note": "a\u{202e}b\u{9b}2J", "smile": "🎉", "e": "e\u{301}",
        "one": 1, "two": 2, "three": 3, "four": "a text that is longer than its column would be"});
    account.container("d", "c", &[item]);
    let ask = |columns, more: &[&str]| {
        let text = "SELECT c.id, c.pk, c.note, c.smile, c.e, c.one, c.two, c.three, c.four FROM c";
        let arguments = [&["query", "d/c", text], more].concat();
        let endpoint = [("COSMONAUT_ENDPOINT", account.url())];
        let (status, screen, written) = Terminal::start(&arguments, &endpoint, (40, columns)).end();
        assert!(status.success(), "{screen}");
        assert!(!written.contains(['\u{202e}', '\u{9b}']), "{written:?}");
        screen
    };
    let narrow = ask(40, &[]);
    assert!(
        narrow.contains("-- 1 --\nid     1\npk     東京都\nnote   a\\u{202e}b\\u{9b}2J\nsmile  🎉\n"),
        "{narrow}"
    );
    let wide = ask(80, &[]);
    let heading = wide.lines().next().unwrap();
    assert!(heading.starts_with("id  pk      note"), "{wide}");
    assert!(wide.lines().nth(1).unwrap().starts_with("1   東京都  a\\u{20"), "{wide}");
    let text = ask(80, &["--json"]);
    assert!(text.contains("a\\u202eb\\u009b2J"), "{text}");
}

#[test]
fn the_help_teaches_by_example() {
    let help = Ended::of(cosmonaut(&["query", "--help"]).output().unwrap()).output;
    for part in ["--explain", "-p min=10", "COSMONAUT_CONNECTION_STRING", "cosmonaut query --list"] {
        assert!(help.contains(part), "{help}");
    }
}
