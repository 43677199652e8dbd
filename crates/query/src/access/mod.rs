//! What an index could do for a query: a filter that every matching document passes, and the order asked for.
//!
//! The filter is a superset: documents it lets through still have to be tested, but none that matches is left
//! out. Paths are as written in the query; one that begins with a computed property leads to nothing that is
//! stored, and whoever knows of such properties has to ignore conditions on them. Whether an index exists, and
//! whether using it pays, is not decided here.

mod condition;
mod filter;
mod path;
mod score;
mod shape;
#[cfg(test)]
mod tests;

pub use filter::IndexFilter;
pub use path::{DocPath, DocSegment};
pub use score::ScoreOrder;

use crate::ast::{Collection, Expr, From, OrderBy, PathSegment, Query, SelectSpec, Source};
use crate::parameters::Parameters;

/// What an index could do for a query.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Access {
    /// A condition that holds for every document the query takes a row from.
    pub filter: Option<IndexFilter>,
    /// The `ORDER BY` paths, if all of them lead to one value of the document.
    pub order: Option<Vec<OrderPath>>,
    /// The score that `ORDER BY` sorts by, if it is one of a path and the best come first.
    pub score: Option<ScoreOrder>,
    /// For `GROUP BY` or `DISTINCT` without `ORDER BY`: a path to one value of the document that all rows of a group, or
    /// all equal rows, have in common.
    pub lead: Option<DocPath>,
    /// Whether each row shows the document that it comes from, so that rows of two documents are never equal.
    pub shows_document: bool,
}

/// One key of an order that an index could provide.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderPath {
    /// The path sorted by.
    pub path: DocPath,
    /// Whether the greatest comes first.
    pub descending: bool,
}

/// Finds out what an index could do for a query.
///
/// ```
/// use cosmonaut_query::access::{DocPath, IndexFilter, access};
/// use cosmonaut_query::{Parameters, parse, value::Value};
///
/// let query = parse("SELECT * FROM c WHERE c.kind = 'a' AND LENGTH(c.name) > 3").unwrap();
/// let filter = access(&query, &Parameters::new()).filter;
/// assert_eq!(filter, Some(IndexFilter::Equal(DocPath::root().member("kind"), Value::from("a"))));
/// ```
pub fn access(query: &Query, parameters: &Parameters) -> Access {
    let Some(from) = &query.from else { return Access::default() };
    let aliases = Aliases::new(from);
    let filter = query.filter.as_ref().and_then(|filter| aliases.condition(filter, parameters));
    Access {
        filter,
        order: order(query, &aliases),
        score: score::score(query, &aliases, parameters),
        lead: lead(query, &aliases),
        shows_document: shows_document(query, &aliases),
    }
}

/// The names of the members that lead to what an expression of a query is, where it is a path of the document.
pub(crate) fn member_names(query: &Query, expr: &Expr) -> Option<Vec<String>> {
    let path = Aliases::new(query.from.as_ref()?).path(expr)?;
    let name = |segment: &DocSegment| match segment {
        DocSegment::Member(name) => Some(name.clone()),
        DocSegment::Element => None,
    };
    path.segments().iter().map(name).collect()
}

fn lead(query: &Query, aliases: &Aliases) -> Option<DocPath> {
    let Query { select, group_by, order_by, .. } = query;
    let shared: Vec<&Expr> = match (select.distinct, group_by.is_empty()) {
        (_, _) if order_by.is_some() => return None,
        (false, false) => group_by.iter().collect(),
        (true, true) => selected(query),
        // What is made distinct after grouping can come from any group.
        (true, false) | (false, true) => return None,
    };
    shared.into_iter().find_map(|expr| aliases.path(expr).filter(DocPath::is_single))
}

fn shows_document(query: &Query, aliases: &Aliases) -> bool {
    let rid = DocPath::root().member("_rid");
    let is_root = |expr: &Expr| {
        matches!(expr.as_path(), Some((name, segments))
        if segments.is_empty() && aliases.get(name).is_some_and(DocPath::is_root))
    };
    let shows = |expr: &Expr| is_root(expr) || aliases.path(expr).as_ref() == Some(&rid);
    match &query.select.spec {
        SelectSpec::Star => query.from.as_ref().is_some_and(|from| {
            from.source.binding().and_then(|name| aliases.get(name)).is_some_and(DocPath::is_root)
        }),
        SelectSpec::Value(_) | SelectSpec::List(_) => selected(query).into_iter().any(shows),
    }
}

fn selected(query: &Query) -> Vec<&Expr> {
    match &query.select.spec {
        SelectSpec::Star => Vec::new(),
        SelectSpec::Value(value) => vec![value],
        SelectSpec::List(items) => items.iter().map(|item| &item.expr).collect(),
    }
}

fn order(query: &Query, aliases: &Aliases) -> Option<Vec<OrderPath>> {
    let Some(OrderBy::Keys(keys)) = &query.order_by else { return None };
    let paths = keys.iter().map(|key| {
        let path = aliases.path(&key.expr)?;
        path.is_single().then_some(OrderPath { path, descending: key.descending })
    });
    paths.collect()
}

/// Where in the document the names of a query lead.
#[derive(Clone, Debug, Default)]
struct Aliases(Vec<(String, DocPath)>);

impl Aliases {
    fn new(from: &From) -> Aliases {
        let mut aliases = Aliases::default();
        if let Collection::Path { segments, .. } = &from.source.collection {
            aliases.bind(&from.source, extend(DocPath::root(), segments));
        }
        aliases.join(&from.joins);
        aliases
    }

    /// Adds sources that start from names already known; others stay unknown, and so do conditions on them.
    fn join(&mut self, sources: &[Source]) {
        for source in sources {
            let base = match &source.collection {
                Collection::Path { root, segments } => {
                    self.get(root).map(|base| extend(base.clone(), segments))
                }
                Collection::Subquery(_) => None,
            };
            match (base, source.binding()) {
                (Some(base), _) => self.bind(source, base),
                // A name that hides an outer one must not be mistaken for it.
                (None, Some(hiding)) => self.0.retain(|(name, _)| name != hiding),
                (None, None) => {}
            }
        }
    }

    fn bind(&mut self, source: &Source, base: DocPath) {
        if let Some(name) = source.binding() {
            let path = if source.iterate { base.element() } else { base };
            self.0.push((name.to_owned(), path));
        }
    }

    /// The innermost binding of a name.
    fn get(&self, name: &str) -> Option<&DocPath> {
        self.0.iter().rev().find(|(known, _)| known == name).map(|(_, path)| path)
    }

    /// The document path of an expression that is one.
    fn path(&self, expr: &Expr) -> Option<DocPath> {
        let (root, segments) = expr.as_path()?;
        let path = extend(self.get(root)?.clone(), &segments);
        (!path.is_root()).then_some(path)
    }
}

fn extend(base: DocPath, segments: &[PathSegment]) -> DocPath {
    segments.iter().fold(base, |path, segment| match segment {
        PathSegment::Member(name) => path.member(name),
        PathSegment::Index(_) => path.element(),
    })
}
