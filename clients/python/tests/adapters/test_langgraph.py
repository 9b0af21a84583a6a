"""The checkpointer and the store, with LangGraph's own packages and a real server: LangGraph's
conformance suite, and what its tests expect of its own stores."""

from __future__ import annotations

import asyncio
import operator
import time
import uuid
from collections.abc import AsyncGenerator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, empty_checkpoint
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.conformance.capabilities import Capability
from langgraph.checkpoint.conformance.spec import (
    test_copy_thread,
    test_delete_for_runs,
    test_delete_thread,
    test_get_tuple,
    test_list,
    test_prune,
    test_put,
    test_put_writes,
)
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.store.base import (
    BaseStore,
    GetOp,
    InvalidNamespaceError,
    ListNamespacesOp,
    MatchCondition,
    PutOp,
    SearchOp,
)
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command, interrupt

from recollect import NO_USER, AsyncRecollect, Recollect, v1
from recollect._langgraph_checkpoints import Codec
from recollect._langgraph_documents import Documents
from recollect.errors import NotFoundError, RecollectError
from recollect.langgraph import RecollectSaver, RecollectStore


@pytest.fixture
def saver(client: Recollect, app: str) -> RecollectSaver:
    return RecollectSaver(app=app, user="ada", client=client)


@pytest.fixture
def store(client: Recollect, app: str) -> RecollectStore:
    return RecollectStore(app=app, user="ada", client=client)


# --- the checkpointer ------------------------------------------------------------------------


def test_the_checkpointer_passes_the_conformance_suite(addr: str, app: str) -> None:
    @checkpointer_test(name="RecollectSaver")
    async def checkpointer() -> AsyncGenerator[BaseCheckpointSaver[Any], None]:
        async with AsyncRecollect(addr) as client:
            yield RecollectSaver(app=f"{app}-{uuid.uuid4()}", user=NO_USER, async_client=client)

    report = asyncio.run(validate(checkpointer))
    for capability in Capability:
        result = report.results[capability.value]
        assert result.detected and result.passed, (capability, result.failures)
        assert result.tests_passed > 0


class Synchronous(BaseCheckpointSaver[str]):
    """The methods without `a` of a checkpointer, for the suite, which calls those with `a`."""

    def __init__(self, saver: RecollectSaver) -> None:
        super().__init__(serde=saver.serde)
        self._saver = saver

    async def aput(self, *args: Any, **kwargs: Any) -> RunnableConfig:
        return self._saver.put(*args, **kwargs)

    async def aput_writes(self, *args: Any, **kwargs: Any) -> None:
        self._saver.put_writes(*args, **kwargs)

    async def aget_tuple(self, config: RunnableConfig) -> Any:
        return self._saver.get_tuple(config)

    async def alist(self, *args: Any, **kwargs: Any) -> Any:
        for found in self._saver.list(*args, **kwargs):
            yield found

    async def adelete_thread(self, thread_id: str) -> None:
        self._saver.delete_thread(thread_id)

    async def adelete_for_runs(self, run_ids: Any) -> None:
        self._saver.delete_for_runs(run_ids)

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        self._saver.copy_thread(source_thread_id, target_thread_id)

    async def aprune(self, thread_ids: Any, *, strategy: str = "keep_latest") -> None:
        self._saver.prune(thread_ids, strategy=strategy)


@pytest.mark.parametrize(
    "suite",
    [
        test_put.run_put_tests,
        test_put_writes.run_put_writes_tests,
        test_get_tuple.run_get_tuple_tests,
        test_list.run_list_tests,
        test_delete_thread.run_delete_thread_tests,
        test_delete_for_runs.run_delete_for_runs_tests,
        test_copy_thread.run_copy_thread_tests,
        test_prune.run_prune_tests,
    ],
)
def test_the_synchronous_methods_pass_it_too(
    saver: RecollectSaver, suite: Callable[..., Any]
) -> None:
    passed, failed, failures = asyncio.run(suite(Synchronous(saver)))
    assert (failed, failures) == (0, []) and passed > 0


