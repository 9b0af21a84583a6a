"""What becomes of arguments, without a server."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any, cast, get_args, get_type_hints

import pydantic
import pytest
from scripted import ScriptedServer

import recollect
from recollect import (
    UNCHANGED,
    AsyncRecollect,
    Recollect,
    _requests,
    _results,
    event,
    message,
    render,
    types,
    v1,
)
from recollect._async import session as async_session
from recollect._contract import METHODS, Method
from recollect.errors import InvalidArgumentError

USER, ASSISTANT = v1.ROLE_USER, v1.ROLE_ASSISTANT


def appended(*messages: Any, **arguments: Any) -> v1.AppendMessagesRequest:
    given = {"user": None, "said_by": "", "assistant": None, "format": "openai", **arguments}
    return _requests.append(v1.AppendMessagesRequest(), messages, **given)


def test_texts_become_messages() -> None:
    request = appended(user="Hello", assistant="Hi")
    assert [(of.role, of.parts[0].text) for of in request.messages] == [
        (USER, "Hello"),
        (ASSISTANT, "Hi"),
    ]


def test_own_messages_are_kept_between_the_texts() -> None:
    said = message(
        "tool",
        parts=[v1.Part(tool_result=v1.ToolResult(tool_call_id="1"))],
        name="clock",
        metadata={"step": 2},
        external_id="msg_1",
        created_at=datetime(2026, 1, 2, tzinfo=timezone.utc),
        parent="msg_0",
    )
    request = appended(said, user="What time is it?", assistant="Noon")
    assert [of.role for of in request.messages] == [USER, v1.ROLE_TOOL, ASSISTANT]
    stored = request.messages[1]
    assert stored == said
    assert (stored.parent_message_id, stored.create_time.seconds) == ("msg_0", 1767312000)
    assert message("user", "Hi", parent="").WhichOneof("parent") == "root"
    assert message("user", "Hi").WhichOneof("parent") is None


class Answer(pydantic.BaseModel):
    """Like the objects of the providers' packages."""

    role: str = "model"
    response_id: str = pydantic.Field(default="r1", alias="responseId")
    nothing: str | None = None


@pytest.mark.parametrize(
    ("format", "question"),
    [
        ("openai", {"role": "user", "content": "Hi"}),
        ("openai-responses", {"role": "user", "content": "Hi"}),
        ("anthropic", {"role": "user", "content": "Hi"}),
        ("gemini", {"role": "user", "parts": [{"text": "Hi"}]}),
    ],
)
def test_a_providers_messages_go_as_they_are(format: Any, question: dict[str, Any]) -> None:
    request = appended(
        {"role": "assistant", "content": "é"},
        [Answer()],
        Answer(),
        '{"role": "user"}',
        user="Hi",
        format=format,
    )
    assert {of.format for of in request.provider_messages} == {_requests.FORMATS[format]}
    model = {"role": "model", "responseId": "r1"}
    assert [json.loads(of.json) for of in request.provider_messages] == [
        question,
        {"role": "assistant", "content": "é"},
        [model],
        model,
        {"role": "user"},
    ]
    assert not request.messages


def test_metadata_is_exact_json() -> None:
    metadata = {"id": 9007199254740993, "share": 0.1, "é": [None, True, {"a": "\u2028"}]}
    stored = message("user", "Hi", metadata=metadata)
    assert json.loads(stored.metadata) == metadata
    read = _results.message(v1.Message(metadata=stored.metadata)).metadata
    assert read == metadata and isinstance(read["id"], int)
    # Text is JSON already.
    text = '{"id":1.10,  "big": 1e400}'
    assert message("user", "Hi", metadata=text).metadata == text
    assert message("user", "Hi").metadata == ""
    assert _results.message(v1.Message()).metadata == {}
    for wrong in (float("nan"), float("inf"), -float("inf")):
        with pytest.raises(ValueError, match="metadata contains NaN or Infinity"):
            message("user", "Hi", metadata={"a": [{"b": wrong}]})
    with pytest.raises(InvalidArgumentError, match="metadata Object of type object is not JSON"):
        message("user", "Hi", metadata={"a": object()})
    filter = _requests.message_filter({"metadata": {"id": 9007199254740993, "a": None}})
    assert filter is not None and filter.metadata == '{"id": 9007199254740993, "a": null}'
    with pytest.raises(ValueError, match="metadata contains NaN or Infinity"):
        _requests.memory_filter({"metadata": {"id": float("nan")}})


