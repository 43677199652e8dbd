//! The book in `docs/book`: its links lead somewhere, its commands exist, and what is generated is as the code is.
//!
//! `COSMONAUT_BOOK=write cargo test -p cosmonaut-cli --test it book::` writes the generated parts anew.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::account::Ended;
use crate::cosmonaut;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn source() -> PathBuf {
    root().join("docs/book/src")
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The chapters by name, the summary among them.
fn chapters() -> BTreeMap<String, String> {
    let entries = fs::read_dir(source()).unwrap().map(|entry| entry.unwrap().path());
    let pages = entries.filter(|path| path.extension().is_some_and(|extension| extension == "md"));
    pages.map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), read(&path))).collect()
}

/// Where the links of a text lead.
fn links(text: &str) -> Vec<&str> {
    text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(link, _)| link).collect()
}

#[test]
fn every_chapter_is_there_and_every_link_leads_to_a_file() {
    let chapters = chapters();
    let mut summary = links(&chapters["SUMMARY.md"]);
    let listed = summary.len();
    summary.sort_unstable();
    let written: Vec<_> = chapters.keys().map(String::as_str).filter(|name| *name != "SUMMARY.md").collect();
    assert_eq!(summary, written, "the summary lists each chapter once");
    assert!(listed <= 10, "ten pages at most");
    let pages = chapters.into_iter().map(|(name, text)| (source().join(name), text));
    let readme = root().join("README.md");
    for (page, text) in pages.chain([(readme.clone(), read(&readme))]) {
        for link in links(&text).into_iter().filter(|link| !link.contains("://") && !link.starts_with('#')) {
            let file = page.parent().unwrap().join(link.split('#').next().unwrap());
            assert!(file.exists(), "{}: {link} leads nowhere", page.display());
        }
    }
}

/// The commands of the blocks that a shell is to run, without what is behind them.
fn commands(text: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    let mut in_shell = false;
    for line in text.replace("\\\n", " ").lines() {
        match (line.strip_prefix("```"), in_shell) {
            (Some(language), false) => in_shell = language == "sh",
            (Some(_), true) => in_shell = false,
            (None, true) if line.starts_with("cosmonaut ") => found.push(words(line)),
            (None, _) => {}
        }
    }
    found
}

/// As a shell splits a simple command, up to a comment or a pipe.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
    for c in line.chars() {
        match (quote, c) {
            (Some(open), c) if open == c => quote = None,
            (None, '\'' | '"') => quote = Some(c),
            (None, ' ') => words.push(std::mem::take(&mut word)),
            (None, '#' | '|') => break,
            (_, c) => word.push(c),
        }
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    words
}

#[test]
fn every_command_and_flag_of_the_book_exists() {
    let readme = read(&root().join("README.md"));
    let texts = chapters().into_values().chain([readme]);
    let commands: Vec<_> = texts.flat_map(|text| commands(&text)).collect();
    assert!(commands.len() > 30, "{}", commands.len());
    for command in commands {
        let named = command[1..].iter().take_while(|word| !word.starts_with('-'));
        let arguments: Vec<&str> = named.map(String::as_str).chain(["--help"]).collect();
        let help = Ended::of(cosmonaut(&arguments).output().unwrap());
        assert_eq!(help.status, 0, "{command:?}: {}", help.error);
        for flag in command.iter().filter(|word| word.starts_with("--")) {
            let flag = flag.split('=').next().unwrap();
            let is_known = help.output.split([' ', '\n', ',', '=', '[']).any(|word| word == flag);
            assert!(is_known, "{command:?} has no {flag}: {}", help.output);
        }
    }
}

/// Compares a generated part of a chapter with what is generated, or writes it.
fn generated(chapter: &str, part: &str, text: &str) {
    let path = source().join(chapter);
    let page = read(&path);
    let begin = page.find(&format!("`: {part} -->\n")).unwrap_or_else(|| panic!("{chapter} has no {part}"));
    let begin = begin + page[begin..].find('\n').unwrap() + 1;
    let end = begin + page[begin..].find("<!-- end -->").unwrap();
    if std::env::var("COSMONAUT_BOOK").is_ok_and(|value| value == "write") {
        fs::write(&path, format!("{}\n{}\n\n{}", &page[..begin], text.trim(), &page[end..])).unwrap();
        return;
    }
    assert!(
        page[begin..end].trim() == text.trim(),
        "{chapter}: {part} are not as the code has them (COSMONAUT_BOOK=write writes them)"
    );
}

#[test]
fn the_options_are_those_of_the_code() {
    let listed = Ended::of(cosmonaut(&["options", "--json"]).output().unwrap());
    let options: Vec<Value> = serde_json::from_str(&listed.output).unwrap();
    let (mut text, mut group) = (String::new(), String::new());
    for option in &options {
        let word = |name: &str| option[name].as_str().unwrap_or_default();
        if group != word("group") {
            group = word("group").to_owned();
            let layers: Vec<_> =
                option["layers"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
            text += &format!(
                "\n## {group}\n\nSet at: {}.\n\n| option | default | variable | what it is |\n| --- | --- | --- | --- |\n",
                layers.join(", ")
            );
        }
        let code = |value: &str| if value.is_empty() { String::new() } else { format!("`{value}`") };
        let first = word("description").trim().split("\n\n").next().unwrap_or_default();
        let what = first.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|");
        // Links of the documentation lead nowhere here.
        let what = what.replace(['[', ']'], "");
        // Machines differ in how many processors they have.
        let default = if what.contains("per processor") { "" } else { word("default") };
        text += &format!(
            "| {} | {} | {} | {what} |\n",
            code(word("option")),
            code(default),
            code(word("variable"))
        );
    }
    assert!(options.len() > 30);
    generated("options.md", "options", &text);
}

#[test]
fn the_functions_are_those_of_the_code() {
    let all = cosmonaut_query::functions::all().iter().map(|function| function.name);
    // What begins with a mark is only sent by clients.
    let mut names: Vec<_> = all.filter(|name| !name.starts_with('_')).collect();
    names.sort_unstable_by_key(|name| name.to_lowercase());
    names.dedup();
    assert!(names.len() > 100);
    let listed = names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    generated("coverage.md", "functions", &listed);
}

#[test]
fn the_packages_are_those_that_are_checked() {
    let pinned = |file: &str, name: &str| {
        let text = read(&root().join("conformance").join(file));
        let line = text.lines().find(|line| {
            let line = line.trim().trim_start_matches('"');
            line.strip_prefix(name).is_some_and(|rest| rest.starts_with(['=', '"', ' ']))
        });
        let line = line.unwrap_or_else(|| panic!("{file} has no {name}"));
        let rest = line.trim().trim_start_matches('"')[name.len()..].split(',').next().unwrap().to_owned();
        let begin = rest.find(|c: char| c.is_ascii_digit()).unwrap();
        rest[begin..].trim_end_matches(['"', ' ', ',']).to_owned()
    };
    let mut text = "| package | version |\n| --- | --- |\n".to_owned();
    for (file, name, what) in [
        ("python/requirements.txt", "azure-cosmos", "Python"),
        ("javascript/package.json", "@azure/cosmos", "JavaScript"),
        ("rust/Cargo.toml", "azure_data_cosmos", "Rust"),
        ("others/requirements.txt", "langchain-azure-cosmosdb", "Python, by others"),
        ("others/package.json", "botbuilder-azure", "JavaScript, by others"),
        ("others/package.json", "express-session-cosmosdb", "JavaScript, by others"),
    ] {
        text += &format!("| `{name}` ({what}) | {} |\n", pinned(file, name));
    }
    generated("coverage.md", "packages", &text);
}