class State(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]
    steps: Annotated[list[str], operator.add]


def chat() -> Any:
    """A graph that answers, and asks a person in between."""

    def answer(state: State) -> dict[str, Any]:
        count = len(state["messages"])
        return {"messages": [AIMessage(f"Answer {count}", id=f"a{count}")], "steps": ["answer"]}

    def review(state: State) -> dict[str, Any]:
        return {"steps": [f"review:{interrupt({'ask': len(state['messages'])})}"]}

    builder = StateGraph(State)
    builder.add_node("answer", answer)
    builder.add_node("review", review)
    builder.add_edge(START, "answer")
    builder.add_edge("answer", "review")
    builder.add_edge("review", END)
    return builder


def in_thread(name: str, **more: str) -> RunnableConfig:
    return {"configurable": {"thread_id": name, **more}}


def test_a_run_continues_after_an_interrupt_and_goes_back(saver: RecollectSaver) -> None:
    graph = chat().compile(checkpointer=saver)
    config = in_thread("42")
    asked = graph.invoke({"messages": [HumanMessage("Hello", id="h1")]}, config)
    assert asked["__interrupt__"][0].value == {"ask": 2}
    # As another process would.
    graph = chat().compile(checkpointer=saver)
    done = graph.invoke(Command(resume="fine"), config)
    assert done["steps"] == ["answer", "review:fine"]
    assert [message.id for message in done["messages"]] == ["h1", "a1"]
    history = list(graph.get_state_history(config))
    assert [len(state.values.get("messages", [])) for state in history] == [2, 2, 1, 0]
    before = next(state for state in history if state.next == ("review",))
    forked = graph.update_state(before.config, {"steps": ["edited"]}, as_node="review")
    assert graph.get_state(forked).values["steps"] == ["answer", "edited"]
    assert graph.get_state(config).values["steps"] == ["answer", "edited"]
    assert graph.get_state(history[0].config).values["steps"] == ["answer", "review:fine"]
    saver.delete_thread("42")
    assert graph.get_state(config).values == {}


def test_a_run_does_not_bring_its_deleted_thread_back(
    client: Recollect, saver: RecollectSaver
) -> None:
    config: RunnableConfig = {"configurable": {"thread_id": "42", "checkpoint_ns": ""}}
    first = empty_checkpoint()
    stored = saver.put(config, first, {"source": "input", "step": -1, "parents": {}}, {})
    client.stubs.thread.DeleteThread(v1.DeleteThreadRequest(thread=saver._codec.thread("42")))
    with pytest.raises(RecollectError) as refused:
        saver.put(stored, empty_checkpoint(), {"source": "loop", "step": 0, "parents": {}}, {})
    assert refused.value.reason == "CHECKPOINT_PARENT_NOT_FOUND"
    with pytest.raises(NotFoundError):
        saver.put_writes(stored, [("messages", "late")], "task")
    assert saver.get_tuple(config) is None
    assert list(saver.list(None)) == []


def test_writes_wait_for_the_first_checkpoint(saver: RecollectSaver) -> None:
    first = empty_checkpoint()
    place: RunnableConfig = {"configurable": {"thread_id": "42", "checkpoint_ns": ""}}
    writes: RunnableConfig = {
        "configurable": {**place["configurable"], "checkpoint_id": first["id"]}
    }
    with ThreadPoolExecutor() as threads:
        waiting = threads.submit(saver.put_writes, writes, [("messages", "early")], "task")
        time.sleep(0.1)
        saver.put(place, first, {"source": "input", "step": -1, "parents": {}}, {})
        waiting.result()
    found = saver.get_tuple(place)
    assert found is not None and found.pending_writes == [("task", "messages", "early")]


