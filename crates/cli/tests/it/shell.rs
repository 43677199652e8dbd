//! `cosmonaut shell`: as a script, and in a pseudo-terminal as somebody types.

use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Stdio;

use cosmonaut::ContainerProperties;
use cosmonaut_emulator::{Effect, Fault, Operations};
use serde_json::json;

use crate::account::{Account, Ended, until};
use crate::cosmonaut;
use crate::files_interrupted::send;
use crate::terminal::{CTRL_C, Terminal};

const SIZE: (u16, u16) = (24, 80);

fn shop() -> Account {
    let account = Account::start();
    let items: Vec<_> =
        (1..=3).map(|n| json!({"id": n.to_string(), "pk": "東京", "total": n * 10, "list": (1..=15).collect::<Vec<_>>()})).collect();
    account.container("shop", "orders", &items);
    account.container("shop", "carts", &[]);
    account
}

/// A directory of one test's own, gone at its end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let directory = std::env::temp_dir().join(format!("cosmonaut-shell-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        Self(directory)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A shell in a terminal, with its history in a directory of the test.
fn typed(account: &Account, scratch: &Scratch, more: &[(&str, &str)], size: (u16, u16)) -> Terminal {
    let state = scratch.path("state");
    let variables =
        [&[("COSMONAUT_ENDPOINT", account.url()), ("XDG_STATE_HOME", &state), ("PAGER", "")], more].concat();
    let terminal = Terminal::start(&["shell", "shop/orders"], &variables, size);
    terminal.wait_for("shop/orders> ");
    terminal
}

