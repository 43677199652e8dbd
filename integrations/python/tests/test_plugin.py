"""The plugin as a test uses it, with the official SDK."""

import subprocess
import sys
import time
import urllib.error
import urllib.request

import pytest
import pytest_cosmonaut
from azure.cosmos import CosmosClient, PartitionKey


@pytest.mark.parametrize("turn", [1, 2])
def test_each_test_has_a_database_of_its_own(cosmonaut, cosmonaut_database, turn):
    client = CosmosClient(cosmonaut.endpoint, cosmonaut.key)
    database = client.create_database(cosmonaut_database)
    orders = database.create_container("orders", PartitionKey("/customer"))
    orders.create_item({"id": "7", "customer": "contoso", "turn": turn})
    assert orders.read_item("7", "contoso")["turn"] == turn
    assert len(list(orders.read_all_items())) == 1


def test_the_connection_string_connects_and_the_key_is_not_shown(cosmonaut):
    client = CosmosClient.from_connection_string(cosmonaut.connection_string)
    assert client.get_database_account() is not None
    assert cosmonaut.key not in repr(cosmonaut)


def test_an_account_that_is_stopped_is_gone():
    process, account = pytest_cosmonaut.start(["--regions", "East US,West US"])
    assert account.endpoint.startswith("http://")
    pytest_cosmonaut.stop(process)
    assert process.returncode == 0


def answers(endpoint):
    try:
        urllib.request.urlopen(endpoint)
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False
    return True


def test_an_account_ends_with_a_process_that_is_killed():
    program = "import pytest_cosmonaut, time; print(pytest_cosmonaut.start()[1].endpoint, flush=True); time.sleep(600)"
    user = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    with user:
        endpoint = user.stdout.readline().strip()
        assert answers(endpoint)
        user.kill()
    while answers(endpoint):
        time.sleep(0.02)


def test_what_cannot_be_started_says_why(monkeypatch):
    with pytest.raises(pytest_cosmonaut.NotStarted, match="--consistency"):
        pytest_cosmonaut.start(["--consistency", "none"])
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("COSMONAUT", raising=False)
    with pytest.raises(pytest_cosmonaut.NotStarted, match="cargo install"):
        pytest_cosmonaut.binary()


