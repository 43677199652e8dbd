//! The clauses of a query, in the order they are written.

use super::{Parser, Result, SyntaxError};
use crate::ast::{
    ClauseSpans, Collection, Count, Expr, From, LARGEST_COUNT, OffsetLimit, OrderBy, OrderKey, PathSegment,
    Query, Rank, Select, SelectItem, SelectSpec, Source, Span,
};
use crate::lexer::{TokenKind, clip};
use crate::search::{ScoreCall, is_similarity};
use crate::wording::Wording;

/// What the service says of a count that is too large: its code and its text.
type CountClause = (&'static str, &'static str);

const TOP: CountClause = ("SC2060", "The count value provided for a TOP clause must be an integer.");
const LIMIT: CountClause = ("SC2061", "The LIMIT count value exceeds the maximum allowed value.");
const OFFSET: CountClause = ("SC2062", "The OFFSET count value exceeds the maximum allowed value.");

const UNDIRECTED_RANK: &str =
    "Specifying a sort order (ASC or DESC) in the ORDER BY RANK clause is not allowed.";
const UNDIRECTED_DISTANCE: &str =
    "Specifying a sorting order (ASC or DESC) with VectorDistance function is not supported.";

/// What could have followed a query that was read to its end.
pub(super) fn after(query: &Query) -> &'static str {
    match query {
        Query { offset_limit: Some(_), .. } => "the end of the query",
        Query { order_by: Some(_), .. } => "`,`, OFFSET or the end of the query",
        Query { group_by, .. } if !group_by.is_empty() => "`,`, ORDER BY, OFFSET or the end of the query",
        Query { filter: Some(_), .. } => "an operator, GROUP BY, ORDER BY, OFFSET or the end of the query",
        Query { from: Some(_), .. } => "JOIN, WHERE, GROUP BY, ORDER BY, OFFSET or the end of the query",
        _ => "an operator, `,`, FROM or the end of the query",
    }
}

