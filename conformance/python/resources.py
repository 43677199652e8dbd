"""Account, databases, containers: made, found, changed, listed, queried, deleted."""

from azure.cosmos import CosmosClient, PartitionKey
from azure.cosmos.partition_key import NonePartitionKeyValue

from harness import check, equal, fails, fresh, has, headers_of, same


@check
def account_lists_its_regions_by_the_address_used(account):
    properties = account.client.get_database_account()
    equal(properties.ConsistencyPolicy["defaultConsistencyLevel"], "Session")
    equal(len(properties.WritableLocations), 1)
    equal(properties.WritableLocations[0]["databaseAccountEndpoint"].rstrip("/"), account.endpoint.rstrip("/"))
    equal(properties.ReadableLocations[0]["name"], properties.WritableLocations[0]["name"])


@check
def wrong_key_is_refused_with_what_was_expected(account):
    wrong = "d3Jvbmcga2V5IHdyb25nIGtleSB3cm9uZyBrZXkgd3Jvbmc="
    with fails(401):
        CosmosClient(account.endpoint, wrong).get_database_client("x").read()


@check
def database_is_created_read_and_deleted(account):
    name = fresh("db")
    database = account.client.create_database(name)
    has(database.read(), id=name)
    with fails(409):
        account.client.create_database(name)
    equal(account.client.create_database_if_not_exists(name).id, name)
    account.client.delete_database(name)
    with fails(404):
        database.read()
    with fails(404):
        account.client.delete_database(name)


@check
def databases_are_listed_and_queried(account):
    names = sorted(account.client.create_database(fresh("list")).id for _ in range(3))
    listed = [database["id"] for database in account.client.list_databases(max_item_count=1)]
    assert set(names) <= set(listed), listed
    found = account.client.query_databases(
        "SELECT * FROM root r WHERE r.id = @id", parameters=[{"name": "@id", "value": names[1]}]
    )
    equal([database["id"] for database in found], [names[1]])
    for name in names:
        account.client.delete_database(name)


@check
def database_with_special_characters_in_its_name(account):
    for name in ["mit Leerzeichen", "naïve-データ", "a+b&c=d%25"]:
        database = account.client.create_database(name)
        equal(database.read()["id"], name)
        container = database.create_container("コンテナ ü", partition_key=PartitionKey(path="/pk"))
        container.create_item({"id": "1", "pk": "a"})
        equal(container.read_item("1", "a")["id"], "1")
        account.client.delete_database(name)


@check
def container_is_created_with_defaults(account):
    container = account.container()
    properties = container.read()
    has(properties, id=container.id)
    has(properties["partitionKey"], paths=["/pk"], kind="Hash", version=2)
    has(properties["indexingPolicy"], indexingMode="consistent", automatic=True)
    has(properties["conflictResolutionPolicy"], mode="LastWriterWins")
    assert properties["_self"].startswith("dbs/") and properties["_etag"] and properties["_ts"], properties
    with fails(409):
        account.database.create_container(container.id, partition_key=PartitionKey(path="/pk"))


@check
def container_of_the_first_hash_version(account):
    container = account.container(partition_key=PartitionKey(path="/pk", version=1))
    equal(container.read()["partitionKey"].get("version", 1), 1)
    container.create_item({"id": "1", "pk": "a"})
    equal(container.read_item("1", "a")["pk"], "a")


@check
def container_is_replaced(account):
    container = account.container()
    key = PartitionKey(path="/pk")
    policy = {"indexingMode": "consistent", "includedPaths": [{"path": "/*"}], "excludedPaths": [{"path": "/x/?"}]}
    account.database.replace_container(container, key, default_ttl=100, indexing_policy=policy)
    properties = container.read()
    equal(properties["defaultTtl"], 100)
    assert {"path": "/x/?"} in properties["indexingPolicy"]["excludedPaths"], properties
    with fails(400):
        account.database.replace_container(container, PartitionKey(path="/other"))


@check
def containers_are_listed_and_queried(account):
    names = [account.container().id for _ in range(3)]
    listed = [container["id"] for container in account.database.list_containers(max_item_count=2)]
    assert set(names) <= set(listed), listed
    query = "SELECT * FROM root r WHERE r.id = @id"
    found = account.database.query_containers(query, parameters=[{"name": "@id", "value": names[0]}])
    equal([container["id"] for container in found], [names[0]])


@check
def container_is_deleted_and_its_name_free_again(account):
    container = account.container()
    container.create_item({"id": "1", "pk": "a"})
    account.database.delete_container(container)
    with fails(404):
        container.read()
    account.database.create_container(container.id, partition_key=PartitionKey(path="/pk"))
    # This client's session remembers the container of before, and is not held up by it.
    equal(list(container.read_all_items()), [])
    container.create_item({"id": "2", "pk": "a"})
    equal(container.read_item("2", "a")["id"], "2")


@check
def container_if_not_exists_returns_the_one_there(account):
    container = account.container()
    again = account.database.create_container_if_not_exists(container.id, PartitionKey(path="/pk"))
    equal(again.read()["_rid"], container.read()["_rid"])


@check
def missing_database_is_404_with_owner_missing(account):
    nowhere = account.client.get_database_client("nowhere")
    with fails(404):
        nowhere.get_container_client("c").read()
    with fails(404):
        nowhere.create_container("c", partition_key=PartitionKey(path="/pk"))


@check
def bad_definitions_are_refused(account):
    with fails(400):
        account.database.create_container(fresh("bad"), partition_key={"paths": ["pk"], "kind": "Hash"})
    with fails(400):
        account.database.create_container(
            fresh("bad"), PartitionKey(path="/pk"), indexing_policy={"includedPaths": [{"path": "no-slash"}]}
        )


