"""What is repeated, when, and that nothing is stored twice."""

from __future__ import annotations

import asyncio
import multiprocessing
import random
import socket
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import pytest
from scripted import ScriptedServer, fail

from recollect import AsyncRecollect, Recollect, RecollectError, Retry, errors, v1

UNAVAILABLE = fail(grpc.StatusCode.UNAVAILABLE)
FAST = Retry(attempts=4, initial=0.01, maximum=0.02)

Call = Callable[[Any], Any]


@pytest.fixture(params=["sync", "async"])
def run(request: pytest.FixtureRequest, scripted: ScriptedServer) -> Callable[..., Any]:
    """Makes a call with a client of each kind: `run(lambda session: session.append(…))`."""

    def sync_run(call: Call, **settings: Any) -> Any:
        with Recollect(**{"addr": scripted.addr, "retry": FAST, **settings}) as client:
            return call(client.session(app="support", user="ada", session="42"))

    def async_run(call: Call, **settings: Any) -> Any:
        async def main() -> Any:
            settings_of = {"addr": scripted.addr, "retry": FAST, **settings}
            async with AsyncRecollect(**settings_of) as client:
                return await call(client.session(app="support", user="ada", session="42"))

        return asyncio.run(main())

    return sync_run if request.param == "sync" else async_run


def test_an_answer_lost_after_the_write_stores_one_message(
    run: Callable[..., Any], scripted: ScriptedServer
) -> None:
    scripted.after = [UNAVAILABLE, UNAVAILABLE]
    appended = run(lambda session: session.append(user="My dog is called Pixel."))
    assert [of.parts[0].text for of in scripted.stored] == ["My dog is called Pixel."]
    assert appended.replayed
    ids = [request.request_id for _, request, _, _ in scripted.calls]
    assert len(ids) == 3 and len(set(ids)) == 1
    assert uuid.UUID(ids[0])


def test_two_appends_have_two_request_ids(
    run: Callable[..., Any], scripted: ScriptedServer
) -> None:
    for _ in range(2):
        run(lambda session: session.append(user="Hello"))
    assert len(scripted.stored) == 2


def test_a_request_id_of_the_caller_is_kept(
    run: Callable[..., Any], scripted: ScriptedServer
) -> None:
    mine = str(uuid.uuid4())
    for _ in range(2):
        run(lambda session: session.append(user="Hello", request_id=mine))
    assert list(scripted.requests) == [mine]
    assert len(scripted.stored) == 1


def test_stubs_get_request_ids_and_leave_the_request_as_it_is(scripted: ScriptedServer) -> None:
    scripted.after = [UNAVAILABLE]
    with Recollect(scripted.addr, api_key="secret", retry=FAST) as client:
        request = v1.AppendMessagesRequest(messages=[v1.MessageInput(role=v1.ROLE_USER)])
        client.stubs.message.AppendMessages(request)
        client.stubs.message.AppendMessages(request)
    assert request.request_id == ""
    assert len(scripted.stored) == 2
    assert {metadata["authorization"] for _, _, metadata, _ in scripted.calls} == {"Bearer secret"}


def test_reads_are_repeated_until_the_attempts_are_used_up(
    run: Callable[..., Any], scripted: ScriptedServer
) -> None:
    scripted.before = [UNAVAILABLE] * 3
    assert list(run(lambda session: session.history())) == []
    scripted.before = [UNAVAILABLE] * 4
    with pytest.raises(errors.UnavailableError) as raised:
        run(lambda session: session.history())
    assert raised.value.attempts == 4
    assert len(scripted.calls) == 8
    assert "after 4 attempts" in str(raised.value)


def test_a_deletion_is_not_repeated_when_it_may_have_happened(
    run: Callable[..., Any], scripted: ScriptedServer
) -> None:
    scripted.after = [UNAVAILABLE]
    with pytest.raises(errors.UnavailableError):
        run(lambda session: session.delete())
    assert len(scripted.calls) == 1
    # The server refused it before it did anything.
    scripted.before = [fail(grpc.StatusCode.RESOURCE_EXHAUSTED, retry_after=0.01)]
    run(lambda session: session.delete())
    assert len(scripted.calls) == 3


