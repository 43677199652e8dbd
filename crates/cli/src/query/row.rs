//! A row of a result, with its members in the order in which they came.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// What stands in the one column of rows that have no members.
const VALUE: &str = "value";

/// Members and their values, as JSON.
pub(super) struct Row(Vec<(String, Box<RawValue>)>);

impl Row {
    pub(super) fn read(raw: &RawValue) -> Self {
        match serde_json::from_str(raw.get()) {
            Ok(Members(members)) => Self(members),
            Err(_) => Self(vec![(VALUE.to_owned(), raw.to_owned())]),
        }
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }

    /// A member for people: text without quotes, anything else as JSON.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        let (_, value) = self.0.iter().find(|(known, _)| known == name)?;
        Some(serde_json::from_str::<String>(value.get()).unwrap_or_else(|_| value.get().to_owned()))
    }
}

/// The columns that rows have together, in the order in which they first appear.
pub(super) fn columns(rows: &[Row]) -> Vec<String> {
    let mut columns: Vec<String> = Vec::new();
    let mut known = std::collections::HashSet::new();
    for name in rows.iter().flat_map(Row::names) {
        if known.insert(name) {
            columns.push(name.to_owned());
        }
    }
    columns
}

struct Members(Vec<(String, Box<RawValue>)>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;

        impl<'de> Visitor<'de> for InOrder {
            type Value = Members;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(InOrder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(json: &str) -> Row {
        Row::read(&RawValue::from_string(json.to_owned()).unwrap())
    }

    #[test]
    fn members_keep_their_order_and_values_their_text() {
        let row = row(r#"{"z": 1.50, "a": "x\"y", "n": null, "o": {"b": [1, 2]}}"#);
        assert_eq!(row.names().collect::<Vec<_>>(), ["z", "a", "n", "o"]);
        for (name, text) in [("z", "1.50"), ("a", "x\"y"), ("n", "null"), ("o", r#"{"b": [1, 2]}"#)] {
            assert_eq!(row.text(name).as_deref(), Some(text));
        }
        assert_eq!(row.text("missing"), None);
    }

    #[test]
    fn a_row_without_members_is_one_value() {
        for (json, text) in [("7", "7"), ("\"x\"", "x"), ("[1]", "[1]"), ("null", "null")] {
            assert_eq!(row(json).text("value").as_deref(), Some(text));
        }
    }

    #[test]
    fn columns_are_those_of_all_rows() {
        assert_eq!(
            columns(&[row(r#"{"b":1,"a":1}"#), row(r#"{"a":1,"c":1}"#), row("1")]),
            ["b", "a", "c", "value"]
        );
    }
}
