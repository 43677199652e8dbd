//! Every environment variable that a group declares: what it is set to is taken, reaches the View, and is refused
//! by name if it cannot be used.
//!
//! The variables come from the groups' own descriptions, so that a new option is covered as soon as it is declared.

use cosmonaut_options::{EnvironmentOptions, Explanation, Layer};

use crate::variables;

/// What no option accepts.
const INVALID: &str = "\u{1}no value of any option";
/// Values of the usual types. An option of another type shows one in what it says about an invalid value.
const USUAL_VALUES: [&str; 9] = ["true", "false", "7", "8", "0.5", "1.5", "0.25", "45s", "46s"];

/// An option, and each of its variables with the layer that the variable sets.
struct Declared {
    group: &'static str,
    option: Explanation,
    names: Vec<(&'static str, Layer)>,
}

/// Every option that has a variable, as it resolves in this environment.
fn declared(options: &EnvironmentOptions) -> Vec<Declared> {
    let mut all = Vec::new();
    for group in options.explain() {
        for option in group.options {
            let Some(variable) = option.option.info.variable else { continue };
            let plain = std::iter::once(variable.name).chain(variable.aliases.iter().copied());
            let mut names: Vec<_> = plain.map(|name| (name, Layer::Environment)).collect();
            names.extend(variable.override_name.map(|name| (name, Layer::Override)));
            all.push(Declared { group: group.name, option, names });
        }
    }
    all
}

/// What one option resolves to when one variable is set.
fn resolved(name: &str, value: &str, path: &(&'static str, String)) -> Option<(Option<String>, Vec<Layer>)> {
    let options = EnvironmentOptions::read(&variables(&[(name, value)])).ok()?;
    let is_meant = |declared: &Declared| (declared.group, &declared.option.option.path) == (path.0, &path.1);
    let found = declared(&options).into_iter().find(is_meant)?;
    Some((found.option.value, found.option.sources))
}

/// The values that a message proposes: what is quoted after "try", and what follows "one of".
fn proposed(message: &str) -> Vec<String> {
    let Some((_, hint)) = message.split_once("(try ") else { return Vec::new() };
    let hint = hint.split(')').next().unwrap_or_default();
    if let Some(names) = hint.strip_prefix("one of: ") {
        return names.split(", ").map(str::to_owned).collect();
    }
    hint.split('"').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn every_declared_variable_is_read_reaches_the_view_and_is_named_if_it_cannot_be_used() {
    let unset = declared(&EnvironmentOptions::default());
    assert!(unset.len() > 15, "the groups declare variables");
    for Declared { group, option, names } in unset {
        let path = (group, option.option.path);
        let default = option.option.info.default.map(|default| default());
        for (name, layer) in names {
            let error = EnvironmentOptions::read(&variables(&[(name, INVALID)]))
                .expect_err(&format!("{name} takes anything at all, or is not read"))
                .to_string();
            assert!(error.starts_with(&format!("environment variable {name}: ")), "{error}");
            assert_eq!(error.lines().count(), 1, "{error}");

            let usual = USUAL_VALUES.iter().map(|value| (*value).to_owned());
            let candidates: Vec<String> = proposed(&error).into_iter().chain(usual).collect();
            let taken = candidates.iter().find_map(|value| {
                let (shown, sources) = resolved(name, value, &path)?;
                (shown != default).then_some((shown, sources))
            });
            let Some((shown, sources)) = taken else {
                panic!(
                    "{name} takes none of {candidates:?} (let its message propose a value that is no default)"
                )
            };
            assert!(shown.is_some(), "{name}");
            assert_eq!(sources, [layer], "{name} reaches {}.{} in the View", path.0, path.1);
        }
    }
}

#[test]
fn what_a_message_proposes_is_found() {
    for (message, expected) in [
        (r#""x" is not a duration (try "30s" or "PT30S")"#, &["30s", "PT30S"][..]),
        (r#""x" is not a level (try one of: Strong, Session)"#, &["Strong", "Session"]),
        (r#""x" is not a whole number from 0 to 9"#, &[]),
    ] {
        assert_eq!(proposed(message), expected, "{message}");
    }
}
