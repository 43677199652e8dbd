//! Region names, compared as Azure compares them: "West US 2" and "westus2" are one region.
//!
//! Which regions an account has, and in which order they are tried, is decided elsewhere.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The name of an Azure region. Cheap to clone; prints as it was given.
///
/// ```
/// use cosmonaut_wire::RegionName;
/// assert_eq!(RegionName::from("West US 2"), RegionName::from("westus2"));
/// assert_eq!(RegionName::from("West US 2").to_string(), "West US 2");
/// ```
#[derive(Clone)]
pub struct RegionName(Arc<str>);

impl RegionName {
    /// The name as it was given.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether this is the region of that name.
    ///
    /// ```
    /// assert!(cosmonaut_wire::RegionName::from("westus2").is_named("West US 2"));
    /// ```
    pub fn is_named(&self, name: &str) -> bool {
        self.significant().eq(significant(name))
    }

    fn significant(&self) -> impl Iterator<Item = char> + '_ {
        significant(&self.0)
    }
}

/// The characters that count in a comparison: white space and case do not.
fn significant(name: &str) -> impl Iterator<Item = char> + '_ {
    name.chars().filter(|c| !c.is_whitespace()).flat_map(char::to_lowercase)
}

/// A region name with nothing in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EmptyRegionName;

impl fmt::Display for EmptyRegionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a region name is empty (try \"West US 2\")")
    }
}

impl std::error::Error for EmptyRegionName {}

impl FromStr for RegionName {
    type Err = EmptyRegionName;

    fn from_str(text: &str) -> Result<Self, EmptyRegionName> {
        let text = text.trim();
        if text.is_empty() { Err(EmptyRegionName) } else { Ok(Self::from(text)) }
    }
}

impl From<&str> for RegionName {
    fn from(name: &str) -> Self {
        Self(Arc::from(name))
    }
}

impl From<String> for RegionName {
    fn from(name: String) -> Self {
        Self(Arc::from(name))
    }
}

impl PartialEq for RegionName {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0 == other.0 || self.significant().eq(other.significant())
    }
}

impl Eq for RegionName {}

impl Hash for RegionName {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.significant().for_each(|c| c.hash(state));
    }
}

impl PartialOrd for RegionName {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for RegionName {
    fn cmp(&self, other: &Self) -> Ordering {
        self.significant().cmp(other.significant())
    }
}

impl fmt::Display for RegionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for RegionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl Serialize for RegionName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for RegionName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self::from(String::deserialize(deserializer)?))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_compare_without_space_or_case() {
        for (a, b, same) in [
            ("West US 2", "westus2", true),
            ("westus2", "WESTUS2", true),
            ("West US", "West US 2", false),
            ("East US", "West US", false),
        ] {
            let (a, b) = (RegionName::from(a), RegionName::from(b));
            assert_eq!(a == b, same, "{a} and {b}");
            assert_eq!(a.cmp(&b).is_eq(), same, "{a} and {b}");
            assert_eq!(HashSet::from([a, b]).len() == 1, same);
        }
    }

    #[test]
    fn an_empty_name_is_refused() {
        assert_eq!(" ".parse::<RegionName>(), Err(EmptyRegionName));
    }
}
