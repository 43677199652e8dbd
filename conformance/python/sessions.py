"""Session tokens: what was written is read, and a reader that has seen more than there is, is told so."""

from harness import check, equal, fails, headers_of


@check
def session_token_of_a_write_lets_it_be_read(account):
    container = account.container()
    _, headers = headers_of(lambda hook: container.create_item({"id": "1", "pk": "a"}, response_hook=hook))
    token = headers["x-ms-session-token"]
    range_id, progress = token.split(":")
    assert range_id.isdigit() and progress.split("#")[0] == "-1" and int(progress.split("#")[1]) > 0, token
    other = account.connect().get_database_client(account.database.id).get_container_client(container.id)
    equal(other.read_item("1", "a", session_token=token)["id"], "1")


@check
def token_from_the_future_is_404_1002(account):
    container = account.container()
    container.create_item({"id": "1", "pk": "a"})
    other = account.connect(retry_total=0).get_database_client(account.database.id)
    with fails(404, 1002):
        other.get_container_client(container.id).read_item("1", "a", session_token="0:-1#999999")


@check
def latest_token_of_several_is_found(account):
    container = account.container()
    feed_range = container.feed_range_from_partition_key("a")
    tokens = []
    for n in range(3):
        _, headers = headers_of(lambda hook: container.upsert_item({"id": "1", "pk": "a", "n": n}, response_hook=hook))
        tokens.append((feed_range, headers["x-ms-session-token"]))
    equal(container.get_latest_session_token(tokens, feed_range), tokens[-1][1])


@check
def consistency_can_be_weakened_but_not_strengthened(account):
    container = account.container()
    container.create_item({"id": "1", "pk": "a"})
    weak = account.connect(consistency_level="Eventual").get_database_client(account.database.id)
    equal(weak.get_container_client(container.id).read_item("1", "a")["id"], "1")
    with fails(400):
        strong = account.connect(consistency_level="Strong").get_database_client(account.database.id)
        strong.get_container_client(container.id).read_item("1", "a")


@check
def client_follows_a_container_that_was_made_anew(account):
    container = account.container()
    container.create_item({"id": "1", "pk": "a"})
    second = account.connect().get_database_client(account.database.id)
    second.delete_container(container.id)
    second.create_container(container.id, partition_key={"paths": ["/pk"], "kind": "Hash", "version": 2})
    container.create_item({"id": "2", "pk": "a"})
    equal([item["id"] for item in container.read_all_items()], ["2"])
