//! Walking a syntax tree without naming every form of it.
//!
//! Subqueries are scopes of their own, so they are handed out as such and never entered silently.

use crate::ast::{Collection, Expr, ExprKind, Literal, OrderKey, PathSegment, Query, SelectItem, Source};
use crate::search::is_score;

impl Expr {
    /// The direct operands, in the order they are written. Subqueries have none; see [`Expr::subquery`].
    pub fn children(&self) -> Vec<&Expr> {
        match &self.kind {
            ExprKind::Literal(_) | ExprKind::Parameter(_) | ExprKind::Name(_) => Vec::new(),
            ExprKind::Subquery(_)
            | ExprKind::Exists(_)
            | ExprKind::ArraySubquery(_)
            | ExprKind::All(_)
            | ExprKind::First(_)
            | ExprKind::Last(_) => Vec::new(),
            ExprKind::Member(base, _) | ExprKind::Unary(_, base) => vec![base],
            ExprKind::Index(left, right) | ExprKind::Binary(_, left, right) => vec![left, right],
            ExprKind::Conditional(condition, then, otherwise) => vec![condition, then, otherwise],
            ExprKind::In { needle, haystack, .. } => std::iter::once(&**needle).chain(haystack).collect(),
            ExprKind::Between { value, low, high, .. } => vec![value, low, high],
            ExprKind::Like { value, pattern, escape, .. } => {
                [&**value, pattern].into_iter().chain(escape.as_deref()).collect()
            }
            ExprKind::Call(_, items) | ExprKind::Udf(_, items) | ExprKind::Array(items) => {
                items.iter().collect()
            }
            ExprKind::Object(members) => members.iter().map(|(_, value)| value).collect(),
        }
    }

    /// The subquery that this expression is.
    pub fn subquery(&self) -> Option<&Query> {
        match &self.kind {
            ExprKind::Subquery(query)
            | ExprKind::Exists(query)
            | ExprKind::ArraySubquery(query)
            | ExprKind::All(query)
            | ExprKind::First(query)
            | ExprKind::Last(query) => Some(query),
            _ => None,
        }
    }

    /// Whether `test` holds for this expression or anything in it, subqueries excepted.
    pub fn any(&self, test: &dyn Fn(&Expr) -> bool) -> bool {
        test(self) || self.children().into_iter().any(|child| child.any(test))
    }

    /// This expression as a path: the name it starts from and constant steps from there.
    pub fn as_path(&self) -> Option<(&str, Vec<PathSegment>)> {
        match &self.kind {
            ExprKind::Name(name) => Some((name, Vec::new())),
            ExprKind::Member(base, name) => {
                let (root, mut segments) = base.as_path()?;
                segments.push(PathSegment::Member(name.clone()));
                Some((root, segments))
            }
            ExprKind::Index(base, index) => {
                let ExprKind::Literal(Literal::Number(number)) = index.kind else { return None };
                let (root, mut segments) = base.as_path()?;
                let whole = number.fract() == 0.0 && (0.0..9_007_199_254_740_992.0).contains(&number);
                segments.push(whole.then_some(PathSegment::Index(number as u64))?);
                Some((root, segments))
            }
            _ => None,
        }
    }
}

impl Source {
    /// The name that rows are bound to: the alias, or else the last name of the path.
    ///
    /// A subquery and a path that ends in an array index have no name of their own.
    pub fn binding(&self) -> Option<&str> {
        match (&self.alias, &self.collection) {
            (Some(alias), _) => Some(alias),
            (None, Collection::Subquery(_)) => None,
            (None, Collection::Path { root, segments }) => match segments.last() {
                None => Some(root),
                Some(PathSegment::Member(name)) => Some(name),
                Some(PathSegment::Index(_)) => None,
            },
        }
    }
}

impl OrderKey {
    /// Whether the expression is a score, which is computed for each document. What has no score comes last.
    pub fn is_score(&self) -> bool {
        is_score(&self.expr)
    }

    /// Whether rows are held by falling keys. Scores always are: one that rises is held negated.
    pub fn falls(&self) -> bool {
        self.descending || self.is_score()
    }
}

impl SelectItem {
    /// The name of this item in the result: its alias, or else the last name of its path. Items without
    /// either are numbered `$1`, `$2`, … by whoever produces the result.
    pub fn name(&self) -> Option<&str> {
        match (&self.alias, &self.expr.kind) {
            (Some(alias), _) => Some(alias),
            (None, ExprKind::Name(name) | ExprKind::Member(_, name)) => Some(name),
            (None, _) => None,
        }
    }
}

/// The names of a select list's items in the result; those without a name are numbered `$1`, `$2`, ….
pub(crate) fn item_names(items: &[SelectItem]) -> Vec<String> {
    let mut unnamed = 0;
    let mut name = |item: &SelectItem| match item.name() {
        Some(name) => name.to_owned(),
        None => {
            unnamed += 1;
            format!("${unnamed}")
        }
    };
    items.iter().map(&mut name).collect()
}