def test_a_policy_has_kinds_of_memories() -> None:
    schema = {"properties": {"substance": {"type": "string"}}, "required": ["substance"]}
    values = {
        "memory_kinds": [
            {
                "name": "allergy",
                "description": "What a person cannot take.",
                "json_schema": schema,
                "examples": [
                    {"said": "No nuts!", "text": "No nuts.", "attributes": {"substance": "nuts"}}
                ],
            },
            v1.MemoryKind(name="order", description="An order."),
        ],
        "never_keep": ["salary"],
    }
    policy = _requests.policy(cast("types.Policy", values))
    assert policy is not None
    allergy, order = policy.memory_kinds
    assert json.loads(allergy.json_schema) == schema
    assert json.loads(allergy.examples[0].attributes) == {"substance": "nuts"}
    assert order.name == "order"
    shown = _results.policy_values(policy)
    assert shown["never_keep"] == ["salary"]
    assert shown["memory_kinds"][1] == {"name": "order", "description": "An order."}
    assert _requests.policy(cast("types.Policy", shown)) == policy
    with pytest.raises(InvalidArgumentError, match="is no field of MemoryKind"):
        _requests.policy(cast("types.Policy", {"memory_kinds": [{"schema": schema}]}))


def test_events_have_json() -> None:
    made = event("run_started", [1, {"a": None}], message_id="")
    assert (made.type, json.loads(made.json)) == ("run_started", [1, {"a": None}])
    assert made.HasField("message_id") and not made.HasField("create_time")
    assert event("x", '{"a": 1.0}').json == '{"a": 1.0}'
    assert event("x").json == "" and not event("x").HasField("message_id")
    with pytest.raises(ValueError, match="data contains NaN or Infinity"):
        event("x", float("nan"))


def test_messages_are_rendered_as_texts() -> None:
    said = datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone.utc)

    def stored(text: str, name: str = "") -> types.Message:
        made = v1.Message(role=USER, name=name, seq=7, parts=[v1.Part(text=text)])
        made.create_time.FromDatetime(said)
        return _results.message(made)

    # What a message contains is data.
    hostile = "{seq} {role.__class__} {{}} %s"
    messages = [stored("Hi", "Ada"), stored(hostile, "{text}")]
    assert render(messages) == ["Ada: Hi", f"{{text}}: {hostile}"]
    assert render([stored("Hi")]) == ["user: Hi"]
    template = "{{{seq}}} {create_time} {role}/{name}: {text}"
    assert render(iter(messages[:1]), template) == ["{7} 2026-01-02T03:04:05+00:00 user/Ada: Hi"]
    match = v1.RecalledMessage(message=messages[0].proto)
    found = _results.recall(v1.SearchResponse(matches=[match]))
    assert render(found, "{text}!") == ["Hi!"]
    for wrong in ("{id}", "{}", "{text.real}", "{text[0]}", "{text!r}", "{seq:03}", "{text:{seq}}"):
        with pytest.raises(ValueError, match="a field is one of: role, name, text, seq"):
            render(messages, wrong)
    with pytest.raises(ValueError):
        render(messages, "{text")


def test_an_empty_append_and_a_mixture_are_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="messages are missing: pass user="):
        appended()
    with pytest.raises(InvalidArgumentError, match="one append takes either"):
        appended(message("user", "Hi"), {"role": "user", "content": "Hi"})
    with pytest.raises(
        InvalidArgumentError, match=r"messages\[0\] has object, which is no message"
    ):
        appended(object())


def test_a_policy_is_made_of_plain_values() -> None:
    policy = _requests.policy(
        {
            "mode": "observational",
            "top_k": 0,
            "ttl": timedelta(days=1),
            "node_ttl": 1.5,
            "file_types": ["image", "audio"],
            "scope": None,
        }
    )
    assert policy == v1.MemoryPolicy(
        mode=v1.MEMORY_MODE_OBSERVATIONAL,
        top_k=0,
        ttl=_requests.duration(86400),
        node_ttl=_requests.duration(1.5),
        file_types=[v1.FILE_TYPE_IMAGE, v1.FILE_TYPE_AUDIO],
    )
    assert _results.policy_values(policy) == {
        "mode": "observational",
        "top_k": 0,
        "ttl": 86400.0,
        "node_ttl": 1.5,
        "file_types": ["image", "audio"],
    }
    assert _requests.policy_mask({"mode": "window", "ttl": None}).paths == [
        "policy.mode",
        "policy.ttl",
    ]


