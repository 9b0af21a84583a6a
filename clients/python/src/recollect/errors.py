"""The exceptions of this package.

Every failed call raises a `RecollectError`, or the subclass that stands for its code. A wrong
argument is an `InvalidArgumentError` before anything is sent.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

import grpc
from google.protobuf.message import DecodeError
from google.rpc import error_details_pb2, status_pb2  # type: ignore[import-untyped]


@dataclass(frozen=True)
class FieldViolation:
    """A field of a request that has an invalid value."""

    field: str
    """The field's path, such as `messages[2].parts[0].text`."""
    description: str
    """What is wrong with it, with the limit."""


class RecollectError(Exception):
    """A call failed."""

    code: str
    """The gRPC code, such as `NOT_FOUND`."""
    reason: str
    """The server's reason, such as `THREAD_NOT_FOUND` (ErrorReason in docs/api.md). Empty: the
    error does not come from a Recollect server."""
    message: str
    """What happened and what to do."""
    metadata: dict[str, str]
    """What belongs to the reason, such as `needed_tokens`, `etag` or `incident`."""
    fields: tuple[FieldViolation, ...]
    """The invalid fields of an `INVALID_ARGUMENT`."""
    retry_after: float | None
    """The delay in seconds before a retry, if the server names one."""
    details: tuple[Any, ...]
    """The google.rpc details of the error, as messages of google.rpc.error_details_pb2."""
    attempts: int
    """How often the call was made."""

    def __init__(
        self,
        message: str,
        *,
        code: str = "UNKNOWN",
        reason: str = "",
        metadata: dict[str, str] | None = None,
        fields: Iterable[FieldViolation] = (),
        retry_after: float | None = None,
        details: Iterable[Any] = (),
        attempts: int = 1,
    ) -> None:
        self.message = message
        self.code = code
        self.reason = reason
        self.metadata = metadata or {}
        self.fields = tuple(fields)
        self.retry_after = retry_after
        self.details = tuple(details)
        self.attempts = attempts
        super().__init__(message)

    @property
    def may_resume(self) -> bool:
        """Whether a stream that ended with this error can be continued after a pause."""
        return self.code in ("UNAVAILABLE", "DEADLINE_EXCEEDED") or self.retry_after is not None

    def __str__(self) -> str:
        notes = " ".join(filter(None, (self.code, self.reason)))
        if self.attempts > 1:
            notes += f", after {self.attempts} attempts"
        return f"{self.message} [{notes}]"

    def __reduce__(self) -> tuple[Any, ...]:
        # Details of the wire cannot be pickled; everything else is also in a field.
        keywords = {
            name: getattr(self, name)
            for name in ("code", "reason", "metadata", "fields", "retry_after", "attempts")
        }
        return _restore, (type(self), self.message, keywords)


def _restore(kind: type[RecollectError], message: str, keywords: Any) -> RecollectError:
    return kind(message, **keywords)


class InvalidArgumentError(RecollectError, ValueError):
    """An argument or a request is invalid; `fields` name what is wrong with it. It is a ValueError
    too."""


def invalid(argument: str, description: str) -> InvalidArgumentError:
    """The exception for an argument of which no request can be made."""
    return InvalidArgumentError(
        f"{argument} {description}",
        code="INVALID_ARGUMENT",
        fields=[FieldViolation(argument, description)],
    )


class AuthenticationError(RecollectError):
    """The call has no valid API key."""


class PermissionDeniedError(RecollectError):
    """The API key lacks a scope: `metadata["scope"]`."""


class NotFoundError(RecollectError):
    """What the call names does not exist."""


class AlreadyExistsError(RecollectError):
    """What the call creates exists, or a request id was used for something else."""


class ConflictError(RecollectError):
    """What the call changes has changed since it was read: read it again, then repeat."""


class PreconditionError(RecollectError):
    """The state of the server or of the data does not allow the call."""


class ResourceExhaustedError(RecollectError):
    """A limit is reached: of calls, which pass again after `retry_after`, or of a size."""


class UnavailableError(RecollectError):
    """The server, or a part of it, does not answer. The call may have succeeded."""


class DeadlineExceededError(RecollectError):
    """The call took longer than its timeout. It may have succeeded."""


class CancelledError(RecollectError):
    """The call was cancelled."""


class ServerStartError(RecollectError):
    """The program of `recollect.server` was not found, or it did not become ready; the message has
    the end of its log."""


class InternalError(RecollectError):
    """The server failed; its log has more under `metadata["incident"]`."""


