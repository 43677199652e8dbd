//! Changes of parts of an item, as the application builds them.

use bytes::Bytes;
use cosmonaut_wire::model::{PatchDocument, PatchOperation, PatchPath};
use serde::Serialize;
use serde_json::Value;

use crate::metadata::json_body;
use crate::{Error, ErrorKind, Result};

/// Changes of parts of an item, applied in order, all or none; at most ten.
///
/// A path that cannot be, or a value that has no JSON form, shows when the patch is used.
///
/// ```
/// let patch = cosmonaut::Patch::new()
///     .set("/state", "sent")
///     .increment("/attempts", 1)
///     .add("/tags/-", "urgent")
///     .remove("/draft")
///     .condition("FROM c WHERE c.state = 'ready'");
/// ```
#[derive(Clone, Debug)]
#[must_use = "a patch does nothing until it is used"]
pub struct Patch {
    document: PatchDocument,
    /// What is wrong with the first operation that cannot be.
    error: Option<Error>,
}

impl Patch {
    /// No changes yet.
    pub fn new() -> Self {
        Self { document: PatchDocument::new([]), error: None }
    }

    /// Adds a member, or inserts an array element before the one that is there; `-` is the end of an array.
    pub fn add(self, path: &str, value: impl Serialize) -> Self {
        self.with_value(path, value, PatchOperation::add)
    }

    /// Adds or replaces a member or array element.
    pub fn set(self, path: &str, value: impl Serialize) -> Self {
        self.with_value(path, value, PatchOperation::set)
    }

    /// Replaces what must be there.
    pub fn replace(self, path: &str, value: impl Serialize) -> Self {
        self.with_value(path, value, PatchOperation::replace)
    }

    /// Removes what must be there.
    pub fn remove(self, path: &str) -> Self {
        self.push(|| Ok(PatchOperation::remove(parse(path)?)))
    }

    /// Adds to a number, or sets it if there is none. `by` is any number, and may be negative.
    pub fn increment(self, path: &str, by: impl Serialize) -> Self {
        self.push(|| match to_value(path, by)? {
            Value::Number(by) => Ok(PatchOperation::increment(parse(path)?, by)),
            other => {
                let message = format!("patch: {path:?} cannot be incremented by {other}, which is no number");
                Err(Error::new(ErrorKind::BadRequest, message))
            }
        })
    }

    /// Takes what is at one place to another.
    pub fn move_value(self, from: &str, to: &str) -> Self {
        self.push(|| Ok(PatchOperation::move_value(parse(from)?, parse(to)?)))
    }

    /// Changes the item only if this holds for it: a query without its SELECT, such as
    /// `FROM c WHERE c.state = 'ready'`.
    pub fn condition(mut self, condition: impl Into<String>) -> Self {
        self.document = self.document.with_condition(condition);
        self
    }

    fn with_value(
        self,
        path: &str,
        value: impl Serialize,
        operation: impl FnOnce(PatchPath, Value) -> PatchOperation,
    ) -> Self {
        self.push(|| Ok(operation(parse(path)?, to_value(path, value)?)))
    }

    fn push(mut self, operation: impl FnOnce() -> Result<PatchOperation>) -> Self {
        if self.error.is_none() {
            match operation() {
                Ok(operation) => self.document.operations.push(operation),
                Err(error) => self.error = Some(error),
            }
        }
        self
    }

    /// The patch, if it can be.
    pub(crate) fn into_document(self) -> Result<PatchDocument> {
        match self.error {
            Some(error) => Err(error),
            None => {
                let checked = self.document.validate();
                checked.map_err(|error| Error::caused_by(ErrorKind::BadRequest, error.to_string(), error))?;
                Ok(self.document)
            }
        }
    }

    pub(super) fn into_body(self) -> Result<Bytes> {
        json_body(&self.into_document()?)
    }
}

impl Default for Patch {
    fn default() -> Self {
        Self::new()
    }
}

fn parse(path: &str) -> Result<PatchPath> {
    PatchPath::new(path).map_err(|error| Error::caused_by(ErrorKind::BadRequest, error.to_string(), error))
}

fn to_value(path: &str, value: impl Serialize) -> Result<Value> {
    serde_json::to_value(value).map_err(|error| {
        let message = format!("patch: the value for {path:?} cannot be written as JSON: {error}");
        Error::caused_by(ErrorKind::Serialization, message, error)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_patch_is_written_in_order_with_its_condition() {
        let patch = Patch::new()
            .set("/a", "x")
            .add("/b/-", 1)
            .replace("/c", [1, 2])
            .remove("/d")
            .increment("/e", -1)
            .increment("/f", 0.5)
            .move_value("/g", "/h")
            .condition("FROM c WHERE c.a = 1");
        let written: Value = serde_json::from_slice(&patch.into_body().unwrap()).unwrap();
        let expected = json!({"condition": "FROM c WHERE c.a = 1", "operations": [
            {"op": "set", "path": "/a", "value": "x"}, {"op": "add", "path": "/b/-", "value": 1},
            {"op": "replace", "path": "/c", "value": [1, 2]}, {"op": "remove", "path": "/d"},
            {"op": "incr", "path": "/e", "value": -1}, {"op": "incr", "path": "/f", "value": 0.5},
            {"op": "move", "from": "/g", "path": "/h"},
        ]});
        assert_eq!(written, expected);
    }

    #[test]
    fn a_patch_that_cannot_be_says_why() {
        let many = (0..11).fold(Patch::new(), |patch, _| patch.set("/a", 1));
        let unwritable = std::collections::HashMap::from([((1, 2), 3)]);
        for (patch, kind, part) in [
            (Patch::new(), ErrorKind::BadRequest, "1 to 10 operations, not 0"),
            (many, ErrorKind::BadRequest, "not 11"),
            (Patch::new().set("a", 1).set("/b", 1), ErrorKind::BadRequest, "\"a\""),
            (Patch::new().increment("/n", "x"), ErrorKind::BadRequest, "no number"),
            (Patch::new().set("/n", unwritable), ErrorKind::Serialization, "\"/n\""),
        ] {
            let error = patch.into_body().unwrap_err();
            assert_eq!(error.kind(), kind, "{error}");
            assert!(error.to_string().contains(part), "{error}");
        }
    }
}
