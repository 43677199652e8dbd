//! The nodes of a compiled expression and how each is evaluated.
//!
//! Names are already resolved: to a slot of the document's scan, or to a variable so many bindings up. Making nodes is
//! the business of [`super::compile`].

use super::block::Block;
use super::collect::subquery_rows;
use super::error::EvalError;
use super::like::Pattern;
use super::operators::{self, Logic};
use super::rows::Rows;
use super::scope::{Const, Scope};
use super::search::SearchNode;
use super::spatial_call::SpatialCall;
use super::val::Val;
use crate::ast::{BinaryOp, UnaryOp};
use crate::functions::{Apply, ApplyRegex, Args, RegexPattern, compile_regex};
use crate::raw::RawJson;
use crate::value::{Kind, write_string};

/// A compiled expression.
#[derive(Clone, Debug)]
pub(super) enum Node {
    Const(Const),
    /// The whole document.
    Root,
    /// A path of the document, by its slot.
    Path(usize),
    /// A variable, counted from the innermost binding.
    Var(usize),
    Member(Box<Node>, Box<str>),
    Element(Box<Node>, Box<Node>),
    Unary(UnaryOp, Box<Node>),
    And(Vec<Node>),
    Or(Vec<Node>),
    Coalesce(Box<[Node; 2]>),
    Compare(BinaryOp, Box<[Node; 2]>),
    Arithmetic(BinaryOp, Box<[Node; 2]>),
    Concat(Box<[Node; 2]>),
    Conditional(Box<[Node; 3]>),
    In(Box<Node>, Vec<Node>),
    /// `IN` a list of constant scalars, sorted.
    InSorted(Box<Node>, Vec<Const>),
    Between(Box<[Node; 3]>),
    Like(Box<Node>, Pattern),
    /// `LIKE` with a pattern that varies: value, pattern, escape.
    LikeDynamic(Box<Node>, Box<Node>, Option<Box<Node>>),
    Regex(Box<RegexCall>),
    Spatial(Box<SpatialCall>),
    Call(Apply, Vec<Node>),
    /// A function of searches.
    Search(Box<SearchNode>),
    /// A user-defined function.
    Udf(Box<str>, Vec<Node>),
    Object(Vec<(Box<str>, Node)>),
    Array(Vec<Node>),
    Scalar(Box<Block>),
    Exists(Box<Block>),
    ArrayOf(Box<Block>),
    All(Box<Block>),
    First(Box<Block>),
    Last(Box<Block>),
    GroupKey(usize),
    Aggregate(usize),
    Random,
}

/// A call of a function of a regular expression.
#[derive(Clone, Debug)]
pub(super) struct RegexCall {
    pub(super) apply: ApplyRegex,
    /// Which argument holds the modifiers, if it is given.
    pub(super) modifiers: usize,
    /// The pattern, where it is the same for all rows.
    pub(super) pattern: Option<RegexPattern>,
    pub(super) arguments: Vec<Node>,
}

impl RegexCall {
    fn apply<'s>(&self, args: &mut Args<'s, '_>) -> Option<Val<'s>> {
        // Preparing a pattern takes as long as going through so much.
        const TO_PREPARE: usize = 1 << 14;
        if let Some(pattern) = &self.pattern {
            return (self.apply)(pattern, args);
        }
        args.work(TO_PREPARE)?;
        let modifiers = (args.len() > self.modifiers).then(|| args.get(self.modifiers));
        let pattern = compile_regex(args.get(1), modifiers)?;
        (self.apply)(&pattern, args)
    }
}

type Evaluated<'s> = Result<Val<'s>, EvalError>;