def test_wrong_values_are_refused_with_those_that_are_right() -> None:
    with pytest.raises(ValueError, match="'windows' is none of: none, window, hybrid"):
        _requests.policy({"mode": "windows"})  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match="topk is no field of MemoryPolicy.* top_k"):
        _requests.policy({"topk": 1})  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match="names takes a list of str, not str"):
        _requests.message_filter({"names": "Ada"})
    with pytest.raises(ValueError, match="time zone"):
        _requests.message_filter({"start_time": datetime(2026, 1, 1)})
    with pytest.raises(ValueError, match="'claude' is none of: openai, "):
        _requests.formats("claude")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("typed", "proto"),
    [
        (types.Policy, v1.MemoryPolicy),
        (types.Filter, v1.MessageFilter),
        (types.MemoryFilter, v1.MemoryFilter),
    ],
)
def test_the_types_have_every_field_and_value_of_the_contract(typed: Any, proto: Any) -> None:
    hints = get_type_hints(typed)
    fields = proto.DESCRIPTOR.fields_by_name
    assert set(hints) == set(fields), f"recollect/types.py: {typed.__name__}"
    for name, field in fields.items():
        if field.enum_type is not None:
            named = {value for value in _literals(hints[name]) if value is not None}
            numbers = [value.number for value in field.enum_type.values if value.number]
            assert named == {_requests.enum_name(field.enum_type, of) for of in numbers}, name


def _literals(hint: Any) -> set[Any]:
    found: set[Any] = set()
    for argument in get_args(hint):
        found |= {argument} if isinstance(argument, str) else _literals(argument)
    return found


def test_every_format_of_the_contract_has_a_name() -> None:
    assert set(_requests.FORMATS.values()) == set(v1.ProviderFormat.values()) - {0}
    assert set(get_args(types.Format)) == set(_requests.FORMATS)
    assert set(get_args(types.ProviderFormat)) == set(_requests.FORMATS) - {"text"}


def test_the_contract_says_what_can_be_repeated() -> None:
    assert METHODS["/recollect.v1.MessageService/GetHistory"].reads
    assert all(method.takes_request_id for path, method in METHODS.items() if "/Append" in path)
    by_name = {path.rpartition("/")[2]: method for path, method in METHODS.items()}
    for name in ("ResolveThread", "SetHead", "UpdateMemory", "PutDocuments", "PutCheckpoint"):
        assert by_name[name].idempotent, name
    for name in ("UpdateMessage", "ExtractMemories"):
        assert by_name[name].idempotent, name
    # Their answers say whether something was there.
    for name in ("DeleteThread", "ClearThread", "DeleteMessage", "DeleteMemory", "DeleteDocuments"):
        assert not by_name[name].idempotent, name


def test_a_write_that_names_a_state_is_not_repeated() -> None:
    write = Method(reads=False, takes_request_id=False, idempotent=True)
    assert write.may_repeat(v1.UpdateMemoryRequest())
    assert write.may_repeat(v1.SetHeadRequest(head_message_id="1"))
    assert not write.may_repeat(v1.UpdateMemoryRequest(precondition=v1.Precondition(etag="1")))
    absent = v1.Precondition(absent=_requests.EMPTY)
    assert not write.may_repeat(v1.PutPlanRequest(precondition=absent))
    assert not write.may_repeat(v1.SetHeadRequest(expected_head=""))
    once = Method(reads=False, takes_request_id=False, idempotent=False)
    assert not once.may_repeat(v1.DeleteThreadRequest())
    named = Method(reads=False, takes_request_id=True, idempotent=False)
    assert named.may_repeat(v1.AppendMessagesRequest(request_id="1"))
    assert not named.may_repeat(v1.AppendMessagesRequest())
    read = Method(reads=True, takes_request_id=False, idempotent=False)
    assert read.may_repeat(v1.GetThreadRequest())


@pytest.fixture(params=["sync", "async"])
def run(request: pytest.FixtureRequest, scripted: ScriptedServer) -> Callable[..., Any]:
    """Makes a call with a client of each kind, and returns its request and its result."""

    async def async_call(call: Callable[[Any], Any]) -> Any:
        async with AsyncRecollect(scripted.addr) as client:
            return await call(client)

    def made(call: Callable[[Any], Any]) -> tuple[Any, Any]:
        if request.param == "async":
            result = asyncio.run(async_call(call))
        else:
            with Recollect(scripted.addr) as client:
                result = call(client)
        return scripted.calls[-1][1], result

    return made


