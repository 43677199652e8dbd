"""Change feeds of both kinds, and feed ranges."""

from datetime import datetime, timedelta, timezone

from azure.cosmos import PartitionKey

from harness import check, equal, has, same


def changes(container, **options):
    return [change["id"] for change in container.query_items_change_feed(**options)]


def latest_continuation(container):
    """Where the last read of the feed ended; a feed without items has no page that would say."""
    return container.client_connection.last_response_headers["etag"]


@check
def latest_versions_from_the_beginning(account):
    container = account.spread_container()
    container.replace_item("i5", {"id": "i5", "pk": "p5", "n": 100})
    container.delete_item("i6", "p6")
    found = list(container.query_items_change_feed(start_time="Beginning"))
    same([item["id"] for item in found], [f"i{n}" for n in range(40) if n != 6])
    equal([item["n"] for item in found if item["id"] == "i5"], [100])


@check
def from_now_and_onwards(account):
    container = account.spread_container()
    equal(changes(container, start_time="Now"), [])
    token = latest_continuation(container)
    container.create_item({"id": "new", "pk": "x"})
    container.upsert_item({"id": "i1", "pk": "p1", "n": 1})
    same(changes(container, continuation=token), ["new", "i1"])


@check
def continuation_goes_on_where_it_stopped(account):
    container = account.spread_container()
    seen = []
    feed = container.query_items_change_feed(start_time="Beginning", max_item_count=5).by_page()
    for _ in range(3):
        page = list(next(feed))
        assert len(page) <= 5, page
        seen += [item["id"] for item in page]
    seen += changes(container, continuation=feed.continuation_token)
    same(seen, [f"i{n}" for n in range(40)])


@check
def one_key_and_one_range(account):
    container = account.spread_container()
    equal(changes(container, partition_key="p7", start_time="Beginning"), ["i7", "i17", "i27", "i37"])
    parts = [changes(container, feed_range=part, start_time="Beginning") for part in container.read_feed_ranges()]
    equal(len(parts), 2)
    same([change for part in parts for change in part], [f"i{n}" for n in range(40)])


@check
def order_within_a_key_is_that_of_the_writes(account):
    container = account.container()
    for n in range(5):
        container.create_item({"id": str(n), "pk": "a"})
    container.upsert_item({"id": "1", "pk": "a"})
    equal(changes(container, partition_key="a", start_time="Beginning"), ["0", "2", "3", "4", "1"])


@check
def from_a_point_in_time(account):
    container = account.container()
    container.create_item({"id": "1", "pk": "a"})
    now = datetime.now(timezone.utc)
    equal(changes(container, start_time=now + timedelta(hours=1)), [])
    equal(changes(container, start_time=now - timedelta(hours=1)), ["1"])


@check
def all_versions_and_deletes(account):
    follow_all_versions(account.container(change_feed_policy={"retentionDuration": 10}))


@check
def all_versions_need_no_policy(account):
    follow_all_versions(account.container())


def follow_all_versions(container):
    equal(list(container.query_items_change_feed(mode="AllVersionsAndDeletes")), [])
    start = latest_continuation(container)
    container.create_item({"id": "1", "pk": "a", "n": 1})
    container.replace_item("1", {"id": "1", "pk": "a", "n": 2})
    container.delete_item("1", "a")
    found = list(
        container.query_items_change_feed(mode="AllVersionsAndDeletes", continuation=start)
    )
    equal([change["metadata"]["operationType"] for change in found], ["create", "replace", "delete"])
    has(found[0]["current"], n=1)
    has(found[1]["current"], n=2)
    lsns = [change["metadata"]["lsn"] for change in found]
    equal(lsns, sorted(set(lsns)))


@check
def feed_range_of_a_key_lies_in_one_range(account):
    container = account.container(offer_throughput=30000)
    ranges = list(container.read_feed_ranges())
    equal(len(ranges), 5)
    one = container.feed_range_from_partition_key("somebody")
    equal(sum(container.is_feed_range_subset(part, one) for part in ranges), 1)


@check
def feed_of_a_hierarchical_prefix(account):
    container = account.container(partition_key=PartitionKey(path=["/tenant", "/user"], kind="MultiHash"))
    for n in range(6):
        container.create_item({"id": str(n), "tenant": f"t{n % 2}", "user": f"u{n}"})
    part = container.feed_range_from_partition_key(["t1"])
    same(changes(container, feed_range=part, start_time="Beginning"), ["1", "3", "5"])
