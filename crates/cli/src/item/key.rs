//! The partition key of an item, taken from it.

use cosmonaut::{PartitionKey, PartitionKeyValue};
use serde_json::Value;

/// The values at the key's paths; one that is missing is a key, too.
pub(super) fn of(item: &Value, paths: &[String]) -> Result<PartitionKey, String> {
    let value = |path: &String| match at(item, path) {
        None => Ok(PartitionKeyValue::Undefined),
        Some(found) => PartitionKeyValue::from_json(found)
            .map_err(|error| format!("the item's partition key, {path}: {error}")),
    };
    Ok(PartitionKey::hierarchical(paths.iter().map(value).collect::<Result<Vec<_>, _>>()?))
}

/// What is at `/a/b` or `/"a"/b`.
fn at<'v>(item: &'v Value, path: &str) -> Option<&'v Value> {
    let names = path.trim_start_matches('/').split('/');
    names.map(|name| name.trim_matches('"')).try_fold(item, |value, name| value.get(name))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_key_is_what_stands_at_its_paths() {
        let item = json!({"id": "7", "a": {"b": 1, "c d": null}, "list": [1]});
        for (paths, key) in [
            (&["/id"][..], PartitionKey::from("7")),
            (&["/a/b"], PartitionKey::from(1)),
            (&["/a/\"c d\""], PartitionKey::from(())),
            (&["/x/y"], PartitionKey::UNDEFINED),
            (&["/id", "/a/b"], PartitionKey::from(("7", 1))),
        ] {
            let paths: Vec<_> = paths.iter().map(|path| (*path).to_owned()).collect();
            assert_eq!(of(&item, &paths), Ok(key), "{paths:?}");
        }
        assert!(of(&item, &["/list".to_owned()]).unwrap_err().contains("/list"));
    }
}
