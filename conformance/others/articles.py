"""The Azure SDK's own test of hybrid searches: its hundred articles, and what it expects of the service, in the emulator
at COSMOS_ENDPOINT. The articles come from the SDK's package; `run` puts them beside this file."""

import os
import sys

from azure.cosmos import CosmosClient, PartitionKey
from hybrid_search_data import get_full_text_items

JOHN = "FullTextContains(c.title, 'John') OR FullTextContains(c.text, 'John')"
EITHER = f"{JOHN} OR FullTextContains(c.text, 'United States')"
TITLE = "FullTextScore(c.title, 'John')"
STATES = "FullTextScore(c.text, 'United States')"
BEST = {61, 51, 49, 54, 75, 24, 77, 76, 80, 25, 2}
ALL = BEST | {22, 66, 57, 85}

# The condition, the rank, what limits the rows (before SELECT's list and at the end), how many there are, and of which.
SEARCHES = [
    (JOHN, TITLE, "TOP 10", "", 3, {2, 85, 57}),
    (JOHN, TITLE, "", "OFFSET 1 LIMIT 5", 2, {85, 57}),
    (EITHER, f"RRF({TITLE}, {STATES})", "TOP 20", "", 13, ALL),
    (EITHER, f"RRF({TITLE}, {STATES})", "TOP 10", "", 10, BEST),
    ("true", f"RRF({TITLE}, {STATES})", "TOP 10", "", 10, BEST),
    # The SDK's test asks for 13. Which articles without any score are the last two, nobody says.
    ("true", f"RRF({TITLE}, {STATES})", "", "OFFSET 0 LIMIT 11", 11, BEST | {22, 66}),
    (EITHER, f"RRF({TITLE}, {STATES}, [10, 10])", "TOP 15", "", 13, ALL),
    (EITHER, f"RRF({TITLE}, {STATES}, [0.1, 0.1])", "TOP 10", "", 10, BEST),
    (EITHER, f"RRF({TITLE}, {STATES}, [-1, -1])", "TOP 15", "", 13, ALL | {81}),
    ("true", f"RRF({STATES}, VectorDistance(c.vector, @v))", "", "OFFSET 0 LIMIT 10", 10,
     {51, 54, 28, 70, 24, 61, 56, 26, 58, 77, 2, 68}),
]


def filled(database):
    container = database.create_container(
        id="articles",
        partition_key=PartitionKey("/pk"),
        offer_throughput=12000,
        indexing_policy={
            "indexingMode": "consistent",
            "includedPaths": [{"path": "/*"}],
            "excludedPaths": [{"path": '/"_etag"/?'}],
            "fullTextIndexes": [{"path": "/text"}],
        },
        full_text_policy={
            "defaultLanguage": "en-US",
            "fullTextPaths": [{"path": "/text", "language": "en-US"}],
        },
    )
    for number, article in enumerate(get_full_text_items()["items"]):
        container.create_item({**article, "id": str(number), "pk": str(number % 2 + 1)})
    return container


def search(container, condition, rank, top, window, vector):
    where = "" if condition == "true" else f" WHERE {condition}"
    query = f"SELECT {top} c.index FROM c{where} ORDER BY RANK {rank} {window}"
    parameters = [{"name": "@v", "value": vector}]
    rows = container.query_items(query, parameters=parameters, enable_cross_partition_query=True)
    return [row["index"] for row in rows]


def main():
    client = CosmosClient(os.environ["COSMOS_ENDPOINT"], os.environ["COSMOS_KEY"])
    database = client.create_database(f"articles-{os.getpid()}")
    container = filled(database)
    vector = container.read_item("50", "1")["vector"]
    for condition, rank, top, window, count, among in SEARCHES:
        found = search(container, condition, rank, top, window, vector)
        assert len(found) == count and len(set(found)) == count and set(found) <= among, (rank, window, found)
    # A window of a search is that part of it, and weights that are equal change nothing.
    fused = f"RRF({TITLE}, {STATES})"
    whole = search(container, EITHER, fused, "TOP 20", "", vector)
    assert search(container, EITHER, fused, "", "OFFSET 5 LIMIT 10", vector) == whole[5:15]
    weighed = [search(container, EITHER, f"RRF({TITLE}, {STATES}, {w})", "TOP 15", "", vector) for w in ["[1, 1]", "[10, 10]"]]
    assert weighed[0] == weighed[1] == whole, (weighed, whole)
    client.delete_database(database.id)


if __name__ == "__main__":
    try:
        main()
    except Exception as error:  # noqa: BLE001 - whatever goes wrong is a failure of the check
        print(f"FAILED the articles of the SDK's hybrid searches: {error!r}")
        sys.exit(1)
    print("passed the articles of the SDK's hybrid searches")
