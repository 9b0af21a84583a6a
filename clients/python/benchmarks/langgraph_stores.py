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
from langgraph.store.base import PutOp
from langgraph.store.postgres import PostgresStore

from recollect import Recollect
from recollect.langgraph import RecollectSaver, RecollectStore

STEPS = 200
DOCUMENTS = 500
MANY = 10_000
"""Documents of the large namespace."""
WORDS = "the quick brown fox jumps over the lazy dog and runs back to its den again ".split()


class State(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]
    steps: Annotated[int, operator.add]


def text(seed: int, words: int) -> str:
    """Words that differ from message to message."""
    return " ".join(
        f"{WORDS[(seed * 7 + n) % len(WORDS)]}{(seed * 31 + n * n) % 97}" for n in range(words)
    )


def run_of_steps(saver: Any, words: int) -> Any:
    """A run whose state grows by a message with each step. Returns its configuration."""

    def step(state: State) -> dict[str, Any]:
        number = state["steps"]
        return {"messages": [AIMessage(text(number, words), id=f"m{number}")], "steps": 1}

    builder = StateGraph(State)
    builder.add_node("step", step)
    builder.add_edge(START, "step")
    builder.add_conditional_edges("step", lambda state: END if state["steps"] >= STEPS else "step")
    graph = builder.compile(checkpointer=saver)
    config: Any = {"configurable": {"thread_id": str(uuid.uuid4())}, "recursion_limit": STEPS + 10}
    graph.invoke({"messages": [HumanMessage("Go", id="h")], "steps": 0}, config)
    assert len(graph.get_state(config).values["messages"]) == STEPS + 1
    return config


def each(calls: Iterator[Callable[[], Any]]) -> float:
    """The median time of calls, in milliseconds."""
    times = []
    for call in calls:
        started = time.perf_counter()
        call()
        times.append(time.perf_counter() - started)
    return statistics.median(times) * 1000


def bytes_of(url: str, schema: str) -> int:
    """The size of all tables with their indexes, whose statistics are brought up to date."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("ANALYZE")
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
    run_of_steps(saver, 150)
    run = time.perf_counter() - started
    grown = size() - before
    values = [{"text": text(number, 40), "number": number} for number in range(DOCUMENTS)]
    space = ("bench", str(uuid.uuid4()))
    numbers = range(DOCUMENTS)
    put = each(lambda n=n: store.put(space, str(n), values[n]) for n in numbers)
    get = each(lambda n=n: store.get(space, str(n)) for n in numbers)

    def search(space: tuple[str, ...], filter: dict[str, Any]) -> Any:
        found = store.search(space, filter=filter, limit=10)
        assert found
        return found

    filtered = each(lambda n=n: search(space, {"number": {"$gte": n}}) for n in numbers[::5])
    large = ("bench", str(uuid.uuid4()))
    for start in range(0, MANY, DOCUMENTS):
        store.batch(
            [
                PutOp(large, str(n), {"text": text(n, 40), "number": n, "group": n % 1000})
                for n in range(start, start + DOCUMENTS)
            ]
        )
    # Statistics, as autovacuum would gather them a minute later.
    size()
    ranged = each(lambda n=n: search(large, {"number": {"$lte": n}}) for n in numbers[50::5])
    equal = each(lambda n=n: search(large, {"group": n}) for n in numbers[::5])
    recent = each(lambda: search(large, {}) for _ in numbers[::5])
    config = run_of_steps(saver, 400)
    state = each(lambda: saver.get_tuple(config) for _ in range(20))
    listed = each(lambda: list(saver.list(config, limit=STEPS)) for _ in range(3))
    figures = [put, get, filtered, ranged, equal, recent]
    return [*figures, run * 1000 / STEPS, run, grown / 1024, state, listed / 1000]


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
        own_saver = RecollectSaver(app=app, user="ada", client=client)
        own_store = RecollectStore(app=app, user="ada", client=client, index=False)
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
        f"store: search with a filter, {DOCUMENTS} documents, ms",
        f"store: search by a range, {MANY:,} documents, ms",
        f"store: search by a value, {MANY:,} documents, ms",
        f"store: search without a filter, {MANY:,} documents, ms",
        "checkpointer: a step of a run, ms",
        f"checkpointer: a run of {STEPS} steps, s",
        f"checkpointer: a run of {STEPS} steps, KiB on disk",
        "checkpointer: get of a state of 590 KB, ms",
        f"checkpointer: list of {STEPS} such checkpoints, s",
    ]
    print("| | " + " | ".join(results) + " |\n|---|" + "---:|" * len(results))
    for row, name in enumerate(names):
        print(
            f"| {name} | " + " | ".join(f"{result[row]:.2f}" for result in results.values()) + " |"
        )


main()