def test_a_node_makes_the_messages_of_a_graph_findable(
    saver: RecollectSaver, client: Recollect, app: str
) -> None:
    class Messages(TypedDict):
        messages: Annotated[list[AnyMessage], add_messages]

    def answer(state: Messages) -> dict[str, Any]:
        return {"messages": [AIMessage("A fine name!")]}

    def remember(state: Messages, config: RunnableConfig) -> dict[str, Any]:
        session = f"thread:{config['configurable']['thread_id']}"
        memory = client.session(app=app, user="ada", session=session)
        question, answered = state["messages"][-2:]
        memory.append(user=question.text, assistant=answered.text)
        return {}

    builder = StateGraph(Messages)
    builder.add_node("answer", answer)
    builder.add_edge(START, "answer")
    asked: Any = {"messages": [HumanMessage("My dog is called Pixel.")]}
    user = client.user(app=app, user="ada")
    alone = builder.compile(checkpointer=saver)
    alone.invoke(asked, {"configurable": {"thread_id": "41"}})
    assert not list(user.recall("dog")), "a checkpointer stores checkpoints alone"
    builder.add_node("remember", remember)
    builder.add_edge("answer", "remember")
    graph = builder.compile(checkpointer=saver)
    graph.invoke(asked, {"configurable": {"thread_id": "42"}})
    assert user.recall("dog")[0].text == "My dog is called Pixel."


def test_an_asynchronous_run_does_the_same(addr: str, app: str) -> None:
    async def main() -> None:
        async with AsyncRecollect(addr) as client:
            graph = chat().compile(
                checkpointer=RecollectSaver(app=app, user=NO_USER, async_client=client)
            )
            config = in_thread("42")
            await graph.ainvoke({"messages": [HumanMessage("Hello", id="h1")]}, config)
            done = await graph.ainvoke(Command(resume="fine"), config)
            assert done["steps"] == ["answer", "review:fine"]
            states = [state async for state in graph.aget_state_history(config)]
            assert len(states) == 4

    asyncio.run(main())


def test_values_of_every_kind_come_back(saver: RecollectSaver) -> None:
    values: dict[str, Any] = {
        "text": "word " * 100_000,
        "short": "\x00\N{GRINNING FACE}",
        "bytes": b"\x00\xff" * 1000,
        "number": 2**60 + 1,
        "none": None,
        "set": {1, 2},
        "time": datetime(2026, 1, 2, 3, 4, 5),
        "id": uuid.uuid4(),
        "messages": [HumanMessage("Hi", id="1"), AIMessage("", tool_calls=[])],
    }
    versions: dict[str, str | int | float] = {
        name: saver.get_next_version(None, None) for name in values
    }
    checkpoint: Any = {
        "v": 4,
        "id": "1",
        "ts": "2026-01-02T03:04:05+00:00",
        "channel_values": values,
        "channel_versions": versions,
        "versions_seen": {},
        "updated_channels": None,
    }
    stored = saver.put(in_thread("42", checkpoint_ns=""), checkpoint, {"step": 1}, versions)
    found = saver.get_tuple(stored)
    assert found is not None and found.checkpoint == checkpoint
    assert found.metadata["step"] == 1


def test_users_do_not_see_each_others_checkpoints(client: Recollect, app: str) -> None:
    own = RecollectSaver(app=app, user="ada", client=client)
    graph = chat().compile(checkpointer=own)
    config = in_thread("42")
    graph.invoke({"messages": [HumanMessage("The code is 1234.")]}, config)
    for other in (
        RecollectSaver(app=app, user="bob", client=client),
        RecollectSaver(app=app, user=NO_USER, client=client),
        RecollectSaver(app=f"{app}-2", user="ada", client=client),
    ):
        assert other.get_tuple(config) is None
        assert list(other.list(config)) == list(other.list(None)) == []
        other.delete_thread("42")
        other.copy_thread("42", "43")
        other.prune(["42"], strategy="delete")
        assert list(other.list(in_thread("43"))) == []
    # No name of a thread has a meaning of its own.
    graph.invoke({"messages": [HumanMessage("Hello")]}, in_thread("global"))
    other = RecollectSaver(app=app, user="bob", client=client)
    assert other.get_tuple(in_thread("global")) is None
    names = {found.config["configurable"]["thread_id"] for found in own.list(None)}
    assert names == {"42", "global"}


