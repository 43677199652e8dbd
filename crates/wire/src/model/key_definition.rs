//! How a container names its partition key: paths, kind and hash version.
//!
//! Extracting key values from documents and hashing them happen elsewhere.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::ExtraMembers;

open_enum! {
    /// How the paths of a [`PartitionKeyDefinition`] become one key.
    PartitionKeyKind {
        /// One path, hashed.
        Hash = "Hash",
        /// Up to three paths, each hashed: a hierarchical key.
        MultiHash = "MultiHash",
        /// Ordered by value, in containers of long ago.
        Range = "Range",
    }
}

/// A container's `partitionKey`.
///
/// ```
/// use cosmonaut_wire::model::{PartitionKeyDefinition, PartitionKeyKind};
///
/// assert_eq!(PartitionKeyDefinition::from("/tenant").kind(), &PartitionKeyKind::Hash);
/// assert_eq!(PartitionKeyDefinition::from(["/tenant", "/user"]).kind(), &PartitionKeyKind::MultiHash);
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PartitionKeyDefinition {
    /// Where the key is in a document, from the outermost level to the innermost: `/tenant`, `/address/city`.
    pub paths: Vec<String>,
    /// As written; see [`PartitionKeyDefinition::kind`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<PartitionKeyKind>,
    /// As written; see [`PartitionKeyDefinition::version`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// Whether the service chose the key itself, for a container made without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_key: Option<bool>,
    /// Members that this version does not know.
    #[serde(flatten)]
    pub extra: ExtraMembers,
}

impl PartitionKeyDefinition {
    /// The most levels a hierarchical key can have.
    pub const MAX_LEVELS: usize = 3;

    /// A key over `paths` with the current hash: `Hash` for one path, `MultiHash` for several.
    ///
    /// Nothing is checked here; see [`PartitionKeyDefinition::validate`].
    pub fn new(paths: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let paths: Vec<String> = paths.into_iter().map(Into::into).collect();
        let kind = if paths.len() > 1 { PartitionKeyKind::MultiHash } else { PartitionKeyKind::Hash };
        Self { paths, kind: Some(kind), version: Some(2), system_key: None, extra: ExtraMembers::new() }
    }

    /// The kind; a definition that does not say is `Hash`.
    pub fn kind(&self) -> &PartitionKeyKind {
        self.kind.as_ref().unwrap_or(&PartitionKeyKind::Hash)
    }

    /// The version of the hash; a definition that does not say is 1.
    pub fn version(&self) -> u32 {
        self.version.unwrap_or(1)
    }

    /// Checks what the service would: kind, version, the number of paths, and the form of each.
    pub fn validate(&self) -> Result<(), InvalidPartitionKeyDefinition> {
        use InvalidPartitionKeyDefinition as Invalid;
        let (levels, versions) = match self.kind() {
            PartitionKeyKind::Hash | PartitionKeyKind::Range => (1..=1, 1..=2),
            PartitionKeyKind::MultiHash => (1..=Self::MAX_LEVELS, 2..=2),
            PartitionKeyKind::Other(kind) => return Err(Invalid::Kind(kind.clone())),
        };
        if !levels.contains(&self.paths.len()) {
            let (kind, count) = (self.kind().clone(), self.paths.len());
            return Err(Invalid::PathCount { kind, count, most: *levels.end() });
        }
        if !versions.contains(&self.version()) {
            return Err(Invalid::Version { kind: self.kind().clone(), version: self.version() });
        }
        self.path_segments().map(drop)
    }

    /// Each path as the member names that lead to the value: `/a/"b/c"` is `a`, then `b/c`.
    pub fn path_segments(&self) -> Result<Vec<Vec<String>>, InvalidPartitionKeyDefinition> {
        let parse = |path: &String| {
            segments(path)
                .map_err(|position| InvalidPartitionKeyDefinition::Path { path: path.clone(), position })
        };
        let parsed: Vec<_> = self.paths.iter().map(parse).collect::<Result<_, _>>()?;
        for (nth, path) in parsed.iter().enumerate() {
            if parsed[..nth].contains(path) {
                return Err(InvalidPartitionKeyDefinition::Repeated(self.paths[nth].clone()));
            }
        }
        Ok(parsed)
    }
}