impl Node {
    pub(super) fn eval<'s>(&'s self, scope: &Scope<'s>) -> Evaluated<'s> {
        Ok(match self {
            Node::Const(value) => value.get(),
            Node::Root => Val::from_raw(scope.document.text),
            Node::Path(slot) => scope.document.slots.get(*slot).map_or(Val::Undefined, Val::from_raw),
            Node::Var(up) => variable(scope, *up),
            Node::Member(base, name) => weighed(base.eval(scope)?, scope)?.member(name),
            Node::Element(base, index) => element(weighed(base.eval(scope)?, scope)?, &index.eval(scope)?),
            Node::Unary(op, operand) => operators::unary(*op, &operand.eval(scope)?),
            Node::And(operands) => logic(Logic::and(), operands, scope)?,
            Node::Or(operands) => logic(Logic::or(), operands, scope)?,
            Node::Coalesce(operands) => coalesce(operands, scope)?,
            Node::Compare(op, operands) => {
                let left = weighed(operands[0].eval(scope)?, scope)?;
                operators::compare(*op, &left, &weighed(operands[1].eval(scope)?, scope)?)
            }
            Node::Arithmetic(op, operands) => arithmetic(*op, operands, scope)?,
            Node::Concat(operands) => concat(operands, scope)?,
            Node::Conditional(parts) => {
                let chosen = if parts[0].eval(scope)?.is_true() { &parts[1] } else { &parts[2] };
                chosen.eval(scope)?
            }
            Node::In(needle, haystack) => is_in(needle, haystack, scope)?,
            Node::InSorted(needle, haystack) => is_in_sorted(&needle.eval(scope)?, haystack),
            Node::Between(parts) => between(parts, scope)?,
            Node::Like(value, pattern) => like(&value.eval(scope)?, pattern, scope)?,
            Node::LikeDynamic(value, pattern, escape) => {
                like_dynamic(value, pattern, escape.as_deref(), scope)?
            }
            Node::Regex(call) => with_arguments(&call.arguments, scope, |args| call.apply(args))?,
            Node::Spatial(call) => call.eval(scope)?,
            Node::Call(apply, arguments) => with_arguments(arguments, scope, apply)?,
            Node::Search(search) => search.eval(scope)?,
            Node::Udf(name, arguments) => user_function(name, arguments, scope)?,
            Node::Object(members) => object(members, scope)?,
            Node::Array(elements) => array(elements, scope)?,
            Node::Scalar(block) => scalar_subquery(block, scope)?,
            Node::Exists(block) => Val::Bool(block.exists(*scope)?),
            Node::ArrayOf(block) => array_subquery(block, scope)?,
            Node::All(block) => {
                let rows = subquery_rows(block, *scope)?;
                Val::Bool(rows.iter().all(|row| row == b"true"))
            }
            Node::First(block) => row_value(&subquery_rows(block, *scope)?, |_| 0),
            Node::Last(block) => row_value(&subquery_rows(block, *scope)?, |count| count.saturating_sub(1)),
            Node::GroupKey(index) => {
                scope.group.map_or(Val::Undefined, |group| Val::from_value(&group.keys[*index]))
            }
            Node::Aggregate(index) => {
                scope.group.map_or(Val::Undefined, |group| Val::from_value(&group.aggregates[*index]))
            }
            Node::Random => Val::Number(scope.run.random()),
        })
    }

    /// Whether this is a constant, and so whatever is computed from it alone.
    pub(super) fn is_const(&self) -> bool {
        matches!(self, Node::Const(_))
    }
}

/// The value, after its size was counted as work.
pub(super) fn weighed<'s>(value: Val<'s>, scope: &Scope<'_>) -> Evaluated<'s> {
    scope.run.work(value.size())?;
    Ok(value)
}

fn variable<'s>(scope: &Scope<'s>, up: usize) -> Val<'s> {
    let mut var = scope.vars;
    for _ in 0..up {
        var = var.and_then(|var| var.outer);
    }
    var.map_or(Val::Undefined, |var| var.value.borrow())
}

fn element<'s>(base: Val<'s>, index: &Val<'_>) -> Val<'s> {
    match index {
        Val::Str(name) => base.member(name),
        Val::Number(number) if base.kind() == Kind::Array && *number >= 0.0 && number.fract() == 0.0 => {
            base.element(*number as usize)
        }
        _ => Val::Undefined,
    }
}

fn logic<'s>(mut logic: Logic, operands: &'s [Node], scope: &Scope<'s>) -> Evaluated<'s> {
    for operand in operands {
        if logic.decided_by(&operand.eval(scope)?) {
            return Ok(logic.decided());
        }
    }
    Ok(logic.undecided())
}

