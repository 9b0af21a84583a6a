"""What becomes of arguments that no request can be made of."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any

import pytest
from scripted import ScriptedServer

from recollect import NO_USER, AsyncRecollect, Recollect, RecollectError, errors, event, message, v1
from recollect.errors import InvalidArgumentError
from recollect.langchain import RecollectChatMessageHistory
from recollect.langgraph import RecollectSaver, RecollectStore
from recollect.llama_index import RecollectMemory
from recollect.openai_agents import RecollectSession

ANY: Any = None
HALF = "cut \ud83d"
"""A text that was cut in the middle of an emoji, as UTF-16 has it."""

CALLS: list[tuple[Callable[[Recollect], Any], str]] = [
    (lambda client: session(client).append(user=3), "user takes str, not int"),
    (lambda client: session(client).append(user=""), "user is empty: leave it out"),
    (lambda client: session(client).append(user="Hi", assistant=""), "assistant is empty"),
    (lambda client: session(client).append(user=HALF), "user is no valid text: character 4"),
    (lambda client: session(client).append("hello"), r"messages\[0\] is a text.*append\(user=…\)"),
    (
        lambda client: session(client).append({"role": "user", "content": HALF}),
        r"messages\[0\] is no valid text",
    ),
    (lambda client: session(client).append(user="Hi", format="claude"), "format 'claude' is none"),
    (lambda client: session(client).append(user="Hi", timeout="1"), "timeout takes seconds"),
    (lambda client: session(client).append(user="Hi", timeout=0), "timeout must be above 0"),
    (lambda client: session(client).append(user="Hi", request_id=7), "request_id takes str, not"),
    (lambda client: session(client).set_policy({"top_k": "x"}), "top_k takes int, not str"),
    (lambda client: session(client).set_policy({"top_k": 2**40}), "top_k Value out of range"),
    (lambda client: session(client).set_policy({"ttl": "1d"}), "ttl takes timedelta or seconds"),
    (lambda client: session(client).set_policy({"mode": 3.5}), "mode takes"),
    (lambda client: session(client).set_policy(3), "policy takes a dict, not int"),
    (lambda client: session(client).recall(3), "query takes str, not int"),
    (lambda client: session(client).recall("tea", top_k="x"), "top_k takes int, not str"),
    (lambda client: session(client).recall("tea", method="magic"), "method 'magic' is none of"),
    (lambda client: session(client).recall("tea", filter=["user"]), "filter takes a dict"),
    (
        lambda client: session(client).recall("tea", filter={"start_time": "2026"}),
        "start_time takes datetime, not str",
    ),
    (lambda client: session(client).context(3), "input takes a list of v1.Part, not int"),
    (lambda client: session(client).context("Hi", head=3), "head takes str, not int"),
    (lambda client: session(client).context(HALF), "input is no valid text"),
    (lambda client: session(client).context("Hi", system=HALF), "system is no valid text"),
    (lambda client: session(client).history(format=3), "format takes a name"),
    (lambda client: session(client).create(metadata={"a": HALF}), "metadata is no valid text"),
    (lambda client: session(client).create(metadata={"a": client}), "metadata Object of type"),
    (lambda client: session(client).message(7), "message_id takes str, not int"),
    (lambda client: session(client).append_events("run"), "events takes a list of v1.AgentEvent"),
    (lambda client: session(client).user.remember(HALF), "text is no valid text"),
    (lambda client: session(client).user.remember("tea", topics="tea"), "topics takes a list of"),
    (lambda client: list(client.threads(page_size="x")), "page_size takes int, not str"),  # type: ignore[arg-type]
    (lambda client: client.session(app=ANY, user="ada", session="42"), "app takes str, not None"),
    (
        lambda client: client.session(app="support", user="ada", session=ANY),
        "session takes str, not None",
    ),
    (
        lambda client: client.session(app="support", user="ada", session=HALF),
        "session is no valid text",
    ),
    (lambda client: client.thread(ANY), "thread_id takes str, not None"),
    (lambda client: message("usr", "Hi"), "role 'usr' is none of: user, assistant"),  # type: ignore[arg-type]
    (lambda client: message("user", 3), "text takes str, not int"),  # type: ignore[arg-type]
    (lambda client: message("user", "Hi", created_at=datetime(2026, 1, 1)), "created_at needs a t"),
    (lambda client: event("run", {"a": HALF}), "data is no valid text"),
    (lambda client: Recollect(7), "addr takes str, not int"),  # type: ignore[arg-type]
    (lambda client: Recollect(timeout="x"), "timeout takes seconds, not str"),  # type: ignore[arg-type]
]


def session(client: Recollect) -> Any:
    return client.session(app="support", user="ada", session="42")


@pytest.mark.parametrize(("call", "says"), CALLS)
def test_an_argument_that_does_not_fit_is_named_before_anything_is_sent(
    scripted: ScriptedServer, call: Callable[[Recollect], Any], says: str
) -> None:
    with Recollect(scripted.addr) as client:
        with pytest.raises(InvalidArgumentError, match=says) as raised:
            call(client)
    assert raised.value.code == "INVALID_ARGUMENT" and len(raised.value.fields) == 1
    assert isinstance(raised.value, (RecollectError, ValueError))
    assert not scripted.calls


def test_the_asynchronous_client_names_arguments_too(scripted: ScriptedServer) -> None:
    async def calls() -> None:
        async with AsyncRecollect(scripted.addr) as client:
            memory = client.session(app="support", user="ada", session="42")
            with pytest.raises(InvalidArgumentError, match="top_k takes int, not str"):
                await memory.recall("tea", top_k="x")  # type: ignore[arg-type]
            with pytest.raises(InvalidArgumentError, match="timeout takes seconds, not str"):
                await memory.append(user="Hi", timeout="x")  # type: ignore[arg-type]

    asyncio.run(calls())
    assert not scripted.calls


@pytest.mark.parametrize(
    ("user", "says"), [(None, "user is None"), ("", "user is empty"), (" \n", "user is empty")]
)
def test_a_user_that_was_not_found_gets_no_data(user: Any, says: str) -> None:
    client = Recollect("127.0.0.1:1")
    calls: list[Callable[[], Any]] = [
        lambda: client.session(app="support", user=user, session="42"),
        lambda: client.user(app="support", user=user),
        lambda: client.admin.delete_user(user, app="support"),
        lambda: client.admin.delete_user(user, all_apps=True),
        lambda: AsyncRecollect().session(app="support", user=user, session="42"),
        lambda: RecollectChatMessageHistory("42", app="support", user=user, client=client),
        lambda: RecollectSaver(app="support", user=user, client=client),
        lambda: RecollectStore(app="support", user=user, client=client),
        lambda: RecollectMemory("42", app="support", user=user, client=client),
        lambda: RecollectSession("42", app="support", user=user),
    ]
    for call in calls:
        with pytest.raises(InvalidArgumentError, match=f"{says}: .*recollect.NO_USER"):
            call()
    if user == "":
        with pytest.raises(InvalidArgumentError, match=says):
            next(client.export_records(app="support", user=user))
    with pytest.raises(InvalidArgumentError, match="user is NO_USER, which takes an app"):
        client.admin.delete_user(NO_USER, all_apps=True)


def test_data_of_no_user_is_asked_for_by_name() -> None:
    client = Recollect("127.0.0.1:1")
    none = client.session(app="support", user=NO_USER, session="42")
    assert none.ref.session == v1.SessionRef(app_id="support", session_key="42")
    assert (
        client.user(app="support", user=NO_USER).ref
        == none.user.ref
        == v1.UserRef(app_id="support")
    )
    assert repr(NO_USER) == "NO_USER"


def test_a_closed_client_says_so(scripted: ScriptedServer) -> None:
    client = Recollect(scripted.addr)
    memory, stubs = session(client), client.stubs
    memory.history()
    client.close()
    request = v1.GetHistoryRequest(thread=memory.ref)
    for call in (memory.history, lambda: stubs.message.GetHistory(request)):
        with pytest.raises(errors.PreconditionError, match="this client is closed: make a new one"):
            call()
    with pytest.raises(errors.PreconditionError, match="closed"):
        next(memory.watch())
    unused = Recollect(scripted.addr)
    unused.close()
    with pytest.raises(errors.PreconditionError, match="closed"):
        session(unused).history()

    async def closed() -> None:
        client = AsyncRecollect(scripted.addr)
        memory, stubs = client.session(app="support", user="ada", session="42"), client.stubs
        await memory.history()
        await client.close()
        with pytest.raises(errors.PreconditionError, match="closed"):
            await memory.history()
        with pytest.raises(errors.PreconditionError, match="closed"):
            await stubs.message.GetHistory(request)
        with pytest.raises(errors.PreconditionError, match="closed"):
            async for _ in memory.watch():
                pass

    asyncio.run(closed())


def test_what_a_client_is_about_is_in_its_repr() -> None:
    client = Recollect("127.0.0.1:1", api_key="secret-key")
    memory = client.session(app="support", user="ada", session="42")
    assert repr(client) == "Recollect('127.0.0.1:1')" and client.addr == "127.0.0.1:1"
    secure = AsyncRecollect("memory.example:443", tls=True, api_key="secret-key")
    assert repr(secure) == "AsyncRecollect('https://memory.example:443')"
    assert Recollect(secure.addr).addr == secure.addr
    assert repr(memory) == "<Session app='support' user='ada' session='42'>"
    assert (
        repr(client.session(app="support", user=NO_USER, session="42"))
        == "<Session app='support' session='42'>"
    )
    assert repr(client.thread("7")) == "<Session thread_id='7'>"
    assert repr(memory.user) == "<User app='support' user='ada'>"
    assert repr(client.app("support")) == "<App 'support'>"
    assert repr(secure.app("support")) == "<AsyncApp 'support'>"
    for shown in (client, secure, memory, client.admin, client.app("support")):
        assert "secret-key" not in repr(shown)
        assert "secret-key" not in repr(vars(shown))


def test_times_are_given_with_their_zone() -> None:
    said = message("user", "Hi", created_at=datetime(2026, 1, 1, tzinfo=timezone.utc))
    assert said.create_time.seconds == 1767225600