def test_a_deletion_is_repeated_when_it_was_never_sent(run: Callable[..., Any]) -> None:
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        port = reserved.getsockname()[1]
    patient = Retry(attempts=100, initial=0.05, maximum=0.05)
    with ThreadPoolExecutor(1) as pool:
        deletion = pool.submit(
            run, lambda session: session.delete(), addr=f"127.0.0.1:{port}", retry=patient
        )
        time.sleep(0.5)
        with ScriptedServer(port=port) as late:
            deletion.result(timeout=20)
            assert len(late.calls) == 1


def test_an_update_is_repeated_unless_it_names_the_state_to_change(
    scripted: ScriptedServer,
) -> None:
    with Recollect(scripted.addr, retry=FAST) as client:
        user = client.user(app="support", user="ada")
        scripted.after = [UNAVAILABLE]
        user.update_memory("1", text="She likes tea.")
        assert len(scripted.calls) == 2
        scripted.after = [UNAVAILABLE]
        with pytest.raises(errors.UnavailableError):
            user.update_memory("1", text="She likes tea.", etag="1")
        assert len(scripted.calls) == 3
        # As the answer would say that nothing was deleted.
        scripted.after = [UNAVAILABLE]
        with pytest.raises(errors.UnavailableError):
            user.forget("1")
        assert len(scripted.calls) == 4


def test_the_delay_that_the_server_names_is_honored(
    run: Callable[..., Any], scripted: ScriptedServer
) -> None:
    overloaded = fail(grpc.StatusCode.RESOURCE_EXHAUSTED, reason="OVERLOADED", retry_after=0.3)
    scripted.before = [overloaded]
    started = time.monotonic()
    run(lambda session: session.append(user="Hello"))
    assert time.monotonic() - started >= 0.3
    assert len(scripted.stored) == 1


def test_a_full_quota_of_size_is_not_repeated(
    run: Callable[..., Any], scripted: ScriptedServer
) -> None:
    scripted.before = [fail(grpc.StatusCode.RESOURCE_EXHAUSTED, reason="EPHEMERAL_MEMORY_FULL")]
    with pytest.raises(errors.ResourceExhaustedError) as raised:
        run(lambda session: session.append(user="Hello"))
    assert raised.value.reason == "EPHEMERAL_MEMORY_FULL"
    assert len(scripted.calls) == 1


def test_no_call_takes_longer_than_its_timeout(
    run: Callable[..., Any], scripted: ScriptedServer
) -> None:
    scripted.before = [UNAVAILABLE] * 100
    slow = Retry(attempts=100, initial=0.4, maximum=0.4)
    started = time.monotonic()
    # The last attempt may have too little time left to be answered.
    with pytest.raises((errors.UnavailableError, errors.DeadlineExceededError)) as raised:
        run(lambda session: session.history(timeout=2), retry=slow)
    assert time.monotonic() - started < 10
    assert 2 <= raised.value.attempts < 20
    assert "scripted" in raised.value.message
    left = [remaining or 0.0 for _, _, _, remaining in scripted.calls]
    assert left == sorted(left, reverse=True), "each attempt has what is left"
    # A delay beyond the timeout is not waited for.
    scripted.before = [fail(grpc.StatusCode.RESOURCE_EXHAUSTED, retry_after=60)]
    with pytest.raises(errors.ResourceExhaustedError) as refused:
        run(lambda session: session.history(timeout=5))
    assert refused.value.retry_after == 60


def test_the_timeout_of_the_client_applies_unless_a_call_names_its_own(
    run: Callable[..., Any], scripted: ScriptedServer
) -> None:
    run(lambda session: session.history())
    run(lambda session: session.history(), timeout=7)
    run(lambda session: session.history(timeout=3), timeout=7)
    run(lambda session: session.history(), timeout=None)
    for call, timeout in zip(scripted.calls, [30, 7, 3], strict=False):
        # gRPC rounds the time that a server sees up.
        assert timeout - 2 < (call[3] or 0) < timeout + 0.5
    unlimited = scripted.calls[3][3]
    assert unlimited is None or unlimited > 10**6


