//! Syntax tree to query text.
//!
//! The text parses back to the same tree. It is not laid out for reading: operands that are operations
//! themselves stand in parentheses, so that the text means the same whatever precedence its reader assumes.

use std::fmt::{self, Display, Write};

use crate::ast::{
    BinaryOp, Collection, Count, Expr, ExprKind, Literal, OrderBy, PathSegment, Query, SelectSpec, Source,
    UnaryOp,
};
use crate::lexer::is_identifier;
use crate::parser::{CHAIN, is_reserved};

impl Display for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SELECT ")?;
        if self.select.distinct {
            f.write_str("DISTINCT ")?;
        }
        if let Some(top) = &self.select.top {
            write!(f, "TOP {top} ")?;
        }
        write_spec(f, &self.select.spec)?;
        if let Some(from) = &self.from {
            write!(f, " FROM {}", from.source)?;
            from.joins.iter().try_for_each(|join| write!(f, " JOIN {join}"))?;
        }
        if let Some(filter) = &self.filter {
            write!(f, " WHERE {filter}")?;
        }
        if !self.group_by.is_empty() {
            f.write_str(" GROUP BY ")?;
            write_list(f, &self.group_by)?;
        }
        if let Some(order_by) = &self.order_by {
            write!(f, " ORDER BY {order_by}")?;
        }
        if let Some(page) = &self.offset_limit {
            write!(f, " OFFSET {} LIMIT {}", page.offset, page.limit)?;
        }
        Ok(())
    }
}

fn write_spec(f: &mut fmt::Formatter<'_>, spec: &SelectSpec) -> fmt::Result {
    match spec {
        SelectSpec::Star => f.write_char('*'),
        SelectSpec::Value(expr) => write!(f, "VALUE {expr}"),
        SelectSpec::List(items) => {
            for (at, item) in items.iter().enumerate() {
                let comma = if at == 0 { "" } else { ", " };
                write!(f, "{comma}{}", item.expr)?;
                item.alias.iter().try_for_each(|alias| write!(f, " AS {alias}"))?;
            }
            Ok(())
        }
    }
}

impl Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Count::Literal(count) => write!(f, "{count}"),
            Count::Parameter(name, _) => f.write_str(name),
        }
    }
}

impl Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.alias {
            Some(alias) if self.iterate => write!(f, "{alias} IN {}", self.collection),
            Some(alias) => write!(f, "{} AS {alias}", self.collection),
            None => write!(f, "{}", self.collection),
        }
    }
}

impl Display for Collection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Collection::Subquery(query) => write!(f, "({query})"),
            Collection::Path { root, segments } => {
                f.write_str(root)?;
                segments.iter().try_for_each(|segment| match segment {
                    PathSegment::Member(name) => write_member(f, name),
                    PathSegment::Index(index) => write!(f, "[{index}]"),
                })
            }
        }
    }
}

impl Display for OrderBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OrderBy::Rank(rank) => write!(f, "RANK {}", rank.score),
            OrderBy::Keys(keys) => keys.iter().enumerate().try_for_each(|(at, key)| {
                let comma = if at == 0 { "" } else { ", " };
                let direction = match (key.by_similarity, key.descending) {
                    (true, _) => "",
                    (false, true) => " DESC",
                    (false, false) => " ASC",
                };
                write!(f, "{comma}{}{direction}", key.expr)
            }),
        }
    }
}