impl Parser<'_> {
    /// A whole query and its height. Each clause is read by a function of its own and put where it stays, so that little
    /// of a thread's stack is taken however deep queries are nested.
    pub(super) fn query(&mut self) -> Result<(Box<Query>, usize)> {
        self.nested(|parser| {
            parser.expect_keyword("SELECT")?;
            let mut height = 0;
            let mut query = parser.selection(&mut height)?;
            query.from = parser.from(&mut height)?;
            parser.filter_and_groups(&mut query, &mut height)?;
            parser.order_and_limits(&mut query, &mut height)?;
            Ok((query, height + 1))
        })
    }

    /// What follows `SELECT`, as a query without other clauses.
    fn selection(&mut self, height: &mut usize) -> Result<Box<Query>> {
        let mut spans = ClauseSpans::default();
        let select = self.select(height, &mut spans)?;
        Ok(Box::new(Query {
            select,
            from: None,
            filter: None,
            group_by: Vec::new(),
            order_by: None,
            offset_limit: None,
            spans,
        }))
    }

    fn filter_and_groups(&mut self, query: &mut Query, height: &mut usize) -> Result<()> {
        if self.take_keyword("WHERE") {
            query.filter = Some(self.tall_expression(height)?);
        }
        if self.take_keyword_by("GROUP")? {
            query.group_by = self.list(|parser| parser.tall_expression(height))?;
        }
        Ok(())
    }

    fn order_and_limits(&mut self, query: &mut Query, height: &mut usize) -> Result<()> {
        let start = self.start();
        if self.take_keyword_by("ORDER")? {
            query.order_by = Some(self.order_by(start, height)?);
            query.spans.order_by = self.span_from(start);
        }
        let start = self.start();
        query.offset_limit = self.offset_limit()?;
        if query.offset_limit.is_some() {
            query.spans.offset_limit = self.span_from(start);
        }
        Ok(())
    }

    /// `GROUP BY` or `ORDER BY`.
    fn take_keyword_by(&mut self, keyword: &str) -> Result<bool> {
        let found = self.take_keyword(keyword);
        if found {
            self.expect_keyword("BY")?;
        }
        Ok(found)
    }

    /// One or more of what `item` reads, separated by commas.
    pub(super) fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let mut items = vec![item(self)?];
        while self.take_symbol(",") {
            items.push(item(self)?);
        }
        Ok(items)
    }

    /// An expression, whose height raises `height`.
    fn tall_expression(&mut self, height: &mut usize) -> Result<Expr> {
        let tree = self.expression()?;
        *height = tree.height.max(*height);
        Ok(*tree.expr)
    }

    fn select(&mut self, height: &mut usize, spans: &mut ClauseSpans) -> Result<Select> {
        let distinct = self.take_qualifier("DISTINCT");
        // A negative count is refused as such.
        let is_number =
            |at: usize| matches!(self.ahead(at).kind, TokenKind::Number(_) | TokenKind::Integer(_));
        let negative = matches!(self.ahead(1).kind, TokenKind::Symbol("-")) && is_number(2);
        let counted = self.count_follows() || negative;
        let start = self.start();
        let top = match counted && self.take_keyword("TOP") {
            true => Some(self.count(TOP)?),
            false => None,
        };
        spans.top = top.as_ref().map_or_else(Span::default, |_| self.span_from(start));
        let start = self.start();
        let spec = if self.take_symbol("*") {
            spans.star = self.span_from(start);
            SelectSpec::Star
        } else if self.take_qualifier("VALUE") {
            SelectSpec::Value(self.tall_expression(height)?)
        } else {
            SelectSpec::List(self.list(|p| p.select_item(height))?)
        };
        Ok(Select { distinct, top, spec })
    }

    /// A word before what is selected, unless it is itself what is selected.
    fn take_qualifier(&mut self, keyword: &str) -> bool {
        let star = matches!(self.ahead(1).kind, TokenKind::Symbol("*"));
        let distinct_star = star && keyword == "DISTINCT";
        (self.expression_follows() || distinct_star) && self.take_keyword(keyword)
    }

    fn select_item(&mut self, height: &mut usize) -> Result<SelectItem> {
        let expr = self.tall_expression(height)?;
        let alias = self.alias()?;
        Ok(SelectItem { expr, alias })
    }

    /// `AS name`, or a name alone.
    fn alias(&mut self) -> Result<Option<String>> {
        if self.take_keyword("AS") {
            return self.any_word("a name after AS").map(Some);
        }
        let name = self.peek_name().map(str::to_owned);
        if name.is_some() {
            self.advance();
        }
        Ok(name)
    }

    fn count(&mut self, clause: CountClause) -> Result<Count> {
        let count = match &self.token().kind {
            TokenKind::Number(number) if *number > LARGEST_COUNT as f64 => return Err(self.too_large(clause)),
            TokenKind::Integer(_) => return Err(self.too_large(clause)),
            TokenKind::Number(number) => whole(*number).map(Count::Literal),
            TokenKind::Parameter(name) => Some(Count::Parameter((*name).to_owned(), self.token().span)),
            _ => None,
        };
        let count = count.ok_or_else(|| self.unexpected("a whole number or a parameter"))?;
        self.advance();
        Ok(count)
    }

    fn too_large(&self, (code, message): CountClause) -> SyntaxError {
        let span = self.token().span;
        let found = format!("the number {}", clip(&self.text[span.start..span.end]));
        let expected = format!("a whole number of at most {LARGEST_COUNT}");
        let wording = Wording::coded(code, span, message);
        SyntaxError::worded(self.text, span, (found, expected), wording)
    }

    fn from(&mut self, height: &mut usize) -> Result<Option<From>> {
        if !self.take_keyword("FROM") {
            return Ok(None);
        }
        let source = self.source(height)?;
        let mut joins = Vec::new();
        while self.take_keyword("JOIN") {
            joins.push(self.source(height)?);
        }
        Ok(Some(From { source, joins }))
    }

    fn source(&mut self, height: &mut usize) -> Result<Source> {
        let start = self.start();
        let iterate = self.peek_name().is_some() && self.is_keyword_ahead(1, "IN");
        let mut alias = None;
        if iterate {
            alias = Some(self.any_word("a name")?);
            self.expect_keyword("IN")?;
        }
        let collection = self.collection(height)?;
        if !iterate {
            alias = self.alias()?;
        }
        Ok(Source { collection, alias, iterate, span: self.span_from(start) })
    }

    fn collection(&mut self, height: &mut usize) -> Result<Collection> {
        if self.take_symbol("(") {
            let (query, query_height) = self.query()?;
            self.expect_symbol(")")?;
            *height = query_height.max(*height);
            return Ok(Collection::Subquery(query));
        }
        if self.peek_name().is_none() {
            return Err(self.unexpected("a container, an alias or `(SELECT …)`"));
        }
        let root = self.any_word("a container or an alias")?;
        let mut segments = Vec::new();
        loop {
            if self.take_symbol(".") {
                segments.push(PathSegment::Member(self.any_word("a member name")?));
            } else if self.take_symbol("[") {
                segments.push(self.bracketed_segment()?);
                self.expect_symbol("]")?;
            } else {
                return Ok(Collection::Path { root, segments });
            }
        }
    }

    fn bracketed_segment(&mut self) -> Result<PathSegment> {
        let segment = match &self.token().kind {
            TokenKind::String(name) => Some(PathSegment::Member(name.clone())),
            TokenKind::Number(number) => whole(*number).map(PathSegment::Index),
            _ => None,
        };
        let segment = segment.ok_or_else(|| self.unexpected("a member name in quotes or an array index"))?;
        self.advance();
        Ok(segment)
    }

    /// What follows `ORDER BY`; the clause starts at `start`.
    fn order_by(&mut self, start: usize, height: &mut usize) -> Result<OrderBy> {
        if self.is_keyword("RANK") && self.expression_follows() {
            self.advance();
            let score = self.tall_expression(height)?;
            self.refuse_direction(UNDIRECTED_RANK)?;
            return Ok(OrderBy::Rank(Rank { score, span: self.span_from(start) }));
        }
        self.list(|p| p.order_key(height)).map(OrderBy::Keys)
    }

    fn order_key(&mut self, height: &mut usize) -> Result<OrderKey> {
        let expr = self.tall_expression(height)?;
        if let Some(ScoreCall::Vector(_)) = ScoreCall::of(&expr) {
            self.refuse_direction(UNDIRECTED_DISTANCE)?;
        }
        let descending = self.take_keyword("DESC");
        let is_directed = descending || self.take_keyword("ASC");
        let by_similarity = !is_directed && is_similarity(&expr);
        Ok(OrderKey { expr, descending, by_similarity })
    }

    /// Fails with these words at `ASC` or `DESC`.
    fn refuse_direction(&self, words: &'static str) -> Result<()> {
        if !self.is_keyword("ASC") && !self.is_keyword("DESC") {
            return Ok(());
        }
        let span = self.token().span;
        let found = format!("the direction {}", &self.text[span.start..span.end]);
        let expected = "no direction: what fits best comes first".to_owned();
        Err(SyntaxError::worded(self.text, span, (found, expected), Wording::Plain(words.into())))
    }

    fn offset_limit(&mut self) -> Result<Option<OffsetLimit>> {
        if !self.take_keyword("OFFSET") {
            return Ok(None);
        }
        let offset = self.count(OFFSET)?;
        self.expect_keyword("LIMIT")?;
        let limit = self.count(LIMIT)?;
        Ok(Some(OffsetLimit { offset, limit }))
    }
}

/// A number as a count or an index, if it is whole and a double holds it exactly.
fn whole(number: f64) -> Option<u64> {
    const LARGEST: f64 = 9_007_199_254_740_991.0;
    (number.fract() == 0.0 && (0.0..=LARGEST).contains(&number)).then_some(number as u64)
}
