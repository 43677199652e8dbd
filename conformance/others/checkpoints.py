"""langgraph-checkpoint-cosmosdb: a graph whose state is kept in the emulator at COSMOS_ENDPOINT."""

import operator
import os
import sys
from typing import Annotated, TypedDict

os.environ["COSMOSDB_ENDPOINT"] = os.environ["COSMOS_ENDPOINT"]
os.environ["COSMOSDB_KEY"] = os.environ["COSMOS_KEY"]

from langgraph.graph import END, START, StateGraph  # noqa: E402 - after the environment that the saver reads
from langgraph_checkpoint_cosmosdb import CosmosDBSaver  # noqa: E402


class State(TypedDict):
    steps: Annotated[list, operator.add]


def equal(found, expected):
    assert found == expected, f"expected {expected!r}, found {found!r}"


def graph(saver):
    builder = StateGraph(State)
    builder.add_node("first", lambda state: {"steps": ["first"]})
    builder.add_node("second", lambda state: {"steps": ["second"]})
    builder.add_edge(START, "first")
    builder.add_edge("first", "second")
    builder.add_edge("second", END)
    return builder.compile(checkpointer=saver, interrupt_before=["second"])


def main():
    name = f"checkpoints-{os.getpid()}"
    saver = CosmosDBSaver(name, "threads")
    thread = {"configurable": {"thread_id": "a"}}
    other = {"configurable": {"thread_id": "b"}}

    # Stopped half way, and gone on with by another instance.
    equal(graph(saver).invoke({"steps": ["begin"]}, thread)["steps"], ["begin", "first"])
    again = graph(CosmosDBSaver(name, "threads"))
    equal(again.get_state(thread).next, ("second",))
    equal(again.invoke(None, thread)["steps"], ["begin", "first", "second"])
    equal(again.get_state(thread).next, ())

    # The history, newest first; a thread of its own.
    history = [state.values.get("steps") for state in again.get_state_history(thread)]
    equal(history[0], ["begin", "first", "second"])
    equal(history[-1], [])
    equal(again.get_state(other).values, {})
    again.invoke({"steps": ["else"]}, other)
    equal(again.get_state(thread).values["steps"], ["begin", "first", "second"])
    equal(len(list(saver.list(thread, limit=1))), 1)

    # Back to an earlier state.
    earlier = next(state for state in again.get_state_history(thread) if state.next == ("second",))
    equal(again.invoke(None, earlier.config)["steps"], ["begin", "first", "second"])

    saver.delete_thread("a")
    equal(saver.get_tuple(thread), None)
    equal(again.get_state(other).values["steps"], ["else", "first"])
    saver.client.delete_database(name)
    print("langgraph-checkpoint-cosmosdb: passed")


if __name__ == "__main__":
    sys.exit(main())