impl Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            ExprKind::Literal(literal) => write!(f, "{literal}"),
            // Bare, a name such as `value` or `rank` could be taken for the keyword.
            ExprKind::Name(name) if is_keyword(name) => write!(f, "({name})"),
            ExprKind::Parameter(name) | ExprKind::Name(name) => f.write_str(name),
            ExprKind::Member(base, name) => {
                write_base(f, base)?;
                write_member(f, name)
            }
            ExprKind::Index(base, index) => {
                write_base(f, base)?;
                write!(f, "[{index}]")
            }
            ExprKind::Unary(op, operand) => write!(f, "{op}{}", Operand(operand)),
            ExprKind::Binary(op @ (BinaryOp::And | BinaryOp::Or), ..) => write_chain(f, self, *op, CHAIN),
            ExprKind::Binary(op, left, right) => write!(f, "{} {op} {}", Operand(left), Operand(right)),
            ExprKind::Conditional(condition, then, otherwise) => {
                write!(f, "{} ? {} : {}", Operand(condition), Operand(then), Operand(otherwise))
            }
            ExprKind::In { needle, haystack, negated } => {
                write!(f, "{} {}IN (", Operand(needle), not(*negated))?;
                write_list(f, haystack)?;
                f.write_char(')')
            }
            ExprKind::Between { value, low, high, negated } => {
                let (value, low, high) = (Operand(value), Operand(low), Operand(high));
                write!(f, "{value} {}BETWEEN {low} AND {high}", not(*negated))
            }
            ExprKind::Like { value, pattern, escape, negated } => {
                write!(f, "{} {}LIKE {}", Operand(value), not(*negated), Operand(pattern))?;
                escape.iter().try_for_each(|escape| write!(f, " ESCAPE {}", Operand(escape)))
            }
            ExprKind::Call(name, arguments) => write_call(f, "", name, arguments),
            ExprKind::Udf(name, arguments) => write_call(f, "udf.", name, arguments),
            ExprKind::Object(members) => write_object(f, members),
            ExprKind::Array(elements) => {
                f.write_char('[')?;
                write_list(f, elements)?;
                f.write_char(']')
            }
            ExprKind::Subquery(query) => write!(f, "({query})"),
            ExprKind::Exists(query) => write!(f, "EXISTS({query})"),
            ExprKind::ArraySubquery(query) => write!(f, "ARRAY({query})"),
            ExprKind::All(query) => write!(f, "ALL({query})"),
            ExprKind::First(query) => write!(f, "FIRST({query})"),
            ExprKind::Last(query) => write!(f, "LAST({query})"),
        }
    }
}

/// An expression as an operand: in parentheses unless nothing around it can pull it apart.
struct Operand<'e>(&'e Expr);

impl Display for Operand<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let loose = match &self.0.kind {
            ExprKind::Literal(Literal::Number(number)) => number.is_sign_negative(),
            ExprKind::Unary(..)
            | ExprKind::Binary(..)
            | ExprKind::Conditional(..)
            | ExprKind::In { .. }
            | ExprKind::Between { .. }
            | ExprKind::Like { .. } => true,
            ExprKind::Literal(_)
            | ExprKind::Parameter(_)
            | ExprKind::Name(_)
            | ExprKind::Member(..)
            | ExprKind::Index(..)
            | ExprKind::Call(..)
            | ExprKind::Udf(..)
            | ExprKind::Object(_)
            | ExprKind::Array(_)
            | ExprKind::Subquery(_)
            | ExprKind::Exists(_)
            | ExprKind::ArraySubquery(_)
            | ExprKind::All(_)
            | ExprKind::First(_)
            | ExprKind::Last(_) => false,
        };
        if loose { write!(f, "({})", self.0) } else { write!(f, "{}", self.0) }
    }
}

/// The left spine of an `AND` or `OR` without parentheses, as far as the parser keeps it as written.
fn write_chain(f: &mut fmt::Formatter<'_>, expr: &Expr, op: BinaryOp, room: usize) -> fmt::Result {
    match &expr.kind {
        ExprKind::Binary(found, left, right) if *found == op && room > 1 => {
            write_chain(f, left, op, room - 1)?;
            write!(f, " {op} ")?;
            write_chain_operand(f, right)
        }
        _ => write_chain_operand(f, expr),
    }
}

/// Comparisons bind tighter than `AND` and `OR` in every reading, so they stand bare.
fn write_chain_operand(f: &mut fmt::Formatter<'_>, expr: &Expr) -> fmt::Result {
    use BinaryOp::{Eq, Ge, Gt, Le, Lt, Ne};
    match &expr.kind {
        ExprKind::Binary(Eq | Ne | Lt | Le | Gt | Ge, ..) | ExprKind::In { .. } => write!(f, "{expr}"),
        _ => write!(f, "{}", Operand(expr)),
    }
}

/// What a member or an element is taken of.
fn write_base(f: &mut fmt::Formatter<'_>, base: &Expr) -> fmt::Result {
    match &base.kind {
        // `1.x` would read as a malformed number.
        ExprKind::Literal(_) => write!(f, "({base})"),
        _ => write!(f, "{}", Operand(base)),
    }
}