def test_a_long_run_stores_what_is_new(saver: RecollectSaver) -> None:
    def step(state: State) -> dict[str, Any]:
        number = len(state["steps"])
        return {"messages": [AIMessage(f"word {number} " * 200)], "steps": [str(number)]}

    builder = StateGraph(State)
    builder.add_node("step", step)
    builder.add_edge(START, "step")
    builder.add_conditional_edges("step", lambda state: END if len(state["steps"]) > 30 else "step")
    graph: Any = builder.compile(checkpointer=saver)
    config = in_thread("42")
    config["recursion_limit"] = 50
    done = graph.invoke({"messages": [], "steps": []}, config)
    assert len(done["messages"]) == 31
    assert graph.get_state(config).values == done
    assert len(list(saver.list(config, limit=10))) == 10


def test_checkpoints_name_their_thread() -> None:
    codec = Codec("support", "ada", JsonPlusSerializer())
    session = v1.SessionRef(app_id="support", user_id="ada", session_key="thread:42")
    thread = v1.ThreadRef(session=session)
    config = in_thread("42", checkpoint_ns="", checkpoint_id="7")
    assert codec.get(config).thread == thread
    [writes] = codec.put_writes(config, [("a", 1)], "task", "")
    assert writes.thread == thread and writes.checkpoint_id == "7"
    listed = codec.list(config, None, None, None)
    assert listed.target == v1.Target(thread=thread) and listed.checkpoint_id == "7"
    assert codec.list(None, None, None, None).target == v1.Target(
        user=v1.UserRef(app_id="support", user_id="ada")
    )
    names = [str(number) for number in range(150)]
    first, second = codec.delete_threads(names, keep_latest=True)
    assert (len(first.threads), len(second.threads)) == (100, 50) and first.keep_latest
    assert [of.session.session_key for of in second.threads] == [
        f"thread:{of}" for of in names[100:]
    ]
    copied = codec.copy("42", "43")
    assert copied.source == thread and copied.target.session.session_key == "thread:43"


# --- the store -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limit", "offset", "sizes", "skips"),
    [
        (10, 0, [10], [0]),
        (500, 3, [500], [3]),
        (1001, 200, [500, 500, 1], [200, 0, 0]),
        (5000, 100, [500, 500, 500], [100, 0, 0]),
        (10, 2000, [10], [2000]),
        (0, 0, [], []),
    ],
)
@pytest.mark.parametrize("method", ["SearchDocuments", "ListNamespaces"])
def test_limits_above_a_page_are_met_page_by_page(
    method: str, limit: int, offset: int, sizes: list[int], skips: list[int]
) -> None:
    count = 1300
    asked: list[tuple[int, int]] = []

    def answer(request: Any) -> Any:
        """A page of a server that has so many items."""
        asked.append((request.page_size, request.skip))
        start = int(request.page_token or 0) + request.skip
        end = min(start + min(request.page_size, 500), count)
        token = str(end) if end < count else ""
        if method == "ListNamespaces":
            found = [v1.Namespace(labels=[str(number)]) for number in range(start, end)]
            return v1.ListNamespacesResponse(namespaces=found, next_page_token=token)
        documents = [v1.Document(key=str(number), json="{}") for number in range(start, end)]
        return v1.SearchDocumentsResponse(
            documents=[v1.FoundDocument(document=document) for document in documents],
            next_page_token=token,
        )

    op: Any = ListNamespacesOp(limit=limit, offset=offset)
    if method == "SearchDocuments":
        op = SearchOp(("a",), limit=limit, offset=offset)
    steps = Documents("support", "ada", False).run([op])
    try:
        called, request = next(steps)
        while True:
            assert called == method and request.user.user_id == "ada"
            called, request = steps.send(answer(request))
    except StopIteration as done:
        [found] = done.value
    keys = [item[0] if method == "ListNamespaces" else item.key for item in found]
    assert keys == [str(number) for number in range(count)][offset : offset + limit]
    assert asked == list(zip(sizes, skips, strict=True))


