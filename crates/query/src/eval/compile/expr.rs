//! Expressions to nodes.

use std::collections::HashSet;

use super::super::block::Block;
use super::super::error::CompileError;
use super::super::node::{Node, like_pattern};
use super::super::scope::Const;
use super::super::val::Val;
use super::names::Target;
use super::{Compiled, Compiler, unknown_name, unknown_parameter};
use crate::ast::{BinaryOp, Expr, ExprKind, Literal, PathSegment, Query, Span, UnaryOp};
use crate::constant::constant;
use crate::value::Value;

impl Compiler<'_> {
    pub(super) fn expr(&mut self, expr: &Expr) -> Compiled<Node> {
        if let Some(key) = self.group_key(expr) {
            return Ok(key);
        }
        match &expr.kind {
            ExprKind::Literal(literal) => Ok(Node::Const(literal_const(literal))),
            ExprKind::Parameter(name) => self.parameter(name, expr.span),
            ExprKind::Name(name) => self.name(name, expr.span),
            ExprKind::Member(base, name) => self.member(expr, base, name),
            ExprKind::Index(base, index) => self.index(expr, base, index),
            ExprKind::Unary(op, operand) => {
                let operand = self.boxed(operand)?;
                let constant = operand.is_const();
                Ok(self.folded(constant, Node::Unary(*op, operand)))
            }
            ExprKind::Binary(op, left, right) => self.binary(expr, *op, left, right),
            ExprKind::Conditional(condition, then, otherwise) => Ok(Node::Conditional(Box::new([
                self.expr(condition)?,
                self.expr(then)?,
                self.expr(otherwise)?,
            ]))),
            ExprKind::In { needle, haystack, negated } => {
                let node = self.is_in(needle, haystack)?;
                Ok(negate(node, *negated))
            }
            ExprKind::Between { value, low, high, negated } => {
                let parts = [self.expr(value)?, self.expr(low)?, self.expr(high)?];
                Ok(negate(Node::Between(Box::new(parts)), *negated))
            }
            ExprKind::Like { value, pattern, escape, negated } => {
                let node = self.like(value, pattern, escape.as_deref())?;
                Ok(negate(node, *negated))
            }
            ExprKind::Call(name, arguments) => self.call(name, arguments, expr.span),
            ExprKind::Udf(name, arguments) => {
                let nodes = self.exprs(arguments)?;
                if !self.user_functions.contains(name) {
                    self.user_functions.push(name.clone());
                }
                Ok(Node::Udf(name.as_str().into(), nodes))
            }
            ExprKind::Object(members) => self.object(members, expr.span),
            ExprKind::Array(elements) => {
                let nodes = self.exprs(elements)?;
                let constant = nodes.iter().all(Node::is_const);
                Ok(self.folded(constant, Node::Array(nodes)))
            }
            ExprKind::Subquery(query) => Ok(Node::Scalar(self.subquery(query)?)),
            ExprKind::Exists(query) => Ok(Node::Exists(self.subquery(query)?)),
            ExprKind::ArraySubquery(query) => Ok(Node::ArrayOf(self.subquery(query)?)),
            ExprKind::All(query) => Ok(Node::All(self.subquery(query)?)),
            ExprKind::First(query) => Ok(Node::First(self.subquery(query)?)),
            ExprKind::Last(query) => Ok(Node::Last(self.subquery(query)?)),
        }
    }

    pub(super) fn exprs(&mut self, exprs: &[Expr]) -> Compiled<Vec<Node>> {
        exprs.iter().map(|expr| self.expr(expr)).collect()
    }

    fn boxed(&mut self, expr: &Expr) -> Compiled<Box<Node>> {
        self.expr(expr).map(Box::new)
    }

    /// The node, computed now where all that it depends on is constant.
    pub(super) fn folded(&self, constant: bool, node: Node) -> Node {
        if constant { self.fold(node) } else { node }
    }

    fn subquery(&mut self, query: &Query) -> Compiled<Box<Block>> {
        self.query(query, false).map(Box::new)
    }

    /// In a grouped query, the group key that `expr` is.
    fn group_key(&self, expr: &Expr) -> Option<Node> {
        let keys = &self.aggregating.as_ref()?.keys;
        if keys.is_empty() {
            return None;
        }
        keys.get(&expr.to_string()).copied().map(Node::GroupKey)
    }

    fn parameter(&self, name: &str, span: Span) -> Compiled<Node> {
        let value = self.parameters.get(name).ok_or_else(|| unknown_parameter(name, span))?;
        Ok(Node::Const(Const::new(Val::from_value(value))))
    }

    pub(super) fn name(&mut self, name: &str, span: Span) -> Compiled<Node> {
        let Some(target) = self.names.find(name).cloned() else { return Err(self.unknown(name, span)) };
        Ok(self.target_node(&target))
    }

    fn unknown(&self, name: &str, span: Span) -> CompileError {
        match &self.aggregating {
            Some(aggregating) if aggregating.row_names.find(name).is_some() => CompileError::new(
                span,
                format!(
                    "`{name}` is selected from a grouped query outside any aggregate: add the expression to GROUP BY"
                ),
            ),
            _ => unknown_name(name, span),
        }
    }

    /// The node that reads what a name stands for.
    pub(super) fn target_node(&mut self, target: &Target) -> Node {
        match target {
            Target::Document(path) if path.is_empty() => Node::Root,
            Target::Document(path) => Node::Path(self.paths.add(path)),
            Target::Var(index) => {
                self.used_vars.push(*index);
                self.names.node(target)
            }
        }
    }

    fn member(&mut self, whole: &Expr, base: &Expr, name: &str) -> Compiled<Node> {
        if let Some(path) = self.document_path(whole) {
            return Ok(Node::Path(self.paths.add(&path)));
        }
        let base = self.expr(base)?;
        self.member_of(base, name)
    }

    fn index(&mut self, whole: &Expr, base: &Expr, index: &Expr) -> Compiled<Node> {
        if let Some(path) = self.document_path(whole) {
            return Ok(Node::Path(self.paths.add(&path)));
        }
        let (base, index) = (self.expr(base)?, self.expr(index)?);
        if let Node::Const(value) = &index
            && let Val::Str(name) = value.get()
        {
            return self.member_of(base, &name);
        }
        let constant = base.is_const() && index.is_const();
        Ok(self.folded(constant, Node::Element(Box::new(base), Box::new(index))))
    }

    fn member_of(&mut self, base: Node, name: &str) -> Compiled<Node> {
        if let Node::Root = base {
            return match self.environment.computed.iter().find(|computed| computed.name == name) {
                Some(computed) => Ok(Node::Scalar(Box::new(self.computed(computed)?))),
                None => Ok(Node::Path(self.paths.add(&[PathSegment::Member(name.to_owned())]))),
            };
        }
        let constant = base.is_const();
        Ok(self.folded(constant, Node::Member(Box::new(base), name.into())))
    }

    /// The path of the document that `expr` is, where all its steps are constant and the first is no computed property.
    pub(super) fn document_path(&self, expr: &Expr) -> Option<Vec<PathSegment>> {
        let (base, step) = match &expr.kind {
            ExprKind::Name(name) => match self.names.find(name)? {
                Target::Document(path) => return Some(path.clone()),
                Target::Var(_) => return None,
            },
            ExprKind::Member(base, name) => (base, PathSegment::Member(name.clone())),
            ExprKind::Index(base, index) => (base, self.constant_step(index)?),
            _ => return None,
        };
        let mut path = self.document_path(base)?;
        if path.is_empty()
            && let PathSegment::Member(name) = &step
            && self.environment.computed.iter().any(|computed| computed.name == *name)
        {
            return None;
        }
        path.push(step);
        Some(path)
    }

    fn constant_step(&self, index: &Expr) -> Option<PathSegment> {
        const MAX_INDEX: f64 = 4_294_967_295.0;
        match constant(index, self.parameters)? {
            Value::String(name) => Some(PathSegment::Member(name.into())),
            Value::Number(number) if number.fract() == 0.0 && (0.0..=MAX_INDEX).contains(&number) => {
                Some(PathSegment::Index(number as u64))
            }
            _ => None,
        }
    }

    fn binary(&mut self, whole: &Expr, op: BinaryOp, left: &Expr, right: &Expr) -> Compiled<Node> {
        let pair = |compiler: &mut Self| Ok(Box::new([compiler.expr(left)?, compiler.expr(right)?]));
        let node = match op {
            BinaryOp::And => Node::And(self.operands(whole, op)?),
            BinaryOp::Or => Node::Or(self.operands(whole, op)?),
            BinaryOp::Coalesce => Node::Coalesce(pair(self)?),
            BinaryOp::Concat => Node::Concat(pair(self)?),
            BinaryOp::Eq | BinaryOp::Ne | BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge => {
                Node::Compare(op, pair(self)?)
            }
            BinaryOp::BitOr
            | BinaryOp::BitXor
            | BinaryOp::BitAnd
            | BinaryOp::ShiftLeft
            | BinaryOp::ShiftRight
            | BinaryOp::ShiftRightZero
            | BinaryOp::Add
            | BinaryOp::Sub
            | BinaryOp::Mul
            | BinaryOp::Div
            | BinaryOp::Mod => Node::Arithmetic(op, pair(self)?),
        };
        let constant = match &node {
            Node::And(nodes) | Node::Or(nodes) => nodes.iter().all(Node::is_const),
            Node::Coalesce(pair)
            | Node::Concat(pair)
            | Node::Compare(_, pair)
            | Node::Arithmetic(_, pair) => pair.iter().all(Node::is_const),
            _ => false,
        };
        Ok(self.folded(constant, node))
    }

    fn operands(&mut self, whole: &Expr, op: BinaryOp) -> Compiled<Vec<Node>> {
        let mut operands = Vec::new();
        flatten(whole, op, &mut operands);
        operands.into_iter().map(|operand| self.expr(operand)).collect()
    }

    fn is_in(&mut self, needle: &Expr, haystack: &[Expr]) -> Compiled<Node> {
        let needle = self.boxed(needle)?;
        let haystack = self.exprs(haystack)?;
        let scalars: Option<Vec<Const>> = haystack
            .iter()
            .map(|node| match node {
                Node::Const(value) if !matches!(value.get(), Val::Undefined | Val::Json(_)) => {
                    Some(value.clone())
                }
                _ => None,
            })
            .collect();
        let Some(mut sorted) = scalars else { return Ok(Node::In(needle, haystack)) };
        sorted.sort_by(|a, b| a.get().cmp_scalar(&b.get()));
        let constant = needle.is_const();
        Ok(self.folded(constant, Node::InSorted(needle, sorted)))
    }

    fn like(&mut self, value: &Expr, pattern: &Expr, escape: Option<&Expr>) -> Compiled<Node> {
        let (value, pattern) = (self.boxed(value)?, self.boxed(pattern)?);
        let escape = escape.map(|escape| self.boxed(escape)).transpose()?;
        let (Node::Const(text), true) = (&*pattern, escape.as_ref().is_none_or(|escape| escape.is_const()))
        else {
            return Ok(Node::LikeDynamic(value, pattern, escape));
        };
        let escape = match escape.as_deref() {
            Some(Node::Const(escape)) => Some(escape.get()),
            _ => None,
        };
        let compiled = like_pattern(&text.get(), escape.as_ref());
        let constant = value.is_const();
        Ok(match compiled {
            Some(compiled) => self.folded(constant, Node::Like(value, compiled)),
            None => Node::Const(Const::new(Val::Undefined)),
        })
    }

    fn object(&mut self, members: &[(String, Expr)], span: Span) -> Compiled<Node> {
        let mut nodes = Vec::with_capacity(members.len());
        let mut known = HashSet::new();
        for (name, value) in members {
            if !known.insert(name) {
                return Err(CompileError::new(span, format!("the object names `{name}` twice")));
            }
            nodes.push((Box::from(name.as_str()), self.expr(value)?));
        }
        let constant = nodes.iter().all(|(_, node)| node.is_const());
        Ok(self.folded(constant, Node::Object(nodes)))
    }
}

/// The operands of a chain of one operator, in order, however the chain is nested.
pub(super) fn flatten<'q>(expr: &'q Expr, op: BinaryOp, operands: &mut Vec<&'q Expr>) {
    let mut pending = vec![expr];
    while let Some(expr) = pending.pop() {
        match &expr.kind {
            ExprKind::Binary(found, left, right) if *found == op => pending.extend([&**right, &**left]),
            _ => operands.push(expr),
        }
    }
}

fn negate(node: Node, negated: bool) -> Node {
    if negated { Node::Unary(UnaryOp::Not, Box::new(node)) } else { node }
}

fn literal_const(literal: &Literal) -> Const {
    match literal {
        Literal::Undefined => Const::new(Val::Undefined),
        Literal::Null => Const::new(Val::Null),
        Literal::Bool(value) => Const::new(Val::Bool(*value)),
        Literal::Number(value) => Const::new(Val::Number(*value)),
        Literal::Integer(value) => Const::new(Val::Integer(*value)),
        Literal::String(value) => Const::new(Val::string(value.as_str())),
    }
}
