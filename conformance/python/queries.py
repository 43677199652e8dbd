"""Queries: within a key, across partitions, ordered, grouped, aggregated, paged; and those that must fail."""

from azure.cosmos import PartitionKey

from harness import check, equal, fails, headers_of, numbered, same

ALL = [numbered(n) for n in range(40)]


def ask(container, query, parameters=None, **options):
    if "partition_key" not in options and "feed_range" not in options:
        options["enable_cross_partition_query"] = True
    return list(container.query_items(query, parameters=parameters, **options))


@check
def within_a_key(account):
    container = account.spread_container()
    same(ask(container, "SELECT VALUE c.n FROM c", partition_key="p3"), [3, 13, 23, 33])
    equal(ask(container, "SELECT VALUE c.n FROM c ORDER BY c.n DESC", partition_key="p3"), [33, 23, 13, 3])


@check
def with_parameters_of_every_type(account):
    container = account.container()
    values = ["text", 5, -0.5, True, None, [1, "a"], {"x": {"y": 1}}]
    for n, value in enumerate(values):
        container.create_item({"id": str(n), "pk": "a", "v": value})
    for n, value in enumerate(values):
        found = ask(
            container, "SELECT VALUE c.id FROM c WHERE c.v = @v", [{"name": "@v", "value": value}], partition_key="a"
        )
        equal(found, [str(n)])


@check
def across_partitions_unordered(account):
    container = account.spread_container()
    same(ask(container, "SELECT VALUE c.n FROM c WHERE c.even"), [n for n in range(40) if n % 2 == 0])
    same(ask(container, "SELECT c.id, c.n * 2 AS twice FROM c WHERE c.n >= 38"), [
        {"id": "i38", "twice": 76},
        {"id": "i39", "twice": 78},
    ])  # fmt: skip


@check
def across_partitions_needs_permission(account):
    container = account.spread_container()
    with fails(400):
        list(container.query_items("SELECT * FROM c"))


@check
def key_in_the_filter_finds_its_partition(account):
    container = account.spread_container()
    same(ask(container, "SELECT VALUE c.n FROM c WHERE c.pk = 'p4'"), [4, 14, 24, 34])
    same(ask(container, "SELECT VALUE c.n FROM c WHERE c.pk IN ('p4', 'p5')"), [4, 14, 24, 34, 5, 15, 25, 35])


@check
def across_partitions_in_order(account):
    container = account.spread_container()
    equal(ask(container, "SELECT VALUE c.n FROM c ORDER BY c.n"), list(range(40)))
    equal(ask(container, "SELECT VALUE c.n FROM c ORDER BY c.n DESC"), list(range(39, -1, -1)))
    equal(ask(container, "SELECT VALUE c.n FROM c ORDER BY c.n", max_item_count=3), list(range(40)))
    equal(ask(container, "SELECT VALUE c.n FROM c WHERE c.n > 30 ORDER BY c.n"), list(range(31, 40)))


@check
def order_of_mixed_types(account):
    # Across partitions this SDK refuses to merge them.
    container = account.container()
    values = [None, False, True, -1, 3.5, "", "a", "b"]
    for n, value in enumerate(values):
        container.create_item({"id": str(n), "pk": "a", "v": value})
    equal(ask(container, "SELECT VALUE c.v FROM c ORDER BY c.v", partition_key="a"), values)


@check
def several_keys_need_a_composite_index(account):
    plain = account.spread_container()
    with fails(400):
        ask(plain, "SELECT * FROM c ORDER BY c.group, c.n")
    paths = [[{"path": "/group", "order": "ascending"}, {"path": "/n", "order": "descending"}]]
    policy = {"indexingMode": "consistent", "includedPaths": [{"path": "/*"}], "compositeIndexes": paths}
    container = account.spread_container(indexing_policy=policy)
    expected = [item["n"] for item in sorted(ALL, key=lambda item: (item["group"], -item["n"]))]
    equal(ask(container, "SELECT VALUE c.n FROM c ORDER BY c.group ASC, c.n DESC"), expected)


@check
def aggregates(account):
    container = account.spread_container()
    for expression, expected in [
        ("COUNT(1)", 40),
        ("SUM(c.n)", sum(range(40))),
        ("AVG(c.n)", 19.5),
        ("MIN(c.n)", 0),
        ("MAX(c.n)", 39),
        ("COUNT(c.missing)", 0),
        ("MAX(c.id)", "i9"),
    ]:
        equal(ask(container, f"SELECT VALUE {expression} FROM c"), [expected])
        equal(ask(container, f"SELECT VALUE {expression} FROM c WHERE c.pk = 'p0' OR true"), [expected])
    equal(ask(container, "SELECT VALUE SUM(c.n) FROM c", partition_key="p1"), [1 + 11 + 21 + 31])


