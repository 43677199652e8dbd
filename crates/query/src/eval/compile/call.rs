//! Calls of built-in functions to nodes: what is constant is computed, what is known early is prepared.

use std::mem;

use super::super::block::Block;
use super::super::environment::ComputedProperty;
use super::super::error::CompileError;
use super::super::node::{Node, RegexCall};
use super::super::scope::Const;
use super::super::spatial_call::SpatialCall;
use super::super::val::Val;
use super::{Compiled, Compiler};
use crate::ast::{BinaryOp, Expr, Span};
use crate::functions::{self, AggregateKind, FunctionInfo, Implementation};

impl Compiler<'_> {
    pub(super) fn call(&mut self, name: &str, arguments: &[Expr], span: Span) -> Compiled<Node> {
        let Some(info) = functions::lookup(name) else { return Err(unknown_function(name, span)) };
        check_count(info, arguments.len(), span)?;
        match info.implementation {
            Implementation::Aggregate(kind) => self.aggregate(kind, info, arguments, span),
            Implementation::Random => Ok(Node::Random),
            Implementation::Now(read) => Ok(Node::Const(Const::new(read(self.environment.now_ticks)))),
            Implementation::Shifted(sign) => {
                let now = Node::Const(Const::new(functions::current_date_time(self.environment.now_ticks)));
                if arguments.is_empty() {
                    return Ok(now);
                }
                let sign = Node::Const(Const::new(Val::Number(sign)));
                let nodes = self.exprs(arguments)?;
                Ok(self.shifted(nodes, sign, now))
            }
            Implementation::Choice => {
                let mut nodes = self.exprs(arguments)?.into_iter();
                let mut next = || nodes.next().unwrap_or(Node::Const(Const::new(Val::Undefined)));
                Ok(Node::Conditional(Box::new([next(), next(), next()])))
            }
            Implementation::Regex(..) if !functions::REGEX_AVAILABLE => {
                let message = format!("{name} cannot be run by this build: it has no regular expressions");
                Err(CompileError::new(span, message))
            }
            Implementation::Regex(apply, modifiers) => {
                let nodes = self.exprs(arguments)?;
                Ok(self.regex(nodes, apply, modifiers))
            }
            Implementation::Spatial(function) => {
                let nodes = self.exprs(arguments)?;
                let constant = nodes.iter().all(Node::is_const);
                let call = SpatialCall::new(function, self.environment.setting.surface, nodes);
                Ok(self.folded(constant, Node::Spatial(Box::new(call))))
            }
            Implementation::Search(function) => self.search(function, arguments),
            Implementation::Scalar(apply) => {
                let nodes = self.exprs(arguments)?;
                let constant = nodes.iter().all(Node::is_const);
                Ok(self.folded(constant, Node::Call(apply, nodes)))
            }
        }
    }

    /// A regular expression that is constant is compiled here rather than for each row.
    fn regex(&self, arguments: Vec<Node>, apply: functions::ApplyRegex, modifiers: usize) -> Node {
        let constant = |place: usize| match arguments.get(place) {
            Some(Node::Const(value)) => Some(value.get()),
            _ => None,
        };
        let pattern = match (constant(1), constant(modifiers)) {
            (Some(pattern), given) if given.is_some() || arguments.len() <= modifiers => {
                match functions::compile_regex(&pattern, given.as_ref()) {
                    Some(compiled) => Some(compiled),
                    None => return Node::Const(Const::new(Val::Undefined)),
                }
            }
            _ => None,
        };
        let all_constant = arguments.iter().all(Node::is_const);
        let call = RegexCall { apply, modifiers, pattern, arguments };
        self.folded(all_constant, Node::Regex(Box::new(call)))
    }

    /// `DateTimeAdd` of the part and the number that are given, the number times a sign.
    fn shifted(&self, arguments: Vec<Node>, sign: Node, now: Node) -> Node {
        let constant = arguments.iter().all(Node::is_const);
        let mut given = arguments.into_iter();
        let mut next = || given.next().unwrap_or(Node::Const(Const::new(Val::Undefined)));
        let (part, count) = (next(), Node::Arithmetic(BinaryOp::Mul, Box::new([next(), sign])));
        self.folded(constant, Node::Call(functions::date_time_add, vec![part, count, now]))
    }

    /// An aggregate's argument sees the rows, not the groups.
    fn aggregate(
        &mut self,
        kind: AggregateKind,
        info: &FunctionInfo,
        arguments: &[Expr],
        span: Span,
    ) -> Compiled<Node> {
        let Some(mut aggregating) = self.aggregating.take() else {
            let message = format!(
                "{} cannot stand here: aggregates belong in SELECT, and not inside each other",
                info.name
            );
            return Err(CompileError::new(span, message));
        };
        let group_names = mem::replace(&mut self.names, aggregating.row_names.clone());
        let argument = arguments.first().map(|argument| self.expr(argument)).transpose();
        self.names = group_names;
        let argument = argument?.unwrap_or(Node::Const(Const::new(Val::Number(1.0))));
        aggregating.grouping.aggregates.push((kind, argument));
        let index = aggregating.grouping.aggregates.len() - 1;
        self.aggregating = Some(aggregating);
        Ok(Node::Aggregate(index))
    }

    /// A computed property as a subquery over the document.
    pub(super) fn computed(&mut self, computed: &ComputedProperty) -> Compiled<Block> {
        // It sees neither the names around the reference nor other computed properties.
        let names = mem::take(&mut self.names);
        let others = mem::take(&mut self.environment.computed);
        let block = self.query(&computed.query, true);
        self.names = names;
        self.environment.computed = others;
        block.map_err(|error| {
            CompileError::new(
                error.span,
                format!("the computed property `{}`: {}", computed.name, error.message),
            )
        })
    }
}

fn check_count(info: &FunctionInfo, given: usize, span: Span) -> Compiled<()> {
    if (info.min_args..=info.max_args).contains(&given) {
        return Ok(());
    }
    let expected = match (info.min_args, info.max_args) {
        (min, max) if min == max => format!("{min}"),
        (min, usize::MAX) => format!("{min} or more"),
        (min, max) => format!("{min} to {max}"),
    };
    let message = format!("{} takes {expected} arguments and was given {given}", info.name);
    Err(CompileError::new(span, message))
}

fn unknown_function(name: &str, span: Span) -> CompileError {
    CompileError::new(span, format!("there is no function {name}"))
}
