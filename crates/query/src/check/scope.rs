//! The names that an expression can use.

use crate::ast::{Collection, Expr, Query};

/// The bindings of a query and of the queries around it.
#[derive(Clone)]
pub(super) struct Scope<'q> {
    /// Innermost last; a name can occur again further in.
    names: Vec<&'q str>,
    /// Where the bindings of the current query begin.
    own: usize,
    depth: usize,
    /// Whether the first source of a query in this scope is the container, whatever it is called.
    container: bool,
}

impl<'q> Scope<'q> {
    /// The scope around the whole query.
    pub(super) fn outermost() -> Scope<'q> {
        Scope { names: Vec::new(), own: 0, depth: 0, container: true }
    }

    /// The scope of a query within this one, before its own sources.
    pub(super) fn nested(&self) -> Scope<'q> {
        Scope { names: self.names.clone(), own: self.names.len(), depth: self.depth + 1, container: false }
    }

    /// This scope for a query that is itself the first source, and so ranges over the container.
    pub(super) fn with_container(&self) -> Scope<'q> {
        Scope { container: true, ..self.clone() }
    }

    /// Adds a binding of the current query; `false` if it already has one of that name.
    pub(super) fn bind(&mut self, name: &'q str) -> bool {
        let free = !self.names[self.own..].contains(&name);
        self.names.push(name);
        free
    }

    pub(super) fn contains(&self, name: &str) -> bool {
        self.names.contains(&name)
    }

    /// Whether the current query binds this name itself.
    pub(super) fn binds(&self, name: &str) -> bool {
        self.names[self.own..].contains(&name)
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &'q str> {
        self.names.iter().copied()
    }

    /// Whether the first source of a query in this scope is the container.
    pub(super) fn has_container(&self) -> bool {
        self.container
    }

    /// Whether the current query is not within another.
    pub(super) fn is_top_level(&self) -> bool {
        self.depth == 1
    }

    /// Whether an expression of the query is a path that leads from the document itself.
    pub(super) fn is_document_path(&self, query: &Query, expr: &Expr) -> bool {
        let Some((root, segments)) = expr.as_path() else { return false };
        let first = query.from.as_ref().map(|from| &from.source);
        !segments.is_empty()
            && first.is_some_and(|source| {
                let whole = matches!(&source.collection, Collection::Path { .. });
                whole && !source.iterate && source.binding() == Some(root)
            })
    }
}