@check
def distinct_values(account):
    container = account.spread_container()
    same(ask(container, "SELECT DISTINCT VALUE c.group FROM c"), ["g0", "g1", "g2"])
    equal(ask(container, "SELECT DISTINCT VALUE c.group FROM c ORDER BY c.group"), ["g0", "g1", "g2"])
    same(ask(container, "SELECT DISTINCT c.group, c.even FROM c", max_item_count=4), [
        {"group": group, "even": even} for group in ["g0", "g1", "g2"] for even in [True, False]
    ])  # fmt: skip


@check
def groups_within_a_key(account):
    container = account.spread_container()
    found = ask(container, "SELECT c.even, COUNT(1) AS count, SUM(c.n) AS sum FROM c GROUP BY c.even", partition_key="p3")
    equal(found, [{"even": False, "count": 4, "sum": 72}])


@check
def top_offset_and_limit(account):
    container = account.spread_container()
    equal(ask(container, "SELECT TOP 5 VALUE c.n FROM c ORDER BY c.n"), [0, 1, 2, 3, 4])
    equal(len(ask(container, "SELECT TOP 7 * FROM c", max_item_count=2)), 7)
    equal(ask(container, "SELECT VALUE c.n FROM c ORDER BY c.n OFFSET 10 LIMIT 3"), [10, 11, 12])
    equal(len(ask(container, "SELECT * FROM c OFFSET 35 LIMIT 10", max_item_count=3)), 5)
    equal(ask(container, "SELECT VALUE c.n FROM c ORDER BY c.n DESC OFFSET 1 LIMIT 2", partition_key="p1"), [21, 11])


@check
def pages_are_as_asked_and_continue(account):
    container = account.spread_container()
    pages = container.query_items("SELECT VALUE c.n FROM c", partition_key="p2", max_item_count=3).by_page()
    first = list(next(pages))
    equal(len(first), 3)
    token = pages.continuation_token
    assert token
    rest = container.query_items("SELECT VALUE c.n FROM c", partition_key="p2", max_item_count=3).by_page(token)
    same(first + [n for page in rest for n in page], [2, 12, 22, 32])


@check
def read_all_items_pages_through_everything(account):
    container = account.spread_container()
    same([item["n"] for item in container.read_all_items(max_item_count=7)], list(range(40)))


@check
def joins_and_arrays(account):
    container = account.container()
    container.create_item({"id": "1", "pk": "a", "tags": ["x", "y"], "kids": [{"n": 1}, {"n": 2}]})
    container.create_item({"id": "2", "pk": "a", "tags": []})
    equal(ask(container, "SELECT c.id, t AS tag FROM c JOIN t IN c.tags", partition_key="a"), [
        {"id": "1", "tag": "x"}, {"id": "1", "tag": "y"},
    ])  # fmt: skip
    equal(ask(container, "SELECT VALUE k.n FROM c JOIN k IN c.kids WHERE k.n > 1", partition_key="a"), [2])
    equal(ask(container, "SELECT VALUE c.id FROM c WHERE ARRAY_CONTAINS(c.tags, 'y')", partition_key="a"), ["1"])
    equal(ask(container, "SELECT VALUE ARRAY(SELECT VALUE t FROM t IN c.tags) FROM c WHERE c.id = '1'", partition_key="a"), [["x", "y"]])
    equal(ask(container, "SELECT VALUE c.id FROM c WHERE EXISTS(SELECT VALUE t FROM t IN c.tags WHERE t = 'x')", partition_key="a"), ["1"])


@check
def functions_and_operators(account):
    container = account.container()
    container.create_item({"id": "1", "pk": "a", "s": "Hello Wörld", "n": -2.5, "list": [3, 1, 2]})
    for expression, expected in [
        ("UPPER(c.s)", "HELLO WÖRLD"),
        ("CONTAINS(c.s, 'wör', true)", True),
        ("STARTSWITH(c.s, 'Hell')", True),
        ("LENGTH(c.s)", 11),
        ("SUBSTRING(c.s, 6, 5)", "Wörld"),
        ("ABS(c.n)", 2.5),
        ("FLOOR(c.n)", -3),
        ("c.n < 0 ? 'neg' : 'pos'", "neg"),
        ("c.missing ?? 'none'", "none"),
        ("c.s || '!'", "Hello Wörld!"),
        ("ARRAY_LENGTH(c.list)", 3),
        ("ARRAY_SLICE(c.list, 1)", [1, 2]),
        ("IS_DEFINED(c.missing)", False),
        ("IS_NUMBER(c.n)", True),
        ("c.s LIKE '%Wörld'", True),
        ("c.n BETWEEN -3 AND -2", True),
        ("c.list[1]", 1),
        ("{'a': c.n, 'b': [1, c.missing]}", {"a": -2.5, "b": [1]}),
        ("ToString(c.n)", "-2.5"),
        ("REPLACE(c.s, 'Hello', 'Bye')", "Bye Wörld"),
    ]:
        equal(ask(container, f"SELECT VALUE {expression} FROM c", partition_key="a"), [expected])


