//! The syntax tree of a query: what the parser produces and the planner, compiler and printer read.
//!
//! It keeps the author's structure and positions. Nothing is resolved or rewritten here.

/// A half-open range of byte offsets in the query text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Span {
    /// The first byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

/// One query, or one subquery.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    /// What each row yields.
    pub select: Select,
    /// Where rows come from; without it there is exactly one row with no bindings.
    pub from: Option<From>,
    /// The `WHERE` condition.
    pub filter: Option<Expr>,
    /// The `GROUP BY` expressions, empty without the clause.
    pub group_by: Vec<Expr>,
    /// The `ORDER BY` clause.
    pub order_by: Option<OrderBy>,
    /// The `OFFSET … LIMIT …` clause.
    pub offset_limit: Option<OffsetLimit>,
    /// Where the clauses stand that are not expressions.
    pub spans: ClauseSpans,
}

/// The places of clauses; empty for those that are not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct ClauseSpans {
    /// The `*` of `SELECT *`.
    pub star: Span,
    /// `TOP` and its count.
    pub top: Span,
    /// The `ORDER BY` clause.
    pub order_by: Span,
    /// The `OFFSET … LIMIT …` clause.
    pub offset_limit: Span,
}

/// The `SELECT` clause.
#[derive(Clone, Debug, PartialEq)]
pub struct Select {
    /// Whether `DISTINCT` was given.
    pub distinct: bool,
    /// The `TOP` count.
    pub top: Option<Count>,
    /// What is selected.
    pub spec: SelectSpec,
}

/// What a `SELECT` yields for each row.
#[derive(Clone, Debug, PartialEq)]
pub enum SelectSpec {
    /// `*`
    Star,
    /// `VALUE expr`
    Value(Expr),
    /// `expr [AS alias], …`
    List(Vec<SelectItem>),
}

/// One element of a select list.
#[derive(Clone, Debug, PartialEq)]
pub struct SelectItem {
    /// The selected expression.
    pub expr: Expr,
    /// The alias, where one was given.
    pub alias: Option<String>,
}

/// The largest count of `TOP`, `OFFSET` and `LIMIT`.
pub const LARGEST_COUNT: u64 = u32::MAX as u64;

/// A row count: `TOP`, `OFFSET` and `LIMIT` take a literal or a parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum Count {
    /// A literal.
    Literal(u64),
    /// A parameter, with its `@`.
    Parameter(String, Span),
}

/// `OFFSET offset LIMIT limit`
#[derive(Clone, Debug, PartialEq)]
pub struct OffsetLimit {
    /// How many rows are passed over.
    pub offset: Count,
    /// How many rows are returned at most.
    pub limit: Count,
}

/// The `FROM` clause: a source and the sources joined to it.
#[derive(Clone, Debug, PartialEq)]
pub struct From {
    /// The first source.
    pub source: Source,
    /// The `JOIN`s, in order.
    pub joins: Vec<Source>,
}

/// One source of rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Source {
    /// What is bound or iterated.
    pub collection: Collection,
    /// The name rows are bound to; without one it is the collection's last name.
    pub alias: Option<String>,
    /// Whether elements are iterated (`alias IN collection`) rather than the value bound whole.
    pub iterate: bool,
    /// The place in the text.
    pub span: Span,
}

/// What a source ranges over.
#[derive(Clone, Debug, PartialEq)]
pub enum Collection {
    /// A path: the container or an earlier alias, followed by member names and array indexes.
    Path {
        /// The first name.
        root: String,
        /// The rest.
        segments: Vec<PathSegment>,
    },
    /// A subquery, whose rows form the collection.
    Subquery(Box<Query>),
}

/// One step of a path.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PathSegment {
    /// A member of an object.
    Member(String),
    /// An element of an array.
    Index(u64),
}

/// The `ORDER BY` clause.
#[derive(Clone, Debug, PartialEq)]
pub enum OrderBy {
    /// `ORDER BY expr [ASC|DESC], …`
    Keys(Vec<OrderKey>),
    /// `ORDER BY RANK expr`
    Rank(Rank),
}

