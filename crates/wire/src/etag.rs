//! Entity tags, as opaque text, and the conditions made of them.

use std::fmt;
use std::str::FromStr;

/// A version of a resource as the service names it, quotes included.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Etag(Box<str>);

impl Etag {
    /// The tag as it travels.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether a condition header's value names this version: `*` names every one, quotes are optional.
    ///
    /// ```
    /// let tag = cosmonaut_wire::Etag::from("\"00-1\"");
    /// assert!(tag.is_named_by("\"00-1\"") && tag.is_named_by("00-1") && tag.is_named_by("*"));
    /// assert!(!tag.is_named_by("\"00-2\""));
    /// ```
    pub fn is_named_by(&self, condition: &str) -> bool {
        let bare = |text: &str| -> bool {
            let condition = text.trim().trim_matches('"');
            condition == "*" || condition == self.0.trim_matches('"')
        };
        condition.split(',').any(bare)
    }
}

impl From<&str> for Etag {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl From<String> for Etag {
    fn from(text: String) -> Self {
        Self(text.into())
    }
}

impl FromStr for Etag {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self::from(text))
    }
}

impl fmt::Display for Etag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}