@check
def bad_definitions_are_named_in_the_services_words(account):
    database, key = account.database, PartitionKey(path="/pk")
    path = "Partition key paths must contain only valid characters and not contain a trailing slash or wildcard character"
    with fails(400, words=path):
        database.create_container(fresh("bad"), PartitionKey(path="/id ds"))
    with fails(400, words="Too many partition key paths"):
        database.create_container(fresh("bad"), PartitionKey(path=["/a", "/b", "/c", "/d"], kind="MultiHash"))
    invalid = "One of the specified inputs is invalid"
    for properties in ["none", [{"name": "x"}], [{"query": "SELECT VALUE 1 FROM c"}]]:
        with fails(400, words=invalid):
            database.create_container(fresh("bad"), key, computed_properties=properties)
    container = account.container(path='/"level 1*()"/"le/vel2"')
    container.create_item({"id": "1", "level 1*()": {"le/vel2": "x"}})
    equal(container.read_item("1", "x")["id"], "1")


@check
def indexing_policies_are_completed(account):
    excluded = {"indexingMode": "consistent", "excludedPaths": [{"path": "/*"}]}
    policy = account.container(indexing_policy=excluded).read()["indexingPolicy"]
    equal((policy["includedPaths"], policy["excludedPaths"][0]), ([], {"path": "/*"}))
    container = account.container(indexing_policy={"indexingMode": "consistent", "automatic": False})
    equal(container.read()["indexingPolicy"]["automatic"], True)
    container.create_item({"id": "1", "pk": "a", "n": 1})
    equal([item["id"] for item in container.query_items("SELECT * FROM c WHERE c.n = 1", partition_key="a")], ["1"])


@check
def container_without_a_partition_key(account):
    old = account.connect()
    old.client_connection.default_headers["x-ms-version"] = "2018-06-18"
    name = fresh("unpartitioned")
    old.client_connection.CreateContainer(f"dbs/{account.database.id}", {"id": name})
    container = account.database.get_container_client(name)
    key = container.read()["partitionKey"]
    equal((key["paths"], key["systemKey"]), (["/_partitionKey"], True))
    container.create_item({"id": "1"})
    equal(container.read_item("1", NonePartitionKeyValue)["id"], "1")
    container.create_item({"id": "1", "_partitionKey": "a"})
    equal(container.read_item("1", "a")["_partitionKey"], "a")


@check
def new_container_has_a_session_and_a_quota(account):
    _, headers = headers_of(
        lambda hook: account.database.create_container(fresh("c"), PartitionKey(path="/pk"), response_hook=hook)
    )
    assert headers["x-ms-session-token"].startswith("0:"), headers
    assert "collectionSize=" in headers["x-ms-resource-quota"], headers


@check
def quota_and_usage_are_told_when_asked_for(account):
    container = account.container()
    for n in range(3):
        container.create_item({"id": str(n), "pk": "a"})
    _, headers = headers_of(lambda hook: container.read(populate_quota_info=True, response_hook=hook))
    assert "x-ms-resource-quota" in headers and "documentsCount=3" in headers["x-ms-resource-usage"], headers


@check
def partition_ranges_cover_everything_and_follow_throughput(account):
    for throughput, partitions in [(400, 1), (12000, 2), (30000, 5)]:
        container = account.container(offer_throughput=throughput)
        equal(len(list(container.read_feed_ranges())), partitions)


@check
def scripts_are_kept_read_replaced_and_deleted(account):
    scripts = account.container().scripts
    equal(list(scripts.list_stored_procedures()), [])
    body = {"id": "s", "body": "function(){}"}
    equal(scripts.create_stored_procedure(body)["body"], "function(){}")
    scripts.create_trigger({**body, "triggerType": "Pre", "triggerOperation": "All"})
    scripts.create_user_defined_function(body)
    with fails(409):
        scripts.create_stored_procedure(body)
    for listed in [scripts.list_stored_procedures(), scripts.list_triggers(), scripts.list_user_defined_functions()]:
        equal([script["id"] for script in listed], ["s"])
    equal(scripts.replace_stored_procedure("s", {"id": "s", "body": "anew"})["body"], "anew")
    equal(scripts.get_user_defined_function("s")["id"], "s")
    scripts.delete_stored_procedure("s")
    with fails(404):
        scripts.get_stored_procedure("s")


@check
def computed_properties_are_kept_and_queried(account):
    container = account.container(
        computed_properties=[{"name": "lowerName", "query": "SELECT VALUE LOWER(c.name) FROM c"}]
    )
    equal(container.read()["computedProperties"][0]["name"], "lowerName")
    container.create_item({"id": "1", "pk": "a", "name": "ADA"})
    found = list(container.query_items("SELECT VALUE c.lowerName FROM c", partition_key="a"))
    equal(found, ["ada"])


@check
def unique_keys_hold_within_a_partition(account):
    container = account.container(unique_key_policy={"uniqueKeys": [{"paths": ["/email"]}]})
    container.create_item({"id": "1", "pk": "a", "email": "x"})
    with fails(409):
        container.create_item({"id": "2", "pk": "a", "email": "x"})
    container.create_item({"id": "2", "pk": "b", "email": "x"})
    container.create_item({"id": "3", "pk": "a", "email": "y"})
    with fails(409):
        container.upsert_item({"id": "3", "pk": "a", "email": "x"})
    same([item["id"] for item in container.read_all_items()], ["1", "2", "3"])