def test_a_repetition_is_logged_without_content(
    run: Callable[..., Any], scripted: ScriptedServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "recollect")
    scripted.before = [fail(grpc.StatusCode.UNAVAILABLE, reason="DATABASE_UNAVAILABLE")]
    run(lambda session: session.append(user="My dog is called Pixel."))
    [record] = [record for record in caplog.records if record.name == "recollect"]
    said = record.getMessage()
    assert "AppendMessages failed (UNAVAILABLE DATABASE_UNAVAILABLE); attempt 2 in" in said
    assert "Pixel" not in said


def test_retries_can_be_switched_off(run: Callable[..., Any], scripted: ScriptedServer) -> None:
    scripted.before = [UNAVAILABLE]
    with pytest.raises(errors.UnavailableError):
        run(lambda session: session.history(), retry=None)
    assert len(scripted.calls) == 1


def test_invalid_calls_are_not_repeated(run: Callable[..., Any], scripted: ScriptedServer) -> None:
    scripted.before = [fail(grpc.StatusCode.INVALID_ARGUMENT), None]
    with pytest.raises(errors.InvalidArgumentError):
        run(lambda session: session.append(user="Hello"))
    assert len(scripted.calls) == 1


def test_pauses_double_with_jitter_up_to_a_maximum() -> None:
    random.seed(1)
    retry = Retry(initial=0.1, maximum=1.0)
    for attempt, longest in [(1, 0.1), (2, 0.2), (3, 0.4), (4, 0.8), (5, 1.0), (60, 1.0)]:
        pauses = [retry.pause(attempt, None) for _ in range(200)]
        assert longest / 2 <= min(pauses) < max(pauses) <= longest
        assert max(pauses) - min(pauses) > longest / 4
    named = [retry.pause(1, 3.0) for _ in range(200)]
    assert 3.0 <= min(named) and max(named) <= 3.75


def test_pages_are_fetched_as_they_are_needed(scripted: ScriptedServer) -> None:
    with Recollect(scripted.addr, retry=FAST) as client:
        session = client.session(app="support", user="ada", session="42")
        for number in range(5):
            session.append(user=str(number))
        scripted.calls.clear()
        scripted.before = [None, UNAVAILABLE]
        listed: Iterator[Any] = session.messages(page_size=2)
        assert [next(listed).text, next(listed).text] == ["0", "1"]
        assert len(scripted.calls) == 1
        assert [message.text for message in listed] == ["2", "3", "4"]
        assert len(scripted.calls) == 4, "three pages, one of them twice"


def test_a_watch_continues_where_it_ended(scripted: ScriptedServer) -> None:
    events = [[v1.WatchThreadResponse(cursor="1")], [v1.WatchThreadResponse(cursor="2")]]
    scripted.events = [*events, []]
    stopping = fail(grpc.StatusCode.UNAVAILABLE, reason="SERVER_STOPPING", retry_after=0.01)
    scripted.after = [stopping, stopping, None]
    with Recollect(scripted.addr, api_key="secret", retry=FAST) as client:
        watch = client.thread("1").watch(include_content=True)
        assert [event.cursor for event in watch] == ["1", "2"]
    assert [request.cursor for _, request, _, _ in scripted.calls] == ["", "1", "2"]
    assert all(metadata["authorization"] == "Bearer secret" for _, _, metadata, _ in scripted.calls)


def test_a_quiet_watch_continues_however_often_it_ends(scripted: ScriptedServer) -> None:
    scripted.events = [[]] * 5 + [[v1.WatchThreadResponse(cursor="1")]]
    scripted.after = [fail(grpc.StatusCode.DEADLINE_EXCEEDED)] * 5
    with Recollect(scripted.addr, retry=FAST) as client:
        assert [event.cursor for event in client.thread("1").watch()] == ["1"]