fn coalesce<'s>([left, right]: &'s [Node; 2], scope: &Scope<'s>) -> Evaluated<'s> {
    match left.eval(scope)? {
        Val::Undefined => right.eval(scope),
        value => Ok(value),
    }
}

fn arithmetic<'s>(op: BinaryOp, [left, right]: &'s [Node; 2], scope: &Scope<'s>) -> Evaluated<'s> {
    let (Some(a), Some(b)) = (left.eval(scope)?.as_f64(), right.eval(scope)?.as_f64()) else {
        return Ok(Val::Undefined);
    };
    Ok(operators::arithmetic(op, a, b).map_or(Val::Undefined, Val::Number))
}

fn concat<'s>([left, right]: &'s [Node; 2], scope: &Scope<'s>) -> Evaluated<'s> {
    let (Val::Str(a), Val::Str(b)) = (left.eval(scope)?, right.eval(scope)?) else {
        return Ok(Val::Undefined);
    };
    weighed(scope.run.check_size(Val::Str(a + b))?, scope)
}

/// `IN` is `=` with each, joined by `OR`.
fn is_in<'s>(needle: &'s Node, haystack: &'s [Node], scope: &Scope<'s>) -> Evaluated<'s> {
    let needle = needle.eval(scope)?;
    let mut logic = Logic::or();
    for item in haystack {
        let item = weighed(item.eval(scope)?, scope)?;
        scope.run.work(needle.size())?;
        if logic.decided_by(&operators::equal(&needle, &item)) {
            return Ok(logic.decided());
        }
    }
    Ok(logic.undecided())
}

fn is_in_sorted<'s>(needle: &Val<'s>, haystack: &[Const]) -> Val<'s> {
    match needle {
        Val::Undefined => Val::Undefined,
        needle => Val::Bool(haystack.binary_search_by(|item| item.get().cmp_scalar(needle)).is_ok()),
    }
}

fn between<'s>([value, low, high]: &'s [Node; 3], scope: &Scope<'s>) -> Evaluated<'s> {
    let value = weighed(value.eval(scope)?, scope)?;
    let mut logic = Logic::and();
    if logic.decided_by(&operators::compare(BinaryOp::Ge, &value, &low.eval(scope)?))
        || logic.decided_by(&operators::compare(BinaryOp::Le, &value, &high.eval(scope)?))
    {
        return Ok(logic.decided());
    }
    Ok(logic.undecided())
}

fn like<'s>(value: &Val<'s>, pattern: &Pattern, scope: &Scope<'s>) -> Evaluated<'s> {
    match value {
        Val::Str(text) => pattern.matches(text, || scope.run.look()).map(Val::Bool),
        _ => Ok(Val::Undefined),
    }
}

fn like_dynamic<'s>(
    value: &'s Node,
    pattern: &'s Node,
    escape: Option<&'s Node>,
    scope: &Scope<'s>,
) -> Evaluated<'s> {
    let escape = escape.map(|escape| escape.eval(scope)).transpose()?;
    let (pattern, value) = (pattern.eval(scope)?, value.eval(scope)?);
    match like_pattern(&pattern, escape.as_ref()) {
        Some(pattern) => like(&value, &pattern, scope),
        None => Ok(Val::Undefined),
    }
}

/// The pattern that these operands of `LIKE` make, if they make one.
pub(super) fn like_pattern(pattern: &Val<'_>, escape: Option<&Val<'_>>) -> Option<Pattern> {
    let Val::Str(pattern) = pattern else { return None };
    let escape = match escape {
        None => None,
        Some(Val::Str(text)) if text.chars().count() == 1 => text.chars().next(),
        Some(_) => return None,
    };
    Some(Pattern::new(pattern, escape))
}

