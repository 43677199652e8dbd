//! `cosmonaut options`: every option with its group, layers, variables, default, value and whose value it is.
//!
//! It shows what holds in this environment as long as code sets nothing; what code sets, only that program
//! knows.

use std::io::Write;

use cosmonaut_options::{EnvironmentOptions, Explanation, GroupReport, Layer, ProcessEnvironment};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::screen;
use crate::table;

const EXAMPLES: &str = "\
Examples:
  cosmonaut options                                      every option, and what it is here
  cosmonaut options hedging                              one group
  AZURE_COSMOS_HEDGING_ENABLED=false cosmonaut options   what a variable changes
  cosmonaut options --json | jq '.[] | select(.sources == [\"environment\"])'

What code sets comes before variables, and those before defaults; a variable whose name ends in
_OVERRIDE comes before code.";

/// The arguments of `cosmonaut options`.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,

    /// Only this group, such as RequestOptions or just request
    group: Option<String>,
}

/// Lists the options.
pub(crate) fn run(arguments: &Arguments, output: &mut impl Write) -> Result<(), Failure> {
    let groups = EnvironmentOptions::read(&ProcessEnvironment)?.explain();
    let groups = match &arguments.group {
        Some(name) => vec![find(groups, name)?],
        None => groups,
    };
    let text = if arguments.json {
        format!("{:#}\n", json(&groups))
    } else {
        table(&groups, screen::output_width())
    };
    output.write_all(text.as_bytes())?;
    output.flush()?;
    Ok(())
}

/// The group called `name`, whatever its case and with or without `Options` at its end.
fn find(groups: Vec<GroupReport>, name: &str) -> Result<GroupReport, Failure> {
    let known = groups.iter().map(|group| group.name).collect::<Vec<_>>().join(", ");
    let matches = |group: &GroupReport| {
        let short = group.name.strip_suffix("Options").unwrap_or(group.name);
        name.eq_ignore_ascii_case(group.name) || name.eq_ignore_ascii_case(short)
    };
    groups
        .into_iter()
        .find(matches)
        .ok_or_else(|| Failure::Usage(format!("there is no option group {name:?} (try one of: {known})")))
}

fn json(groups: &[GroupReport]) -> Value {
    let option = |group: &GroupReport, explanation: &Explanation| {
        let info = explanation.option.info;
        let variable = info.variable;
        json!({
            "group": group.name,
            "option": explanation.option.path,
            "layers": names(group.layers),
            "variable": variable.map(|variable| variable.name),
            "aliases": variable.map(|variable| variable.aliases).unwrap_or_default(),
            "overrideVariable": variable.and_then(|variable| variable.override_name),
            "default": info.default.map(|render| render()),
            "value": explanation.value,
            "sources": names(&explanation.sources),
            "description": info.doc,
        })
    };
    groups
        .iter()
        .flat_map(|group| group.options.iter().map(|explanation| option(group, explanation)))
        .collect()
}

const HEADER: [&str; 5] = ["OPTION", "VALUE", "FROM", "DEFAULT", "VARIABLE"];

/// A heading per group, and under it a row per option; a further row for each further variable. Columns line up
/// over all groups.
fn table(groups: &[GroupReport], screen: Option<usize>) -> String {
    let header = HEADER.map(str::to_owned).to_vec();
    let all: Vec<_> = groups.iter().flat_map(|group| group.options.iter().flat_map(rows)).collect();
    let widths = table::widths(&[vec![header.clone()], all].concat());
    if screen.is_some_and(|screen| table::needed(&widths) + 2 > screen) {
        return lines(groups);
    }
    let sections = groups.iter().map(|group| {
        let heading = format!("{} (layers: {})\n", group.name, names(group.layers).join(", "));
        let rows = std::iter::once(header.clone()).chain(group.options.iter().flat_map(rows));
        heading + &rows.map(|row| format!("  {}", table::line(&row, &widths))).collect::<String>()
    });
    sections.collect::<Vec<_>>().join("\n")
}

/// The same where a table has no room: a few lines for each option, which nothing is left out of.
fn lines(groups: &[GroupReport]) -> String {
    let option = |explanation: &Explanation| {
        let rows = rows(explanation);
        let [path, value, from, default, _] = &rows[0][..] else { return String::new() };
        let names: Vec<_> = rows.iter().map(|row| &*row[4]).filter(|name| *name != "-").collect();
        let members = [("value", value), ("from", from), ("default", default)];
        let members: Vec<_> = members.map(|(name, text)| (format!("    {name}"), text.clone())).into();
        let variables: String = names.iter().map(|name| format!("    {name}\n")).collect();
        format!("  {path}\n{}{variables}", table::record(&members))
    };
    let section = |group: &GroupReport| {
        let options: String = group.options.iter().map(option).collect();
        format!("{} (layers: {})\n{options}", group.name, names(group.layers).join(", "))
    };
    groups.iter().map(section).collect::<Vec<_>>().join("\n")
}

fn rows(explanation: &Explanation) -> Vec<Vec<String>> {
    let info = explanation.option.info;
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    let sources = if explanation.sources.is_empty() {
        "unset".to_owned()
    } else {
        names(&explanation.sources).join("+")
    };
    let first = vec![
        explanation.option.path.clone(),
        or_dash(explanation.value.clone()),
        sources,
        or_dash(info.default.map(|render| render())),
        or_dash(info.variable.map(|variable| variable.name.to_owned())),
    ];
    let further = info
        .variable
        .into_iter()
        .flat_map(|variable| variable.aliases.iter().copied().chain(variable.override_name));
    let further =
        further.map(|name| vec![String::new(), String::new(), String::new(), String::new(), name.to_owned()]);
    std::iter::once(first).chain(further).collect()
}

fn names(layers: &[Layer]) -> Vec<String> {
    layers.iter().map(Layer::to_string).collect()
}
