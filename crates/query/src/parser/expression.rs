//! Expressions, by precedence climbing.
//!
//! From loosest to tightest: `? :`, `??`, `OR`, `AND`, `NOT`, comparisons with `IN`, `BETWEEN` and `LIKE`,
//! `|`, `^`, `&`, shifts, `||` with `+` and `-`, `*` with `/` and `%`, signs and `~`, member access.

use super::{CHAIN, Parser, Result, Tree};
use crate::ast::{BinaryOp, Expr, ExprKind, Literal, Query, UnaryOp};
use crate::lexer::TokenKind;

/// The precedence of comparisons; only `NOT`, `AND`, `OR`, `??` and `? :` bind looser.
const COMPARISON: u8 = 1;
/// The loosest precedence within an operand of a comparison.
const OPERAND: u8 = COMPARISON + 1;

/// The operator a symbol stands for, and its precedence.
fn binary_operator(symbol: &str) -> Option<(BinaryOp, u8)> {
    Some(match symbol {
        "=" => (BinaryOp::Eq, COMPARISON),
        "!=" | "<>" => (BinaryOp::Ne, COMPARISON),
        "<" => (BinaryOp::Lt, COMPARISON),
        "<=" => (BinaryOp::Le, COMPARISON),
        ">" => (BinaryOp::Gt, COMPARISON),
        ">=" => (BinaryOp::Ge, COMPARISON),
        "|" => (BinaryOp::BitOr, 2),
        "^" => (BinaryOp::BitXor, 3),
        "&" => (BinaryOp::BitAnd, 4),
        "<<" => (BinaryOp::ShiftLeft, 5),
        ">>" => (BinaryOp::ShiftRight, 5),
        ">>>" => (BinaryOp::ShiftRightZero, 5),
        "||" => (BinaryOp::Concat, 6),
        "+" => (BinaryOp::Add, 6),
        "-" => (BinaryOp::Sub, 6),
        "*" => (BinaryOp::Mul, 7),
        "/" => (BinaryOp::Div, 7),
        "%" => (BinaryOp::Mod, 7),
        _ => return None,
    })
}

/// What a subquery becomes by the word before it.
type SubqueryForm = fn(Box<Query>) -> ExprKind;

