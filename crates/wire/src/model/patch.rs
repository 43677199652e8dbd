//! Partial updates of an item: the operations, and the condition they depend on.
//!
//! Nothing here applies a patch or evaluates its condition.

use std::borrow::Cow;
use std::fmt;

use serde::de::{self, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize, Serialize};
use serde_json::{Number, Value};

use super::json::present;

mod path;

pub use path::{InvalidPatchPath, PatchPath};

/// The most operations in one patch.
pub const MAX_PATCH_OPERATIONS: usize = 10;

/// The body of a patch. A bare array of operations reads as one without a condition.
///
/// ```
/// use cosmonaut_wire::model::{PatchDocument, PatchOperation, PatchPath};
///
/// # fn main() -> Result<(), cosmonaut_wire::model::InvalidPatchPath> {
/// let patch = PatchDocument::new([PatchOperation::set(PatchPath::new("/state")?, "sent")])
///     .with_condition("FROM c WHERE c.state = 'ready'");
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PatchDocument {
    /// The patch applies only to an item for which this holds: `FROM c WHERE c.n > 1`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// What to change, in order.
    pub operations: Vec<PatchOperation>,
}

impl PatchDocument {
    /// A patch without a condition.
    pub fn new(operations: impl IntoIterator<Item = PatchOperation>) -> Self {
        Self { condition: None, operations: operations.into_iter().collect() }
    }

    /// Sets the condition.
    #[must_use]
    pub fn with_condition(mut self, condition: impl Into<String>) -> Self {
        self.condition = Some(condition.into());
        self
    }

    /// Checks that the number of operations is one the service takes.
    pub fn validate(&self) -> Result<(), InvalidPatch> {
        match self.operations.len() {
            1..=MAX_PATCH_OPERATIONS => Ok(()),
            operations => Err(InvalidPatch { operations }),
        }
    }
}

/// A patch with no operation, or too many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvalidPatch {
    /// How many operations there are.
    pub operations: usize,
}

impl fmt::Display for InvalidPatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a patch has 1 to {MAX_PATCH_OPERATIONS} operations, not {}", self.operations)
    }
}

impl std::error::Error for InvalidPatch {}

impl<'de> Deserialize<'de> for PatchDocument {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(PatchDocumentVisitor)
    }
}

struct PatchDocumentVisitor;

impl<'de> Visitor<'de> for PatchDocumentVisitor {
    type Value = PatchDocument;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("patch operations, or an object with `operations` and perhaps a `condition`")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<PatchDocument, A::Error> {
        let mut operations = Vec::new();
        while let Some(operation) = seq.next_element()? {
            operations.push(operation);
        }
        Ok(PatchDocument { condition: None, operations })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<PatchDocument, A::Error> {
        let (mut condition, mut operations) = (None, None);
        while let Some(name) = map.next_key::<Cow<'de, str>>()? {
            match &*name {
                "condition" => condition = map.next_value()?,
                "operations" => operations = Some(map.next_value()?),
                _ => drop(map.next_value::<de::IgnoredAny>()?),
            }
        }
        let operations = operations.ok_or_else(|| de::Error::missing_field("operations"))?;
        Ok(PatchDocument { condition, operations })
    }
}

/// One change of a patch.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "FlatOperation")]
pub enum PatchOperation {
    /// Adds a member, or inserts an array element before the one that is there.
    Add {
        /// Where.
        path: PatchPath,
        /// What.
        value: Value,
    },
    /// Adds or replaces a member or array element.
    Set {
        /// Where.
        path: PatchPath,
        /// What.
        value: Value,
    },
    /// Replaces what must be there.
    Replace {
        /// Where.
        path: PatchPath,
        /// What.
        value: Value,
    },
    /// Removes what must be there.
    Remove {
        /// Where.
        path: PatchPath,
    },
    /// Adds to a number, or sets it if there is none.
    Increment {
        /// Where.
        path: PatchPath,
        /// By how much: an integer or a fraction, perhaps negative.
        value: Number,
    },
    /// Takes what is at one place to another.
    Move {
        /// From where.
        from: PatchPath,
        /// To where.
        path: PatchPath,
    },
}

