"""Users, permissions, and clients that have a resource token instead of the account's key."""

from azure.cosmos import CosmosClient

from harness import check, equal, fails, fresh, has


def granted(account, mode, link, **members):
    """A permission of a new user, and a client that has nothing but its token."""
    user = account.database.create_user({"id": fresh("u")})
    permission = user.create_permission({"id": "p", "permissionMode": mode, "resource": link, **members})
    client = CosmosClient(account.endpoint, {link: permission.properties["_token"]})
    return user, client.get_database_client(account.database.id)


def link_of(account, container):
    return f"dbs/{account.database.id}/colls/{container.id}"


@check
def users_are_made_listed_queried_replaced_and_deleted(account):
    name = fresh("u")
    user = account.database.create_user({"id": name})
    has(user.read(), id=name)
    with fails(409):
        account.database.create_user({"id": name})
    assert name in [found["id"] for found in account.database.list_users(max_item_count=1)]
    query = "SELECT * FROM root r WHERE r.id = @id"
    found = account.database.query_users(query, parameters=[{"name": "@id", "value": name}])
    equal([user["id"] for user in found], [name])
    renamed = account.database.replace_user(name, {"id": name + "-anew"})
    equal(account.database.upsert_user({"id": renamed.id}).id, renamed.id)
    account.database.delete_user(renamed.id)
    with fails(404):
        renamed.read()


@check
def permissions_are_made_listed_queried_replaced_and_deleted(account):
    container, other = account.container(), account.container()
    user = account.database.create_user({"id": fresh("u")})
    link = link_of(account, container)
    made = user.create_permission({"id": "p", "permissionMode": "Read", "resource": link})
    equal((made.permission_mode, made.resource_link), ("Read", link))
    assert made.properties["_token"].startswith("type=resource&ver="), made.properties
    with fails(409):
        user.create_permission({"id": "p", "permissionMode": "Read", "resource": link_of(account, other)})
    assert user.get_permission("p").properties["_token"] != made.properties["_token"]
    equal([found["id"] for found in user.list_permissions()], ["p"])
    equal([found["id"] for found in user.query_permissions("SELECT * FROM c WHERE c.id = 'p'")], ["p"])
    replaced = user.replace_permission("p", {"id": "q", "permissionMode": "All", "resource": link})
    equal(replaced.permission_mode, "All")
    upserted = user.upsert_permission({"id": "q", "permissionMode": "Read", "resource": link})
    equal(upserted.permission_mode, "Read")
    user.delete_permission("q")
    with fails(404):
        user.get_permission("q")


@check
def a_token_for_reading_reads_and_writes_nothing(account):
    container = account.container()
    container.create_item({"id": "1", "pk": "a"})
    _, database = granted(account, "Read", link_of(account, container))
    seen = database.get_container_client(container.id)
    equal(seen.read_item("1", "a")["id"], "1")
    equal([item["id"] for item in seen.query_items("SELECT * FROM c", enable_cross_partition_query=True)], ["1"])
    equal([item["id"] for item in seen.read_all_items()], ["1"])
    with fails(403):
        seen.create_item({"id": "2", "pk": "a"})
    with fails(403):
        seen.delete_item("1", "a")
    with fails(403):
        database.delete_container(container.id)


@check
def a_token_for_everything_writes_in_its_container(account):
    container = account.container()
    user, database = granted(account, "All", link_of(account, container))
    seen = database.get_container_client(container.id)
    seen.create_item({"id": "1", "pk": "a"})
    seen.upsert_item({"id": "1", "pk": "a", "n": 1})
    equal(seen.patch_item("1", "a", [{"op": "incr", "path": "/n", "value": 1}])["n"], 2)
    seen.execute_item_batch([("create", ({"id": "2", "pk": "a"},))], partition_key="a")
    seen.delete_item("2", "a")
    with fails(403):
        database.delete_container(container.id)
    # Nothing ends a token before its time.
    user.delete_permission("p")
    equal(seen.read_item("1", "a")["n"], 2)
    account.database.delete_user(user.id)
    equal(seen.read_item("1", "a")["n"], 2)


@check
def a_token_for_a_partition_key_opens_that_key(account):
    container = account.container()
    for pk in [1, 2]:
        container.create_item({"id": "1", "pk": pk})
    _, database = granted(account, "All", link_of(account, container), resourcePartitionKey=[1])
    seen = database.get_container_client(container.id)
    seen.create_item({"id": "2", "pk": 1})
    with fails(403):
        seen.create_item({"id": "2", "pk": 2})
    found = seen.query_items("SELECT * FROM c ORDER BY c.id", partition_key=1)
    equal([(item["id"], item["pk"]) for item in found], [("1", 1), ("2", 1)])
    with fails(403):
        list(seen.query_items("SELECT * FROM c", partition_key=2))
    with fails(403):
        seen.read_item("1", 2)
    seen.delete_item("2", 1)


@check
def a_client_without_a_token_is_refused(account):
    with fails(401):
        CosmosClient(account.endpoint, {}).get_database_client(account.database.id).read()
