"""What the contract says of its methods."""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import dataclass
from typing import Any

from google.protobuf.descriptor_pb2 import MethodOptions

from recollect import v1


@dataclass(frozen=True)
class Method:
    """A method of the contract."""

    reads: bool
    takes_request_id: bool
    idempotent: bool
    """Whether a second run of the call leaves and answers what the first one did."""

    def may_repeat(self, request: Any) -> bool:
        """Whether a call that may have succeeded can be made again with the same result."""
        if self.reads:
            return True
        if self.takes_request_id:
            return bool(request.request_id)
        return self.idempotent and not _has_precondition(request)


def _has_precondition(request: Any) -> bool:
    """Whether the request names a state, which the first run of the call changes."""
    return any(field.name in ("precondition", "expected_head") for field, _ in request.ListFields())


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
                    idempotent=level == MethodOptions.IDEMPOTENT,
                )
    return found


METHODS = _methods()
"""Each method by its path, such as `/recollect.v1.MessageService/AppendMessages`."""