@pytest.fixture(params=["langgraph", "recollect"])
def any_store(request: pytest.FixtureRequest, client: Recollect, app: str) -> Iterator[BaseStore]:
    """LangGraph's own store and Recollect's, so that the expectations hold for both."""
    if request.param == "langgraph":
        yield InMemoryStore()
    else:
        yield RecollectStore(app=app, user="ada", client=client)


def test_documents_are_stored_read_and_deleted(any_store: BaseStore) -> None:
    store = any_store
    assert store.get(("a",), "1") is None
    value = {"text": "Hi", "n": 2**60 + 1, "f": 0.1, "none": None, "list": [1, {"x": "é\u2028"}]}
    store.put(("a", "b"), "1", value)
    item = store.get(("a", "b"), "1")
    assert item is not None
    assert (item.namespace, item.key, item.value) == (("a", "b"), "1", value)
    assert item.created_at.tzinfo is not None and item.created_at <= item.updated_at
    store.put(("a", "b"), "1", {"text": "Bye"})
    again = store.get(("a", "b"), "1")
    assert again is not None and again.value == {"text": "Bye"}
    assert again.updated_at >= item.updated_at
    assert store.get(("a",), "1") is store.get(("a", "b"), "2") is None
    store.delete(("a", "b"), "1")
    store.delete(("a", "b"), "1")
    assert store.get(("a", "b"), "1") is None


def test_namespaces_are_checked(any_store: BaseStore) -> None:
    names: list[Any] = [(), ("",), ("a.b",), ("langgraph", "x"), ("a", 1)]
    for namespace in names:
        with pytest.raises(InvalidNamespaceError):
            any_store.put(namespace, "1", {})


def test_a_batch_reads_before_it_writes(any_store: BaseStore) -> None:
    store = any_store
    store.put(("t",), "1", {"n": 1})
    ops: list[Any] = [
        PutOp(("t",), "2", {"n": 2}),
        GetOp(("t",), "1"),
        PutOp(("t",), "1", None),
        SearchOp(("t",), filter={"n": 1}),
        GetOp(("t",), "3"),
        ListNamespacesOp((MatchCondition("prefix", ("t",)),)),
        GetOp(("t",), "1"),
    ]
    put, got, deleted, found, missing, namespaces, same = store.batch(ops)
    assert put is deleted is missing is None
    assert got == same and got is not None
    assert [item.key for item in found] == ["1"]  # type: ignore[union-attr]
    assert namespaces == [("t",)]
    assert store.get(("t",), "1") is None
    assert store.get(("t",), "2") is not None
    store.batch([PutOp(("t",), "3", {"n": 1}), PutOp(("t",), "3", {"n": 2})])
    last = store.get(("t",), "3")
    assert last is not None and last.value == {"n": 2}


def test_documents_are_found_by_their_fields(any_store: BaseStore) -> None:
    store = any_store
    for number, color in enumerate(["red", "green", "red"]):
        value = {"color": color, "n": number, "in": {"deep": [number], "flag": number > 0}}
        store.put(("docs", "x"), str(number), value)
    store.put(("docs", "y"), "3", {"color": "red"})
    store.put(("docsx",), "4", {"color": "red"})

    def keys(**filter: Any) -> set[str]:
        return {item.key for item in store.search(("docs",), filter=filter or None)}

    assert keys() == {"0", "1", "2", "3"}
    assert keys(color="red") == {"0", "2", "3"}
    assert keys(color="red", n=2) == {"2"}
    assert keys(color={"$eq": "green"}) == {"1"}
    assert keys(color={"$ne": "red"}) == {"1"}
    assert keys(**{"in": {"flag": True}}) == {"1", "2"}
    assert keys(**{"in": {"deep": [1]}}) == {"1"}
    assert {item.key for item in store.search(("docs", "y"))} == {"3"}
    assert len(store.search(("docs",), limit=3)) == 3
    assert len(store.search(("docs",), limit=3, offset=3)) == 1
    everything = [store.search(("docs",), limit=1, offset=number)[0].key for number in range(4)]
    assert sorted(everything) == ["0", "1", "2", "3"]
    assert len(store.search(())) == 5