/// The names of a path, or the byte at which it cannot go on: each name has a slash before it and is quoted if it holds
/// more than plain characters. A path has no wildcard and no slash at its end.
fn segments(path: &str) -> Result<Vec<String>, usize> {
    let mut segments = Vec::new();
    let mut rest = path;
    while !rest.is_empty() || segments.is_empty() {
        let at = |rest: &str| path.len() - rest.len();
        let after = rest.strip_prefix('/').ok_or_else(|| at(rest.trim_start()))?;
        let segment;
        (segment, rest) = match after.strip_prefix('"') {
            Some(quoted) => quoted_segment(quoted).ok_or_else(|| at(after))?,
            None => {
                let (plain, rest) = after.split_at(after.find(|c| !is_plain(c)).unwrap_or(after.len()));
                if plain.is_empty() {
                    return Err(at(after));
                }
                (plain.to_owned(), rest)
            }
        };
        segments.push(segment);
    }
    Ok(segments)
}

/// Whether a character may stand in a name that is not quoted.
fn is_plain(c: char) -> bool {
    !c.is_whitespace()
        && !c.is_control()
        && !matches!(c, '/' | '"' | '\\' | '*' | '?' | '(' | ')' | '[' | ']')
}

/// The text up to the closing quote, and what follows it; a backslash keeps the next character as it is.
fn quoted_segment(text: &str) -> Option<(String, &str)> {
    let mut segment = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' if segment.is_empty() => return None,
            '"' => return Some((segment, &text[at + 1..])),
            '\\' => segment.push(chars.next()?.1),
            _ => segment.push(c),
        }
    }
    None
}

impl From<&str> for PartitionKeyDefinition {
    fn from(path: &str) -> Self {
        Self::new([path])
    }
}

impl From<String> for PartitionKeyDefinition {
    fn from(path: String) -> Self {
        Self::new([path])
    }
}

impl<const N: usize> From<[&str; N]> for PartitionKeyDefinition {
    fn from(paths: [&str; N]) -> Self {
        Self::new(paths)
    }
}

impl From<Vec<String>> for PartitionKeyDefinition {
    fn from(paths: Vec<String>) -> Self {
        Self::new(paths)
    }
}

/// A partition key definition that no container can have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InvalidPartitionKeyDefinition {
    /// A kind that is none of the known ones.
    Kind(String),
    /// Too few or too many paths for the kind.
    PathCount {
        /// The kind.
        kind: PartitionKeyKind,
        /// How many paths there are.
        count: usize,
        /// The most there may be; the least is one.
        most: usize,
    },
    /// A hash version that the kind does not have.
    Version {
        /// The kind.
        kind: PartitionKeyKind,
        /// The version.
        version: u32,
    },
    /// A path that does not lead to a member.
    Path {
        /// The path.
        path: String,
        /// The byte at which it cannot go on.
        position: usize,
    },
    /// A path that occurs twice.
    Repeated(String),
}

impl fmt::Display for InvalidPartitionKeyDefinition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kind(kind) => {
                write!(f, "partition key kind {kind:?} is not known (try \"Hash\" or \"MultiHash\")")
            }
            Self::PathCount { kind, count, most: 1 } => {
                write!(f, "a {kind} partition key has exactly 1 path, not {count}")?;
                if *count > 1 { f.write_str(" (try kind \"MultiHash\")") } else { Ok(()) }
            }
            Self::PathCount { kind, count, most } => {
                let words = if count > most { "Too many partition key paths: " } else { "" };
                write!(f, "{words}a {kind} partition key has 1 to {most} paths, not {count}")
            }
            Self::Version { kind, version } => {
                write!(f, "a {kind} partition key has no version {version} (try 2)")
            }
            Self::Path { path, position } => write!(
                f,
                "The partition key component definition path '{path}' could not be accepted, failed near position \
                 '{position}'. Partition key paths must contain only valid characters and not contain a trailing \
                 slash or wildcard character. (Try \"/name\" or \"/outer/inner\", and quote other names: \
                 /\"first name\".)"
            ),
            Self::Repeated(path) => write!(f, "partition key path {path:?} occurs twice"),
        }
    }
}

