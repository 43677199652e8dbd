"""Throughput, manual and autoscale, of databases and containers, read and changed."""

from azure.cosmos import PartitionKey, ThroughputProperties

from harness import check, equal, fails, fresh


@check
def manual_throughput_of_a_container(account):
    container = account.container(offer_throughput=800)
    equal(container.get_throughput().offer_throughput, 800)
    container.replace_throughput(1200)
    equal(container.get_throughput().offer_throughput, 1200)


@check
def default_throughput(account):
    equal(account.container().get_throughput().offer_throughput, 400)


@check
def autoscale_throughput_of_a_container(account):
    container = account.container(offer_throughput=ThroughputProperties(auto_scale_max_throughput=4000))
    equal(container.get_throughput().auto_scale_max_throughput, 4000)
    container.replace_throughput(ThroughputProperties(auto_scale_max_throughput=8000))
    equal(container.get_throughput().auto_scale_max_throughput, 8000)


@check
def autoscale_with_growth(account):
    wanted = ThroughputProperties(auto_scale_max_throughput=5000, auto_scale_increment_percent=10)
    container = account.container(offer_throughput=wanted)
    found = container.get_throughput()
    equal((found.auto_scale_max_throughput, found.auto_scale_increment_percent), (5000, 10))


@check
def throughput_shared_by_a_database(account):
    database = account.client.create_database(fresh("shared"), offer_throughput=600)
    equal(database.get_throughput().offer_throughput, 600)
    database.replace_throughput(1000)
    equal(database.get_throughput().offer_throughput, 1000)
    account.client.delete_database(database.id)


@check
def container_with_its_own_throughput_in_a_database_that_shares(account):
    database = account.client.create_database(fresh("shared"), offer_throughput=600)
    database.create_container("c", partition_key=PartitionKey(path="/pk"))
    own = database.create_container("own", partition_key=PartitionKey(path="/pk"), offer_throughput=500)
    equal(own.get_throughput().offer_throughput, 500)
    account.client.delete_database(database.id)


@check
def more_throughput_means_more_partitions(account):
    container = account.spread_container()
    container.replace_throughput(60000)
    equal(container.get_throughput().offer_throughput, 60000)
    parts = list(container.read_feed_ranges(force_refresh=True))
    assert len(parts) > 2, parts
    equal(len(list(container.read_all_items())), 40)
    numbers = container.query_items("SELECT VALUE c.n FROM c ORDER BY c.n", enable_cross_partition_query=True)
    equal(list(numbers), list(range(40)))


@check
def throughput_that_cannot_be_is_refused(account):
    with fails(400):
        account.container(offer_throughput=100)
    with fails(400):
        account.container(offer_throughput=450)


@check
def too_little_is_refused_in_the_services_words(account):
    def words(amount, least):
        return f"Requested throughput {amount} is less than required minimum throughput {least}"

    for amount in [-200, 200]:
        autoscale = ThroughputProperties(auto_scale_max_throughput=amount)
        with fails(400, words=words(amount, 1000)):
            account.container(offer_throughput=autoscale)
        with fails(400, words=words(amount, 400)):
            account.container(offer_throughput=amount)
        with fails(400, words=words(amount, 400)):
            account.container().replace_throughput(amount)