def test_numbers_are_compared(any_store: BaseStore) -> None:
    store = any_store
    for number in (1, 2.5, 10):
        store.put(("n",), str(number), {"n": number})

    def keys(**comparison: Any) -> set[str]:
        filter = {"n": {f"${name}": value for name, value in comparison.items()}}
        return {item.key for item in store.search(("n",), filter=filter)}

    assert keys(gt=2.5) == {"10"}
    assert keys(gte=2.5) == {"2.5", "10"}
    assert keys(lt=10) == {"1", "2.5"}
    assert keys(lte=10) == {"1", "2.5", "10"}
    assert keys(gt=1, lt=10) == {"2.5"}
    with pytest.raises(ValueError, match="Unsupported operator"):
        keys(like="1")


def test_namespaces_are_listed(any_store: BaseStore) -> None:
    store = any_store
    namespaces = [
        ("a", "b", "c"),
        ("a", "b", "d", "e"),
        ("a", "b", "d", "i"),
        ("a", "b", "f"),
        ("b", "a", "f"),
        ("users", "123", "settings"),
    ]
    for namespace in namespaces:
        store.put(namespace, "1", {})
        store.put(namespace, "2", {})
    assert store.list_namespaces() == sorted(namespaces)
    assert store.list_namespaces(prefix=("a", "b")) == namespaces[:4]
    assert store.list_namespaces(suffix=("f",)) == [("a", "b", "f"), ("b", "a", "f")]
    assert store.list_namespaces(prefix=("a",), suffix=("f",)) == [("a", "b", "f")]
    assert store.list_namespaces(prefix=("a", "*", "f")) == [("a", "b", "f")]
    assert store.list_namespaces(prefix=("a",), max_depth=3) == [
        ("a", "b", "c"),
        ("a", "b", "d"),
        ("a", "b", "f"),
    ]
    assert store.list_namespaces(limit=2, offset=1) == sorted(namespaces)[1:3]
    assert store.list_namespaces(prefix=("none",)) == []


def test_documents_are_found_by_meaning(store: RecollectStore) -> None:
    store.put(("m",), "dog", {"text": "My dog is called Pixel.", "kind": "pet"})
    store.put(("m",), "trip", {"text": "We fly to Lisbon in May.", "kind": "plan"})
    store.put(("m",), "hidden", {"text": "Another dog."}, index=False)
    store.put(("m",), "title", {"title": "A puppy", "text": "Volcano"}, index=["title"])
    found = store.search(("m",), query="What is my dog called?", limit=2)
    if not all(item.score for item in found):
        pytest.skip("the server has no embedding model: documents are found by word alone")
    assert {item.key for item in found} == {"dog", "title"}
    assert all(item.score is not None and 0 < item.score <= 1 for item in found)
    assert store.search(("m",), query="holiday travel", limit=1)[0].key == "trip"
    assert store.search(("m",), query="dog", filter={"kind": "plan"})[0].key == "trip"
    scores = {item.key: item.score for item in store.search(("m",), query="dog")}
    assert scores["hidden"] is None
    assert all(item.score is None for item in store.search(("m",)))


def test_documents_expire_and_are_prolonged_by_reading(client: Recollect, app: str) -> None:
    store = RecollectStore(app=app, user=NO_USER, client=client, ttl={"default_ttl": 6 / 60})
    store.put(("t",), "default", {})
    store.put(("t",), "read", {}, ttl=5 / 60)
    store.put(("t",), "short", {}, ttl=1 / 60)
    store.put(("t",), "kept", {}, ttl=None)
    ends = time.monotonic() + 60
    while store.get(("t",), "default", refresh_ttl=False) is not None:
        assert store.get(("t",), "read") is not None
        assert time.monotonic() < ends
        time.sleep(0.1)
    assert store.get(("t",), "short") is None
    assert store.get(("t",), "read") is not None
    assert {item.key for item in store.search(("t",))} == {"read", "kept"}


