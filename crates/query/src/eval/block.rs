//! One compiled `SELECT`, outermost or nested: where its rows come from and which are kept.
//!
//! What becomes of a kept row (grouping, sorting, cutting) is [`super::collect`]'s concern.

use std::ops::ControlFlow;

use super::collect::subquery_rows;
use super::error::EvalError;
use super::group::Grouping;
use super::node::{Node, write_object};
use super::scope::{Scope, Var};
use super::val::Val;
use crate::raw::RawJson;

/// A compiled query.
#[derive(Clone, Debug)]
pub(super) struct Block {
    pub(super) sources: Vec<Source>,
    /// The part of the condition that needs no variable of this block, so that it can be asked before any join.
    pub(super) guard: Option<Node>,
    /// The rest of the condition.
    pub(super) filter: Option<Node>,
    pub(super) grouping: Option<Grouping>,
    pub(super) projection: Projection,
    pub(super) order: Vec<OrderNode>,
    pub(super) distinct: bool,
    pub(super) offset: u64,
    pub(super) limit: Option<u64>,
}

/// A source of rows. The document itself needs none: it is always there.
#[derive(Clone, Debug)]
pub(super) enum Source {
    /// One row if the value is defined. Its alias stands for a path of the document, so nothing is bound.
    Present(Node),
    /// One row with the value bound, if it is defined.
    Bind(Node),
    /// A row for each element of an array.
    Elements(Node),
    /// A row for each row of a subquery.
    Rows(Block),
    /// A row for each element of each array that a subquery yields.
    RowElements(Block),
}

/// What a row yields.
#[derive(Clone, Debug)]
pub(super) enum Projection {
    Value(Node),
    Object(Vec<(Box<str>, Node)>),
}

/// One key of an `ORDER BY`.
#[derive(Clone, Debug)]
pub(super) struct OrderNode {
    pub(super) key: Node,
    pub(super) descending: bool,
}

/// Whether more rows are wanted.
pub(super) type Flow = Result<ControlFlow<()>, EvalError>;

pub(super) const MORE: Flow = Ok(ControlFlow::Continue(()));
pub(super) const ENOUGH: Flow = Ok(ControlFlow::Break(()));

impl Block {
    /// Calls `row` with the bindings of each row that the condition keeps, until it has enough.
    pub(super) fn each_row(&self, scope: Scope<'_>, row: &mut dyn FnMut(Scope<'_>) -> Flow) -> Flow {
        if !holds(self.guard.as_ref(), &scope)? {
            return MORE;
        }
        each_binding(&self.sources, scope, &mut |bound: Scope<'_>| {
            if holds(self.filter.as_ref(), &bound)? { row(bound) } else { MORE }
        })
    }

    /// Whether the query yields any row.
    pub(super) fn exists(&self, scope: Scope<'_>) -> Result<bool, EvalError> {
        if self.grouping.is_some() || self.limit.is_some() || self.offset > 0 || !self.order.is_empty() {
            return Ok(!subquery_rows(self, scope)?.is_empty());
        }
        let mut buffer = Vec::new();
        let flow = self.each_row(scope, &mut |bound| {
            buffer.clear();
            if self.projection.write(&bound, &mut buffer)? { ENOUGH } else { MORE }
        })?;
        Ok(flow.is_break())
    }
}

impl Projection {
    /// Appends the row's JSON; `false`, and nothing written, if the row yields no value.
    pub(super) fn write(&self, scope: &Scope<'_>, out: &mut Vec<u8>) -> Result<bool, EvalError> {
        match self {
            Projection::Value(node) => Ok(node.eval(scope)?.write_json(out)),
            Projection::Object(members) => write_object(members, scope, out).map(|()| true),
        }
    }
}

fn holds(condition: Option<&Node>, scope: &Scope<'_>) -> Result<bool, EvalError> {
    match condition {
        Some(condition) => Ok(condition.eval(scope)?.is_true()),
        None => Ok(true),
    }
}

fn each_binding(sources: &[Source], scope: Scope<'_>, row: &mut dyn FnMut(Scope<'_>) -> Flow) -> Flow {
    let Some((source, rest)) = sources.split_first() else { return row(scope) };
    let mut bind = |value: Val<'_>| {
        scope.run.row(0)?;
        let var = Var { value, outer: scope.vars };
        each_binding(rest, Scope { vars: Some(&var), ..scope }, row)
    };
    match source {
        Source::Present(node) => match node.eval(&scope)? {
            Val::Undefined => MORE,
            _ => each_binding(rest, scope, row),
        },
        Source::Bind(node) => match node.eval(&scope)? {
            Val::Undefined => MORE,
            value => bind(value),
        },
        Source::Elements(node) => each_element(&node.eval(&scope)?, &mut bind),
        Source::Rows(block) => {
            let rows = subquery_rows(block, scope)?;
            each(rows.iter(), |row| bind(Val::from_raw(RawJson::new(row))))
        }
        Source::RowElements(block) => {
            let rows = subquery_rows(block, scope)?;
            each(rows.iter(), |row| each_element(&Val::from_raw(RawJson::new(row)), &mut bind))
        }
    }
}

fn each_element(array: &Val<'_>, bind: &mut dyn FnMut(Val<'_>) -> Flow) -> Flow {
    match array.elements() {
        Some(elements) => each(elements, |element| bind(Val::from_raw(element))),
        None => MORE,
    }
}

fn each<T>(items: impl Iterator<Item = T>, mut row: impl FnMut(T) -> Flow) -> Flow {
    for item in items {
        if row(item)?.is_break() {
            return ENOUGH;
        }
    }
    MORE
}
