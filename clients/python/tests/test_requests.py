"""What becomes of arguments, without a server."""

from __future__ import annotations

import inspect
import json
from datetime import datetime, timedelta, timezone
from typing import Any, get_args, get_type_hints

import pydantic
import pytest

import recollect
from recollect import AsyncRecollect, Recollect, _requests, _results, message, types, v1
from recollect._async import session as async_session
from recollect._contract import _REPEATABLE, METHODS

USER, ASSISTANT = v1.ROLE_USER, v1.ROLE_ASSISTANT


def appended(*messages: Any, **arguments: Any) -> v1.AppendMessagesRequest:
    given = {"user": None, "assistant": None, "format": "openai", **arguments}
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


def test_an_empty_append_and_a_mixture_are_refused() -> None:
    with pytest.raises(TypeError, match="needs a message"):
        appended()
    with pytest.raises(TypeError, match="not both"):
        appended(message("user", "Hi"), {"role": "user", "content": "Hi"})
    with pytest.raises(TypeError, match="no message of a provider"):
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
    with pytest.raises(TypeError, match=r"has no field 'topk'; it has .*top_k"):
        _requests.policy({"topk": 1})  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="takes a list"):
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


def test_repeatable_writes_exist_in_the_contract() -> None:
    assert _REPEATABLE <= {path.rpartition("/")[2] for path in METHODS}
    assert all(method.takes_request_id for path, method in METHODS.items() if "/Append" in path)
    assert METHODS["/recollect.v1.MessageService/GetHistory"].reads


def test_both_clients_have_the_same_methods() -> None:
    for name in ("Recollect", "Session", "User", "App"):
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
        connection = Recollect(addr, **settings)._connection
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
    assert AsyncRecollect()._connection.settings.api_key == "secret"
    assert AsyncRecollect(api_key="")._connection.settings.metadata(()) == []
    own = [("authorization", "Bearer own")]
    assert AsyncRecollect()._connection.settings.metadata(own) == own
    assert "secret" not in repr(AsyncRecollect()._connection.settings)