def test_what_is_passed_is_replaced_and_none_clears(run: Callable[..., Any]) -> None:
    def put(**arguments: Any) -> tuple[Any, Any]:
        return run(lambda client: client.thread("1").put_working_memory(**arguments))  # type: ignore[no-any-return]

    request, _ = put()
    assert not request.HasField("update_mask") and not request.HasField("precondition")
    assert request.thread.thread_id == "1"
    request, result = put(summary="They greet.", data={"n": 9007199254740993}, etag="7")
    assert request.update_mask.paths == ["summary", "data"]
    assert (request.summary, request.data) == ("They greet.", '{"n": 9007199254740993}')
    assert request.precondition == v1.Precondition(etag="7")
    assert (result.summary, result.data) == ("They greet.", {"n": 9007199254740993})
    assert result.warnings == ("messages[0].create_time: now",) and result.etag == "1"
    every = dict.fromkeys(("messages", "summary", "memories", "data", "ttl", "model", "policy"))
    request, _ = put(**every)
    assert list(request.update_mask.paths) == list(every)
    masked = v1.PutWorkingMemoryRequest(thread=request.thread, update_mask=request.update_mask)
    assert request == masked
    request, _ = put(ttl=60, policy={"extraction": "none"}, ttl_deletes_thread=True, absent=True)
    assert request.update_mask.paths == ["ttl", "policy"] and request.ttl.seconds == 60
    assert request.policy.extraction == v1.EXTRACTION_STRATEGY_NONE
    assert request.ttl_deletes_thread and request.precondition.HasField("absent")
    with pytest.raises(ValueError, match="contradict"):
        put(etag="1", absent=True)
    with pytest.raises(ValueError, match="data contains NaN"):
        put(data={"n": float("nan")})

    request, _ = run(lambda client: client.thread("1").update(title="Trip", ttl=None, etag="*"))
    assert request.update_mask.paths == ["title", "ttl"]
    assert request.thread == v1.Thread(thread_id="1", title="Trip")
    assert request.precondition == v1.Precondition(etag="*")

    def update(**arguments: Any) -> tuple[Any, Any]:
        return run(  # type: ignore[no-any-return]
            lambda client: client.user(app="support", user="ada").update_memory("1", **arguments)
        )

    request, _ = update(topics=[], metadata=None)
    assert request.update_mask.paths == ["topics", "metadata"]
    assert request.memory == v1.Memory(memory_id="1")
    request, _ = update(pinned=False)
    assert request.update_mask.paths == ["pinned"] and request.memory.HasField("pinned")
    request, result = run(lambda client: client.thread("1").update_working_data({"a": None}))
    assert request.patch == '{"a": null}' and result == {"a": None}
    assert repr(UNCHANGED) == "UNCHANGED"


def test_messages_and_memories_of_a_working_memory_go_back_as_they_are(
    run: Callable[..., Any],
) -> None:
    said = datetime(2026, 1, 2, tzinfo=timezone.utc)
    kept = _results.message(
        v1.Message(
            message_id="1",
            external_id="e1",
            role=USER,
            name="Ada",
            parts=[v1.Part(text="Hi")],
            metadata='{"n": 1.10}',
            create_time=_requests.timestamp(said),
        )
    )
    new = message("assistant", "Hello", external_id="e2")
    known = _results.memory(
        v1.Memory(memory_id="m1", external_id="x", text="Likes tea.", topics=["tea"], pinned=False)
    )
    request, _ = run(
        lambda client: client.thread("1").put_working_memory(
            messages=[kept, new, v1.Message(role=USER)],
            memories=[
                known,
                "Likes rain.",
                v1.MemoryInput(text="Likes snow."),
                v1.Memory(text="Likes fog."),
            ],
        )
    )
    assert list(request.messages) == [
        v1.Message(
            message_id="1",
            external_id="e1",
            role=USER,
            name="Ada",
            parts=[v1.Part(text="Hi")],
            metadata='{"n": 1.10}',
            create_time=_requests.timestamp(said),
        ),
        v1.Message(external_id="e2", role=ASSISTANT, parts=[v1.Part(text="Hello")]),
        v1.Message(role=USER),
    ]
    assert list(request.memories) == [
        known.proto,
        v1.Memory(text="Likes rain."),
        v1.Memory(text="Likes snow."),
        v1.Memory(text="Likes fog."),
    ]
    with pytest.raises(ValueError, match="leave parent out"):
        branching = message("user", "Hi", parent="0")
        run(lambda client: client.thread("1").put_working_memory(messages=[branching]))