impl PatchOperation {
    /// Adds a member, or inserts an array element before the one that is there.
    pub fn add(path: PatchPath, value: impl Into<Value>) -> Self {
        Self::Add { path, value: value.into() }
    }

    /// Adds or replaces a member or array element.
    pub fn set(path: PatchPath, value: impl Into<Value>) -> Self {
        Self::Set { path, value: value.into() }
    }

    /// Replaces what must be there.
    pub fn replace(path: PatchPath, value: impl Into<Value>) -> Self {
        Self::Replace { path, value: value.into() }
    }

    /// Removes what must be there.
    pub fn remove(path: PatchPath) -> Self {
        Self::Remove { path }
    }

    /// Adds to a number.
    pub fn increment(path: PatchPath, by: impl Into<Number>) -> Self {
        Self::Increment { path, value: by.into() }
    }

    /// Takes what is at `from` to `path`.
    pub fn move_value(from: PatchPath, path: PatchPath) -> Self {
        Self::Move { from, path }
    }

    /// Where the operation goes to.
    pub fn path(&self) -> &PatchPath {
        match self {
            Self::Add { path, .. }
            | Self::Set { path, .. }
            | Self::Replace { path, .. }
            | Self::Remove { path }
            | Self::Increment { path, .. }
            | Self::Move { path, .. } => path,
        }
    }

    fn name(&self) -> OperationName {
        match self {
            Self::Add { .. } => OperationName::Add,
            Self::Set { .. } => OperationName::Set,
            Self::Replace { .. } => OperationName::Replace,
            Self::Remove { .. } => OperationName::Remove,
            Self::Increment { .. } => OperationName::Incr,
            Self::Move { .. } => OperationName::Move,
        }
    }
}

impl Serialize for PatchOperation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("op", &self.name())?;
        if let Self::Move { from, .. } = self {
            map.serialize_entry("from", from)?;
        }
        map.serialize_entry("path", self.path())?;
        match self {
            Self::Add { value, .. } | Self::Set { value, .. } | Self::Replace { value, .. } => {
                map.serialize_entry("value", value)?;
            }
            Self::Increment { value, .. } => map.serialize_entry("value", value)?,
            Self::Remove { .. } | Self::Move { .. } => {}
        }
        map.end()
    }
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum OperationName {
    Add,
    Set,
    Replace,
    Remove,
    Incr,
    Move,
}

/// An operation as it is written, before it is known which members it needs.
#[derive(Deserialize)]
struct FlatOperation {
    op: OperationName,
    path: PatchPath,
    #[serde(default, deserialize_with = "present")]
    value: Option<Value>,
    from: Option<PatchPath>,
}

impl TryFrom<FlatOperation> for PatchOperation {
    type Error = String;

    fn try_from(flat: FlatOperation) -> Result<Self, String> {
        let FlatOperation { op, path, value, from } = flat;
        let at = path.clone();
        let needs = |what: &str| format!("the patch operation at {:?} needs {what}", at.as_str());
        match (op, value) {
            (OperationName::Remove, _) => Ok(Self::Remove { path }),
            (OperationName::Move, _) => match from {
                Some(from) => Ok(Self::Move { from, path }),
                None => Err(needs("a `from`")),
            },
            (OperationName::Incr, Some(Value::Number(value))) => Ok(Self::Increment { path, value }),
            (OperationName::Incr, _) => Err(needs("a number as `value`")),
            (OperationName::Add, Some(value)) => Ok(Self::Add { path, value }),
            (OperationName::Set, Some(value)) => Ok(Self::Set { path, value }),
            (OperationName::Replace, Some(value)) => Ok(Self::Replace { path, value }),
            (OperationName::Add | OperationName::Set | OperationName::Replace, None) => {
                Err(needs("a `value`"))
            }
        }
    }
}

#[cfg(test)]
mod tests;