fn write_member(f: &mut fmt::Formatter<'_>, name: &str) -> fmt::Result {
    match is_identifier(name) && !is_keyword(name) {
        true => write!(f, ".{name}"),
        false => write!(f, "[{}]", Quoted(name)),
    }
}

/// The words that other readers of the dialect do not take as a member name after a dot.
fn is_keyword(word: &str) -> bool {
    const CONTEXTUAL: [&str; 15] = [
        "ARRAY", "ASC", "BY", "DESC", "DISTINCT", "ESCAPE", "EXISTS", "GROUP", "LIMIT", "OFFSET", "ORDER",
        "RANK", "TOP", "UDF", "VALUE",
    ];
    is_reserved(word) || CONTEXTUAL.iter().any(|keyword| word.eq_ignore_ascii_case(keyword))
}

fn write_call(f: &mut fmt::Formatter<'_>, prefix: &str, name: &str, arguments: &[Expr]) -> fmt::Result {
    write!(f, "{prefix}{name}(")?;
    write_list(f, arguments)?;
    f.write_char(')')
}

fn write_list(f: &mut fmt::Formatter<'_>, items: &[Expr]) -> fmt::Result {
    items.iter().enumerate().try_for_each(|(at, item)| {
        let comma = if at == 0 { "" } else { ", " };
        write!(f, "{comma}{item}")
    })
}

fn write_object(f: &mut fmt::Formatter<'_>, members: &[(String, Expr)]) -> fmt::Result {
    f.write_char('{')?;
    for (at, (name, value)) in members.iter().enumerate() {
        let comma = if at == 0 { "" } else { ", " };
        write!(f, "{comma}{}: {value}", Quoted(name))?;
    }
    f.write_char('}')
}

fn not(negated: bool) -> &'static str {
    if negated { "NOT " } else { "" }
}

impl Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Literal::Undefined => f.write_str("undefined"),
            Literal::Null => f.write_str("null"),
            Literal::Bool(value) => write!(f, "{value}"),
            Literal::Number(number) => write_number(f, *number),
            Literal::Integer(number) => write!(f, "{number}"),
            Literal::String(value) => write!(f, "{}", Quoted(value)),
        }
    }
}

/// Writes a number so that it reads back as the same double.
fn write_number(f: &mut fmt::Formatter<'_>, number: f64) -> fmt::Result {
    let plain = number == 0.0 || (1e-6..1e21).contains(&number.abs());
    match number.is_finite() {
        // A double that is an integer is written with all its digits: others would be another integer.
        true if number.trunc() == number && number.abs() < 9.2e18 => write!(f, "{}", number as i64),
        true if plain => write!(f, "{number}"),
        true => write!(f, "{number:e}"),
        false if number.is_nan() => f.write_str("NaN"),
        false if number < 0.0 => f.write_str("-Infinity"),
        false => f.write_str("Infinity"),
    }
}

/// A string as a literal.
struct Quoted<'s>(&'s str);

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        for c in self.0.chars() {
            match c {
                '"' | '\\' => write!(f, "\\{c}")?,
                c if c.is_control() => write!(f, "\\u{:04x}", u32::from(c))?,
                c => f.write_char(c)?,
            }
        }
        f.write_char('"')
    }
}

impl Display for UnaryOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            UnaryOp::Not => "NOT ",
            UnaryOp::Minus => "-",
            UnaryOp::Plus => "+",
            UnaryOp::BitNot => "~",
        })
    }
}

impl Display for BinaryOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            BinaryOp::Or => "OR",
            BinaryOp::And => "AND",
            BinaryOp::Coalesce => "??",
            BinaryOp::Eq => "=",
            BinaryOp::Ne => "!=",
            BinaryOp::Lt => "<",
            BinaryOp::Le => "<=",
            BinaryOp::Gt => ">",
            BinaryOp::Ge => ">=",
            BinaryOp::Concat => "||",
            BinaryOp::BitOr => "|",
            BinaryOp::BitXor => "^",
            BinaryOp::BitAnd => "&",
            BinaryOp::ShiftLeft => "<<",
            BinaryOp::ShiftRight => ">>",
            BinaryOp::ShiftRightZero => ">>>",
            BinaryOp::Add => "+",
            BinaryOp::Sub => "-",
            BinaryOp::Mul => "*",
            BinaryOp::Div => "/",
            BinaryOp::Mod => "%",
        })
    }
}
