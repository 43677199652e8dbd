"""Single items: create, read, replace, upsert, patch, delete, conditions, keys of every kind, time to live."""

from azure.core import MatchConditions
from azure.cosmos import PartitionKey
from azure.cosmos.partition_key import NonePartitionKeyValue, NullPartitionKeyValue

from harness import check, equal, fails, has, headers_of, same


@check
def item_is_created_and_read_with_its_system_members(account):
    container = account.container()
    created = container.create_item({"id": "1", "pk": "a", "deep": {"list": [1, 2.5, None, True, "x"]}})
    read = container.read_item("1", "a")
    equal(dict(read), dict(created))
    equal(read["deep"], {"list": [1, 2.5, None, True, "x"]})
    for member in ["_rid", "_self", "_etag", "_attachments", "_ts"]:
        assert member in read, read


@check
def item_gets_an_id_when_asked_to(account):
    container = account.container()
    created = container.create_item({"pk": "a"}, enable_automatic_id_generation=True)
    equal(container.read_item(created["id"], "a")["id"], created["id"])
    with fails(400):
        container.create_item({"pk": "a"})


@check
def item_is_created_once(account):
    container = account.container()
    container.create_item({"id": "1", "pk": "a"})
    with fails(409):
        container.create_item({"id": "1", "pk": "a"})
    container.create_item({"id": "1", "pk": "b"})


@check
def missing_item_is_404(account):
    container = account.container()
    for attempt in [
        lambda: container.read_item("x", "a"),
        lambda: container.delete_item("x", "a"),
        lambda: container.replace_item("x", {"id": "x", "pk": "a"}),
        lambda: container.patch_item("x", "a", [{"op": "add", "path": "/n", "value": 1}]),
    ]:
        with fails(404):
            attempt()


@check
def item_is_replaced_upserted_and_deleted(account):
    container = account.container()
    created = container.create_item({"id": "1", "pk": "a", "n": 1})
    replaced = container.replace_item("1", {"id": "1", "pk": "a", "n": 2})
    has(replaced, n=2, _rid=created["_rid"])
    assert replaced["_etag"] != created["_etag"]
    has(container.upsert_item({"id": "1", "pk": "a", "n": 3}), n=3, _rid=created["_rid"])
    has(container.upsert_item({"id": "2", "pk": "a", "n": 4}), n=4)
    container.delete_item("1", "a")
    with fails(404):
        container.read_item("1", "a")


@check
def item_is_addressed_by_its_link(account):
    container = account.container()
    created = container.create_item({"id": "1", "pk": "a", "n": 1})
    equal(container.read_item(created, "a")["n"], 1)
    created["n"] = 2
    equal(container.replace_item(created, created)["n"], 2)
    container.delete_item(created, "a")
    with fails(404):
        container.read_item(created, "a")


@check
def special_characters_in_ids_and_keys(account):
    container = account.container()
    names = ["with space", "ünïcödé", "日本語", "a+b", "a%b", "a&b=c", "quote\"'", "emoji 🚀", "semi;colon", "a.b", "~tilde"]
    for name in names:
        container.create_item({"id": name, "pk": name})
        equal(container.read_item(name, name)["id"], name)
        container.replace_item(name, {"id": name, "pk": name, "n": 1})
        container.delete_item(name, name)


@check
def partition_keys_of_every_type(account):
    container = account.container()
    for n, key in enumerate(["text", "", 5, -1.5, 0, True, False, "ключ"]):
        container.create_item({"id": str(n), "pk": key})
        equal(container.read_item(str(n), key)["pk"], key)
        equal([item["id"] for item in container.query_items("SELECT * FROM c", partition_key=key)], [str(n)])


@check
def missing_and_null_keys_are_different(account):
    container = account.container()
    container.create_item({"id": "1"})
    container.create_item({"id": "1", "pk": None})
    assert "pk" not in container.read_item("1", NonePartitionKeyValue)
    assert "pk" in container.read_item("1", NullPartitionKeyValue)


@check
def nested_partition_key(account):
    container = account.container(path="/address/zip")
    container.create_item({"id": "1", "address": {"zip": "12345"}})
    equal(container.read_item("1", "12345")["id"], "1")