def test_a_quiet_watch_that_lasted_is_no_failure(scripted: ScriptedServer) -> None:
    scripted.events = [[]] * 5 + [[v1.WatchThreadResponse(cursor="1")]]
    lasting = fail(grpc.StatusCode.UNAVAILABLE, after=1.1)
    scripted.after = [UNAVAILABLE, UNAVAILABLE, lasting, UNAVAILABLE, UNAVAILABLE]
    with Recollect(scripted.addr, retry=FAST) as client:
        assert [event.cursor for event in client.thread("1").watch()] == ["1"]


def test_an_async_watch_continues_and_fails_readably(scripted: ScriptedServer) -> None:
    scripted.events = [[v1.WatchThreadResponse(cursor="1")], []]
    gone = fail(grpc.StatusCode.NOT_FOUND, reason="THREAD_NOT_FOUND")
    scripted.after = [UNAVAILABLE, gone]

    async def main() -> list[str]:
        cursors = []
        async with AsyncRecollect(scripted.addr, retry=FAST) as client:
            with pytest.raises(errors.NotFoundError):
                async for event in client.thread("1").watch():
                    cursors.append(event.cursor)
        return cursors

    assert asyncio.run(main()) == ["1"]


def test_threads_share_a_client(scripted: ScriptedServer) -> None:
    scripted.after = [UNAVAILABLE if number % 3 == 0 else None for number in range(60)]
    # By chance, one call gets many of the failures.
    often = Retry(attempts=21, initial=0.001, maximum=0.01)
    with Recollect(scripted.addr, retry=often) as client, ThreadPoolExecutor(8) as pool:
        session = client.session(app="support", user="ada", session="42")
        list(pool.map(lambda number: session.append(user=str(number)), range(40)))
    assert sorted(int(of.parts[0].text) for of in scripted.stored) == list(range(40))


def test_an_async_client_works_in_several_event_loops(scripted: ScriptedServer) -> None:
    client = AsyncRecollect(scripted.addr, retry=FAST)
    session = client.session(app="support", user="ada", session="42")

    async def say(number: int, close: bool = False) -> None:
        for _ in range(3):
            await session.append(user=str(number))
        if close:
            await client.close()

    # One after the other, and at the same time in threads.
    asyncio.run(say(0))
    asyncio.run(say(1, close=True))
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda number: asyncio.run(say(number, close=True)), range(2, 6)))
    said = sorted(of.parts[0].text for of in scripted.stored)
    assert said == sorted(str(number) for number in range(6) for _ in range(3))
    asyncio.run(say(6))
    assert len(client._channels._made) == 1, "channels of ended loops are dropped"


async def _call(client: AsyncRecollect) -> None:
    async with client:
        await client.session(app="support", user="ada", session="42").history()


def _async_call_after_fork(client: AsyncRecollect, results: Any) -> None:
    try:
        asyncio.run(_call(client))
        results.put("answered")
    except RecollectError as error:
        results.put(str(error))


def test_asynchronous_clients_say_that_they_do_not_survive_a_fork(scripted: ScriptedServer) -> None:
    context = multiprocessing.get_context("fork")
    results = context.Queue()
    before = AsyncRecollect(scripted.addr)
    asyncio.run(_call(before))
    for client in (before, AsyncRecollect(scripted.addr)):
        child = context.Process(target=_async_call_after_fork, args=(client, results))
        child.start()
        assert "does not work across a fork" in results.get(timeout=20)
        child.join(20)


def _call_after_fork(client: Recollect, results: Any) -> None:
    try:
        client.session(app="support", user="ada", session="42").history()
        results.put("answered")
    except RecollectError as error:
        results.put(str(error))


def test_a_client_that_has_called_says_that_it_does_not_survive_a_fork(
    scripted: ScriptedServer,
) -> None:
    context = multiprocessing.get_context("fork")
    results = context.Queue()
    with Recollect(scripted.addr) as client:
        client.session(app="support", user="ada", session="42").history()
        child = context.Process(target=_call_after_fork, args=(client, results))
        child.start()
        assert "fork" in results.get(timeout=20)
        child.join(20)