def test_a_profile_and_a_context_are_of_a_time(scripted: ScriptedServer) -> None:
    april = datetime(2026, 4, 1, tzinfo=timezone.utc)
    with Recollect(scripted.addr) as client:
        memory = client.session(app="support", user="ada", session="42")
        for call in (memory.user.profile, memory.context):
            call(as_of=april, known_at=april + timedelta(days=1))
            request = scripted.calls[-1][1]
            assert request.as_of.ToDatetime(timezone.utc) == april
            assert request.known_at.ToDatetime(timezone.utc) == april + timedelta(days=1)
            call()
            request = scripted.calls[-1][1]
            assert not request.HasField("as_of") and not request.HasField("known_at")


def test_events_are_listed_page_by_page(scripted: ScriptedServer) -> None:
    with Recollect(scripted.addr) as client:
        memory = client.session(app="support", user="ada", session="42")
        appended = memory.append_events(event("run"), event("run"))
        assert (appended.first_number, appended.count, appended.replayed) == (1, 2, False)
        assert scripted.calls[-1][1].request_id
        listed = list(memory.events(types=["run"], order_by="number desc", page_size=1))
    assert [(of.number, of.data) for of in listed] == [
        (1, {"id": 9007199254740993}),
        (2, {"id": 9007199254740993}),
    ]
    request = scripted.calls[-1][1]
    assert (request.types, request.order_by) == (["run"], "number desc")
    assert request.thread.session == v1.SessionRef(
        app_id="support", user_id="ada", session_key="42"
    )


def test_both_clients_have_the_same_methods() -> None:
    for name in ("Recollect", "Session", "User", "App", "Admin", "Subscriptions"):
        kind, async_kind = getattr(recollect, name), getattr(recollect, f"Async{name}")
        members = {member for member in vars(kind) if not member.startswith("_")}
        assert members == {member for member in vars(async_kind) if not member.startswith("_")}
        for member in members:
            one, other = getattr(kind, member), getattr(async_kind, member)
            if inspect.isfunction(one):
                assert list(inspect.signature(one).parameters) == list(
                    inspect.signature(other).parameters
                )
                assert one.__doc__, f"{name}.{member}"
    assert async_session.AsyncSession is recollect.AsyncSession


def test_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    def target(addr: str | None = None, **settings: Any) -> tuple[str, bool]:
        connection = Recollect(addr, **settings)._channels.connection
        return connection.target, connection.tls

    monkeypatch.delenv("RECOLLECT_ADDR", raising=False)
    assert target() == ("127.0.0.1:50051", False)
    monkeypatch.setenv("RECOLLECT_ADDR", "https://memory.example:443")
    assert target() == ("memory.example:443", True)
    assert target("http://localhost:1/") == ("localhost:1", False)
    assert target("localhost:1", tls=True) == ("localhost:1", True)
    assert target("[::1]:1", ca_file="ca.pem") == ("[::1]:1", True)
    for addr, settings in [
        ("localhost", {}),
        ("ftp://localhost:1", {}),
        ("http://localhost:1", {"tls": True}),
        ("https://localhost:1", {"tls": False}),
        ("localhost:1", {"timeout": 0}),
    ]:
        with pytest.raises(ValueError):
            Recollect(addr, **settings)  # type: ignore[arg-type]


def test_a_key_is_sent_to_other_machines_with_tls_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECOLLECT_API_KEY", "secret")
    local = ["localhost:1", "a.localhost:1", "127.1.2.3:1", "[::1]:1", "http://127.0.0.1:1"]
    for addr in [*local, "unix:/run/recollect.sock", "https://memory.example:443"]:
        Recollect(addr)
    for addr in ["memory.example:1", "http://10.0.0.7:1", "[2001:db8::1]:1", "localhost.example:1"]:
        with pytest.raises(ValueError, match="in the clear"):
            Recollect(addr)
        Recollect(addr, api_key="")
        Recollect(addr, tls=None if addr.startswith("http:") else True, allow_plaintext_key=True)
        with monkeypatch.context() as allowed:
            allowed.setenv("RECOLLECT_ALLOW_PLAINTEXT_KEY", "1")
            AsyncRecollect(addr)
            with pytest.raises(ValueError, match="in the clear"):
                AsyncRecollect(addr, allow_plaintext_key=False)


def test_the_key_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECOLLECT_API_KEY", "secret")
    assert AsyncRecollect()._channels.connection.settings.api_key == "secret"
    assert AsyncRecollect(api_key="")._channels.connection.settings.metadata(()) == []
    own = [("authorization", "Bearer own")]
    assert AsyncRecollect()._channels.connection.settings.metadata(own) == own
    assert "secret" not in repr(AsyncRecollect()._channels.connection.settings)