@check
def hierarchical_partition_keys(account):
    container = account.container(partition_key=PartitionKey(path=["/tenant", "/user"], kind="MultiHash"))
    for tenant in "ab":
        for user in "xyz":
            container.create_item({"id": "1", "tenant": tenant, "user": user})
    equal(container.read_item("1", ["a", "y"])["user"], "y")
    found = container.query_items("SELECT VALUE c.user FROM c", partition_key=["a"])
    same(list(found), ["x", "y", "z"])
    container.replace_item("1", {"id": "1", "tenant": "b", "user": "x", "n": 1})
    container.delete_item("1", ["b", "z"])
    equal(list(container.query_items("SELECT VALUE COUNT(1) FROM c", enable_cross_partition_query=True)), [5])


@check
def key_that_contradicts_the_document_is_refused(account):
    container = account.container()
    container.create_item({"id": "1", "pk": "a"})
    with fails(400, 1001):
        container.client_connection.CreateItem(
            container.container_link, {"id": "2", "pk": "a"}, options={"partitionKey": "b"}
        )


@check
def conditions_on_writes(account):
    container = account.container()
    first = container.create_item({"id": "1", "pk": "a"})
    second = container.replace_item("1", {"id": "1", "pk": "a", "n": 1})
    stale = {"etag": first["_etag"], "match_condition": MatchConditions.IfNotModified}
    fresh = {"etag": second["_etag"], "match_condition": MatchConditions.IfNotModified}
    with fails(412):
        container.replace_item("1", {"id": "1", "pk": "a"}, **stale)
    with fails(412):
        container.upsert_item({"id": "1", "pk": "a"}, **stale)
    with fails(412):
        container.patch_item("1", "a", [{"op": "incr", "path": "/n", "value": 1}], **stale)
    with fails(412):
        container.delete_item("1", "a", **stale)
    container.delete_item("1", "a", **fresh)


@check
def read_that_has_not_changed_is_304(account):
    container = account.container()
    created = container.create_item({"id": "1", "pk": "a"})
    unchanged, headers = headers_of(
        lambda hook: container.read_item(
            "1", "a", etag=created["_etag"], match_condition=MatchConditions.IfModified, response_hook=hook
        )
    )
    equal(dict(unchanged or {}), {})
    equal(headers["etag"], created["_etag"])
    changed = container.replace_item("1", {"id": "1", "pk": "a"})
    read = container.read_item("1", "a", etag=created["_etag"], match_condition=MatchConditions.IfModified)
    equal(read["_etag"], changed["_etag"])


@check
def minimal_writes_return_no_body(account):
    container = account.container()
    equal(dict(container.create_item({"id": "1", "pk": "a"}, no_response=True)), {})
    equal(dict(container.replace_item("1", {"id": "1", "pk": "a", "n": 1}, no_response=True)), {})
    equal(dict(container.upsert_item({"id": "1", "pk": "a", "n": 2}, no_response=True)), {})
    equal(container.read_item("1", "a")["n"], 2)


@check
def patch_does_every_operation(account):
    container = account.container()
    container.create_item({"id": "1", "pk": "a", "n": 1, "list": [1, 3], "old": "x", "gone": 0, "deep": {"a": 1}})
    patched = container.patch_item(
        "1",
        "a",
        [
            {"op": "add", "path": "/list/1", "value": 2},
            {"op": "add", "path": "/list/-", "value": 4},
            {"op": "set", "path": "/new", "value": {"b": None}},
            {"op": "replace", "path": "/deep/a", "value": 2},
            {"op": "remove", "path": "/gone"},
            {"op": "incr", "path": "/n", "value": 2.5},
            {"op": "move", "from": "/old", "path": "/moved"},
        ],
    )
    has(patched, list=[1, 2, 3, 4], new={"b": None}, deep={"a": 2}, n=3.5, moved="x")
    assert "gone" not in patched and "old" not in patched, patched
    has(container.read_item("1", "a"), n=3.5)


@check
def patch_with_a_condition(account):
    container = account.container()
    container.create_item({"id": "1", "pk": "a", "n": 1})
    increment = [{"op": "incr", "path": "/n", "value": 1}]
    with fails(412):
        container.patch_item("1", "a", increment, filter_predicate="FROM c WHERE c.n > 5")
    has(container.patch_item("1", "a", increment, filter_predicate="FROM c WHERE c.n = 1"), n=2)


