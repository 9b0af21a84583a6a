"""What exceptions say."""

from __future__ import annotations

import pickle

import grpc
import pytest
from scripted import ScriptedServer, fail

from recollect import NO_USER, Recollect, RecollectError, errors


def failure(scripted: ScriptedServer, **arguments: object) -> RecollectError:
    scripted.before = [fail(**arguments)]  # type: ignore[arg-type]
    with Recollect(scripted.addr, retry=None) as client, pytest.raises(RecollectError) as raised:
        client.session(app="support", user="ada", session="42").history()
    return raised.value


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("INVALID_ARGUMENT", errors.InvalidArgumentError),
        ("UNAUTHENTICATED", errors.AuthenticationError),
        ("PERMISSION_DENIED", errors.PermissionDeniedError),
        ("NOT_FOUND", errors.NotFoundError),
        ("ALREADY_EXISTS", errors.AlreadyExistsError),
        ("ABORTED", errors.ConflictError),
        ("FAILED_PRECONDITION", errors.PreconditionError),
        ("RESOURCE_EXHAUSTED", errors.ResourceExhaustedError),
        ("UNAVAILABLE", errors.UnavailableError),
        ("DEADLINE_EXCEEDED", errors.DeadlineExceededError),
        ("INTERNAL", errors.InternalError),
        ("DATA_LOSS", errors.InternalError),
        ("UNIMPLEMENTED", RecollectError),
    ],
)
def test_each_code_has_its_exception(
    scripted: ScriptedServer, code: str, kind: type[RecollectError]
) -> None:
    error = failure(scripted, code=grpc.StatusCode[code], reason="SOMETHING")
    assert type(error) is kind
    assert (error.code, error.reason) == (code, "SOMETHING")


def test_details_are_in_fields(scripted: ScriptedServer) -> None:
    error = failure(
        scripted,
        code=grpc.StatusCode.INVALID_ARGUMENT,
        message="the request is invalid.",
        reason="INVALID_FIELD",
        fields={"messages[0].parts": "must not be empty"},
        retry_after=1.5,
        limit="64",
    )
    assert error.message == "the request is invalid. messages[0].parts: must not be empty"
    assert str(error).endswith(" [INVALID_ARGUMENT INVALID_FIELD]")
    assert error.fields == (errors.FieldViolation("messages[0].parts", "must not be empty"),)
    assert error.metadata == {"limit": "64"}
    assert error.retry_after == 1.5
    assert len(error.details) == 3
    assert isinstance(error.__cause__, grpc.RpcError)


def test_errors_can_be_pickled(scripted: ScriptedServer) -> None:
    error = failure(scripted, code=grpc.StatusCode.ABORTED, reason="ETAG_CHANGED", etag="7")
    copied = pickle.loads(pickle.dumps(error))
    assert type(copied) is errors.ConflictError
    assert (str(copied), copied.metadata) == (str(error), {"etag": "7"})


def test_a_missing_server_is_named_with_what_to_do() -> None:
    with pytest.raises(errors.UnavailableError) as raised:
        Recollect("127.0.0.1:1", retry=None).session(
            app="support", user=NO_USER, session="global"
        ).history()
    assert str(raised.value).startswith("No Recollect server answers at 127.0.0.1:1: start one")
    assert "RECOLLECT_ADDR" in str(raised.value)


def test_a_missing_key_and_a_missing_method_say_what_to_do(scripted: ScriptedServer) -> None:
    error = failure(
        scripted, code=grpc.StatusCode.UNAUTHENTICATED, message="no key", reason="UNAUTHENTICATED"
    )
    assert error.message.startswith("no key. Pass a key")
    with Recollect(scripted.addr) as client, pytest.raises(RecollectError) as raised:
        list(client.threads())
    assert "older than this client" in raised.value.message
    assert "/recollect.v1.ThreadService/ListThreads" in raised.value.message


def test_a_timeout_says_which_call_it_was(scripted: ScriptedServer) -> None:
    with scripted._lock, Recollect(scripted.addr) as client:
        with pytest.raises(errors.DeadlineExceededError) as raised:
            client.session(app="support", user="ada", session="42").history(timeout=0.1)
    assert "GetHistory" in raised.value.message
