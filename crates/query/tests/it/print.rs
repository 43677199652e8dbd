//! What is printed parses back to the same tree.

use cosmonaut_query::ast::*;
use cosmonaut_query::parse;
use proptest::prelude::*;

/// The tree without positions, which printing does not keep.
fn shape(query: &Query) -> String {
    let debug = format!("{query:?}");
    let mut parts = debug.split("Span { ");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |shape, part| shape + part.split_once('}').map_or("", |(_, rest)| rest))
}

fn expr(kind: ExprKind) -> Expr {
    Expr { kind, span: Span::default() }
}

fn boxed(strategy: impl Strategy<Value = Expr>) -> impl Strategy<Value = Box<Expr>> {
    strategy.prop_map(Box::new)
}

fn name() -> impl Strategy<Value = String> {
    let names = [
        "c", "x", "_rid", "größe", "value", "top", "order", "group", "rank", "limit", "offset", "udf", "desc",
    ];
    proptest::sample::select(names.to_vec()).prop_map(str::to_owned)
}

fn member() -> impl Strategy<Value = String> {
    prop_oneof![name(), Just("select".to_owned()), Just("null".to_owned()), any::<String>()]
}

fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        (0u32..100).prop_map(f64::from),
        any::<f64>().prop_filter("finite", |n| n.is_finite()).prop_map(f64::abs)
    ]
}

fn leaf() -> impl Strategy<Value = Expr> {
    prop_oneof![
        Just(ExprKind::Literal(Literal::Undefined)),
        Just(ExprKind::Literal(Literal::Null)),
        any::<bool>().prop_map(|b| ExprKind::Literal(Literal::Bool(b))),
        number().prop_map(|n| ExprKind::Literal(Literal::Number(n))),
        any::<String>().prop_map(|s| ExprKind::Literal(Literal::String(s))),
        Just(ExprKind::Parameter("@p1".to_owned())),
        name().prop_map(ExprKind::Name),
    ]
    .prop_map(expr)
}

fn binary_op() -> impl Strategy<Value = BinaryOp> {
    use BinaryOp::*;
    let all = [
        Or,
        And,
        Coalesce,
        Eq,
        Ne,
        Lt,
        Le,
        Gt,
        Ge,
        Concat,
        BitOr,
        BitXor,
        BitAnd,
        ShiftLeft,
        ShiftRight,
        ShiftRightZero,
        Add,
        Sub,
        Mul,
        Div,
        Mod,
    ];
    proptest::sample::select(all.to_vec())
}

fn unary_op() -> impl Strategy<Value = UnaryOp> {
    proptest::sample::select(vec![UnaryOp::Not, UnaryOp::Minus, UnaryOp::Plus, UnaryOp::BitNot])
}

/// A left-deep or right-deep chain, longer than what the parser keeps as written.
fn chain(operand: impl Strategy<Value = Expr>) -> impl Strategy<Value = Expr> {
    let op = prop_oneof![Just(BinaryOp::And), Just(BinaryOp::Or)];
    (op, proptest::collection::vec(operand, 2..20), any::<bool>()).prop_map(|(op, operands, left_deep)| {
        let join = |a, b| expr(ExprKind::Binary(op, Box::new(a), Box::new(b)));
        let chain = match left_deep {
            true => operands.into_iter().reduce(join),
            false => operands.into_iter().reduce(|a, b| join(b, a)),
        };
        chain.expect("at least two operands")
    })
}

fn expression() -> impl Strategy<Value = Expr> {
    leaf().prop_recursive(4, 48, 4, |inner| {
        let list = || proptest::collection::vec(inner.clone(), 0..3);
        let one = || boxed(inner.clone());
        let query = || query_over(inner.clone().boxed()).prop_map(Box::new);
        prop_oneof![
            4 => (binary_op(), one(), one()).prop_map(|(op, l, r)| expr(ExprKind::Binary(op, l, r))),
            1 => chain(inner.clone()),
            2 => (unary_op(), one()).prop_map(|(op, e)| expr(ExprKind::Unary(op, e))),
            2 => (one(), member()).prop_map(|(base, m)| expr(ExprKind::Member(base, m))),
            1 => (one(), boxed(number().prop_map(|n| expr(ExprKind::Literal(Literal::Number(n))))))
                .prop_map(|(base, index)| expr(ExprKind::Index(base, index))),
            1 => (one(), one(), one()).prop_map(|(a, b, c)| expr(ExprKind::Conditional(a, b, c))),
            1 => (one(), proptest::collection::vec(inner.clone(), 1..3), any::<bool>())
                .prop_map(|(needle, haystack, negated)| expr(ExprKind::In { needle, haystack, negated })),
            1 => (one(), one(), one(), any::<bool>())
                .prop_map(|(value, low, high, negated)| expr(ExprKind::Between { value, low, high, negated })),
            1 => (one(), one(), proptest::option::of(one()), any::<bool>())
                .prop_map(|(value, pattern, escape, negated)| expr(ExprKind::Like { value, pattern, escape, negated })),
            1 => list().prop_map(|items| expr(ExprKind::Call("LEFT".to_owned(), items))),
            1 => list().prop_map(|items| expr(ExprKind::Udf("f".to_owned(), items))),
            1 => list().prop_map(|items| expr(ExprKind::Array(items))),
            1 => proptest::collection::vec((member(), inner.clone()), 0..3)
                .prop_map(|members| expr(ExprKind::Object(members))),
            1 => query().prop_map(|q| expr(ExprKind::Subquery(q))),
            1 => query().prop_map(|q| expr(ExprKind::Exists(q))),
            1 => query().prop_map(|q| expr(ExprKind::ArraySubquery(q))),
            1 => query().prop_map(|q| expr(ExprKind::All(q))),
            1 => query().prop_map(|q| expr(ExprKind::First(q))),
            1 => query().prop_map(|q| expr(ExprKind::Last(q))),
        ]
    })
}