@check
def undefined_is_left_out(account):
    container = account.container()
    container.create_item({"id": "1", "pk": "a", "x": 1})
    container.create_item({"id": "2", "pk": "a"})
    equal(ask(container, "SELECT VALUE c.x FROM c", partition_key="a"), [1])
    equal(ask(container, "SELECT c.x FROM c WHERE c.id = '2'", partition_key="a"), [{}])
    equal(ask(container, "SELECT VALUE c.id FROM c WHERE NOT IS_DEFINED(c.x)", partition_key="a"), ["2"])
    equal(ask(container, "SELECT VALUE c.id FROM c WHERE c.x != 5", partition_key="a"), ["1"])


@check
def a_feed_range_limits_a_query(account):
    container = account.spread_container()
    parts = [ask(container, "SELECT VALUE c.n FROM c", feed_range=part) for part in container.read_feed_ranges()]
    equal(len(parts), 2)
    same([n for part in parts for n in part], list(range(40)))
    one = container.feed_range_from_partition_key("p6")
    same(ask(container, "SELECT VALUE c.n FROM c", feed_range=one), [6, 16, 26, 36])


@check
def hierarchical_prefix_limits_a_query(account):
    container = account.container(
        partition_key=PartitionKey(path=["/tenant", "/user", "/day"], kind="MultiHash"), offer_throughput=12000
    )
    for n in range(30):
        container.create_item({"id": str(n), "tenant": f"t{n % 2}", "user": f"u{n % 3}", "day": n % 5, "n": n})
    same(ask(container, "SELECT VALUE c.n FROM c", partition_key=["t0"]), list(range(0, 30, 2)))
    same(ask(container, "SELECT VALUE c.n FROM c", partition_key=["t0", "u0"]), list(range(0, 30, 6)))
    same(ask(container, "SELECT VALUE c.n FROM c", partition_key=["t0", "u0", 0]), [0])
    equal(ask(container, "SELECT VALUE c.n FROM c ORDER BY c.n"), list(range(30)))


@check
def mistakes_are_400_and_say_where(account):
    container = account.container()
    for query in ["SELEC * FROM c", "SELECT * FROM c WHERE", "SELECT VALUE NOSUCH(c.x) FROM c", "SELECT * FROM c WHERE c.x = @p", ""]:
        with fails(400):
            ask(container, query, partition_key="a")


@check
def metrics_and_index_use_are_told_when_asked_for(account):
    container = account.spread_container()
    _, headers = headers_of(
        lambda hook: list(
            container.query_items(
                "SELECT * FROM c WHERE c.n = 5",
                partition_key="p5",
                populate_query_metrics=True,
                populate_index_metrics=True,
                response_hook=hook,
            )
        )
    )
    metrics = dict(part.split("=") for part in headers["x-ms-documentdb-query-metrics"].split(";"))
    equal(int(metrics["outputDocumentCount"]), 1)
    assert int(metrics["retrievedDocumentCount"]) <= 4, metrics
    assert headers["x-ms-cosmos-index-utilization"], headers


@check
def excluded_path_is_scanned_and_costs_more(account):
    policy = {"indexingMode": "consistent", "includedPaths": [{"path": "/*"}], "excludedPaths": [{"path": "/n/?"}]}
    costs = []
    for options in [{}, {"indexing_policy": policy}]:
        container = account.container(**options)
        for n in range(100):
            container.create_item({"id": str(n), "pk": "a", "n": n, "text": "x" * 500})
        query = "SELECT VALUE c.n FROM c WHERE c.n = 50"
        found, headers = headers_of(lambda hook: list(container.query_items(query, partition_key="a", response_hook=hook)))
        equal(found, [50])
        costs.append(float(headers["x-ms-request-charge"]))
    assert costs[0] < costs[1], costs