impl std::error::Error for InvalidPartitionKeyDefinition {}

#[cfg(test)]
mod tests {
    use InvalidPartitionKeyDefinition as Invalid;

    use super::*;

    fn read(json: &str) -> PartitionKeyDefinition {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn what_a_definition_does_not_say_is_hash_version_1() {
        let definition = read(r#"{"paths":["/pk"]}"#);
        assert_eq!((definition.kind(), definition.version()), (&PartitionKeyKind::Hash, 1));
        assert_eq!(serde_json::to_string(&definition).unwrap(), r#"{"paths":["/pk"]}"#);
    }

    #[test]
    fn a_definition_the_service_would_refuse_is_refused() {
        let hash = PartitionKeyKind::Hash;
        let cases = [
            (r#"{"paths":["/a"]}"#, Ok(())),
            (r#"{"paths":["/a/b"],"kind":"Hash","version":2}"#, Ok(())),
            (r#"{"paths":["/a","/b","/c"],"kind":"MultiHash","version":2}"#, Ok(())),
            (r#"{"paths":["/a"],"kind":"Fuzzy"}"#, Err(Invalid::Kind("Fuzzy".into()))),
            (r#"{"paths":[]}"#, Err(Invalid::PathCount { kind: hash.clone(), count: 0, most: 1 })),
            (
                r#"{"paths":["/a","/b"],"kind":"Hash"}"#,
                Err(Invalid::PathCount { kind: hash.clone(), count: 2, most: 1 }),
            ),
            (
                r#"{"paths":["/a","/b","/c","/d"],"kind":"MultiHash","version":2}"#,
                Err(Invalid::PathCount { kind: PartitionKeyKind::MultiHash, count: 4, most: 3 }),
            ),
            (r#"{"paths":["/a"],"version":3}"#, Err(Invalid::Version { kind: hash, version: 3 })),
            (
                r#"{"paths":["/a"],"kind":"MultiHash"}"#,
                Err(Invalid::Version { kind: PartitionKeyKind::MultiHash, version: 1 }),
            ),
            (r#"{"paths":["a"]}"#, Err(Invalid::Path { path: "a".into(), position: 0 })),
            (
                r#"{"paths":["/a","/\"a\""],"kind":"MultiHash","version":2}"#,
                Err(Invalid::Repeated("/\"a\"".into())),
            ),
        ];
        for (json, expected) in cases {
            assert_eq!(read(json).validate(), expected, "{json}");
        }
    }

    #[test]
    fn paths_split_into_the_names_they_lead_through() {
        let cases: [(&str, Result<&[&str], usize>); 19] = [
            ("/a", Ok(&["a"])),
            ("/a/b", Ok(&["a", "b"])),
            (r#"/"a/b"/c"#, Ok(&["a/b", "c"])),
            (r#"/"say \"hi\"""#, Ok(&["say \"hi\""])),
            (r#"/"level 1*()"/"le/vel2""#, Ok(&["level 1*()", "le/vel2"])),
            ("/é", Ok(&["é"])),
            ("/partition-key", Ok(&["partition-key"])),
            ("", Err(0)),
            ("/", Err(1)),
            ("a", Err(0)),
            ("/a/", Err(3)),
            ("//a", Err(1)),
            ("/a/*", Err(3)),
            ("/a/[]", Err(3)),
            ("/a?", Err(2)),
            // As the service counts it.
            ("/asdwqr31 @#$#$WRadf", Err(10)),
            ("/a ", Err(3)),
            (r#"/"a"#, Err(1)),
            (r#"/"a"b"#, Err(4)),
        ];
        for (path, expected) in cases {
            let expected = expected.map(|names| names.iter().map(ToString::to_string).collect());
            assert_eq!(segments(path), expected, "{path}");
        }
    }
}
