"""Containers without a partition key, made as old clients make them and used by the SDK of today."""

import base64
import hashlib
import hmac
import json
import urllib.parse
import urllib.request
from email.utils import formatdate

from azure.cosmos.partition_key import NonePartitionKeyValue

from harness import check, equal, fresh, has, same


def make_as_in_2018(account):
    """Creates a container by a request of the API version 2018-06-18, which needs no partition key."""
    database, name, date = account.database.id, fresh("old"), formatdate(usegmt=True)
    text = f"post\ncolls\ndbs/{database}\n{date.lower()}\n\n"
    digest = hmac.new(base64.b64decode(account.key), text.encode(), hashlib.sha256).digest()
    token = urllib.parse.quote(f"type=master&ver=1.0&sig={base64.b64encode(digest).decode()}", safe="")
    headers = {"authorization": token, "x-ms-date": date, "x-ms-version": "2018-06-18"}
    url = f"{account.endpoint.rstrip('/')}/dbs/{database}/colls"
    request = urllib.request.Request(url, json.dumps({"id": name}).encode(), headers, method="POST")
    with urllib.request.urlopen(request) as answer:
        equal(answer.status, 201)
        assert "partitionKey" not in json.load(answer)
    return account.database.get_container_client(name)


@check
def items_outside_of_any_key(account):
    container = make_as_in_2018(account)
    has(container.read()["partitionKey"], paths=["/_partitionKey"], systemKey=True)
    container.create_item({"id": "1", "n": 1})
    has(container.read_item("1", partition_key=NonePartitionKeyValue), n=1)
    container.upsert_item({"id": "1", "n": 2})
    rows = list(container.query_items("SELECT VALUE c.n FROM c", partition_key=NonePartitionKeyValue))
    equal(rows, [2])
    container.create_item({"id": "1", "_partitionKey": "a", "n": 3})
    has(container.read_item("1", partition_key="a"), n=3)
    same(list(container.query_items("SELECT VALUE c.n FROM c", enable_cross_partition_query=True)), [2, 3])
    container.delete_item("1", partition_key=NonePartitionKeyValue)
    equal([item["n"] for item in container.read_all_items()], [3])
