"""Searches: by distance, by text, and by both together, within a key and across partitions; and policies for them."""

import math

from harness import check, equal, fails, same

COUNT = 150


def article(n):
    """Has `n % 7` times the word red among thirty words, and a vector at an angle that grows with `n`."""
    reds = n % 7
    angle = n * 0.01
    return {
        "id": f"i{n}",
        "pk": f"p{n % 10}",
        "n": n,
        "text": "red " * reds + "blue " * (30 - reds),
        "vector": [math.cos(angle), math.sin(angle)],
    }


def policies(metric="cosine", index="diskANN"):
    embedding = {"path": "/vector", "dataType": "float32", "dimensions": 2, "distanceFunction": metric}
    return {
        "vector_embedding_policy": {"vectorEmbeddings": [embedding]},
        "full_text_policy": {"defaultLanguage": "en-US", "fullTextPaths": [{"path": "/text", "language": "en-US"}]},
        "indexing_policy": {
            "indexingMode": "consistent",
            "automatic": True,
            "includedPaths": [{"path": "/*"}],
            "excludedPaths": [{"path": "/vector/*"}, {"path": '/"_etag"/?'}],
            "vectorIndexes": [{"path": "/vector", "type": index}],
            "fullTextIndexes": [{"path": "/text"}],
        },
    }


def articles(account, **options):
    container = account.container(offer_throughput=12000, **policies(**options))
    for n in range(COUNT):
        container.create_item(article(n))
    return container


def ask(container, query, parameters=None, **options):
    if "partition_key" not in options:
        options["enable_cross_partition_query"] = True
    return list(container.query_items(query, parameters=parameters, **options))


@check
def policies_are_stored_and_checked(account):
    written = policies(metric="euclidean", index="quantizedFlat")
    read = account.container(**written).read()
    equal(read["vectorEmbeddingPolicy"], written["vector_embedding_policy"])
    equal(read["fullTextPolicy"], written["full_text_policy"])
    for name in ["vectorIndexes", "fullTextIndexes"]:
        equal(read["indexingPolicy"][name], written["indexing_policy"][name])
    wrong = policies()
    wrong["indexing_policy"]["vectorIndexes"][0]["path"] = "/vector1"
    with fails(400, words="path::/vector1 not matching in Embedding's path"):
        account.container(**wrong)
    wrong = policies()
    wrong["full_text_policy"]["fullTextPaths"][0]["path"] = "abstract"
    with fails(400, words="contains an invalid path: abstract"):
        account.container(**wrong)


@check
def the_nearest_come_first(account):
    for metric in ["cosine", "dotproduct", "euclidean"]:
        container = articles(account, metric=metric)
        order = "ORDER BY VectorDistance(c.vector, [1, 0])"
        equal(ask(container, f"SELECT TOP 10 VALUE c.n FROM c {order}"), list(range(10)))
        equal(ask(container, f"SELECT VALUE c.n FROM c {order} OFFSET 5 LIMIT 7"), list(range(5, 12)))
        query = "SELECT TOP 3 c.n, VectorDistance(c.vector, @v) AS d FROM c WHERE c.n > 3 ORDER BY VectorDistance(c.vector, @v)"
        found = ask(container, query, [{"name": "@v", "value": [1, 0]}])
        equal([row["n"] for row in found], [4, 5, 6])
        expected = 2 * math.sin(0.02) if metric == "euclidean" else math.cos(0.04)
        assert abs(found[0]["d"] - expected) < 1e-12, found
        within = ask(container, f"SELECT TOP 3 VALUE c.n FROM c {order}", partition_key="p4")
        equal(within, [4, 14, 24])


@check
def a_distance_takes_no_direction(account):
    container = account.container(**policies())
    with fails(400, words="Specifying a sorting order (ASC or DESC) with VectorDistance function is not supported."):
        ask(container, "SELECT TOP 3 * FROM c ORDER BY VectorDistance(c.vector, [1, 0]) DESC", partition_key="a")


@check
def texts_have_terms(account):
    container = articles(account)
    for condition, expected in [
        ("FullTextContains(c.text, 'reds')", [n for n in range(COUNT) if n % 7]),
        ("FullTextContains(c.text, 'red blue')", [n for n in range(COUNT) if n % 7]),
        ("FullTextContains(c.text, 'blue red')", []),
        ("FullTextContainsAll(c.text, 'red', 'blue')", [n for n in range(COUNT) if n % 7]),
        ("FullTextContainsAny(c.text, 'green', 'blue')", list(range(COUNT))),
        ("NOT FullTextContains(c.text, @term)", [n for n in range(COUNT) if n % 7 == 0]),
    ]:
        same(ask(container, f"SELECT VALUE c.n FROM c WHERE {condition}", [{"name": "@term", "value": "red"}]), expected)


@check
def texts_are_ranked(account):
    container = articles(account)
    query = "SELECT TOP 50 c.n FROM c ORDER BY RANK FullTextScore(c.text, 'red')"
    found = [row["n"] % 7 for row in ask(container, query)]
    equal(found, sorted((n % 7 for n in range(COUNT)), reverse=True)[:50])
    found = [row["n"] for row in ask(container, query, partition_key="p4")]
    equal(sorted(found, key=lambda n: -(n % 7)), found)
    equal(len(found), COUNT // 10)


def fused(n, weights):
    """What two ranks come to, where every item has both."""
    by_text = n % 7 + 1 if weights[0] < 0 else 7 - n % 7
    by_vector = COUNT - n if weights[1] < 0 else n + 1
    return abs(weights[0]) / (60 + by_text) + abs(weights[1]) / (60 + by_vector)


@check
def ranks_are_fused(account):
    container = articles(account)
    scores = "FullTextScore(c.text, 'red'), VectorDistance(c.vector, [1, 0])"
    # Two times the window is more than there are items, so every item has both ranks.
    for weights, written in [((1, 1), ""), ((2, 0.5), ", [2, 0.5]"), ((1, -0.3), ", [1, -0.3]"), ((-1, -1), ", @w")]:
        expected = sorted((fused(n, weights) for n in range(COUNT)), reverse=True)
        for top, window, part in [("TOP 80 ", "", slice(0, 80)), ("", " OFFSET 40 LIMIT 40", slice(40, 80))]:
            query = f"SELECT {top}c.n FROM c ORDER BY RANK RRF({scores}{written}){window}"
            found = ask(container, query, [{"name": "@w", "value": [-1, -1]}])
            equal([fused(row["n"], weights) for row in found], expected[part])


@check
def ranks_that_mean_nothing_are_refused(account):
    container = articles(account)
    for query, words in [
        ("SELECT TOP 5 * FROM c ORDER BY RANK c.n", "SC2221"),
        ("SELECT TOP 5 * FROM c ORDER BY RANK FullTextScore(c.text, 'a') DESC", "Specifying a sort order"),
        ("SELECT VALUE FullTextScore(c.text, 'a') FROM c", "SC2240"),
        ("SELECT TOP 5 * FROM c ORDER BY RANK RRF(FullTextScore(c.text, 'a'), FullTextScore(c.text, 'b'), [1])", "SC2229"),
    ]:
        with fails(400, words=words):
            ask(container, query)
