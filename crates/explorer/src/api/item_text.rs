//! Items as text: which partition key they have, and what is shown of one that is too long for a list.

use std::borrow::Cow;
use std::collections::HashMap;

use cosmonaut::{PartitionKey, PartitionKeyValue, RawItem};
use serde_json::error::Category;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::answer::Refusal;

/// The longest text that a list has.
const LISTED: usize = 64 * 1024;
/// How much is shown of a longer one.
const START: usize = 1000;

/// A partition key from JSON: a value, or a list of them.
pub(super) fn key_of_json(text: &str) -> Result<PartitionKey, Refusal> {
    let wrong = |problem: &dyn std::fmt::Display| {
        Refusal::bad(format!(
            "{text} is not a partition key: {problem} (try \"contoso\" with quotes, 7 or [\"a\", 7])"
        ))
    };
    let value: Value = serde_json::from_str(text).map_err(|_| wrong(&"it is not JSON"))?;
    let values = match value {
        Value::Array(values) => values,
        value => vec![value],
    };
    let values: Result<Vec<_>, _> = values.iter().map(PartitionKeyValue::from_json).collect();
    Ok(PartitionKey::hierarchical(values.map_err(|error| wrong(&error))?))
}

/// The members of a document by name, each as its text. However deep a document is, only this level is read.
pub(super) type Members<'a> = HashMap<Cow<'a, str>, &'a RawValue>;

/// The members of a document, or why it has none.
pub(super) fn members(text: &str) -> Result<Members<'_>, String> {
    serde_json::from_str(text).map_err(|error| match error.classify() {
        Category::Data => "it is not a JSON object".to_owned(),
        Category::Io | Category::Syntax | Category::Eof => format!("it is not JSON: {error}"),
    })
}

/// A text, a number, true, false or null; `None` for whatever has parts.
fn simple(raw: &RawValue) -> Option<Value> {
    match raw.get().starts_with(['{', '[']) {
        true => None,
        false => serde_json::from_str(raw.get()).ok(),
    }
}

/// A member that has no parts; null if there is none.
pub(super) fn simple_member(members: &Members<'_>, name: &str) -> Value {
    members.get(name).and_then(|raw| simple(raw)).unwrap_or_default()
}

/// The values of an item at the paths of a partition key; an empty object where there is none.
pub(super) fn key_in(item: &Members<'_>, paths: &[String]) -> Value {
    let at = |path: &String| value_at(item, &names(path)).unwrap_or_else(|| json!({}));
    Value::Array(paths.iter().map(at).collect())
}

fn value_at(item: &Members<'_>, names: &[String]) -> Option<Value> {
    let (first, rest) = names.split_first()?;
    let value = item.get(first.as_str())?;
    match rest {
        [] => simple(value),
        rest => value_at(&members(value.get()).ok()?, rest),
    }
}

/// The names in `/a/"b c"`.
fn names(path: &str) -> Vec<String> {
    let unquoted = |name: &str| match name.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(inner) => inner.replace("\\\"", "\"").replace("\\\\", "\\"),
        None => name.to_owned(),
    };
    path.split('/').filter(|name| !name.is_empty()).map(unquoted).collect()
}

/// An item for a list, `whole` or cut. One that cannot be read is in it too, and says why.
pub(super) fn listed(item: &RawItem, paths: &[String], whole: bool) -> Value {
    let text = String::from_utf8_lossy(item.as_bytes());
    let mut row = if whole { json!({ "text": text }) } else { row(&text) };
    match members(&text) {
        Ok(found) => {
            row["id"] = simple_member(&found, "id");
            row["etag"] = simple_member(&found, "_etag");
            row["pk"] = key_in(&found, paths);
        }
        Err(problem) => {
            row["text"] = Value::Null;
            row["unreadable"] = json!(format!("this item cannot be read: {problem}"));
        }
    }
    row
}

/// A row for a list: its text or, if that is too long, how it begins.
pub(super) fn row(text: &str) -> Value {
    if text.len() <= LISTED {
        return json!({ "text": text });
    }
    let start: String = text.chars().take(START).collect();
    json!({ "text": null, "size": text.len(), "start": start })
}

pub(super) fn text_of(item: &RawItem) -> Result<&str, Refusal> {
    std::str::from_utf8(item.as_bytes()).map_err(|error| not_json(&error))
}

fn not_json(error: &dyn std::fmt::Display) -> Refusal {
    Refusal::new(
        http::StatusCode::BAD_GATEWAY,
        "account",
        format!("the account has given an item that is not JSON: {error}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_found_in_items() {
        let deep = "[".repeat(1000) + &"]".repeat(1000);
        let item = format!(r#"{{"deep":{deep},"a":{{"b c":7,"deep":{deep}}},"d":[1],"e":null}}"#);
        let item = members(&item).unwrap();
        for (paths, expected) in
            [(vec!["/a/\"b c\""], json!([7])), (vec!["/e", "/d", "/x/y"], json!([null, {}, {}]))]
        {
            let paths: Vec<String> = paths.into_iter().map(str::to_owned).collect();
            assert_eq!(key_in(&item, &paths), expected);
        }
    }

    #[test]
    fn an_item_that_cannot_be_read_is_listed_and_says_why() {
        let listed = |text: &'static str| listed(&RawItem::from(text), &["/id".to_owned()], false);
        assert_eq!(listed(r#"{"id":"a"}"#)["pk"], json!(["a"]));
        for (text, problem) in [("[]", "not a JSON object"), (r#"{"id":"#, "EOF")] {
            let row = listed(text);
            assert!(row["unreadable"].as_str().unwrap().contains(problem), "{row}");
            assert!(row["text"].is_null(), "{row}");
        }
    }

    #[test]
    fn a_long_row_is_cut() {
        assert_eq!(row("1.50"), json!({ "text": "1.50" }));
        let long = row(&"ü".repeat(LISTED));
        assert_eq!((&long["text"], &long["size"]), (&Value::Null, &(2 * LISTED).into()));
    }
}
