"""Measures LangGraph's checkpointer and store in Recollect beside those in Postgres that come
with LangGraph, on the same Postgres in one run. Prints a table in Markdown.

    pip install recollect-client[langgraph] langgraph langgraph-checkpoint-postgres psycopg[binary]
    recollect dev --json                      # prints the URL of its Postgres
    createdb --maintenance-db=URL bench
    python benchmarks/langgraph_stores.py URL_OF_BENCH --recollect-url URL
"""

from __future__ import annotations

import argparse
import operator
import statistics
import time
import uuid
from collections.abc import Callable, Iterator
from typing import Annotated, Any, TypedDict

import psycopg
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.store.postgres import PostgresStore

from recollect import Recollect
from recollect.langgraph import RecollectSaver, RecollectStore

STEPS = 200
DOCUMENTS = 500
WORDS = "the quick brown fox jumps over the lazy dog and runs back to its den again ".split()


class State(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]
    steps: Annotated[int, operator.add]


def text(seed: int, words: int) -> str:
    """Words that differ from message to message."""
    return " ".join(
        f"{WORDS[(seed * 7 + n) % len(WORDS)]}{(seed * 31 + n * n) % 97}" for n in range(words)
    )


def run_of_steps(saver: Any) -> None:
    """A run whose state grows by a message of about 1 KB with each step."""

    def step(state: State) -> dict[str, Any]:
        number = state["steps"]
        return {"messages": [AIMessage(text(number, 150), id=f"m{number}")], "steps": 1}

    builder = StateGraph(State)
    builder.add_node("step", step)
    builder.add_edge(START, "step")
    builder.add_conditional_edges("step", lambda state: END if state["steps"] >= STEPS else "step")
    graph = builder.compile(checkpointer=saver)
    config: Any = {"configurable": {"thread_id": str(uuid.uuid4())}, "recursion_limit": STEPS + 10}
    graph.invoke({"messages": [HumanMessage("Go", id="h")], "steps": 0}, config)
    assert len(graph.get_state(config).values["messages"]) == STEPS + 1


def each(calls: Iterator[Callable[[], Any]]) -> float:
    """The median time of calls, in milliseconds."""
    times = []
    for call in calls:
        started = time.perf_counter()
        call()
        times.append(time.perf_counter() - started)
    return statistics.median(times) * 1000


def bytes_of(url: str, schema: str) -> int:
    """The size of all tables with their indexes."""
    with psycopg.connect(url, autocommit=True) as connection:
        row = connection.execute(
            "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0) FROM pg_class c "
            "JOIN pg_namespace n ON n.oid = c.relnamespace "
            "WHERE c.relkind = 'r' AND n.nspname = %s",
            (schema,),
        ).fetchone()
    assert row
    return int(row[0])


def measure(saver: Any, store: Any, size: Callable[[], int]) -> list[float]:
    before = size()
    started = time.perf_counter()
    run_of_steps(saver)
    run = time.perf_counter() - started
    grown = size() - before
    values = [{"text": text(number, 40), "number": number} for number in range(DOCUMENTS)]
    space = ("bench", str(uuid.uuid4()))
    numbers = range(DOCUMENTS)
    put = each(lambda n=n: store.put(space, str(n), values[n]) for n in numbers)
    get = each(lambda n=n: store.get(space, str(n)) for n in numbers)
    search = each(
        lambda n=n: store.search(space, filter={"number": {"$gte": n}}, limit=10)
        for n in numbers[::5]
    )
    return [put, get, search, run * 1000 / STEPS, run, grown / 1024]


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("url")
    arguments.add_argument("--recollect-url", required=True)
    given = arguments.parse_args()
    app = f"bench-{uuid.uuid4()}"
    with (
        PostgresSaver.from_conn_string(given.url) as saver,
        PostgresStore.from_conn_string(given.url) as store,
        Recollect() as client,
    ):
        saver.setup()
        store.setup()
        own_saver = RecollectSaver(app=app, client=client)
        own_store = RecollectStore(app=app, client=client, index=False)
        own_store.get(("warm",), "up")
        results = {
            "Postgres": measure(saver, store, lambda: bytes_of(given.url, "public")),
            "Recollect": measure(
                own_saver, own_store, lambda: bytes_of(given.recollect_url, "recollect")
            ),
        }
    names = [
        "store: put, ms",
        "store: get, ms",
        "store: search with a filter, ms",
        "checkpointer: a step of a run, ms",
        f"checkpointer: a run of {STEPS} steps, s",
        f"checkpointer: a run of {STEPS} steps, KiB on disk",
    ]
    print("| | " + " | ".join(results) + " |\n|---|" + "---:|" * len(results))
    for row, name in enumerate(names):
        print(
            f"| {name} | " + " | ".join(f"{result[row]:.2f}" for result in results.values()) + " |"
        )


main()
