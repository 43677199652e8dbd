//! What the client encryption policy of a container may say. Encrypting is the client's work.

use std::collections::HashSet;

use cosmonaut_wire::model::ContainerProperties;
use serde_json::Value;

use crate::Failure;

/// 400 if a path is encrypted twice, or if what finds an item is encrypted so that equal values look different.
pub(super) fn check(properties: &ContainerProperties) -> Result<(), Failure> {
    let Some(paths) =
        properties.extra.get("clientEncryptionPolicy").and_then(|policy| policy.get("includedPaths"))
    else {
        return Ok(());
    };
    let mut known = HashSet::new();
    for included in paths.as_array().into_iter().flatten() {
        let text = |name: &str| included.get(name).and_then(Value::as_str).unwrap_or_default();
        let path = text("path");
        if !known.insert(path) {
            return Err(Failure::bad_request(format!("Duplicate Path found: {path}.")));
        }
        let finds = path == "/id" || properties.partition_key.paths.iter().any(|key| key == path);
        if finds && text("encryptionType") != "Deterministic" {
            return Err(Failure::bad_request(format!(
                "Only Deterministic encryption type is supported for path: {path}."
            )));
        }
    }
    Ok(())
}
