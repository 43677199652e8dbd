//! Values from arguments: query parameters and partition keys, both as JSON.

use std::str::FromStr;

use cosmonaut::{PartitionKey, PartitionKeyValue};
use serde_json::Value;
use serde_json::value::RawValue;

/// `--param name=json`
#[derive(Clone, Debug)]
pub(super) struct Parameter {
    pub(super) name: String,
    pub(super) value: Box<RawValue>,
}

impl FromStr for Parameter {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, value) = text.split_once('=').ok_or("expected NAME=JSON, for example min=10")?;
        if name.trim_start_matches('@').is_empty() {
            return Err("a parameter needs a name, for example min=10".to_owned());
        }
        let value = serde_json::from_str(value).map_err(|_| not_json(value))?;
        Ok(Self { name: name.to_owned(), value })
    }
}

/// `--partition-key json`
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Key(pub(crate) PartitionKey);

impl FromStr for Key {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let value: Value = serde_json::from_str(text).map_err(|_| not_json(text))?;
        let values = match value {
            Value::Array(values) => values,
            value => vec![value],
        };
        let values: Result<Vec<_>, _> = values.iter().map(PartitionKeyValue::from_json).collect();
        Ok(Self(PartitionKey::hierarchical(values.map_err(|error| error.to_string())?)))
    }
}

fn not_json(text: &str) -> String {
    format!("{text} is not JSON (a text needs quotes that reach this program: '\"{text}\"')")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_names_and_json() {
        for (text, name, value) in
            [("min=10", "min", "10"), ("@a=\"x=y\"", "@a", "\"x=y\""), ("l=[1, 2]", "l", "[1, 2]")]
        {
            let parameter: Parameter = text.parse().unwrap();
            assert_eq!((&*parameter.name, parameter.value.get()), (name, value));
        }
        for (text, part) in
            [("min", "NAME=JSON"), ("=1", "a name"), ("@=1", "a name"), ("a=Oslo", "'\"Oslo\"'")]
        {
            let error = text.parse::<Parameter>().unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn keys_are_values_or_lists_of_them() {
        for (text, key) in [
            ("\"a\"", PartitionKey::from("a")),
            ("7", PartitionKey::from(7)),
            ("null", PartitionKey::from(())),
            ("[\"a\", 7]", PartitionKey::from(("a", 7))),
        ] {
            assert_eq!(text.parse(), Ok(Key(key)), "{text}");
        }
        for text in ["contoso", "{\"a\":1}", "[[1]]"] {
            assert!(text.parse::<Key>().is_err(), "{text}");
        }
    }
}
