//! Paths as indexing policies write them: `/name/?`, `/address/*`, `/tags/[]/?`, `/"odd name"/?`.
//!
//! What a path means for the index is the policy's business.

use std::fmt;

use crate::failure::Failure;

/// One step down a document.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Step {
    /// The member of that name.
    Member(Box<str>),
    /// Any element of an array.
    Element,
}

/// A path from the root of a document.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct IndexPath(pub(crate) Vec<Step>);

/// What a path of a policy is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tail {
    /// `/?`: the value at the path.
    Value,
    /// `/*`: the value at the path and everything below it.
    Subtree,
    /// Nothing: the path by itself, as composite indexes have it.
    Bare,
}

impl IndexPath {
    /// Reads a path and what it ends in.
    pub(crate) fn parse(text: &str) -> Result<(IndexPath, Tail), Failure> {
        let mut steps = Vec::new();
        let mut rest = text;
        while let Some(after) = rest.strip_prefix('/') {
            match after {
                // The old way to write the root.
                "" if steps.is_empty() => return Ok((IndexPath(steps), Tail::Subtree)),
                "?" => return Ok((IndexPath(steps), Tail::Value)),
                "*" => return Ok((IndexPath(steps), Tail::Subtree)),
                _ => {}
            }
            let (step, length) = read_step(after).ok_or_else(|| invalid(text, after))?;
            steps.push(step);
            rest = &after[length..];
        }
        if rest.is_empty() && !steps.is_empty() {
            return Ok((IndexPath(steps), Tail::Bare));
        }
        Err(invalid(text, rest))
    }
}

/// The step that `text` starts with and its length in bytes.
fn read_step(text: &str) -> Option<(Step, usize)> {
    if text.starts_with("[]") {
        return Some((Step::Element, 2));
    }
    if let Some(quoted) = text.strip_prefix('"') {
        return read_quoted(quoted).map(|(name, length)| (Step::Member(name.into()), length + 1));
    }
    let plain = |c: char| c == '_' || c.is_alphanumeric();
    let length = text.find(|c| !plain(c)).unwrap_or(text.len());
    (length > 0).then(|| (Step::Member(text[..length].into()), length))
}

/// The name up to its closing quote and the length with that quote.
fn read_quoted(text: &str) -> Option<(String, usize)> {
    let mut name = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((name, at + 1)),
            '\\' => name.push(chars.next()?.1),
            _ => name.push(c),
        }
    }
    None
}

fn invalid(text: &str, rest: &str) -> Failure {
    let position = text.len() - rest.len();
    let wanted = match text.starts_with('/') {
        true => "is a valid path",
        false => "has at least one label, and that it starts with '/'",
    };
    Failure::bad_request(format!(
        "The indexing path '{text}' could not be accepted, failed near position '{position}'. Please ensure that the path \
         {wanted}. End it with '/?' or '/*', and put names with characters other than letters, digits and '_' into double \
         quotes."
    ))
}

impl fmt::Display for IndexPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for step in &self.0 {
            match step {
                Step::Element => f.write_str("/[]")?,
                Step::Member(name)
                    if name.chars().all(|c| c == '_' || c.is_alphanumeric()) && !name.is_empty() =>
                {
                    write!(f, "/{name}")?;
                }
                Step::Member(name) => write!(f, "/\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\""))?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_read_as_policies_write_them() {
        for (text, shown, tail) in [
            ("/", "", Tail::Subtree),
            ("/*", "", Tail::Subtree),
            ("/?", "", Tail::Value),
            ("/a/?", "/a", Tail::Value),
            ("/a/b/*", "/a/b", Tail::Subtree),
            ("/a/[]/?", "/a/[]", Tail::Value),
            ("/a/[]/b/*", "/a/[]/b", Tail::Subtree),
            ("/\"_etag\"/?", "/_etag", Tail::Value),
            (r#"/"a b \" / \\"/?"#, r#"/"a b \" / \\""#, Tail::Value),
            ("/größe/?", "/größe", Tail::Value),
            ("/name", "/name", Tail::Bare),
        ] {
            let (path, found) = IndexPath::parse(text).unwrap();
            assert_eq!((path.to_string().as_str(), found), (shown, tail), "{text}");
        }
    }

    #[test]
    fn a_bad_path_is_refused_with_its_position() {
        for (text, position) in [
            ("", 0),
            ("a/?", 0),
            ("//?", 1),
            ("/a-b/?", 2),
            ("/\"a/?", 1),
            ("/a/", 3),
            ("/a/?/b", 3),
            ("/*x", 1),
        ] {
            let message = IndexPath::parse(text).unwrap_err().message;
            assert!(message.contains(&format!("'{text}'")), "{message}");
            assert!(message.contains(&format!("position '{position}'")), "{text}: {message}");
        }
    }
}
