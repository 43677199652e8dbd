//! `cosmonaut options`.

use std::process::Stdio;

use serde_json::{Value, json};

use crate::cosmonaut;

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).expect("the command prints UTF-8")
}

#[test]
fn the_table_lists_every_group_in_aligned_columns() {
    let output = cosmonaut(&["options"]).env("AZURE_COSMOS_PRIORITY", "low").output().unwrap();
    assert!(output.status.success());
    let table = text(output.stdout);
    for group in ["ConnectionOptions", "RegionOptions", "RetryOptions", "RequestOptions", "HedgingOptions"] {
        assert!(table.contains(&format!("{group} (layers: runtime, account")), "{table}");
    }
    assert!(table.contains("ItemWriteOptions (layers: operation)"), "{table}");
    let column = table.lines().find_map(|line| line.find("VARIABLE")).unwrap();
    for line in table.lines().filter(|line| line.contains("AZURE_COSMOS_")) {
        assert_eq!(line.find("AZURE_COSMOS_"), Some(column), "{line}");
    }
    let priority = table.lines().find(|line| line.trim_start().starts_with("priority ")).unwrap();
    let cells = priority.split_whitespace().collect::<Vec<_>>();
    assert_eq!(cells, ["priority", "Low", "environment", "-", "AZURE_COSMOS_PRIORITY"]);
}

#[test]
fn json_says_all_there_is_to_say_about_an_option() {
    let output = cosmonaut(&["options", "--json", "hedging"])
        .env("AZURE_COSMOS_HEDGING_ENABLED", "true")
        .env("AZURE_COSMOS_HEDGING_ENABLED_OVERRIDE", "off")
        .output()
        .unwrap();
    assert!(output.status.success());
    let options: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(options.as_array().map(Vec::len), Some(5));
    assert_eq!(
        options[0],
        json!({
            "group": "HedgingOptions",
            "option": "hedging_enabled",
            "layers": ["runtime", "account", "operation"],
            "variable": "AZURE_COSMOS_HEDGING_ENABLED",
            "aliases": [],
            "overrideVariable": "AZURE_COSMOS_HEDGING_ENABLED_OVERRIDE",
            "default": "true",
            "value": "false",
            "sources": ["override"],
            "description": "Whether a second region is asked at all.",
        })
    );
    assert_eq!(options[1]["value"], "50ms..4s");
}

#[test]
fn every_malformed_variable_is_reported_with_status_2() {
    let output = cosmonaut(&["options", "request"])
        .env("AZURE_COSMOS_POOL_IDLE_TIMEOUT", "5x")
        .env("AZURE_COSMOS_PRIORITY", "Medium")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(output.stdout, b"");
    assert_eq!(
        text(output.stderr),
        "error: environment variable AZURE_COSMOS_POOL_IDLE_TIMEOUT: \"5x\" is not a duration \
         (try \"30s\" or \"PT30S\")\n\
         error: environment variable AZURE_COSMOS_PRIORITY: \"Medium\" is not a priority level \
         (try one of: High, Low)\n"
    );
}

#[test]
fn an_unknown_group_or_argument_is_a_usage_error() {
    for (arguments, expected) in [
        (
            &["options", "requests"][..],
            "there is no option group \"requests\" (try one of: ConnectionOptions, ",
        ),
        (&["options", "--yaml"], "--yaml"),
        (&["optoins"], "options"),
    ] {
        let output = cosmonaut(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let stderr = text(output.stderr);
        assert!(stderr.contains(expected), "{stderr}");
    }
}

#[test]
fn a_reader_that_goes_away_is_not_a_failure() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = cosmonaut(&["options"]).stdout(writer).stderr(Stdio::piped()).output().unwrap();
    assert_eq!((output.status.code(), text(output.stderr)), (Some(0), String::new()));
}

#[cfg(unix)]
#[test]
fn on_a_screen_that_is_too_narrow_each_option_has_lines_of_its_own() {
    for columns in [40, 80] {
        let terminal = crate::terminal::Terminal::start(&["options", "hedging"], &[], (60, columns));
        let (status, screen, _) = terminal.end();
        assert!(status.success(), "{screen}");
        assert!(screen.lines().any(|line| line.starts_with("    value    ")), "{screen}");
        assert!(screen.contains("AZURE_COSMOS_HEDGING_ENABLED"), "{screen}");
    }
}
