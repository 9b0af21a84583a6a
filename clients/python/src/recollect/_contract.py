"""What the contract says of its methods."""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import dataclass
from typing import Any

from google.protobuf.descriptor_pb2 import MethodOptions

from recollect import v1

# Writes that may run twice: the second run leaves and answers what the first one did. So those
# that say whether they deleted something are not among them. Those with a request_id need no
# place here; neither do reads. The clients of all languages have this list.
_REPEATABLE = {
    "AddMemories",
    "CopyCheckpoints",
    "FlushNodeMemory",
    "ImportMemories",
    "PutCheckpoint",
    "PutCheckpointWrites",
    "PutDocuments",
    "RegisterFile",
    "Reindex",
    "ResolveThread",
    "SetHead",
    "SupersedeMemory",
    "UpdateAppPolicy",
    "UpdateMemory",
    "UpdateThread",
}


@dataclass(frozen=True)
class Method:
    """A method of the contract."""

    reads: bool
    takes_request_id: bool
    repeatable: bool

    def may_repeat(self, request: Any) -> bool:
        """Whether a call that may have succeeded can be made again with the same result."""
        if self.reads:
            return True
        if self.takes_request_id:
            return bool(request.request_id)
        return self.repeatable and not _has_precondition(request)


def _has_precondition(request: Any) -> bool:
    """Whether the request names a state, which the first run of the call changes."""
    return any(
        field.name in ("etag", "expected_head", "absent")
        or (field.name in ("thread", "memory", "app_policy") and getattr(value, "etag", ""))
        for field, value in request.ListFields()
    )


def _methods() -> dict[str, Method]:
    found = {}
    for module in pkgutil.iter_modules(v1.__path__, "recollect.v1."):
        if not module.name.endswith("_service_pb2"):
            continue
        file = importlib.import_module(module.name).DESCRIPTOR
        for service in file.services_by_name.values():
            for method in service.methods:
                level = method.GetOptions().idempotency_level
                found[f"/{service.full_name}/{method.name}"] = Method(
                    reads=level == MethodOptions.NO_SIDE_EFFECTS,
                    takes_request_id="request_id" in method.input_type.fields_by_name,
                    repeatable=method.name in _REPEATABLE,
                )
    return found


METHODS = _methods()
"""Each method by its path, such as `/recollect.v1.MessageService/AppendMessages`."""
