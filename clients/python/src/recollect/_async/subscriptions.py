"""Subscriptions to changes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from time import monotonic

import grpc
import grpc.aio

from recollect import _requests, v1
from recollect._arguments import make
from recollect._calls import call_error
from recollect._connect import AsyncChannels
from recollect.types import UNCHANGED, Unchanged

_STREAM = "/recollect.v1.SubscriptionService/StreamEvents"


class AsyncSubscriptions:
    """Subscriptions of a tenant. `AsyncRecollect.subscriptions` is one.

    Changing them needs a key with the scope `admin`, and so do the events of one with a URL.
    """

    def __init__(self, channels: AsyncChannels) -> None:
        self._channels = channels

    def __repr__(self) -> str:
        return "<AsyncSubscriptions>"

    async def create(
        self,
        name: str,
        *,
        app: str = "",
        user: str = "",
        actions: Sequence[str] = (),
        url: str = "",
        timeout: float | None = None,
    ) -> v1.CreateSubscriptionResponse:
        """Creates a subscription to the changes that begin from now on. With a URL, the answer
        has the `secret` that `verify_webhook` takes; it cannot be read again.

        Args:
            name: the name: 1 to 64 characters of a-z, A-Z, 0-9, `.`, `_` and `-`.
            app: only changes of this app. Empty: of all.
            user: only changes of this user. Empty: of all.
            actions: only changes of these kinds, such as `append_messages`. Default: all.
            url: where events are sent as webhooks. Empty: they are only streamed.
            timeout: the seconds the call may take. Default: the client's.
        """
        request = make(
            v1.CreateSubscriptionRequest, name=name, app_id=app, user_id=user, url=url
        )
        _requests.fill(request, {"actions": actions})
        return await self._channels.stubs().subscription.CreateSubscription(
            request, timeout=timeout
        )

    async def get(self, name: str, *, timeout: float | None = None) -> v1.Subscription:
        """A subscription with what waits in it, and what was lost."""
        request = make(v1.GetSubscriptionRequest, name=name)
        stubs = self._channels.stubs().subscription
        return (await stubs.GetSubscription(request, timeout=timeout)).subscription

    async def list(self, *, timeout: float | None = None) -> Sequence[v1.Subscription]:
        """All subscriptions, by name, with what waits in them."""
        request = v1.ListSubscriptionsRequest()
        stubs = self._channels.stubs().subscription
        response = await stubs.ListSubscriptions(request, timeout=timeout)
        return response.subscriptions

    async def update(
        self,
        name: str,
        *,
        enabled: bool | Unchanged = UNCHANGED,
        url: str | Unchanged = UNCHANGED,
        actions: Sequence[str] | None | Unchanged = UNCHANGED,
        timeout: float | None = None,
    ) -> v1.Subscription:
        """Changes a subscription: what is passed is replaced, and what is not passed stays. A
        webhook that waits after a failure is sent again at once.

        Args:
            name: the name of the subscription.
            enabled: whether changes become events, and events are sent.
            url: another URL, of a subscription that has one.
            actions: all kinds of changes from now on. None: every kind.
            timeout: the seconds the call may take. Default: the client's.
        """
        changes = _requests.passed(enabled=enabled, url=url, actions=actions)
        request = make(
            v1.UpdateSubscriptionRequest,
            subscription=_requests.fill(make(v1.Subscription, name=name), changes),
            update_mask=_requests.mask(changes),
        )
        stubs = self._channels.stubs().subscription
        return (await stubs.UpdateSubscription(request, timeout=timeout)).subscription

    async def rotate_secret(self, name: str, *, timeout: float | None = None) -> str:
        """Replaces the secret of a subscription with a URL, and returns the new one. For 24 hours
        webhooks have the signature of the former one too."""
        request = make(v1.RotateSubscriptionSecretRequest, name=name)
        stubs = self._channels.stubs().subscription
        return (await stubs.RotateSubscriptionSecret(request, timeout=timeout)).secret

    async def delete(self, name: str, *, timeout: float | None = None) -> bool:
        """Deletes a subscription with the events that wait in it. False: there was none."""
        request = make(v1.DeleteSubscriptionRequest, name=name)
        stubs = self._channels.stubs().subscription
        return (await stubs.DeleteSubscription(request, timeout=timeout)).deleted

    async def events(self, name: str) -> AsyncIterator[v1.SubscriptionEvent]:
        """The events of a subscription, from the first that was not acknowledged on. A batch is
        acknowledged when the event after it is asked for: one that was not finished comes again,
        with the same `event_id`. A lost connection is made again. `get` counts the events that
        were lost (`dropped_count`).
        """
        request = make(v1.StreamEventsRequest, name=name)
        settings = self._channels.connection.settings
        failures = 0
        while True:
            opened = monotonic()
            stubs = self._channels.stubs().subscription
            stream = stubs.StreamEvents(request)
            try:
                async for batch in stream:
                    failures = 0
                    for event in batch.events:
                        yield event
                    await stubs.AcknowledgeEvents(
                        v1.AcknowledgeEventsRequest(name=name, batch_id=batch.batch_id)
                    )
                return
            except grpc.RpcError as failed:
                error = call_error(failed, settings, _STREAM)
                lasted = monotonic() - opened
                failures = settings.retry.failures(failures, error.code, lasted)
                if not error.may_resume or failures >= settings.retry.attempts:
                    raise error from failed
            finally:
                stream.cancel()
            await asyncio.sleep(settings.retry.pause(failures, error.retry_after))
