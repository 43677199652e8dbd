//! Syntax tree to program: one block per `SELECT`, names resolved, constants folded, document paths gathered.
//!
//! What an expression becomes is in [`expr`], a call in [`call`], `FROM` in [`sources`]; this file does the other clauses.

mod call;
mod expr;
mod names;
mod search;
mod sources;

use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::AtomicU64;

use super::block::{Block, OrderNode, Projection};
use super::environment::Environment;
use super::error::CompileError;
use super::group::Grouping;
use super::interrupt::Interrupt;
use super::node::Node;
use super::program::Inner;
use super::scope::{Const, Document, Run, Scope};
use super::user_functions::Functions;
use crate::Parameters;
use crate::ast::{
    self, Count, Expr, ExprKind, LARGEST_COUNT, OrderBy, OrderKey, Query, SelectItem, SelectSpec, Span,
};
use crate::functions;
use crate::raw::{PathScan, PathSet, RawJson};
use crate::value::Value;
use crate::walk;
use names::Names;
use sources::source_alias;

type Compiled<T> = Result<T, CompileError>;

/// Compiles a query, outermost block and all.
pub(super) fn compile(
    query: &Query,
    parameters: &Parameters,
    environment: &Environment<'_>,
) -> Compiled<Inner> {
    let seed = ((environment.random)() * (1u64 << 53) as f64) as u64;
    let mut compiler = Compiler {
        parameters,
        environment: *environment,
        paths: PathSet::default(),
        names: Names::default(),
        used_vars: Vec::new(),
        aggregating: None,
        seed: AtomicU64::new(seed),
        user_functions: Vec::new(),
    };
    let block = compiler.query(query, true)?;
    Ok(Inner {
        block,
        paths: compiler.paths.into_scan(),
        limits: environment.limits,
        reads_documents: query.from.is_some(),
        random: compiler.seed,
        user_functions: compiler.user_functions,
    })
}

struct Compiler<'e> {
    parameters: &'e Parameters,
    environment: Environment<'e>,
    paths: PathSet,
    names: Names,
    /// The variables referred to so far, each counted from the outermost binding.
    used_vars: Vec<usize>,
    /// Set while the `SELECT` of a grouped query is compiled.
    aggregating: Option<Aggregating>,
    seed: AtomicU64,
    /// The names of user-defined functions.
    user_functions: Vec<String>,
}

/// What the `SELECT` of a grouped query may refer to.
struct Aggregating {
    /// The places of the `GROUP BY` expressions by their text, printed so that spacing is no matter.
    keys: HashMap<String, usize>,
    grouping: Grouping,
    /// The names of the rows, which only the arguments of aggregates see.
    row_names: Names,
}