_KINDS: dict[str, type[RecollectError]] = {
    "INVALID_ARGUMENT": InvalidArgumentError,
    "OUT_OF_RANGE": InvalidArgumentError,
    "UNAUTHENTICATED": AuthenticationError,
    "PERMISSION_DENIED": PermissionDeniedError,
    "NOT_FOUND": NotFoundError,
    "ALREADY_EXISTS": AlreadyExistsError,
    "ABORTED": ConflictError,
    "FAILED_PRECONDITION": PreconditionError,
    "RESOURCE_EXHAUSTED": ResourceExhaustedError,
    "UNAVAILABLE": UnavailableError,
    "DEADLINE_EXCEEDED": DeadlineExceededError,
    "CANCELLED": CancelledError,
    "INTERNAL": InternalError,
    "DATA_LOSS": InternalError,
}

_DETAILS: tuple[Any, ...] = (
    error_details_pb2.ErrorInfo,
    error_details_pb2.BadRequest,
    error_details_pb2.RetryInfo,
    error_details_pb2.QuotaFailure,
)


class FailedCall(Protocol):
    """What grpc.RpcError of a failed call offers, in both kinds of channels."""

    def code(self) -> grpc.StatusCode: ...
    def details(self) -> str | None: ...
    def trailing_metadata(self) -> Iterable[tuple[str, str | bytes]] | None: ...


def from_call(call: FailedCall, *, target: str, method: str, tls: bool = False) -> RecollectError:
    """The exception for a failed call.

    target is the server's address, method the method's path, and tls whether the call used TLS;
    they are for the message.
    """
    code = call.code().name
    details = _unpacked(call)
    message = (call.details() or "").strip()
    reason, metadata = "", {}
    fields: list[FieldViolation] = []
    retry_after = None
    for detail in details:
        if isinstance(detail, error_details_pb2.ErrorInfo):
            reason, metadata = detail.reason, dict(detail.metadata)
        elif isinstance(detail, error_details_pb2.BadRequest):
            fields += [FieldViolation(of.field, of.description) for of in detail.field_violations]
        elif isinstance(detail, error_details_pb2.RetryInfo):
            retry_after = detail.retry_delay.ToTimedelta().total_seconds()
    unnamed = [f"{of.field}: {of.description}" for of in fields if of.field not in message]
    remedy = _remedy(code, reason, target, method, _unreachable(target, tls, message))
    if remedy and not reason:
        # gRPC's own words come last: they are for those who know gRPC.
        message, remedy = f"{remedy} ({message})" if message else remedy, ""
    kind = _KINDS.get(code, RecollectError)
    return kind(
        ". ".join(filter(None, [message.rstrip("."), *unnamed, remedy])),
        code=code,
        reason=reason,
        metadata=metadata,
        fields=fields,
        retry_after=retry_after,
        details=details,
    )


def _unpacked(call: FailedCall) -> list[Any]:
    for key, value in call.trailing_metadata() or ():
        if key == "grpc-status-details-bin" and isinstance(value, bytes):
            try:
                status = status_pb2.Status.FromString(value)
            except DecodeError:
                return []
            return [
                detail
                for packed in status.details
                for detail in (kind() for kind in _DETAILS)
                if packed.Unpack(detail)
            ]
    return []


def _unreachable(target: str, tls: bool, details: str) -> str:
    """What to do about a server that does not answer, from gRPC's words for it."""
    if tls and "WRONG_VERSION_NUMBER" in details:
        return (
            f"The server at {target} answers without TLS: call it without https://, tls=True, "
            "ca_file and client_cert"
        )
    if tls and "CERTIFICATE_VERIFY_FAILED" in details:
        return (
            f"The certificate of {target} is not trusted: pass the file of its authority as "
            "ca_file, and the name in the certificate as server_name if it is not that of addr"
        )
    advice = (
        f"No Recollect server answers at {target}: start one (`recollect dev`), or set addr or "
        "RECOLLECT_ADDR"
    )
    if tls:
        return f"{advice}. A server without TLS needs an address without https://"
    return f"{advice}. A server with TLS needs an address with https://, or tls=True"


def _remedy(code: str, reason: str, target: str, method: str, unreachable: str) -> str:
    """What the server's message cannot say, because it depends on this client."""
    if code == "UNAUTHENTICATED":
        return "Pass a key of this server as api_key, or set RECOLLECT_API_KEY"
    if reason:
        return ""
    if code == "UNAVAILABLE":
        return unreachable
    if code == "DEADLINE_EXCEEDED":
        return f"{target} did not answer {method} within the timeout of the call"
    if code == "UNIMPLEMENTED":
        return f"The server at {target} has no method {method}: it is older than this client"
    if code == "RESOURCE_EXHAUSTED":
        return f"A message of {method} is larger than gRPC accepts"
    return ""
