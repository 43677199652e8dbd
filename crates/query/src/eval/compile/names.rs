//! The names that are visible at a place in a query, and what each stands for.

use super::super::node::Node;
use crate::ast::PathSegment;

/// What a name stands for.
#[derive(Clone, Debug)]
pub(super) enum Target {
    /// The document, or a path of it.
    Document(Vec<PathSegment>),
    /// A variable, counted from the outermost binding.
    Var(usize),
}

/// Names in scope, the innermost last.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    bound: Vec<(String, Target)>,
    vars: usize,
}

impl Names {
    pub(super) fn find(&self, name: &str) -> Option<&Target> {
        self.bound.iter().rev().find(|(known, _)| known == name).map(|(_, target)| target)
    }

    pub(super) fn bind(&mut self, name: &str, target: Target) {
        self.bound.push((name.to_owned(), target));
    }

    pub(super) fn bind_var(&mut self, name: &str) {
        self.bind(name, Target::Var(self.vars));
        self.vars += 1;
    }

    /// How many variables are in scope.
    pub(super) fn depth(&self) -> usize {
        self.vars
    }

    /// The node that reads a variable from here.
    pub(super) fn node(&self, target: &Target) -> Node {
        match target {
            Target::Document(_) => Node::Root,
            Target::Var(index) => Node::Var(self.vars - 1 - index),
        }
    }

    /// The variables that this scope adds to those of `outer`.
    pub(super) fn vars_since(&self, outer: &Names) -> std::ops::Range<usize> {
        outer.vars..self.vars
    }
}