@check
def patch_that_cannot_be_is_refused_and_changes_nothing(account):
    container = account.container()
    container.create_item({"id": "1", "pk": "a", "n": 1, "s": "x"})
    for operations in [
        [{"op": "incr", "path": "/n", "value": 1}] * 11,
        [{"op": "incr", "path": "/n", "value": 1}, {"op": "incr", "path": "/s", "value": 1}],
        [{"op": "replace", "path": "/missing", "value": 1}],
        [{"op": "remove", "path": "/missing"}],
        [{"op": "set", "path": "/pk", "value": "b"}],
        [{"op": "set", "path": "/id", "value": "2"}],
        [{"op": "bogus", "path": "/n", "value": 1}],
        [],
    ]:
        with fails(400):
            container.patch_item("1", "a", operations)
    has(container.read_item("1", "a"), n=1)


@check
def every_reply_carries_the_essential_headers(account):
    container = account.container()
    _, headers = headers_of(lambda hook: container.create_item({"id": "1", "pk": "a"}, response_hook=hook))
    _, read = headers_of(lambda hook: container.read_item("1", "a", response_hook=hook))
    for name in [
        "x-ms-request-charge", "x-ms-activity-id", "x-ms-session-token", "etag", "lsn", "x-ms-item-lsn",
        "x-ms-global-committed-lsn", "x-ms-cosmos-llsn", "x-ms-alt-content-path", "x-ms-content-path",
        "x-ms-documentdb-partitionkeyrangeid", "x-ms-serviceversion", "x-ms-gatewayversion",
        "x-ms-request-duration-ms",
    ]:  # fmt: skip
        assert name in headers and name in read, f"{name} in neither {headers} nor {read}"
    assert 5 <= float(headers["x-ms-request-charge"]) <= 7, headers
    equal(float(read["x-ms-request-charge"]), 1.0)


@check
def too_large_an_item_is_413(account):
    container = account.container()
    with fails(413):
        container.create_item({"id": "1", "pk": "a", "text": "x" * (2 * 1024 * 1024 + 1)})
    container.create_item({"id": "1", "pk": "a", "text": "x" * 1_900_000})
    equal(len(container.read_item("1", "a")["text"]), 1_900_000)


@check
def many_items_are_read_at_once(account):
    container = account.spread_container()
    wanted = [(f"i{n}", f"p{n % 10}") for n in range(0, 40, 3)] + [("missing", "p1")]
    same([item["id"] for item in container.read_items(wanted)], [f"i{n}" for n in range(0, 40, 3)])
    equal(list(container.read_items([])), [])


@check
def time_to_live_is_kept_and_checked(account):
    container = account.container(default_ttl=-1)
    container.create_item({"id": "1", "pk": "a", "ttl": 1000})
    equal(container.read_item("1", "a")["ttl"], 1000)
    with fails(400):
        container.create_item({"id": "2", "pk": "a", "ttl": 0})


@check
def item_is_gone_after_its_time_to_live(account):
    container = account.container(default_ttl=1)
    container.create_item({"id": "kept", "pk": "a", "ttl": -1})
    container.create_item({"id": "gone", "pk": "a"})
    while True:
        try:
            container.read_item("gone", "a")
        except Exception as error:  # the SDK's not-found error, at the latest when the run is stopped
            equal(error.status_code, 404)
            break
    equal([item["id"] for item in container.query_items("SELECT * FROM c", partition_key="a")], ["kept"])


@check
def all_items_of_a_key_are_deleted(account):
    container = account.spread_container()
    container.delete_all_items_by_partition_key("p3")
    equal(list(container.query_items("SELECT VALUE COUNT(1) FROM c", enable_cross_partition_query=True)), [36])
    equal(list(container.query_items("SELECT * FROM c", partition_key="p3")), [])


@check
def object_or_array_for_a_key_counts_as_none(account):
    container = account.container()
    for n, value in enumerate([{}, {"a": 1}, []]):
        container.create_item({"id": str(n), "pk": value})
        equal(container.read_item(str(n), NonePartitionKeyValue)["pk"], value)


@check
def part_of_a_hierarchical_key_reads_no_item(account):
    container = account.container(partition_key=PartitionKey(path=["/tenant", "/user"], kind="MultiHash"))
    container.create_item({"id": "1", "tenant": "a", "user": "x"})
    words = "Partition key provided either doesn't correspond to definition in the collection"
    with fails(400, 1001, words):
        container.client_connection.ReadItem(container.container_link + "/docs/1", {"partitionKey": ["a"]})


@check
def text_that_readers_disagree_on_is_refused(account):
    container = account.container()
    for item in [{"x": "\ud800"}, {"\udfff": 1}, {"ttl": None}]:
        with fails(400):
            container.create_item({"id": "1", "pk": "a", **item})
    equal(list(container.read_all_items()), [])
