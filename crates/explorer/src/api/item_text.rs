//! Items as text: which partition key they have, and what is shown of one that is too long for a list.

use cosmonaut::{PartitionKey, PartitionKeyValue, RawItem};
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

/// The values of an item at the paths of a partition key; an empty object where there is none.
pub(super) fn key_in(item: &Value, paths: &[String]) -> Value {
    let at = |path: &String| {
        let mut value = Some(item);
        for name in names(path) {
            value = value.and_then(|value| value.get(&name));
        }
        value.filter(|value| !value.is_array() && !value.is_object()).cloned().unwrap_or_else(|| json!({}))
    };
    Value::Array(paths.iter().map(at).collect())
}

/// The names in `/a/"b c"`.
fn names(path: &str) -> Vec<String> {
    let unquoted = |name: &str| match name.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(inner) => inner.replace("\\\"", "\"").replace("\\\\", "\\"),
        None => name.to_owned(),
    };
    path.split('/').filter(|name| !name.is_empty()).map(unquoted).collect()
}

/// An item for a list.
pub(super) fn listed(item: &RawItem, paths: &[String]) -> Result<Value, Refusal> {
    let text = text_of(item)?;
    let value: Value = serde_json::from_str(text).map_err(|error| not_json(&error))?;
    let mut row = row(text);
    row["id"] = value["id"].clone();
    row["etag"] = value["_etag"].clone();
    row["pk"] = key_in(&value, paths);
    Ok(row)
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
        let item = json!({ "a": { "b c": 7 }, "d": [1], "e": null });
        for (paths, expected) in
            [(vec!["/a/\"b c\""], json!([7])), (vec!["/e", "/d", "/x/y"], json!([null, {}, {}]))]
        {
            let paths: Vec<String> = paths.into_iter().map(str::to_owned).collect();
            assert_eq!(key_in(&item, &paths), expected);
        }
    }

    #[test]
    fn a_long_row_is_cut() {
        assert_eq!(row("1.50"), json!({ "text": "1.50" }));
        let long = row(&"ü".repeat(LISTED));
        assert_eq!((&long["text"], &long["size"]), (&Value::Null, &(2 * LISTED).into()));
    }
}
