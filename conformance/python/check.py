"""Runs every check of the Python SDK against the emulator at COSMOS_ENDPOINT.

Arguments select the checks whose names contain one of them.
"""

import sys

import batches  # noqa: F401 - importing a module registers its checks
import dialect  # noqa: F401
import feeds  # noqa: F401
import items  # noqa: F401
import permissions  # noqa: F401
import queries  # noqa: F401
import resources  # noqa: F401
import scripts  # noqa: F401
import searches  # noqa: F401
import sessions  # noqa: F401
import spatial  # noqa: F401
import throughput  # noqa: F401
import unpartitioned  # noqa: F401
from harness import run

if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
