//! The members of an item in their order, each value as it is written, so that no number changes on its way.

use std::fmt;

use cosmonaut::{PartitionKey, PartitionKeyDefinition, PartitionKeyValue};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

/// The members that the service adds to every item.
const SYSTEM: [&str; 5] = ["_rid", "_self", "_etag", "_attachments", "_ts"];

/// Names and the text of their values.
pub(crate) struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'a> Members<'a> {
    /// Reads an item. What is wrong with one that is none is said for people.
    pub(crate) fn read(json: &'a str) -> Result<Self, String> {
        serde_json::from_str(json).map_err(|error| match json.trim_start().starts_with('{') {
            true => format!("it is not JSON: {error}"),
            false => "it is not a JSON object".to_owned(),
        })
    }

    /// All but what the service adds.
    pub(crate) fn own(mut self) -> Self {
        self.0.retain(|(name, _)| !SYSTEM.contains(&name.as_str()));
        self
    }

    /// All but one.
    pub(crate) fn without(mut self, name: &str) -> Self {
        self.0.retain(|(known, _)| known != name);
        self
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &'a RawValue)> {
        self.0.iter().map(|(name, value)| (name.as_str(), *value))
    }

    /// The value of a member; of one that is there twice the last, as readers of JSON have it.
    pub(crate) fn get(&self, name: &str) -> Option<&'a RawValue> {
        self.0.iter().rev().find(|(known, _)| known == name).map(|(_, value)| *value)
    }

    /// The item's name, if it has one.
    pub(crate) fn id(&self) -> Option<String> {
        serde_json::from_str(self.get("id")?.get()).ok()
    }

    /// When the service last wrote it, in seconds since 1970.
    pub(crate) fn timestamp(&self) -> Option<u64> {
        serde_json::from_str(self.get("_ts")?.get()).ok()
    }

    /// The item on one line.
    pub(crate) fn to_line(&self) -> String {
        let mut line = String::from("{");
        for (nth, (name, value)) in self.iter().enumerate() {
            if nth > 0 {
                line.push(',');
            }
            line += &Value::from(name).to_string();
            line.push(':');
            line += &on_one_line(value);
        }
        line.push('}');
        line
    }
}

/// JSON whose line breaks, which can only stand between its parts, are blanks.
fn on_one_line(value: &RawValue) -> String {
    value.get().replace(['\n', '\r'], " ")
}

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;

        impl<'de> Visitor<'de> for InOrder {
            type Value = Vec<(String, &'de RawValue)>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(members)
            }
        }

        deserializer.deserialize_map(InOrder).map(Members)
    }
}

/// Finds the partition key of items, by the definition of their container.
#[derive(Clone)]
pub(crate) struct KeyFinder {
    paths: Vec<Vec<String>>,
    /// Whether the container was made without a key, and has items outside of any.
    is_system: bool,
}

impl KeyFinder {
    pub(crate) fn new(definition: &PartitionKeyDefinition) -> Result<Self, String> {
        let paths = definition.path_segments().map_err(|error| error.to_string())?;
        Ok(Self { paths, is_system: definition.system_key == Some(true) })
    }

    /// The key of an item. What cannot be part of a key counts as absent, as the service has it.
    pub(crate) fn of(&self, item: &Members<'_>) -> Result<PartitionKey, String> {
        let values = self.paths.iter().map(|path| component(item, path));
        let key = PartitionKey::from(values.collect::<Result<Vec<_>, _>>()?);
        Ok(if self.is_system && key == PartitionKey::UNDEFINED { PartitionKey::NONE } else { key })
    }
}

fn component(item: &Members<'_>, path: &[String]) -> Result<PartitionKeyValue, String> {
    let Some((first, rest)) = path.split_first() else { return Ok(PartitionKeyValue::Undefined) };
    let Some(value) = item.get(first) else { return Ok(PartitionKeyValue::Undefined) };
    let value: Value = serde_json::from_str(value.get())
        .map_err(|error| format!("its partition key at /{} cannot be read: {error}", path.join("/")))?;
    let found = rest.iter().try_fold(&value, |value, name| value.get(name.as_str()));
    match found {
        None | Some(Value::Array(_) | Value::Object(_)) => Ok(PartitionKeyValue::Undefined),
        Some(value) => PartitionKeyValue::from_json(value).map_err(|error| error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_is_written_as_it_was_but_for_what_the_service_adds() {
        let item = "{\"id\":\"1\", \"n\":1.50,\n\"big\":12345678901234567890.10,\"_ts\":7,\"\\u0061\":[1,\n2],\"_rid\":\"x\"}";
        let own = Members::read(item).unwrap().own();
        assert_eq!(own.to_line(), r#"{"id":"1","n":1.50,"big":12345678901234567890.10,"a":[1, 2]}"#);
        assert_eq!(own.id().as_deref(), Some("1"));
        assert_eq!(Members::read("{}").unwrap().own().to_line(), "{}");
        for (text, part) in [("[1]", "not a JSON object"), ("{\"a\":", "not JSON"), ("", "not a JSON object")]
        {
            assert!(Members::read(text).err().unwrap().contains(part), "{text:?}");
        }
    }

    #[test]
    fn a_key_is_found_where_the_definition_says() {
        for (paths, item, expected) in [
            (&["/pk"][..], r#"{"pk":"a"}"#, r#"["a"]"#),
            (&["/pk"], r#"{"pk":1.0}"#, "[1]"),
            (&["/pk"], r#"{"x":1}"#, "[{}]"),
            (&["/pk"], r#"{"pk":[1]}"#, "[{}]"),
            (&["/a/b"], r#"{"a":{"b":null}}"#, "[null]"),
            (&["/a/b"], r#"{"a":7}"#, "[{}]"),
            (&["/t", "/u"], r#"{"u":true,"t":"x"}"#, r#"["x",true]"#),
        ] {
            let definition =
                PartitionKeyDefinition::from(paths.iter().map(ToString::to_string).collect::<Vec<_>>());
            let finder = KeyFinder::new(&definition).unwrap();
            assert_eq!(finder.of(&Members::read(item).unwrap()).unwrap().to_string(), expected, "{item}");
        }
    }
}
