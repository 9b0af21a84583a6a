"""The spans of memory operations, with OpenTelemetry's own SDK and a real server."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import grpc
import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from readme import run_example
from scripted import ScriptedServer, fail

from recollect import AsyncRecollect, Recollect, errors
from recollect.opentelemetry import instrument

EXPORTER = InMemorySpanExporter()


@pytest.fixture(scope="module")
def provider() -> TracerProvider:
    made = TracerProvider()
    made.add_span_processor(SimpleSpanProcessor(EXPORTER))
    return made


@pytest.fixture(autouse=True)
def no_spans() -> Iterator[None]:
    EXPORTER.clear()
    yield
    EXPORTER.clear()


def spans() -> list[tuple[str, dict[str, Any]]]:
    found: tuple[ReadableSpan, ...] = EXPORTER.get_finished_spans()
    assert all(span.kind == trace.SpanKind.CLIENT for span in found)
    return [(span.name, dict(span.attributes or {})) for span in found]


def test_each_memory_operation_is_a_span(addr: str, app: str, provider: TracerProvider) -> None:
    with Recollect(addr) as plain:
        memory = plain.session(app=app, user="ada", session="42")
        memory.append(user="My dog is called Pixel.", assistant="A fine name!")
        assert spans() == []
        # What was made before has spans too, and a second time none twice.
        client = instrument(plain, tracer_provider=provider)
        assert instrument(client, tracer_provider=provider) is plain
        memory.append(user="She likes the sea.", assistant="How nice!")
        memory.recall("secret question")
        found = memory.search("dog", top_k=1)
        memory.context("What is my dog called?")
        fact = memory.user.remember("Ada has a dog.")
        memory.user.search_memories("dog")
        memory.user.update_memory(fact.id, topics=["pets"])
        memory.user.forget(fact.id)
        memory.delete_message(found[0].message.id)
        list(memory.messages())
    host, _, port = addr.rpartition(":")
    names = [name for name, _ in spans()]
    assert names == [
        *("create_memory", "search_memory", "search_memory", "search_memory"),
        *("upsert_memory", "search_memory", "update_memory", "delete_memory", "delete_memory"),
    ]
    for name, attributes in spans():
        assert attributes["gen_ai.operation.name"] == name
        assert (attributes["server.address"], attributes["server.port"]) == (host, int(port))
    seen = [attributes for _, attributes in spans()]
    assert [of.get("gen_ai.memory.store.id") for of in seen[:6]] == [app] * 6
    counts = [of.get("gen_ai.memory.record.count") for of in seen]
    assert counts == [2, 4, 1, None, 1, 1, None, None, None]
    assert seen[6]["gen_ai.memory.record.id"] == seen[7]["gen_ai.memory.record.id"] == fact.id
    # Nothing that a person said, and no person's name.
    for word in ("secret", "Pixel", "ada"):
        assert word not in str(seen)


def test_what_was_searched_for_is_captured_on_request_only(
    addr: str, app: str, provider: TracerProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def search(**given: Any) -> None:
        async with AsyncRecollect(addr) as plain:
            client = instrument(plain, tracer_provider=provider, **given)
            memory = client.session(app=app, user="ada", session="42")
            with trace.use_span(trace.NonRecordingSpan(trace.INVALID_SPAN_CONTEXT)):
                await asyncio.gather(memory.recall("dog"), memory.recall("cat"))

    asyncio.run(search())
    monkeypatch.setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "true")
    asyncio.run(search())
    asyncio.run(search(capture_content=False))
    texts = [of.get("gen_ai.memory.query.text") for _, of in spans()]
    assert texts[:2] == [None, None] and sorted(map(str, texts[2:4])) == ["cat", "dog"]
    assert texts[4:] == [None, None]


def test_a_failed_operation_has_its_error(addr: str, app: str, provider: TracerProvider) -> None:
    async def fail() -> None:
        async with AsyncRecollect(addr) as plain:
            client = instrument(plain, tracer_provider=provider)
            with pytest.raises(errors.InvalidArgumentError):
                await client.session(app=app, user="ada", session="42").search("x", top_k=10_000)

    asyncio.run(fail())
    with Recollect(addr) as plain:
        client = instrument(plain, tracer_provider=provider)
        with pytest.raises(errors.InvalidArgumentError):
            client.session(app=app, user="ada", session="42").append(user="a\0b")
    assert [of["error.type"] for _, of in spans()] == ["INVALID_ARGUMENT"] * 2
    for span in EXPORTER.get_finished_spans():
        assert span.status.status_code == trace.StatusCode.ERROR and not span.events


def test_a_span_has_all_attempts_of_a_call(
    scripted: ScriptedServer, provider: TracerProvider
) -> None:
    scripted.before = [fail(grpc.StatusCode.UNAVAILABLE), None]
    with Recollect(scripted.addr) as plain:
        client = instrument(plain, tracer_provider=provider)
        client.session(app="support", user="ada", session="42").append(user="Hi")
    assert len(scripted.calls) == 2
    assert [name for name, _ in spans()] == ["create_memory"]


def test_the_example_of_the_readme_works(
    addr: str, app: str, monkeypatch: pytest.MonkeyPatch, provider: TracerProvider
) -> None:
    monkeypatch.setenv("RECOLLECT_ADDR", addr)
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: provider)
    names = {"Recollect": Recollect}
    found = asyncio.run(run_example("recollect.opentelemetry", app, names))
    found["client"].close()
    assert [name for name, _ in spans()] == ["search_memory"]
