"""The newer functions of the dialect, lists and sets over partitions, and what is said of queries that mean nothing."""

from harness import check, equal, fails, same


def value(container, expression):
    rows = list(container.query_items(f"SELECT VALUE {expression} FROM c", partition_key="a"))
    equal(len(rows), 1)
    return rows[0]


@check
def newer_functions(account):
    container = account.container()
    container.create_item({"id": "1", "pk": "a", "n": [1, -2.7, 3, -4], "s": "A12-B34-C56", "d": "2024-10-10 14:40:20"})
    for expression, expected in [
        ("ARRAY_SUM([1, 2, 3, 4, undefined])", 10),
        ("ARRAY_MEDIAN(c.n)", -0.8500000000000001),
        ("ARRAY_MAX([12, 'abc', true, false, null])", "abc"),
        ("LASTINDEXOF('abcdeabc', 'abc', 6)", 0),
        ("CONTAINS_ANY_CI(c.s, 'x', 'b34')", True),
        ("SUBSTRINGAFTER('bike::touring::frame', '::')", "touring::frame"),
        ("LASTSUBSTRINGBEFORE('A-B-C', '-')", "A-B"),
        ("REGEXEXTRACTALL(c.s, '[0-9]+')", ["12", "34", "56"]),
        ("REGEXREPLACE(c.s, '[0-9]+', '#')", "A#-B34-C56"),
        ("DATETIMEFORMAT(c.d, 'yyyy-MM-dd [HH:mm:ss]')", "2024-10-10 [14:40:20]"),
        ("YEAR(c.d)", 2024),
        ("IS_DATETIME('2024-12-12T20Z')", False),
        ("IntBitwiseAnd(15, 25)", 9),
        ("ALL(SELECT VALUE n < 5 FROM n IN c.n)", True),
        ("FIRST(SELECT VALUE n FROM n IN c.n)", 1),
        ("LAST(SELECT VALUE n FROM n IN c.n)", -4),
    ]:
        equal(value(container, expression), expected)


@check
def dates_move_with_the_clock(account):
    container = account.container()
    container.create_item({"id": "1", "pk": "a"})
    equal(value(container, "NOW('yyyy', 1) > NOW() AND AGO('dd', 1) < NOW()"), True)


@check
def mistakes_are_all_named(account):
    container = account.container()
    query = "SELECT d.x, STARTWITH(c.a, 'b') FROM c"
    with fails(400, words="Identifier 'd' could not be resolved."):
        list(container.query_items(query, partition_key="a"))
    with fails(400, words="is not a recognized built-in function name. Did you mean 'STARTSWITH'?"):
        list(container.query_items(query, partition_key="a"))


@check
def subqueries_without_a_name(account):
    container = account.container()
    container.create_item({"id": "1", "pk": "a", "tags": ["x", "y", "z"]})
    query = "SELECT c.id FROM c JOIN (SELECT VALUE t FROM t IN c.tags WHERE t != 'x')"
    same(list(container.query_items(query, partition_key="a")), [{"id": "1"}, {"id": "1"}])
