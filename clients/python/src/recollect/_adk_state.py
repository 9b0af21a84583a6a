"""State of Google's Agent Development Kit: values of an app, of a user and of a session.

Each value is a document. Those of a session and of a user belong to the user, those of an app to
no user, so that the deletion of a user deletes them.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from google.adk.sessions.state import State

from recollect import v1
from recollect._async.pages import pages

if TYPE_CHECKING:
    from recollect._async.client import AsyncRecollect

_APP = ("adk", "app")
_USER = ("adk", "user")
_SESSION = ("adk", "session")
_LARGEST_REQUEST = 3_000_000
_MOST_DOCUMENTS = 500
_PAGE = 500
Values = dict[str, Any]


class StateStore:
    def __init__(self, client: AsyncRecollect) -> None:
        self._client = client

    async def change(self, app: str, user: str, session: str, changes: Mapping[str, Any]) -> None:
        """Stores values by their keys with prefixes; other values stay."""
        by_owner: dict[str, list[v1.DocumentInput]] = {}
        for key, value in changes.items():
            owner = user
            namespace: tuple[str, ...] = (*_SESSION, session)
            if key.startswith(State.APP_PREFIX):
                owner, namespace = "", _APP
            elif key.startswith(State.USER_PREFIX):
                namespace = _USER
            made = v1.DocumentInput(namespace=namespace, key=_bare(key), json=_document(value))
            by_owner.setdefault(owner, []).append(made)
        for owner, documents in by_owner.items():
            ref = v1.UserRef(app_id=app, user_id=owner)
            for batch in _batches(documents):
                request = v1.PutDocumentsRequest(user=ref, documents=batch)
                await self._client.stubs.document.PutDocuments(request)

    async def read(self, app: str, user: str, session: str) -> Values:
        """The state of a session, with that of its user and app, by keys with prefixes."""
        own, of_user, of_app = await asyncio.gather(
            self._values(app, user, (*_SESSION, session)),
            self._values(app, user, _USER),
            self._values(app, "", _APP),
        )
        return {
            **own,
            **{State.APP_PREFIX + key: value for key, value in of_app.items()},
            **{State.USER_PREFIX + key: value for key, value in of_user.items()},
        }

    async def of_user(self, app: str, user: str) -> Values:
        """The values of a user, by keys without prefixes."""
        return await self._values(app, user, _USER)

    def reader(self, app: str) -> Callable[[str, str], Awaitable[Values]]:
        """Reads the states of several sessions: those of the app and of each user once."""
        of_app: Values = {}
        of_users: dict[str, tuple[Values, dict[str, Values]]] = {}

        async def of(user: str, session: str) -> Values:
            if not of_users:
                values = await self._values(app, "", _APP)
                of_app.update({State.APP_PREFIX + key: value for key, value in values.items()})
            if user not in of_users:
                values = await self._values(app, user, _USER)
                shared = {State.USER_PREFIX + key: value for key, value in values.items()}
                of_users[user] = shared, await self._sessions(app, user)
            shared, sessions = of_users[user]
            return {**sessions.get(session, {}), **of_app, **shared}

        return of

    async def delete_session(self, app: str, user: str, session: str) -> None:
        """Deletes the values of a session, and leaves those of its user and app."""
        documents = await self._documents(app, user, (*_SESSION, session))
        names = [
            v1.DocumentRef(namespace=document.namespace, key=document.key) for document in documents
        ]
        for start in range(0, len(names), _MOST_DOCUMENTS):
            request = v1.DeleteDocumentsRequest(
                user=v1.UserRef(app_id=app, user_id=user),
                documents=names[start : start + _MOST_DOCUMENTS],
            )
            await self._client.stubs.document.DeleteDocuments(request)

    async def _values(self, app: str, user: str, namespace: tuple[str, ...]) -> Values:
        documents = await self._documents(app, user, namespace)
        return {document.key: _value(document) for document in documents}

    async def _sessions(self, app: str, user: str) -> dict[str, Values]:
        """The values of each session of a user."""
        sessions: dict[str, Values] = {}
        for document in await self._documents(app, user, _SESSION):
            session = document.namespace[len(_SESSION)]
            sessions.setdefault(session, {})[document.key] = _value(document)
        return sessions

    async def _documents(
        self, app: str, user: str, namespace: tuple[str, ...]
    ) -> list[v1.Document]:
        request = v1.SearchDocumentsRequest(
            user=v1.UserRef(app_id=app, user_id=user), namespace_prefix=namespace, page_size=_PAGE
        )
        search = self._client.stubs.document.SearchDocuments
        return [
            found.document
            async for page in pages(search, request, None)
            for found in page.documents
        ]


def _bare(key: str) -> str:
    return key.removeprefix(State.APP_PREFIX).removeprefix(State.USER_PREFIX)


def _document(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=_jsonable)
    # Documents have no NUL characters.
    return json.dumps({"json": text}) if "\\u0000" in text else f'{{"value": {text}}}'


def _value(document: v1.Document) -> Any:
    stored = json.loads(document.json)
    return json.loads(stored["json"]) if "json" in stored else stored["value"]


def _jsonable(value: Any) -> Any:
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    raise TypeError(f"a value of state must be JSON, not {type(value).__name__}")


def _batches(documents: list[v1.DocumentInput]) -> list[list[v1.DocumentInput]]:
    batches: list[list[v1.DocumentInput]] = []
    size = 0
    for document in documents:
        size += document.ByteSize()
        if not batches or size > _LARGEST_REQUEST or len(batches[-1]) >= _MOST_DOCUMENTS:
            batches.append([])
            size = document.ByteSize()
        batches[-1].append(document)
    return batches
