"""Webhooks, by the specification Standard Webhooks."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import time
from collections.abc import Mapping
from typing import Any


def verify_webhook(
    headers: Mapping[str, str], body: bytes, secret: str, *, tolerance: float = 300.0
) -> Any:
    """Checks that a request is a webhook of this server, and returns its JSON: `subscription`,
    `events` and `dropped_count`. Answer 401 to a request that it refuses.

    Args:
        headers: the request's headers; their names may have any case.
        body: the request's body as it was received.
        secret: the secret of the subscription: `whsec_…`.
        tolerance: the seconds that the request's time may differ from this machine's.

    Raises:
        ValueError: it is not signed with the secret, or too old.
    """
    values = {name.lower(): value for name, value in headers.items()}
    identity = values.get("webhook-id", "")
    timestamp = values.get("webhook-timestamp", "")
    if not timestamp.isascii() or not timestamp.isdecimal():
        raise ValueError("the request has no webhook-timestamp")
    if abs(time.time() - int(timestamp)) > tolerance:
        raise ValueError("the webhook is too old, or a clock is wrong")
    try:
        key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except binascii.Error as error:
        raise ValueError("the secret is not whsec_ and base64") from error
    if not key:
        raise ValueError("the secret is empty")
    signed = f"{identity}.{timestamp}.".encode() + body
    expected = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    for signature in values.get("webhook-signature", "").split():
        version, _, value = signature.partition(",")
        if version == "v1" and hmac.compare_digest(value.encode(), expected.encode()):
            return json.loads(body)
    raise ValueError("the webhook is not signed with this secret")