fn count() -> impl Strategy<Value = Count> {
    prop_oneof![
        (0u64..1000).prop_map(Count::Literal),
        Just(Count::Parameter("@n".to_owned(), Span::default()))
    ]
}

fn source(inner: BoxedStrategy<Expr>) -> impl Strategy<Value = Source> {
    let segment = prop_oneof![member().prop_map(PathSegment::Member), (0u64..9).prop_map(PathSegment::Index)];
    let path = (name(), proptest::collection::vec(segment, 0..3))
        .prop_map(|(root, segments)| Collection::Path { root, segments });
    let value = inner.prop_map(|e| {
        let select = Select { distinct: false, top: None, spec: SelectSpec::Value(e) };
        let (from, filter, order_by, offset_limit) = (None, None, None, None);
        Collection::Subquery(Box::new(Query {
            select,
            from,
            filter,
            group_by: Vec::new(),
            order_by,
            offset_limit,
            spans: ClauseSpans::default(),
        }))
    });
    (prop_oneof![3 => path, 1 => value], proptest::option::of(name()), any::<bool>()).prop_map(
        |(collection, alias, iterate)| {
            let iterate = iterate && alias.is_some();
            Source { collection, alias, iterate, span: Span::default() }
        },
    )
}

fn order_by(inner: BoxedStrategy<Expr>) -> impl Strategy<Value = OrderBy> {
    let key = (inner.clone(), any::<bool>()).prop_map(|(expr, descending)| OrderKey {
        expr,
        descending,
        by_similarity: false,
    });
    let rank = inner.prop_map(|score| OrderBy::Rank(Rank { score, span: Span::default() }));
    prop_oneof![3 => proptest::collection::vec(key, 1..3).prop_map(OrderBy::Keys), 1 => rank]
}

fn query_over(inner: BoxedStrategy<Expr>) -> impl Strategy<Value = Query> {
    let item =
        (inner.clone(), proptest::option::of(name())).prop_map(|(expr, alias)| SelectItem { expr, alias });
    let spec = prop_oneof![
        Just(SelectSpec::Star),
        inner.clone().prop_map(SelectSpec::Value),
        proptest::collection::vec(item, 1..3).prop_map(SelectSpec::List),
    ];
    let select = (any::<bool>(), proptest::option::of(count()), spec)
        .prop_map(|(distinct, top, spec)| Select { distinct, top, spec });
    let from = (source(inner.clone()), proptest::collection::vec(source(inner.clone()), 0..2))
        .prop_map(|(source, joins)| From { source, joins });
    let page = (count(), count()).prop_map(|(offset, limit)| OffsetLimit { offset, limit });
    (
        select,
        proptest::option::of(from),
        proptest::option::of(inner.clone()),
        proptest::collection::vec(inner.clone(), 0..3),
        proptest::option::of(order_by(inner)),
        proptest::option::of(page),
    )
        .prop_map(|(select, from, filter, group_by, order_by, offset_limit)| Query {
            select,
            from,
            filter,
            group_by,
            order_by,
            offset_limit,
            spans: ClauseSpans::default(),
        })
}

proptest! {
    #[test]
    fn printing_and_parsing_give_the_same_tree(query in query_over(expression().boxed())) {
        let text = query.to_string();
        let parsed = match parse(&text) {
            Ok(parsed) => parsed,
            Err(error) => return Err(TestCaseError::fail(format!("{text}\n{error}"))),
        };
        prop_assert_eq!(shape(&parsed), shape(&query), "{}", text);
    }

    #[test]
    fn no_text_makes_the_parser_panic(text in any::<String>()) {
        let _ = parse(&text).map_err(|error| error.to_string());
    }

    #[test]
    fn no_sequence_of_tokens_makes_the_parser_panic(words in proptest::collection::vec(proptest::sample::select(vec![
        "SELECT", "VALUE", "DISTINCT", "TOP", "*", "FROM", "JOIN", "IN", "WHERE", "GROUP", "ORDER", "BY", "OFFSET",
        "LIMIT", "c", ".", "x", "[", "]", "(", ")", "{", "}", ",", ":", "?", "??", "'s'", "1", "@p", "NOT", "AND",
        "OR", "BETWEEN", "LIKE", "ESCAPE", "EXISTS", "ARRAY", "ALL", "FIRST", "udf", "=", "-", "||", "AS", "RANK", "\\", "'", "ü",
    ]), 0..40)) {
        let text = format!("SELECT {}", words.join(" "));
        if let Ok(query) = parse(&text) {
            prop_assert!(parse(&query.to_string()).is_ok(), "{}", query);
        }
    }
}
