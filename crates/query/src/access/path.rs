//! Paths into documents, as an index knows them.

use std::fmt;

/// A path from the root of a document.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DocPath(Vec<DocSegment>);

/// One step of a [`DocPath`].
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DocSegment {
    /// A member of an object.
    Member(String),
    /// Any element of an array: an index does not keep positions.
    Element,
}

impl DocPath {
    /// The document itself.
    pub fn root() -> DocPath {
        DocPath::default()
    }

    /// This path and one step more.
    pub fn join(&self, segment: DocSegment) -> DocPath {
        let mut segments = self.0.clone();
        segments.push(segment);
        DocPath(segments)
    }

    /// This path and a member of what it leads to.
    pub fn member(&self, name: impl Into<String>) -> DocPath {
        self.join(DocSegment::Member(name.into()))
    }

    /// This path and any element of what it leads to.
    pub fn element(&self) -> DocPath {
        self.join(DocSegment::Element)
    }

    /// The steps.
    pub fn segments(&self) -> &[DocSegment] {
        &self.0
    }

    /// Whether it leads to the document itself.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether it leads to at most one value of a document, because it passes no array.
    pub fn is_single(&self) -> bool {
        self.0.iter().all(|segment| matches!(segment, DocSegment::Member(_)))
    }

    /// Whether it consists of exactly these member names.
    pub fn is_members(&self, names: &[String]) -> bool {
        let same =
            |(segment, name): (&DocSegment, &String)| matches!(segment, DocSegment::Member(m) if m == name);
        self.0.len() == names.len() && self.0.iter().zip(names).all(same)
    }
}

/// Written as indexing policies write paths: `/tags/[]/name`.
impl fmt::Display for DocPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("/");
        }
        self.0.iter().try_for_each(|segment| match segment {
            DocSegment::Element => f.write_str("/[]"),
            DocSegment::Member(name) if crate::lexer::is_identifier(name) => write!(f, "/{name}"),
            DocSegment::Member(name) => {
                let quoted = name.replace('\\', "\\\\").replace('"', "\\\"");
                write!(f, "/\"{quoted}\"")
            }
        })
    }
}
