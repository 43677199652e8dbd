"""A local Cosmos DB account for tests: started on a free port, and stopped at the end."""

import json
import os
import shlex
import shutil
import subprocess
import threading
import uuid
from dataclasses import dataclass, field

import pytest

# How long it may take to start on a busy machine, in seconds.
PATIENCE = 60


@dataclass(frozen=True)
class Cosmonaut:
    """A running account."""

    endpoint: str
    key: str = field(repr=False)
    management: str

    @property
    def connection_string(self):
        return f"AccountEndpoint={self.endpoint};AccountKey={self.key};"


class NotStarted(Exception):
    """The account could not be started; the message says why."""


def binary():
    """The path of the binary."""
    found = os.environ.get("COSMONAUT") or shutil.which("cosmonaut")
    if not found:
        raise NotStarted("there is no `cosmonaut` on the PATH (`cargo install cosmonaut-cli`, or set COSMONAUT)")
    return found


def start(arguments=()):
    """Starts an account. Returns the process and the account."""
    usual = ["--port", "0", "--management-port", "0", "--json", "--until-input-ends"]
    command = [binary(), "up", *usual, *arguments]
    # The input ends with this process, however it ends, and the account with its input. What it says beside the first
    # line is for whoever looks for a mistake.
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True)
    too_late = threading.Timer(PATIENCE, process.kill)
    too_late.start()
    try:
        line = process.stdout.readline()
    finally:
        too_late.cancel()
    if not line:
        _, error = process.communicate()
        raise NotStarted(f"`{shlex.join(command)}` ended with {process.returncode}: {error.strip()}")
    ready = json.loads(line)
    # A pipe that nobody reads would fill up.
    threading.Thread(target=process.stderr.read, daemon=True).start()
    return process, Cosmonaut(ready["endpoint"], ready["key"], ready["management"])


def stop(process):
    """Stops an account."""
    process.stdin.close()
    # What has been forked meanwhile may hold the input open.
    process.terminate()
    try:
        process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    process.stdout.close()


def pytest_addoption(parser):
    parser.addini("cosmonaut_arguments", "more arguments of `cosmonaut up`", default="")


@pytest.fixture(scope="session")
def cosmonaut(request):
    """The account, shared by all tests of a session."""
    process, account = start(shlex.split(request.config.getini("cosmonaut_arguments")))
    yield account
    stop(process)


@pytest.fixture
def cosmonaut_database(cosmonaut):
    """The name of a database that no other test uses."""
    return f"test-{uuid.uuid4().hex}"