impl Parser<'_> {
    /// Any expression.
    pub(super) fn expression(&mut self) -> Result<Tree> {
        self.nested(Self::conditional)
    }

    fn conditional(&mut self) -> Result<Tree> {
        let start = self.start();
        let mut condition = self.disjunction()?;
        while self.take_symbol("??") {
            let other = self.disjunction()?;
            condition = self.join(BinaryOp::Coalesce, condition, other)?;
        }
        if !self.take_symbol("?") {
            return Ok(condition);
        }
        let then = self.expression()?;
        self.expect_symbol(":")?;
        let otherwise = self.expression()?;
        let height = condition.height.max(then.height).max(otherwise.height);
        let kind = ExprKind::Conditional(condition.expr, then.expr, otherwise.expr);
        self.node(kind, start, height)
    }

    fn disjunction(&mut self) -> Result<Tree> {
        let first = self.conjunction()?;
        if !self.is_keyword("OR") {
            return Ok(first);
        }
        let mut operands = vec![first];
        while self.take_keyword("OR") {
            operands.push(self.conjunction()?);
        }
        self.chain(BinaryOp::Or, operands)
    }

    fn conjunction(&mut self) -> Result<Tree> {
        let first = self.binary(COMPARISON)?;
        if !self.is_keyword("AND") {
            return Ok(first);
        }
        let mut operands = vec![first];
        while self.take_keyword("AND") {
            operands.push(self.binary(COMPARISON)?);
        }
        self.chain(BinaryOp::And, operands)
    }

    /// Joins the operands of an associative operator, see [`CHAIN`].
    fn chain(&self, op: BinaryOp, mut operands: Vec<Tree>) -> Result<Tree> {
        while operands.len() > 1 {
            let mut groups = Vec::with_capacity(operands.len().div_ceil(CHAIN));
            let mut rest = operands.into_iter();
            while let Some(first) = rest.next() {
                let group = rest.by_ref().take(CHAIN - 1).try_fold(first, |l, r| self.join(op, l, r))?;
                groups.push(group);
            }
            operands = groups;
        }
        Ok(operands.pop().expect("a chain is built from at least its first operand"))
    }

    fn join(&self, op: BinaryOp, left: Tree, right: Tree) -> Result<Tree> {
        let (start, end) = (left.expr.span.start, right.expr.span.end);
        let height = left.height.max(right.height);
        let kind = ExprKind::Binary(op, left.expr, right.expr);
        let mut tree = self.node(kind, start, height)?;
        tree.expr.span.end = end;
        Ok(tree)
    }

    /// Operators of at least the given precedence, all of which group to the left.
    fn binary(&mut self, loosest: u8) -> Result<Tree> {
        let mut left = self.unary()?;
        loop {
            let operator = match self.token().kind {
                TokenKind::Symbol(symbol) => binary_operator(symbol).filter(|(_, p)| *p >= loosest),
                TokenKind::Word(_) if loosest <= COMPARISON && self.at_word_operator() => {
                    left = self.word_operator(left)?;
                    continue;
                }
                _ => None,
            };
            let Some((op, precedence)) = operator else { return Ok(left) };
            self.advance();
            let right = self.binary(precedence + 1)?;
            left = self.join(op, left, right)?;
        }
    }

    fn at_word_operator(&self) -> bool {
        let at = usize::from(self.is_keyword("NOT"));
        ["IN", "BETWEEN", "LIKE"].iter().any(|operator| self.is_keyword_ahead(at, operator))
    }

    /// `[NOT] IN`, `[NOT] BETWEEN` or `[NOT] LIKE` after its left operand.
    fn word_operator(&mut self, left: Tree) -> Result<Tree> {
        let negated = self.take_keyword("NOT");
        if self.take_keyword("IN") {
            self.in_list(left, negated)
        } else if self.take_keyword("BETWEEN") {
            self.between(left, negated)
        } else {
            self.expect_keyword("LIKE")?;
            self.like(left, negated)
        }
    }

    fn in_list(&mut self, needle: Tree, negated: bool) -> Result<Tree> {
        self.expect_symbol("(")?;
        let (haystack, height) = self.expressions_until(")")?;
        if haystack.is_empty() {
            return Err(self.unexpected("an expression in the list of IN"));
        }
        self.expect_symbol(")")?;
        let (start, height) = (needle.expr.span.start, height.max(needle.height));
        self.node(ExprKind::In { needle: needle.expr, haystack, negated }, start, height)
    }

    fn between(&mut self, value: Tree, negated: bool) -> Result<Tree> {
        let low = self.binary(OPERAND)?;
        self.expect_keyword("AND")?;
        let high = self.binary(OPERAND)?;
        let (start, height) = (value.expr.span.start, value.height.max(low.height).max(high.height));
        let (value, low, high) = (value.expr, low.expr, high.expr);
        self.node(ExprKind::Between { value, low, high, negated }, start, height)
    }

    fn like(&mut self, value: Tree, negated: bool) -> Result<Tree> {
        let pattern = self.binary(OPERAND)?;
        let mut height = value.height.max(pattern.height);
        let mut escape = None;
        if self.take_keyword("ESCAPE") {
            let tree = self.binary(OPERAND)?;
            height = height.max(tree.height);
            escape = Some(tree.expr);
        }
        let start = value.expr.span.start;
        let (value, pattern) = (value.expr, pattern.expr);
        self.node(ExprKind::Like { value, pattern, escape, negated }, start, height)
    }

    fn unary(&mut self) -> Result<Tree> {
        let op = match self.token().kind {
            TokenKind::Symbol("-") => UnaryOp::Minus,
            TokenKind::Symbol("+") => UnaryOp::Plus,
            TokenKind::Symbol("~") => UnaryOp::BitNot,
            TokenKind::Word(_) if self.is_keyword("NOT") => UnaryOp::Not,
            _ => return self.postfix(),
        };
        let start = self.start();
        self.advance();
        let operand = self.nested(|parser| match op {
            UnaryOp::Not => parser.binary(COMPARISON),
            UnaryOp::Minus | UnaryOp::Plus | UnaryOp::BitNot => parser.unary(),
        })?;
        self.node(ExprKind::Unary(op, operand.expr), start, operand.height)
    }

    fn postfix(&mut self) -> Result<Tree> {
        let start = self.start();
        let mut base = self.primary()?;
        loop {
            if self.take_symbol(".") {
                let name = self.any_word("a member name after `.`")?;
                base = self.node(ExprKind::Member(base.expr, name), start, base.height)?;
            } else if self.take_symbol("[") {
                let index = self.expression()?;
                self.expect_symbol("]")?;
                let height = base.height.max(index.height);
                let kind = match index.expr.kind {
                    ExprKind::Literal(Literal::String(name)) => ExprKind::Member(base.expr, name),
                    other => {
                        ExprKind::Index(base.expr, Box::new(Expr { kind: other, span: index.expr.span }))
                    }
                };
                base = self.node(kind, start, height)?;
            } else {
                return Ok(base);
            }
        }
    }

    fn primary(&mut self) -> Result<Tree> {
        let start = self.start();
        let leaf = match &self.token().kind {
            TokenKind::String(value) => ExprKind::Literal(Literal::String(value.clone())),
            TokenKind::Number(value) => ExprKind::Literal(Literal::Number(*value)),
            TokenKind::Integer(value) => ExprKind::Literal(Literal::Integer(*value)),
            TokenKind::Parameter(name) => ExprKind::Parameter((*name).to_owned()),
            TokenKind::Symbol("(") => return self.parenthesised(),
            TokenKind::Symbol("[") => return self.array(),
            TokenKind::Symbol("{") => return self.object(),
            TokenKind::Word(word) => match constant(word) {
                Some(constant) => ExprKind::Literal(constant),
                None => return self.named(),
            },
            _ => return Err(self.unexpected("an expression")),
        };
        self.advance();
        self.node(leaf, start, 0)
    }

    /// What begins with a word: a call, a subquery form, or a bare name.
    fn named(&mut self) -> Result<Tree> {
        let start = self.start();
        let called = matches!(self.ahead(1).kind, TokenKind::Symbol("("));
        if called && let Some(form) = self.subquery_form() {
            return self.subquery(form);
        }
        let dotted = matches!(self.ahead(1).kind, TokenKind::Symbol("."));
        if self.is_keyword("UDF") && dotted && matches!(self.ahead(3).kind, TokenKind::Symbol("(")) {
            self.advance();
            self.advance();
            let name = self.any_word("a function name after `udf.`")?;
            let (arguments, height) = self.arguments()?;
            return self.node(ExprKind::Udf(name, arguments), start, height);
        }
        let Some(name) = self.peek_name().map(str::to_owned) else {
            return Err(self.unexpected("an expression"));
        };
        self.advance();
        if called {
            let (arguments, height) = self.arguments()?;
            return self.node(ExprKind::Call(name, arguments), start, height);
        }
        self.node(ExprKind::Name(name), start, 0)
    }

    fn arguments(&mut self) -> Result<(Vec<Expr>, usize)> {
        self.expect_symbol("(")?;
        let arguments = self.expressions_until(")")?;
        self.expect_symbol(")")?;
        Ok(arguments)
    }

    /// Expressions separated by commas, up to but without the closing symbol; there may be none.
    fn expressions_until(&mut self, close: &str) -> Result<(Vec<Expr>, usize)> {
        let mut height = 0;
        if self.is_symbol(close) {
            return Ok((Vec::new(), height));
        }
        let expressions = self.list(|parser| {
            let tree = parser.expression()?;
            height = tree.height.max(height);
            Ok(*tree.expr)
        })?;
        Ok((expressions, height))
    }

    /// The form of subquery that a word before `(` begins. Some of these words are functions unless `SELECT` follows.
    fn subquery_form(&self) -> Option<SubqueryForm> {
        let forms: [(&str, SubqueryForm); 5] = [
            ("EXISTS", ExprKind::Exists),
            ("ARRAY", ExprKind::ArraySubquery),
            ("ALL", ExprKind::All),
            ("FIRST", ExprKind::First),
            ("LAST", ExprKind::Last),
        ];
        let always = self.is_keyword("EXISTS") || self.is_keyword("ARRAY");
        let (_, form) = forms.into_iter().find(|(word, _)| self.is_keyword(word))?;
        (always || self.is_keyword_ahead(2, "SELECT")).then_some(form)
    }

    fn subquery(&mut self, form: SubqueryForm) -> Result<Tree> {
        let start = self.start();
        self.advance();
        self.expect_symbol("(")?;
        let (query, height) = self.query()?;
        self.expect_symbol(")")?;
        self.node(form(query), start, height)
    }

    fn parenthesised(&mut self) -> Result<Tree> {
        let start = self.start();
        self.expect_symbol("(")?;
        if self.is_keyword("SELECT") {
            let (query, height) = self.query()?;
            self.expect_symbol(")")?;
            return self.node(ExprKind::Subquery(query), start, height);
        }
        let inner = self.expression()?;
        if !self.take_symbol(")") {
            return Err(self.unexpected("an operator or `)`"));
        }
        Ok(inner)
    }

    fn array(&mut self) -> Result<Tree> {
        let start = self.start();
        self.expect_symbol("[")?;
        let (elements, height) = self.expressions_until("]")?;
        self.expect_symbol("]")?;
        self.node(ExprKind::Array(elements), start, height)
    }

    fn object(&mut self) -> Result<Tree> {
        let start = self.start();
        self.expect_symbol("{")?;
        let mut height = 0;
        let mut members = Vec::new();
        if !self.is_symbol("}") {
            members = self.list(|parser| {
                let name = parser.object_name()?;
                parser.expect_symbol(":")?;
                let tree = parser.expression()?;
                height = tree.height.max(height);
                Ok((name, *tree.expr))
            })?;
        }
        self.expect_symbol("}")?;
        self.node(ExprKind::Object(members), start, height)
    }

    fn object_name(&mut self) -> Result<String> {
        let TokenKind::String(name) = &self.token().kind else {
            return self.any_word("a member name");
        };
        let name = name.clone();
        self.advance();
        Ok(name)
    }
}

fn constant(word: &str) -> Option<Literal> {
    let constants = [
        ("undefined", Literal::Undefined),
        ("null", Literal::Null),
        ("true", Literal::Bool(true)),
        ("false", Literal::Bool(false)),
    ];
    match word {
        "NaN" => Some(Literal::Number(f64::NAN)),
        "Infinity" => Some(Literal::Number(f64::INFINITY)),
        _ => constants
            .into_iter()
            .find(|(name, _)| word.eq_ignore_ascii_case(name))
            .map(|(_, literal)| literal),
    }
}
