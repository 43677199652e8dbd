//! Where in an item a patch operation goes: JSON pointers.
//!
//! Whether anything is there depends on the item, and is not known here.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

/// Where in an item: a JSON pointer such as `/a/0/b`, or `/a/-` for the end of an array.
///
/// In a name, `~1` stands for `/` and `~0` for `~`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PatchPath(String);

impl PatchPath {
    /// Checks the form of `path`.
    pub fn new(path: impl Into<String>) -> Result<Self, InvalidPatchPath> {
        let path = path.into();
        let escapes_hold = path.split('~').skip(1).all(|after| after.starts_with(['0', '1']));
        if path.starts_with('/') && escapes_hold { Ok(Self(path)) } else { Err(InvalidPatchPath(path)) }
    }

    /// The path that leads through `names`, whatever characters are in them. `None` if there are no names.
    pub fn from_names<'a>(names: impl IntoIterator<Item = &'a str>) -> Option<Self> {
        let mut path = String::new();
        for name in names {
            path.push('/');
            path.push_str(&name.replace('~', "~0").replace('/', "~1"));
        }
        (!path.is_empty()).then_some(Self(path))
    }

    /// The path as it is written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The names that it leads through, with their escapes undone.
    pub fn names(&self) -> impl Iterator<Item = Cow<'_, str>> {
        self.0.split('/').skip(1).map(|name| match name.contains('~') {
            true => Cow::Owned(name.replace("~1", "/").replace("~0", "~")),
            false => Cow::Borrowed(name),
        })
    }
}

impl TryFrom<String> for PatchPath {
    type Error = InvalidPatchPath;

    fn try_from(path: String) -> Result<Self, InvalidPatchPath> {
        Self::new(path)
    }
}

impl From<PatchPath> for String {
    fn from(path: PatchPath) -> Self {
        path.0
    }
}

impl fmt::Display for PatchPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A text that is no patch path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidPatchPath(pub String);

impl fmt::Display for InvalidPatchPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = &self.0;
        write!(f, "patch path {path:?} is not a JSON pointer (try \"/name\"; write `~` as `~0`, `/` as `~1`)")
    }
}

impl std::error::Error for InvalidPatchPath {}