/// Evaluates arguments and computes a result from them.
fn with_arguments<'s>(
    arguments: &'s [Node],
    scope: &Scope<'s>,
    apply: impl FnOnce(&mut Args<'s, '_>) -> Option<Val<'s>>,
) -> Evaluated<'s> {
    // Up to four arguments, which is nearly every call, stay off the heap.
    let mut inline: [Val<'s>; 4] = Default::default();
    let mut spilled = Vec::new();
    let values = if arguments.len() <= inline.len() {
        &mut inline[..arguments.len()]
    } else {
        spilled.resize_with(arguments.len(), Val::default);
        &mut spilled[..]
    };
    for (value, argument) in values.iter_mut().zip(arguments) {
        *value = weighed(argument.eval(scope)?, scope)?;
    }
    let work = |bytes| scope.run.work(bytes);
    let mut args = Args::new(values, scope.run.limits.value_bytes, &work);
    let result = apply(&mut args);
    match args.failure() {
        Some(failure) => Err(failure),
        None => scope.run.check_size(result.unwrap_or_default()),
    }
}

fn user_function<'s>(name: &str, arguments: &'s [Node], scope: &Scope<'s>) -> Evaluated<'s> {
    let functions = scope.run.functions.0.as_ref().ok_or(EvalError::UserFunction)?;
    let mut given = b"[".to_vec();
    for (nth, argument) in arguments.iter().enumerate() {
        given.extend_from_slice(if nth == 0 { b"[" } else { b",[" });
        // What is undefined writes nothing.
        weighed(argument.eval(scope)?, scope)?.write_json(&mut given);
        given.push(b']');
    }
    given.push(b']');
    let given = String::from_utf8(given).unwrap_or_default();
    let Some(result) = functions.call(name, &given)? else { return Ok(Val::Undefined) };
    scope.run.look()?;
    scope.run.check_size(Val::from_raw(RawJson::new(result.as_bytes())).detach())
}

fn object<'s>(members: &'s [(Box<str>, Node)], scope: &Scope<'s>) -> Evaluated<'s> {
    let mut out = Vec::new();
    write_object(members, scope, &mut out)?;
    Ok(Val::json(out))
}

/// Writes an object, leaving out the members that have no value.
pub(super) fn write_object(
    members: &[(Box<str>, Node)],
    scope: &Scope<'_>,
    out: &mut Vec<u8>,
) -> Result<(), EvalError> {
    out.push(b'{');
    let first = out.len();
    for (name, node) in members {
        let start = out.len();
        if start > first {
            out.push(b',');
        }
        write_string(name, out);
        out.push(b':');
        if !node.eval(scope)?.write_json(out) {
            out.truncate(start);
        }
        scope.run.check_len(out.len() - first)?;
        scope.run.work(out.len() - start)?;
    }
    out.push(b'}');
    Ok(())
}

fn array<'s>(elements: &'s [Node], scope: &Scope<'s>) -> Evaluated<'s> {
    let mut out = vec![b'['];
    for node in elements {
        let start = out.len();
        if start > 1 {
            out.push(b',');
        }
        if !node.eval(scope)?.write_json(&mut out) {
            out.truncate(start);
        }
        scope.run.check_len(out.len())?;
        scope.run.work(out.len() - start)?;
    }
    out.push(b']');
    Ok(Val::json(out))
}

fn scalar_subquery<'s>(block: &'s Block, scope: &Scope<'s>) -> Evaluated<'s> {
    let rows = subquery_rows(block, *scope)?;
    match rows.len() {
        0 => Ok(Val::Undefined),
        1 => Ok(row_value(&rows, |_| 0)),
        _ => Err(EvalError::SubqueryRows),
    }
}

/// The row at the place that is chosen by how many there are; undefined if there is none.
fn row_value<'s>(rows: &Rows, place: fn(usize) -> usize) -> Val<'s> {
    rows.get(place(rows.len())).map_or(Val::Undefined, |row| Val::from_raw(RawJson::new(row)).detach())
}

fn array_subquery<'s>(block: &'s Block, scope: &Scope<'s>) -> Evaluated<'s> {
    let rows = subquery_rows(block, *scope)?;
    scope.run.check_size(Val::json(join_rows(&rows)))
}

fn join_rows(rows: &Rows) -> Vec<u8> {
    let mut out = Vec::with_capacity(rows.byte_len() + rows.len() + 2);
    out.push(b'[');
    for (index, row) in rows.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        out.extend_from_slice(row);
    }
    out.push(b']');
    out
}