impl Compiler<'_> {
    /// Compiles one `SELECT`. In the outermost one the first unknown name of `FROM` is the container.
    fn query(&mut self, query: &Query, outermost: bool) -> Compiled<Block> {
        let outer_names = self.names.clone();
        let outer_aggregating = self.aggregating.take();
        let block = self.clauses(query, outermost, &outer_names);
        self.names = outer_names;
        self.aggregating = outer_aggregating;
        block
    }

    fn clauses(&mut self, query: &Query, outermost: bool, outer_names: &Names) -> Compiled<Block> {
        let sources = self.from(query.from.as_ref(), outermost)?;
        let (guard, filter) = self.conditions(query.filter.as_ref(), outer_names)?;
        let order = self.order_by(query)?;
        let (grouping, projection) = if is_grouped(query) {
            self.grouped(query, outer_names)?
        } else {
            (None, self.projection(query)?)
        };
        let (offset, limit) = self.cut(query)?;
        Ok(Block {
            sources,
            guard,
            filter,
            grouping,
            projection,
            order,
            distinct: query.select.distinct,
            offset,
            limit,
        })
    }

    /// Splits a condition into what can be asked before the rows of this block are made, and the rest.
    fn conditions(&mut self, filter: Option<&Expr>, outer: &Names) -> Compiled<(Option<Node>, Option<Node>)> {
        let (mut before, mut after) = (Vec::new(), Vec::new());
        let mut conjuncts = Vec::new();
        if let Some(filter) = filter {
            expr::flatten(filter, ast::BinaryOp::And, &mut conjuncts);
        }
        for conjunct in conjuncts {
            reject_aggregates(conjunct, "WHERE")?;
            let already_used = self.used_vars.len();
            let node = self.expr(conjunct)?;
            let own = self.names.vars_since(outer);
            let needs_own = self.used_vars[already_used..].iter().any(|var| own.contains(var));
            if needs_own { after.push(node) } else { before.push(node) }
        }
        let all = |mut nodes: Vec<Node>| match nodes.len() {
            0 | 1 => nodes.pop(),
            _ => Some(Node::And(nodes)),
        };
        Ok((all(before), all(after)))
    }

    fn order_by(&mut self, query: &Query) -> Compiled<Vec<OrderNode>> {
        let keys = match &query.order_by {
            None => return Ok(Vec::new()),
            Some(OrderBy::Keys(keys)) => keys,
            Some(OrderBy::Rank(rank)) => {
                let message = "ORDER BY RANK compares documents with all others: run what its plan says";
                return Err(CompileError::new(rank.span, message));
            }
        };
        if let (Some(key), false) = (keys.first(), query.group_by.is_empty()) {
            let message = "ORDER BY cannot be combined with GROUP BY: sort the result in the client";
            return Err(CompileError::new(key.expr.span, message));
        }
        if is_grouped(query) {
            // Aggregates of all rows make one row, whatever the order.
            return Ok(Vec::new());
        }
        keys.iter().map(|key| self.order_key(key)).collect()
    }

    fn order_key(&mut self, key: &OrderKey) -> Compiled<OrderNode> {
        let node = self.expr(&key.expr)?;
        if !key.is_score() {
            return Ok(OrderNode { key: node, descending: key.descending });
        }
        let falling = match &node {
            Node::Search(search) if key.by_similarity => search.is_greatest_nearest(),
            _ => key.descending || key.by_similarity,
        };
        // What rises is negated, so that what has no score comes last in both directions.
        let key = if falling { node } else { Node::Unary(ast::UnaryOp::Minus, Box::new(node)) };
        Ok(OrderNode { key, descending: true })
    }

    /// Compiles the `SELECT` of a grouped query, which sees groups rather than rows.
    fn grouped(&mut self, query: &Query, outer_names: &Names) -> Compiled<(Option<Grouping>, Projection)> {
        let mut keys = Vec::new();
        for key in &query.group_by {
            reject_aggregates(key, "GROUP BY")?;
            keys.push(self.expr(key)?);
        }
        let row_names = std::mem::replace(&mut self.names, outer_names.clone());
        self.aggregating = Some(Aggregating {
            keys: query.group_by.iter().enumerate().map(|(place, key)| (key.to_string(), place)).collect(),
            grouping: Grouping { keys, aggregates: Vec::new() },
            row_names,
        });
        let projection = self.projection(query)?;
        let grouping = self.aggregating.take().map(|aggregating| aggregating.grouping);
        Ok((grouping, projection))
    }

    fn projection(&mut self, query: &Query) -> Compiled<Projection> {
        match &query.select.spec {
            SelectSpec::Star => self.star(query).map(Projection::Value),
            SelectSpec::Value(value) => self.expr(value).map(Projection::Value),
            SelectSpec::List(items) => self.list(items).map(Projection::Object),
        }
    }

    /// `SELECT *`: the one thing that `FROM` binds.
    fn star(&mut self, query: &Query) -> Compiled<Node> {
        let fail = |message: &str| Err(CompileError::new(Span::default(), message));
        match &query.from {
            None => fail("SELECT * needs a FROM clause"),
            Some(_) if self.aggregating.is_some() => {
                fail("SELECT * cannot be combined with GROUP BY: name what is selected")
            }
            Some(from) if !from.joins.is_empty() => {
                fail("SELECT * is only possible with a single source in FROM: name what is selected")
            }
            Some(from) => {
                let alias = source_alias(&from.source)?;
                self.name(alias, from.source.span)
            }
        }
    }

    fn list(&mut self, items: &[SelectItem]) -> Compiled<Vec<(Box<str>, Node)>> {
        let mut members = Vec::with_capacity(items.len());
        let mut known = HashSet::new();
        for (item, name) in items.iter().zip(walk::item_names(items)) {
            if !known.insert(name.clone()) {
                let message = format!("`{name}` is selected twice: give one of the two another name with AS");
                return Err(CompileError::new(item.expr.span, message));
            }
            members.push((name.into(), self.expr(&item.expr)?));
        }
        Ok(members)
    }

    /// The rows to pass over and the most to emit.
    fn cut(&self, query: &Query) -> Compiled<(u64, Option<u64>)> {
        let top = query.select.top.as_ref().map(|top| self.count(top, "TOP")).transpose()?;
        let Some(page) = &query.offset_limit else { return Ok((0, top)) };
        let (offset, limit) = (self.count(&page.offset, "OFFSET")?, self.count(&page.limit, "LIMIT")?);
        Ok((offset, Some(top.map_or(limit, |top| top.min(limit)))))
    }

    fn count(&self, count: &Count, clause: &str) -> Compiled<u64> {
        let (name, span) = match count {
            Count::Literal(count) => return Ok(*count),
            Count::Parameter(name, span) => (name, *span),
        };
        match self.parameters.get(name) {
            Some(Value::Number(number))
                if (0.0..=LARGEST_COUNT as f64).contains(number) && number.fract() == 0.0 =>
            {
                Ok(*number as u64)
            }
            Some(_) => Err(CompileError::new(
                span,
                format!("{clause} {name}: the parameter must be an integer from 0 to {LARGEST_COUNT}"),
            )),
            None => Err(unknown_parameter(name, span)),
        }
    }

    /// Evaluates a node that depends on nothing, once and for all.
    fn fold(&self, node: Node) -> Node {
        let text = RawJson::new(b"");
        let document = Document { text, slots: PathScan::default().extract(text) };
        let run = Run {
            limits: self.environment.limits,
            random: &self.seed,
            steps: Cell::new(0),
            unseen: Cell::new(0),
            // What takes long is left to the run, which can be stopped.
            interrupt: &Interrupt::when(|| true),
            functions: &Functions::default(),
            words: Default::default(),
        };
        let scope = Scope { run: &run, document: &document, vars: None, group: None };
        let folded = node.eval(&scope).map(Const::new);
        // A constant that cannot be computed must not fail a query that may never ask for it.
        match folded {
            Ok(value) => Node::Const(value),
            Err(_) => node,
        }
    }
}

fn is_aggregate(expr: &Expr) -> bool {
    matches!(&expr.kind, ExprKind::Call(name, _) if functions::lookup(name).is_some_and(|info| info.aggregate))
}

/// Whether rows are grouped: by `GROUP BY`, or by an aggregate in `SELECT` outside any subquery.
fn is_grouped(query: &Query) -> bool {
    !query.group_by.is_empty()
        || match &query.select.spec {
            SelectSpec::Star => false,
            SelectSpec::Value(value) => value.any(&is_aggregate),
            SelectSpec::List(items) => items.iter().any(|item| item.expr.any(&is_aggregate)),
        }
}

fn reject_aggregates(expr: &Expr, clause: &str) -> Compiled<()> {
    if expr.any(&is_aggregate) {
        let message = format!("an aggregate cannot stand in {clause}: use it in SELECT or in a subquery");
        return Err(CompileError::new(expr.span, message));
    }
    Ok(())
}

fn unknown_name(name: &str, span: Span) -> CompileError {
    CompileError::new(span, format!("`{name}` is not known here: it is no alias of FROM or JOIN"))
}

fn unknown_parameter(name: &str, span: Span) -> CompileError {
    CompileError::new(span, format!("the parameter {name} has no value: add it to the query's parameters"))
}
