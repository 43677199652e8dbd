//! `FROM` and `JOIN`: what each source binds, and what its alias stands for.

use super::super::block::{Block, Source};
use super::super::error::CompileError;
use super::super::node::Node;
use super::super::scope::Const;
use super::super::val::Val;
use super::names::Target;
use super::{Compiled, Compiler, unknown_name};
use crate::ast::{self, Collection, PathSegment, Span};
use crate::raw::MAX_DEPTH;

/// How many `JOIN`s one `SELECT` may have, as in the service.
const MAX_JOINS: usize = 10;
/// How many variables may be in scope at one place.
const MAX_VARIABLES: usize = 100;

impl Compiler<'_> {
    pub(super) fn from(&mut self, from: Option<&ast::From>, outermost: bool) -> Compiled<Vec<Source>> {
        let mut sources = Vec::new();
        let Some(from) = from else { return Ok(sources) };
        if from.joins.len() > MAX_JOINS {
            let message =
                format!("the query has {} JOINs: at most {MAX_JOINS} are allowed", from.joins.len());
            return Err(CompileError::new(from.joins[MAX_JOINS].span, message));
        }
        for (place, source) in std::iter::once(&from.source).chain(&from.joins).enumerate() {
            sources.extend(self.source(source, outermost && place == 0)?);
        }
        Ok(sources)
    }

    /// Binds a name to a new variable. Each takes a place on the stack of whoever evaluates it.
    fn bind_var(&mut self, name: &str, span: Span) -> Compiled<()> {
        if self.names.depth() == MAX_VARIABLES {
            let message =
                format!("more than {MAX_VARIABLES} sources are nested in each other: flatten the query");
            return Err(CompileError::new(span, message));
        }
        self.names.bind_var(name);
        Ok(())
    }

    fn source(&mut self, source: &ast::Source, is_container: bool) -> Compiled<Option<Source>> {
        let alias = source_alias(source)?;
        let (root, segments) = match &source.collection {
            Collection::Path { root, segments } => (root, segments),
            Collection::Subquery(query) => {
                let block = self.query(query, is_container)?;
                if is_container {
                    reject_whole_container(&block, source.span)?;
                }
                self.bind_var(alias, source.span)?;
                return Ok(Some(if source.iterate {
                    Source::RowElements(block)
                } else {
                    Source::Rows(block)
                }));
            }
        };
        if segments.len() > MAX_DEPTH {
            let message =
                format!("the path has {} steps, and no document is deeper than {MAX_DEPTH}", segments.len());
            return Err(CompileError::new(source.span, message));
        }
        let target = match self.names.find(root) {
            Some(target) => target.clone(),
            None if is_container || root.eq_ignore_ascii_case("root") => Target::Document(Vec::new()),
            None => return Err(unknown_name(root, source.span)),
        };
        let target = match target {
            Target::Document(mut path) => {
                path.extend_from_slice(segments);
                Target::Document(path)
            }
            Target::Var(_) if segments.is_empty() && !source.iterate => target,
            Target::Var(_) => {
                let value = self.target_node(&target);
                let value = self.steps(value, segments);
                self.bind_var(alias, source.span)?;
                return Ok(Some(if source.iterate { Source::Elements(value) } else { Source::Bind(value) }));
            }
        };
        let value = self.target_node(&target);
        if source.iterate {
            self.bind_var(alias, source.span)?;
            return Ok(Some(Source::Elements(value)));
        }
        self.names.bind(alias, target);
        // The document and an earlier binding are there in any case; a path may lead nowhere.
        Ok(match value {
            Node::Path(_) => Some(Source::Present(value)),
            _ => None,
        })
    }

    fn steps(&self, base: Node, segments: &[PathSegment]) -> Node {
        segments.iter().fold(base, |base, segment| match segment {
            PathSegment::Member(name) => Node::Member(Box::new(base), name.as_str().into()),
            PathSegment::Index(index) => {
                let index = Node::Const(Const::new(Val::Number(*index as f64)));
                Node::Element(Box::new(base), Box::new(index))
            }
        })
    }
}

/// The name that a source's rows are bound to.
pub(super) fn source_alias(source: &ast::Source) -> Compiled<&str> {
    if let Some(alias) = &source.alias {
        return Ok(alias);
    }
    match &source.collection {
        Collection::Path { root, segments } => match segments.last() {
            None => Ok(root),
            Some(PathSegment::Member(name)) => Ok(name),
            Some(PathSegment::Index(_)) => Err(CompileError::new(
                source.span,
                "a source that ends in an array index needs an alias: add AS and a name",
            )),
        },
        // Nothing can be written that refers to it.
        Collection::Subquery(_) => Ok(""),
    }
}

/// A subquery in place of the container runs once for each document, so it cannot do what takes all of them.
fn reject_whole_container(block: &Block, span: Span) -> Compiled<()> {
    let whole =
        block.grouping.is_some() || !block.order.is_empty() || block.distinct || block.limit.is_some();
    if whole {
        let message = "a subquery over the container cannot group, sort, cut or make distinct: do that in the outer query";
        return Err(CompileError::new(span, message));
    }
    Ok(())
}