fn piped(account: &Account, arguments: &[&str], input: &str) -> Ended {
    let mut command = account.command(arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    Ended::of(child.wait_with_output().unwrap())
}

#[test]
fn statements_come_from_arguments_or_the_standard_input() {
    let account = shop();
    let count = "SELECT VALUE COUNT(1) FROM c";
    assert_eq!(account.ok(&["shell", "shop/orders", "-c", count]), "3\n");
    let two = ["shell", "-c", "\\c shop/orders", "-c", "SELECT VALUE 1; SELECT VALUE ';';"];
    assert_eq!(account.ok(&two), "1\n\";\"\n");
    let script = "\\c shop/orders\n-- all of them; yes\nSELECT VALUE c.id\nFROM c\nORDER BY c.id;\n\\c carts\nSELECT VALUE COUNT(1) FROM c";
    let ended = piped(&account, &["shell"], script);
    assert_eq!((ended.status, &*ended.output), (0, "\"1\"\n\"2\"\n\"3\"\n0\n"), "{}", ended.error);
    assert!(ended.error.contains("3 rows, "), "{}", ended.error);
    // Comments are no statements, and commands may follow them.
    let commented = ["shell", "shop/orders", "-c", "SELECT VALUE 1; -- done", "-c", "/* nothing */"];
    assert_eq!(account.ok(&commented), "1\n");
    let ended = piped(&account, &["shell", "shop/orders"], "-- x\n\\set n 7\nSELECT VALUE @n; /* end */\n");
    assert_eq!((ended.status, &*ended.output), (0, "7\n"), "{}", ended.error);
    let ended = piped(
        &account,
        &["shell", "shop/orders", "--json"],
        "\\timing off\nSELECT c.id FROM c WHERE c.total > 20",
    );
    assert_eq!((&*ended.output, &*ended.error), ("[\n  {\"id\":\"3\"}\n]\n", ""));
}

#[test]
fn a_script_ends_at_its_first_failure_with_its_status() {
    let account = shop();
    for (script, status, part) in [
        ("SELECT * FORM c; SELECT VALUE 1", 1, "           ^^^^"),
        ("\\c shop/nowhere\nSELECT VALUE 1", 1, "which has carts, orders"),
        ("\\nope\nSELECT VALUE 1", 2, "\\?"),
        ("\\i /nonexistent/file\nSELECT VALUE 1", 2, "/nonexistent/file"),
        ("SELECT VALUE @n; SELECT VALUE 1", 1, "@n"),
    ] {
        let ended = piped(&account, &["shell", "shop/orders"], script);
        assert_eq!((ended.status, &*ended.output), (status, ""), "{script}: {}", ended.error);
        assert!(ended.error.contains(part), "{script}: {}", ended.error);
    }
    account.refused(&[
        (&["shell", "-c", "SELECT 1"], 2, "\\c DATABASE/CONTAINER"),
        (&["shell", "shop/nowhere", "-c", "\\d"], 1, "which has carts, orders"),
        (&["shell", "orders", "-c", "\\d"], 2, "shop/orders"),
    ]);
    assert_eq!(
        account.ok(&["shell", "shop/orders", "-c", "\\q\nSELECT VALUE 1", "-c", "SELECT VALUE 2"]),
        ""
    );
}

#[test]
fn commands_show_change_and_redirect() {
    let account = shop();
    let scratch = Scratch::new("commands");
    let run = |script: &str| {
        let ended = piped(&account, &["shell", "shop/orders", "--format", "table"], script);
        assert_eq!(ended.status, 0, "{script}: {}", ended.error);
        ended
    };
    assert_eq!(run("\\d").output, "CONTAINER    PARTITION KEY\nshop/carts   /pk\nshop/orders  /pk\n");
    assert!(run("\\d .").output.contains("\"id\": \"orders\""));
    assert!(run("\\d carts").output.contains("\"id\": \"carts\""));
    assert_eq!(run("\\x\nSELECT c.id, c.pk FROM c WHERE c.id = '1'").output, "-- 1 --\nid  1\npk  東京\n");
    assert!(run("\\explain SELECT c.id FROM c ORDER BY c.total;").output.contains("order by    c.total ASC"));
    assert!(run("SELECT c.id FROM c;\n\\explain").output.contains("merging"));
    assert_eq!(run("\\set min 20\nSELECT VALUE c.id FROM c WHERE c.total > @min").output, "value\n3\n");
    assert_eq!(run("\\key \"rome\"\nSELECT VALUE COUNT(1) FROM c").output, "value\n0\n");
    assert!(run("\\stats on\nSELECT VALUE 1").error.contains("Query docs "));
    assert!(run("\\region").output.contains("East US"));
    assert_eq!(run("\\region East US\nSELECT VALUE 1").output, "value\n1\n");
    assert!(run("\\system on\nSELECT * FROM c").output.contains("_etag"));
    assert_eq!(run("SELECT VALUE 1; \\watch 0.001 3").output, "value\n1\n".repeat(4));

    let (script, rows) = (scratch.path("in.sql"), scratch.path("out.csv"));
    std::fs::write(&script, format!("\\f csv\n\\o {rows}\nSELECT c.id, c.pk FROM c ORDER BY c.id;\n\\o\n"))
        .unwrap();
    assert_eq!(run(&format!("\\i {script}\nSELECT VALUE 1")).output, "value\r\n1\r\n");
    assert_eq!(std::fs::read_to_string(rows).unwrap(), "id,pk\r\n1,東京\r\n2,東京\r\n3,東京\r\n");
    let itself = scratch.path("itself.sql");
    std::fs::write(&itself, format!("\\i {itself}\n")).unwrap();
    let ended = piped(&account, &["shell", "shop/orders"], &format!("\\i {itself}"));
    assert!(ended.status == 2 && ended.error.contains("too deep"), "{}", ended.error);
}

#[test]
fn a_script_that_is_stopped_says_so_by_its_status() {
    let account = shop();
    let hang = Fault::new(Effect::Hang).on(Operations::Read).in_container("shop/orders");
    account.block_on(account.control().add_fault(hang)).unwrap();
    let mut command = account.command(&["shell", "-c", "\\c shop/carts\n\\c shop/orders\nSELECT * FROM c"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    until("a request that hangs", || account.control().faults()[0].hits > 0);
    let id = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-s", "INT", &id]).status().unwrap().success());
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(130));
}

#[test]
fn a_session_edits_lines_completes_names_and_remembers() {
    let account = shop();
    let scratch = Scratch::new("typed");
    for size in [SIZE, (24, 40)] {
        let terminal = typed(&account, &scratch, &[], size);
        // A query over two lines.
        terminal.press("SELECT c.id, c.pk FROM c\rWHERE c.id = '2';\r".as_bytes());
        let screen = terminal.wait_for("1 row, ");
        assert!(screen.contains("id  pk\n2   東京"), "{screen}");
        // Its members are known now, and functions are.
        terminal.press(b"SELECT c.i\t FROM c WHERE ARRAY_LENG\t[1]) = 1 AND c.id = '3';\r");
        let screen = terminal.wait_for("id\n3\n");
        assert!(screen.replace('\n', "").contains("ARRAY_LENGTH([1])"), "{screen}");
        terminal.press(b"SELECT * FORM c;\r");
        terminal.wait_for("^^^^");
        terminal.press(b"\\nope\r");
        terminal.wait_for("\\? lists them");
        terminal.press(b"\\q\r");
        assert!(terminal.end().0.success());
    }
    let history = scratch.path("state/cosmonaut/history");
    let text = std::fs::read_to_string(&history).unwrap();
    assert!(text.contains("ARRAY_LENGTH([1])"), "{text}");
    assert_eq!(std::fs::metadata(&history).unwrap().permissions().mode() & 0o777, 0o600);

    // The next session has it.
    let terminal = typed(&account, &scratch, &[], SIZE);
    terminal.press(b"\x12FORM");
    terminal.wait_for("SELECT * FORM c;");
    terminal.press(CTRL_C);
    terminal.wait_for("FORM c;\nshop/orders> ");
    // What stands on the line is thrown away, and the end of input is the end.
    terminal.press(b"\x04");
    assert!(terminal.end().0.success());
}

#[test]
fn ctrl_c_stops_a_query_and_the_session_goes_on() {
    let account = shop();
    let scratch = Scratch::new("stopped");
    let terminal = typed(&account, &scratch, &[], SIZE);
    let hang = Fault::new(Effect::Hang).on(Operations::Read).in_container("shop/orders");
    account.block_on(account.control().add_fault(hang)).unwrap();
    terminal.press(b"SELECT * FROM c;\r");
    until("a request that hangs", || account.control().faults()[0].hits > 0);
    terminal.press(CTRL_C);
    terminal.wait_for("stopped\n");
    account.block_on(account.control().clear()).unwrap();
    terminal.press(b"SELECT VALUE 'on it goes';\r");
    terminal.wait_for("value\non it goes\n1 row");
    terminal.wait_for(" ms\nshop/orders> ");
    terminal.press(b"\x04");
    assert!(terminal.end().0.success());
}

#[test]
fn a_session_that_waits_for_a_line_ends_when_it_is_told_to() {
    let account = shop();
    let scratch = Scratch::new("told");
    let terminal = typed(&account, &scratch, &[], SIZE);
    terminal.press(b"SELECT VALUE 'asked';\r");
    terminal.wait_for(" ms\nshop/orders> ");
    terminal.terminate();
    assert_eq!(terminal.end().0.code(), Some(143));
}

#[test]
fn what_is_longer_than_the_screen_is_shown_part_by_part() {
    let account = shop();
    let scratch = Scratch::new("paged");
    let long = "SELECT VALUE l FROM c JOIN l IN c.list WHERE c.id = '1';\r";
    let terminal = typed(&account, &scratch, &[], (10, 80));
    terminal.press(long.as_bytes());
    let screen = terminal.wait_for("-- more");
    assert!(screen.contains("\n8\n") && !screen.contains("\n9\n"), "{screen}");
    terminal.press(b"\r");
    terminal.wait_for("\n9\n-- more");
    terminal.press(b" ");
    terminal.wait_for("15 rows");
    terminal.press(long.as_bytes());
    terminal.wait_for("\n8\n-- more");
    terminal.press(b"q");
    terminal.press(b"SELECT VALUE 'next';\r");
    terminal.wait_for("value\nnext");
    terminal.press(b"\\q\r");
    assert!(terminal.end().0.success());

    let terminal = typed(&account, &scratch, &[("PAGER", "tail -n 2 | sed 's/^/page: /'")], (10, 80));
    terminal.press(long.as_bytes());
    let screen = terminal.wait_for("page: 15");
    assert!(screen.contains("page: 14") && !screen.contains("page: 13"), "{screen}");
    terminal.press(b"\\q\r");
    assert!(terminal.end().0.success());
}

#[test]
fn an_account_that_is_not_there_is_told_and_can_be_asked_again() {
    let scratch = Scratch::new("absent");
    let state = scratch.path("state");
    let variables = [("COSMONAUT_ENDPOINT", "http://127.0.0.1:9"), ("XDG_STATE_HOME", &*state)];
    let terminal = Terminal::start(&["shell", "shop/orders"], &variables, SIZE);
    terminal.wait_for("cosmonaut up");
    terminal.wait_for("cosmonaut> ");
    terminal.press(b"\x04");
    assert!(terminal.end().0.success());
}

#[test]
fn the_help_teaches_by_example() {
    let help = Ended::of(cosmonaut(&["shell", "--help"]).output().unwrap()).output;
    for part in ["\\?", "Ctrl-C", "history", "--command"] {
        assert!(help.contains(part), "{help}");
    }
}

#[test]
fn a_script_that_waits_for_its_next_line_ends_when_it_is_told_to() {
    let account = shop();
    for signal in ["TERM", "INT"] {
        let mut command = account.command(&["shell", "shop/orders"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        input.write_all(b"SELECT VALUE 1;\n").unwrap();
        let mut first = [0; 2];
        child.stdout.take().unwrap().read_exact(&mut first).unwrap();
        send(&child, signal);
        assert_eq!(child.wait().unwrap().code(), Some(130), "{signal}");
        drop(input);
    }
}

#[test]
fn asking_for_the_regions_can_be_stopped() {
    let account = shop();
    let scratch = Scratch::new("regions");
    let terminal = typed(&account, &scratch, &[], SIZE);
    // What is known already is not asked again.
    terminal.press(b"\\region West US\r");
    terminal.wait_for("West US\nshop/orders> ");
    account.block_on(account.control().add_fault(Fault::new(Effect::Hang))).unwrap();
    terminal.press(b"\\region\r");
    terminal.wait_for("still waiting");
    terminal.press(CTRL_C);
    terminal.wait_for("stopped\n");
    terminal.press(b"\x04");
    assert!(terminal.end().0.success());
}

#[test]
fn lists_fit_the_screen_whatever_its_width() {
    let account = shop();
    let long = "orders-of-north-west";
    let properties = ContainerProperties::new(long, ["/tenant", "/user"]);
    account.block_on(async { account.client.database("shop").create_container(properties).await.unwrap() });
    let scratch = Scratch::new("widths");
    for (columns, is_wide) in [(80, true), (40, false)] {
        let size = (60, columns);
        let fits = |text: &str| {
            let widest = text.lines().map(|line| line.trim_end().chars().count()).max().unwrap();
            assert!(widest <= usize::from(columns), "{columns} columns: {text}");
        };
        let variables = [("COSMONAUT_ENDPOINT", account.url())];
        for arguments in
            [&["query", "--list"][..], &["container", "list"], &["doctor", "--prefer", "East US"]]
        {
            let (status, screen, written) = Terminal::start(arguments, &variables, size).end();
            assert!(status.success(), "{screen}");
            fits(&written);
            assert!(screen.contains(long), "nothing is cut: {screen}");
            let is_table =
                screen.lines().any(|line| line.contains("CONTAINER") && line.contains("PARTITION"));
            assert_eq!(is_table, is_wide, "{screen}");
        }
        let terminal = typed(&account, &scratch, &[], size);
        terminal.press(b"\\?\r");
        let screen = terminal.wait_for("for each member");
        assert_eq!(screen.contains("\\x [on|off]\n    write a line for each member"), !is_wide, "{screen}");
        terminal.press(b"\\d\r");
        terminal.wait_for(long);
        terminal.press(b"\\region\r");
        let screen = terminal.wait_for("East US");
        assert!(screen.contains("WRITES"), "{screen}");
        terminal.press(b"\\q\r");
        assert!(terminal.end().0.success());
    }
}

#[test]
fn names_of_others_do_not_steer_the_terminal_by_the_tab_key_or_as_json() {
    let account = shop();
    let name = "zz\u{9b}31m\u{202e}";
    let properties = ContainerProperties::new(name, "/pk");
    account.block_on(async { account.client.database("shop").create_container(properties).await.unwrap() });
    let variables = [("COSMONAUT_ENDPOINT", account.url())];
    for arguments in [
        &["container", "list", "--json"][..],
        &["query", "--list", "-f", "jsonl"],
        &["query", "--list", "-f", "json"],
        &["doctor", "--json", "--prefer", "East US"],
    ] {
        let (status, screen, written) = Terminal::start(arguments, &variables, (60, 80)).end();
        assert!(status.success(), "{screen}");
        assert!(!written.contains(['\u{9b}', '\u{202e}']), "{arguments:?}: {written:?}");
    }
    let found = account.ok(&["container", "list", "--json"]);
    assert!(found.contains(name), "programs get the name as it is");

    let scratch = Scratch::new("steered");
    let terminal = typed(&account, &scratch, &[], (24, 80));
    terminal.press(b"\\d\r");
    terminal.wait_for("shop/carts");
    terminal.press(b"\\c shop/z\tx\r");
    terminal.wait_for("there is no container");
    terminal.press(b"\\q\r");
    let (_, _, written) = terminal.end();
    assert!(!written.contains(['\u{9b}', '\u{202e}']), "{written:?}");
}
