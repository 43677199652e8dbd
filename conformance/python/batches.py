"""Transactional batches: all or nothing, a result for each operation."""

from azure.cosmos.exceptions import CosmosBatchOperationError

from harness import check, equal, fails, has, headers_of


@check
def batch_does_every_operation(account):
    container = account.container()
    container.create_item({"id": "old", "pk": "a", "n": 1})
    container.create_item({"id": "gone", "pk": "a"})
    results = container.execute_item_batch(
        [
            ("create", ({"id": "1", "pk": "a"},)),
            ("upsert", ({"id": "2", "pk": "a"},)),
            ("replace", ("old", {"id": "old", "pk": "a", "n": 2})),
            ("patch", ("old", [{"op": "incr", "path": "/n", "value": 5}])),
            ("read", ("old",)),
            ("delete", ("gone",)),
        ],
        "a",
    )
    equal([result["statusCode"] for result in results], [201, 201, 200, 200, 200, 204])
    has(results[4]["resourceBody"], n=7)
    assert all(result["requestCharge"] > 0 for result in results), results
    has(container.read_item("old", "a"), n=7)
    with fails(404):
        container.read_item("gone", "a")


@check
def failed_batch_leaves_nothing(account):
    container = account.container()
    container.create_item({"id": "there", "pk": "a"})
    try:
        container.execute_item_batch(
            [
                ("create", ({"id": "1", "pk": "a"},)),
                ("create", ({"id": "there", "pk": "a"},)),
                ("create", ({"id": "2", "pk": "a"},)),
            ],
            "a",
        )
    except CosmosBatchOperationError as error:
        equal(error.error_index, 1)
        equal([result["statusCode"] for result in error.operation_responses], [424, 409, 424])
    else:
        raise AssertionError("the batch succeeded")
    equal([item["id"] for item in container.read_all_items()], ["there"])


@check
def batch_with_conditions(account):
    container = account.container()
    first = container.create_item({"id": "1", "pk": "a", "n": 1})
    container.replace_item("1", {"id": "1", "pk": "a", "n": 2})
    try:
        container.execute_item_batch(
            [("replace", ("1", {"id": "1", "pk": "a", "n": 3}), {"if_match_etag": first["_etag"]})], "a"
        )
    except CosmosBatchOperationError as error:
        equal(error.operation_responses[0]["statusCode"], 412)
    else:
        raise AssertionError("the batch succeeded")
    patch = ("patch", ("1", [{"op": "set", "path": "/n", "value": 9}]), {"filter_predicate": "FROM c WHERE c.n = 2"})
    container.execute_item_batch([patch], "a")
    has(container.read_item("1", "a"), n=9)


@check
def batch_raises_the_sequence_number_once(account):
    container = account.container()
    _, before = headers_of(lambda hook: container.create_item({"id": "0", "pk": "a"}, response_hook=hook))
    operations = [("create", ({"id": str(n), "pk": "a"},)) for n in range(1, 11)]
    _, after = headers_of(lambda hook: container.execute_item_batch(operations, "a", response_hook=hook))
    equal(int(after["lsn"]), int(before["lsn"]) + 1)


@check
def batch_of_one_hundred_at_most(account):
    container = account.container()
    operations = [("create", ({"id": str(n), "pk": "a"},)) for n in range(101)]
    with fails(400):
        container.execute_item_batch(operations, "a")
    equal(len(container.execute_item_batch(operations[:100], "a")), 100)


@check
def batch_is_for_one_key(account):
    container = account.container()
    try:
        container.execute_item_batch([("create", ({"id": "1", "pk": "b"},))], "a")
    except CosmosBatchOperationError as error:
        equal(error.operation_responses[0]["statusCode"], 400)
    except Exception as error:  # the service refuses the batch as a whole or the operation; both are 400
        equal(error.status_code, 400)
    else:
        raise AssertionError("the batch succeeded")
    equal(list(container.read_all_items()), [])


@check
def batch_of_nothing_is_refused(account):
    container = account.container()
    with fails(400, words="Batch request has no operations."):
        container.execute_item_batch([], partition_key="a")
