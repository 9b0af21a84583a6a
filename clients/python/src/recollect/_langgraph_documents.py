"""Requests and answers of documents, for LangGraph's stores."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta, timezone
from enum import Enum
from typing import Any, Literal
from uuid import UUID

from langgraph.store.base import (
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    validate_op_namespace,
)

from recollect import v1
from recollect._requests import duration

_OPERATORS = {
    "$eq": v1.DOCUMENT_OPERATOR_EQUAL,
    "$ne": v1.DOCUMENT_OPERATOR_NOT_EQUAL,
    "$gt": v1.DOCUMENT_OPERATOR_GREATER,
    "$gte": v1.DOCUMENT_OPERATOR_GREATER_OR_EQUAL,
    "$lt": v1.DOCUMENT_OPERATOR_LESS,
    "$lte": v1.DOCUMENT_OPERATOR_LESS_OR_EQUAL,
}
_MOST_DOCUMENTS = 500
_LARGEST_PAGE = 500
_LARGEST_REQUEST = 3_000_000
Name = tuple[tuple[str, ...], str]


class Documents:
    """Translates between LangGraph and the contract, for one app and user."""

    def __init__(self, app: str, user: str, index: Sequence[str] | Literal[False]) -> None:
        self.user = v1.UserRef(app_id=app, user_id=user)
        self._index = list(index or ())

    def run(self, ops: Sequence[Op]) -> Generator[tuple[str, Any], Any, list[Result]]:
        """Executes operations: yields methods and requests, is sent the responses, and returns
        the results. All that reads comes before all that writes."""
        for op in ops:
            validate_op_namespace(op)
        read: dict[Name, Item] = {}
        for request in self._gets(op for op in ops if isinstance(op, GetOp)):
            left: v1.GetDocumentsRequest | None = request
            while left is not None:
                response = yield "GetDocuments", left
                for document in response.documents:
                    read[tuple(document.namespace), document.key] = _item(document)
                left = self._rest(left, response)
        results: list[Result] = []
        for op in ops:
            if isinstance(op, GetOp):
                results.append(read.get((op.namespace, op.key)))
            elif isinstance(op, SearchOp):
                pages = yield from _pages("SearchDocuments", self._search(op), op)
                results.append([_found(one) for page in pages for one in page.documents])
            elif isinstance(op, ListNamespacesOp):
                pages = yield from _pages("ListNamespaces", self._namespaces(op), op)
                results.append([tuple(one.labels) for page in pages for one in page.namespaces])
            elif isinstance(op, PutOp):
                results.append(None)
            else:
                raise ValueError(f"Unknown operation type: {type(op)}")
        stored, deleted = self._puts(op for op in ops if isinstance(op, PutOp))
        for put in stored:
            yield "PutDocuments", put
        for delete in deleted:
            yield "DeleteDocuments", delete
        return results

    # --- writing -----------------------------------------------------------------------------

    def _puts(
        self, ops: Iterable[PutOp]
    ) -> tuple[list[v1.PutDocumentsRequest], list[v1.DeleteDocumentsRequest]]:
        """What stores and what deletes documents. Of several writes of one, the last counts."""
        last = {(op.namespace, op.key): op for op in ops}
        inputs = [self._input(op) for op in last.values() if op.value is not None]
        names = [name for name, op in last.items() if op.value is None]
        stored = [
            v1.PutDocumentsRequest(user=self.user, documents=batch) for batch in _batches(inputs)
        ]
        deleted = [
            v1.DeleteDocumentsRequest(
                user=self.user,
                documents=[_ref(name) for name in names[start : start + _MOST_DOCUMENTS]],
            )
            for start in range(0, len(names), _MOST_DOCUMENTS)
        ]
        return stored, deleted

    def _input(self, op: PutOp) -> v1.DocumentInput:
        index = self._index if op.index is None else op.index or []
        made = v1.DocumentInput(
            namespace=op.namespace,
            key=op.key,
            json=json.dumps(op.value, ensure_ascii=False, default=_jsonable),
            index_fields=index,
        )
        if op.ttl is not None:
            made.ttl.CopyFrom(duration(timedelta(minutes=op.ttl)))
        return made

    # --- reading -----------------------------------------------------------------------------

    def _gets(self, ops: Iterable[GetOp]) -> list[v1.GetDocumentsRequest]:
        """The requests for documents: apart those that prolong what they return."""
        requests = []
        by_refresh: dict[bool, dict[Name, None]] = {}
        for op in ops:
            by_refresh.setdefault(bool(op.refresh_ttl), {})[op.namespace, op.key] = None
        for refresh, found in by_refresh.items():
            names = list(found)
            for start in range(0, len(names), _MOST_DOCUMENTS):
                refs = [_ref(name) for name in names[start : start + _MOST_DOCUMENTS]]
                requests.append(
                    v1.GetDocumentsRequest(user=self.user, documents=refs, refresh_ttl=refresh)
                )
        return requests

    def _rest(
        self, request: v1.GetDocumentsRequest, response: v1.GetDocumentsResponse
    ) -> v1.GetDocumentsRequest | None:
        """The request for what did not fit into the response."""
        rest = request.documents[response.read_count :]
        if not rest:
            return None
        return v1.GetDocumentsRequest(
            user=self.user, documents=rest, refresh_ttl=request.refresh_ttl
        )

    def _search(self, op: SearchOp) -> v1.SearchDocumentsRequest:
        return v1.SearchDocumentsRequest(
            user=self.user,
            namespace_prefix=op.namespace_prefix,
            conditions=[
                condition
                for field, wanted in (op.filter or {}).items()
                for condition in _conditions([field], wanted)
            ],
            query=op.query or "",
            refresh_ttl=bool(op.refresh_ttl),
        )

    def _namespaces(self, op: ListNamespacesOp) -> v1.ListNamespacesRequest:
        paths: dict[str, list[str]] = {"prefix": [], "suffix": []}
        for condition in op.match_conditions or ():
            paths[condition.match_type] = _path(condition)
        return v1.ListNamespacesRequest(
            user=self.user,
            prefix=paths["prefix"],
            suffix=paths["suffix"],
            max_depth=op.max_depth,
        )


def _pages(
    method: str, request: Any, op: SearchOp | ListNamespacesOp
) -> Generator[tuple[str, Any], Any, list[Any]]:
    """The pages that have what an operation wants: `limit` items after the first `offset`."""
    found: list[Any] = []
    left = op.limit
    request.skip = op.offset
    while left > 0:
        request.page_size = min(left, _LARGEST_PAGE)
        page = yield method, request
        found.append(page)
        left -= len(page.documents if method == "SearchDocuments" else page.namespaces)
        if not page.next_page_token:
            break
        request.page_token = page.next_page_token
        # The token's place is after what was left out.
        request.skip = 0
    return found


def _item(document: v1.Document) -> Item:
    return Item(
        value=json.loads(document.json),
        key=document.key,
        namespace=tuple(document.namespace),
        created_at=_time(document.create_time),
        updated_at=_time(document.update_time),
    )


def _found(result: v1.FoundDocument) -> SearchItem:
    document = result.document
    return SearchItem(
        namespace=tuple(document.namespace),
        key=document.key,
        value=json.loads(document.json),
        created_at=_time(document.create_time),
        updated_at=_time(document.update_time),
        score=result.score if result.HasField("score") else None,
    )


def _conditions(field: list[str], wanted: Any) -> list[v1.DocumentCondition]:
    if isinstance(wanted, Mapping) and any(str(name).startswith("$") for name in wanted):
        unknown = [name for name in wanted if name not in _OPERATORS]
        if unknown:
            raise ValueError(f"Unsupported operator: {unknown[0]}")
        return [
            v1.DocumentCondition(field=field, operator=_OPERATORS[name], json=_text(value))
            for name, value in wanted.items()
        ]
    if isinstance(wanted, Mapping) and wanted:
        return [
            condition
            for name, value in wanted.items()
            for condition in _conditions([*field, str(name)], value)
        ]
    return [
        v1.DocumentCondition(field=field, operator=v1.DOCUMENT_OPERATOR_EQUAL, json=_text(wanted))
    ]


def _path(condition: MatchCondition) -> list[str]:
    return [str(label) for label in condition.path]


def _ref(name: Name) -> v1.DocumentRef:
    return v1.DocumentRef(namespace=name[0], key=name[1])


def _batches(inputs: list[v1.DocumentInput]) -> list[list[v1.DocumentInput]]:
    batches: list[list[v1.DocumentInput]] = []
    size = 0
    for document in inputs:
        size += document.ByteSize()
        if not batches or size > _LARGEST_REQUEST or len(batches[-1]) >= _MOST_DOCUMENTS:
            batches.append([])
            size = document.ByteSize()
        batches[-1].append(document)
    return batches


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=_jsonable)


def _jsonable(value: Any) -> Any:
    if isinstance(value, (datetime, date)):
        return value.isoformat()
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, (set, frozenset, tuple)):
        return list(value)
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    raise TypeError(f"a value must be JSON, not {type(value).__name__}")


def _time(stamp: Any) -> datetime:
    time: datetime = stamp.ToDatetime(timezone.utc)
    return time
