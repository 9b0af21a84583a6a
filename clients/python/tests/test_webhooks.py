"""Verifying webhooks."""

from __future__ import annotations

import json
import time

import pytest

import recollect

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
# The vector of the reference implementations of Standard Webhooks.
HEADERS = {
    "Webhook-Id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
    "Webhook-Timestamp": "1614265330",
    "Webhook-Signature": "v1,AAAA v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
}
BODY = b'{"test": 2432232314}'


def test_a_signed_webhook_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time", lambda: 1614265330.0)
    assert recollect.verify_webhook(HEADERS, BODY, SECRET) == json.loads(BODY)


@pytest.mark.parametrize(
    ("change", "body", "secret"),
    [
        ({}, BODY + b" ", SECRET),
        ({}, BODY, "whsec_AAAA"),
        ({}, BODY, "whsec_~"),
        ({"Webhook-Id": "another"}, BODY, SECRET),
        ({"Webhook-Timestamp": "1614265331"}, BODY, SECRET),
        ({"Webhook-Timestamp": "soon"}, BODY, SECRET),
        ({"Webhook-Timestamp": "1614264000"}, BODY, SECRET),
        ({"Webhook-Signature": "v2,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="}, BODY, SECRET),
        ({"Webhook-Signature": ""}, BODY, SECRET),
        # Signed with an empty key.
        ({"Webhook-Signature": "v1,woH/1mJtZGSMCmpFTxRYbStS24eLLD/oXIYr4PYyZ7g="}, BODY, "whsec_"),
    ],
)
def test_another_request_is_refused(
    change: dict[str, str], body: bytes, secret: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.time", lambda: 1614265330.0)
    with pytest.raises(ValueError, match="webhook|secret"):
        recollect.verify_webhook(HEADERS | change, body, secret)