def test_the_asynchronous_store_does_the_same(addr: str, app: str) -> None:
    async def main() -> None:
        async with AsyncRecollect(addr) as client:
            store = RecollectStore(app=app, user=NO_USER, async_client=client)
            await store.aput(("a",), "1", {"text": "My dog is called Pixel."})
            item = await store.aget(("a",), "1")
            assert item is not None and item.value["text"].endswith("Pixel.")
            assert [found.key for found in await store.asearch(("a",), query="dog")] == ["1"]
            assert await store.alist_namespaces() == [("a",)]
            await asyncio.gather(*(store.aput(("b",), str(n), {"n": n}) for n in range(20)))
            assert len(await store.asearch(("b",), limit=100)) == 20
            await store.adelete(("a",), "1")
            assert await store.aget(("a",), "1") is None

    asyncio.run(main())


def test_users_do_not_see_each_others_documents(client: Recollect, app: str) -> None:
    own = RecollectStore(app=app, user="ada", client=client)
    own.put(("notes",), "1", {"text": "The code is 1234."})
    for other in (
        RecollectStore(app=app, user="bob", client=client),
        RecollectStore(app=app, user=NO_USER, client=client),
        RecollectStore(app=f"{app}-2", user="ada", client=client),
    ):
        assert other.get(("notes",), "1") is None
        assert other.search(()) == other.search((), query="code") == []
        assert other.list_namespaces() == []
        other.delete(("notes",), "1")
        other.put(("notes",), "1", {"text": "Mine"})
    item = own.get(("notes",), "1")
    assert item is not None and item.value == {"text": "The code is 1234."}


def test_a_document_that_is_replaced_keeps_the_time_of_its_creation(store: RecollectStore) -> None:
    items = []
    for number in range(2):
        store.put(("a",), "1", {"n": number})
        items.append(store.get(("a",), "1"))
    first, second = items
    assert first is not None and second is not None
    assert first.created_at == second.created_at and first.updated_at < second.updated_at


def test_many_and_large_documents(store: RecollectStore) -> None:
    value = {"text": "word " * 20_000}
    store.batch([PutOp(("big",), str(number), value, index=False) for number in range(60)])
    names = [GetOp(("big",), str(number)) for number in range(60)]
    assert [item and item.value for item in store.batch(names)] == [value] * 60  # type: ignore[union-attr]
    store.batch(
        [PutOp(("small",), str(number), {"n": number}, index=False) for number in range(600)]
    )

    def keys(limit: int, offset: int = 0) -> list[str]:
        return [item.key for item in store.search(("small",), limit=limit, offset=offset)]

    everything = keys(limit=1000)
    assert len(set(everything)) == len(everything) == 600
    assert keys(limit=510, offset=80) == everything[80:590]
    assert keys(limit=1000, offset=550) == everything[550:]
    store.batch([PutOp(("small",), str(number), None) for number in range(600)])
    assert store.search(("small",)) == []


def test_a_graph_remembers_across_threads(store: RecollectStore, saver: RecollectSaver) -> None:
    def answer(state: State, *, store: BaseStore) -> dict[str, Any]:
        said = str(state["messages"][-1].content)
        known = [item.value["text"] for item in store.search(("memories",), query=said, limit=1)]
        store.put(("memories",), str(uuid.uuid4()), {"text": said})
        return {"messages": [AIMessage(known[0] if known else "?")], "steps": []}

    builder = StateGraph(State)
    builder.add_node("answer", answer)
    builder.add_edge(START, "answer")
    graph: Any = builder.compile(checkpointer=saver, store=store)
    graph.invoke({"messages": [HumanMessage("My dog is called Pixel.")]}, in_thread("1"))
    told = graph.invoke({"messages": [HumanMessage("What is my dog called?")]}, in_thread("2"))
    assert told["messages"][-1].content == "My dog is called Pixel."