/// What `ORDER BY RANK` ranks by.
#[derive(Clone, Debug, PartialEq)]
pub struct Rank {
    /// The score.
    pub score: Expr,
    /// The place of the clause in the text.
    pub span: Span,
}

/// One key of an `ORDER BY`.
#[derive(Clone, Debug, PartialEq)]
pub struct OrderKey {
    /// The sorted expression.
    pub expr: Expr,
    /// Whether `DESC` was given.
    pub descending: bool,
    /// Whether the nearest come first: by a distance that was given no direction.
    pub by_similarity: bool,
}

/// An expression and its place in the text.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Where it stands.
    pub span: Span,
}

/// The forms of an expression.
#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    /// A constant.
    Literal(Literal),
    /// `@name`, kept with its `@`.
    Parameter(String),
    /// A name: the container or an alias.
    Name(String),
    /// `base.name` or `base["name"]`
    Member(Box<Expr>, String),
    /// `base[index]` where the index is not a string literal.
    Index(Box<Expr>, Box<Expr>),
    /// `op operand`
    Unary(UnaryOp, Box<Expr>),
    /// `left op right`
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// `condition ? then : otherwise`
    Conditional(Box<Expr>, Box<Expr>, Box<Expr>),
    /// `needle [NOT] IN (a, b, …)`
    In {
        /// What is looked for.
        needle: Box<Expr>,
        /// Where.
        haystack: Vec<Expr>,
        /// Whether `NOT` was given.
        negated: bool,
    },
    /// `value [NOT] BETWEEN low AND high`
    Between {
        /// What is compared.
        value: Box<Expr>,
        /// The lower bound, inclusive.
        low: Box<Expr>,
        /// The upper bound, inclusive.
        high: Box<Expr>,
        /// Whether `NOT` was given.
        negated: bool,
    },
    /// `value [NOT] LIKE pattern [ESCAPE escape]`
    Like {
        /// What is matched.
        value: Box<Expr>,
        /// The pattern.
        pattern: Box<Expr>,
        /// The escape character, as a one-character string.
        escape: Option<Box<Expr>>,
        /// Whether `NOT` was given.
        negated: bool,
    },
    /// A built-in function, its name as written.
    Call(String, Vec<Expr>),
    /// `udf.name(…)`
    Udf(String, Vec<Expr>),
    /// `{ "name": expr, … }`
    Object(Vec<(String, Expr)>),
    /// `[ expr, … ]`
    Array(Vec<Expr>),
    /// `(SELECT …)` as a value.
    Subquery(Box<Query>),
    /// `EXISTS(SELECT …)`
    Exists(Box<Query>),
    /// `ARRAY(SELECT …)`
    ArraySubquery(Box<Query>),
    /// `ALL(SELECT …)`: whether every row is `true`.
    All(Box<Query>),
    /// `FIRST(SELECT …)`: the first row.
    First(Box<Query>),
    /// `LAST(SELECT …)`: the last row.
    Last(Box<Query>),
}

/// A constant.
#[derive(Clone, Debug, PartialEq)]
pub enum Literal {
    /// `undefined`
    Undefined,
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number.
    Number(f64),
    /// An integer that no double is equal to.
    Integer(i64),
    /// A string, unescaped.
    String(String),
}

/// The operators of one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnaryOp {
    /// `NOT`
    Not,
    /// `-`
    Minus,
    /// `+`
    Plus,
    /// `~`
    BitNot,
}

/// The operators of two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BinaryOp {
    /// `OR`
    Or,
    /// `AND`
    And,
    /// `??`
    Coalesce,
    /// `=`
    Eq,
    /// `!=` or `<>`
    Ne,
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
    /// `||`
    Concat,
    /// `|`
    BitOr,
    /// `^`
    BitXor,
    /// `&`
    BitAnd,
    /// `<<`
    ShiftLeft,
    /// `>>`
    ShiftRight,
    /// `>>>`
    ShiftRightZero,
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `*`
    Mul,
    /// `/`
    Div,
    /// `%`
    Mod,
}
