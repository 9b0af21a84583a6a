"""How the events of a subscription are streamed, and how it is changed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import grpc
import pytest
from scripted import ScriptedServer, fail

from recollect import AsyncRecollect, Recollect, Retry, errors, v1

FAST = Retry(attempts=3, initial=0.01, maximum=0.02)
UNAVAILABLE = fail(grpc.StatusCode.UNAVAILABLE)
TOO_OLD = fail(grpc.StatusCode.DEADLINE_EXCEEDED)


def batch(batch_id: str, *event_ids: str) -> v1.StreamEventsResponse:
    events = [v1.SubscriptionEvent(event_id=event_id) for event_id in event_ids]
    return v1.StreamEventsResponse(batch_id=batch_id, events=events)


@pytest.fixture(params=["sync", "async"])
def read(request: pytest.FixtureRequest, scripted: ScriptedServer) -> Callable[[], list[str]]:
    """Reads the events of a subscription with a client of each kind."""

    def sync_read() -> list[str]:
        with Recollect(scripted.addr, retry=FAST) as client:
            return [event.event_id for event in client.subscriptions.events("crm")]

    async def async_read() -> list[str]:
        async with AsyncRecollect(scripted.addr, retry=FAST) as client:
            return [event.event_id async for event in client.subscriptions.events("crm")]

    return sync_read if request.param == "sync" else lambda: asyncio.run(async_read())


def acknowledged(scripted: ScriptedServer) -> list[str]:
    return [request.batch_id for name, request, _, _ in scripted.calls if name == "acknowledge"]


def test_a_batch_is_acknowledged_when_the_event_after_it_is_asked_for(
    scripted: ScriptedServer,
) -> None:
    scripted.events = [[batch("1", "a", "b"), batch("2", "c")]]
    with Recollect(scripted.addr, retry=FAST) as client:
        events = client.subscriptions.events("crm")
        assert [next(events).event_id, next(events).event_id] == ["a", "b"]
        assert acknowledged(scripted) == []
        assert next(events).event_id == "c"
        assert acknowledged(scripted) == ["1"]


def test_a_lost_stream_is_opened_again(
    read: Callable[[], list[str]], scripted: ScriptedServer
) -> None:
    scripted.events = [[batch("1", "a")], [], [batch("2", "b")]]
    scripted.after = [UNAVAILABLE, UNAVAILABLE]
    assert read() == ["a", "b"]
    assert acknowledged(scripted) == ["1", "2"]


def test_a_stream_that_fails_too_often_raises(
    read: Callable[[], list[str]], scripted: ScriptedServer
) -> None:
    scripted.events = [[], [], []]
    scripted.after = [UNAVAILABLE] * 3
    with pytest.raises(errors.UnavailableError):
        read()


def test_a_quiet_stream_is_opened_again_however_often_it_ends(
    read: Callable[[], list[str]], scripted: ScriptedServer
) -> None:
    scripted.events = [[], [], [], [], [batch("1", "a")]]
    scripted.after = [TOO_OLD] * 4
    assert read() == ["a"]


def test_a_quiet_stream_that_lasted_is_no_failure(
    read: Callable[[], list[str]], scripted: ScriptedServer
) -> None:
    scripted.events = [[], [], [], [], [], [batch("1", "a")]]
    lasting = fail(grpc.StatusCode.UNAVAILABLE, after=1.1)
    scripted.after = [UNAVAILABLE, UNAVAILABLE, lasting, UNAVAILABLE, UNAVAILABLE]
    assert read() == ["a"]


def test_an_update_names_what_it_changes(scripted: ScriptedServer) -> None:
    with Recollect(scripted.addr, retry=FAST) as client:

        def sent(**changes: Any) -> v1.UpdateSubscriptionRequest:
            client.subscriptions.update("crm", **changes)
            return scripted.calls[-1][1]  # type: ignore[no-any-return]

        request = sent(enabled=False, actions=["append_messages"])
        assert request.update_mask.paths == ["enabled", "actions"]
        actions = [v1.TRANSACTION_ACTION_APPEND_MESSAGES]
        assert request.subscription == v1.Subscription(name="crm", actions=actions)
        cleared = sent(actions=None)
        assert cleared.update_mask.paths == ["actions"] and not cleared.subscription.actions
