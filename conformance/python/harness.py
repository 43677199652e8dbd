"""What the checks share: the list of them, a client, fresh containers, and assertions that say what they saw."""

import contextlib
import itertools
import os
import traceback

from azure.core.exceptions import AzureError
from azure.cosmos import CosmosClient, PartitionKey

CHECKS = []
_numbers = itertools.count(1)


def check(function):
    """Registers a check: it takes the account, and fails by raising."""
    CHECKS.append(function)
    return function


class Account:
    """A client, and a database of its own."""

    def __init__(self):
        self.endpoint = os.environ["COSMOS_ENDPOINT"]
        self.key = os.environ["COSMOS_KEY"]
        self.client = self.connect()
        self.database = self.client.create_database(f"python-{os.getpid()}")

    def connect(self, **options):
        return CosmosClient(self.endpoint, self.key, **options)

    def container(self, path="/pk", **options):
        """A fresh container."""
        options.setdefault("partition_key", PartitionKey(path=path))
        return self.database.create_container(id=fresh("c"), **options)

    def spread_container(self, count=40, **options):
        """A container of several physical partitions, with `count` items spread over them."""
        container = self.container(offer_throughput=12000, **options)
        for n in range(count):
            container.create_item(numbered(n))
        return container


def numbered(n):
    return {"id": f"i{n}", "pk": f"p{n % 10}", "n": n, "even": n % 2 == 0, "group": f"g{n % 3}"}


def fresh(prefix):
    return f"{prefix}{next(_numbers)}"


def headers_of(call):
    """The result of a call that takes a response hook, and the headers it was answered with."""
    seen = {}
    result = call(lambda headers, *_: seen.update({name.lower(): value for name, value in headers.items()}))
    return result, seen


def equal(found, expected):
    assert found == expected, f"expected {expected!r}, found {found!r}"


def same(found, expected):
    """Equal, whatever the order."""
    equal(sorted(found, key=repr), sorted(expected, key=repr))


def has(found, **members):
    for name, value in members.items():
        assert name in found, f"no {name} in {found!r}"
        equal(found[name], value)


@contextlib.contextmanager
def fails(status, sub_status=None, words=""):
    """The block must be answered with this status, in these words."""
    try:
        yield
    except AzureError as error:
        equal(error.status_code, status)
        if sub_status is not None:
            equal(error.sub_status, sub_status)
        assert error.message and words in error.message, error.message
        return
    raise AssertionError(f"expected status {status}, but it succeeded")


def run(filters):
    account = Account()
    passed = failed = 0
    for function in CHECKS:
        name = f"{function.__module__}.{function.__name__}"
        if filters and not any(part in name for part in filters):
            continue
        try:
            function(account)
            passed += 1
        except Exception:  # a check fails by raising anything
            failed += 1
            print(f"FAILED {name}")
            traceback.print_exc()
    account.client.delete_database(account.database.id)
    print(f"python: {passed} passed, {failed} failed")
    return 1 if failed or not passed else 0
