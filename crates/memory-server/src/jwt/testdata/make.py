#!/usr/bin/env python3
"""Writes keys.json and tokens.json: key pairs that are thrown away, and what they signed.

Needs the package `cryptography`. The tokens are valid until the year 2100.
"""

import base64
import json
import pathlib

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

HERE = pathlib.Path(__file__).parent
CLAIMS = {
    "iss": "https://issuer.example",
    "aud": "recollect",
    "sub": "backend",
    "exp": 4102444800,
    "tenant": "acme",
    "scope": "openid read write",
}


def text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def number(value: int, size: int | None = None) -> str:
    return text(value.to_bytes(size or (value.bit_length() + 7) // 8, "big"))


def token(algorithm: str, key_id: str, sign, claims=CLAIMS) -> str:
    head = text(json.dumps({"alg": algorithm, "kid": key_id, "typ": "JWT"}).encode())
    message = f"{head}.{text(json.dumps(claims).encode())}"
    return f"{message}.{text(sign(message.encode()))}"


def ecdsa(key, curve_bytes: int, digest):
    def sign(message: bytes) -> bytes:
        r, s = decode_dss_signature(key.sign(message, ec.ECDSA(digest)))
        return r.to_bytes(curve_bytes, "big") + s.to_bytes(curve_bytes, "big")

    return sign


rsa_key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
p256 = ec.generate_private_key(ec.SECP256R1())
p384 = ec.generate_private_key(ec.SECP384R1())
ed = ed25519.Ed25519PrivateKey.generate()

public = rsa_key.public_key().public_numbers()
keys = [{"kty": "RSA", "kid": "rsa", "use": "sig", "n": number(public.n), "e": number(public.e)}]
for key, name, curve, size in [(p256, "p256", "P-256", 32), (p384, "p384", "P-384", 48)]:
    point = key.public_key().public_numbers()
    keys.append({"kty": "EC", "kid": name, "crv": curve,
                 "x": number(point.x, size), "y": number(point.y, size)})
keys.append({"kty": "OKP", "kid": "ed", "crv": "Ed25519",
             "x": text(ed.public_key().public_bytes_raw())})

tokens = {}
for bits, digest in [(256, hashes.SHA256()), (384, hashes.SHA384()), (512, hashes.SHA512())]:
    tokens[f"RS{bits}"] = token(
        f"RS{bits}", "rsa", lambda m, d=digest: rsa_key.sign(m, padding.PKCS1v15(), d))
    tokens[f"PS{bits}"] = token(
        f"PS{bits}", "rsa",
        lambda m, d=digest: rsa_key.sign(
            m, padding.PSS(padding.MGF1(d), padding.PSS.DIGEST_LENGTH), d))
tokens["ES256"] = token("ES256", "p256", ecdsa(p256, 32, hashes.SHA256()))
tokens["ES384"] = token("ES384", "p384", ecdsa(p384, 48, hashes.SHA384()))
tokens["EdDSA"] = token("EdDSA", "ed", ed.sign)

wrong = {
    "expired": CLAIMS | {"exp": 1600000000},
    "not valid yet": CLAIMS | {"nbf": 4102444000},
    "of another issuer": CLAIMS | {"iss": "https://issuer.example.org"},
    "for another service": CLAIMS | {"aud": ["mail", "files"]},
    "without an expiry": {name: CLAIMS[name] for name in CLAIMS if name != "exp"},
    "without an issuer": {name: CLAIMS[name] for name in CLAIMS if name != "iss"},
    "without an audience": {name: CLAIMS[name] for name in CLAIMS if name != "aud"},
    "without a subject": {name: CLAIMS[name] for name in CLAIMS if name != "sub"},
    "without a tenant": {name: CLAIMS[name] for name in CLAIMS if name != "tenant"},
    "whose expiry is text": CLAIMS | {"exp": "4102444800"},
    "whose tenant is empty": CLAIMS | {"tenant": ""},
    "whose tenant is a list": CLAIMS | {"tenant": ["acme"]},
    "whose tenant has a line break": CLAIMS | {"tenant": "acme\nglobex"},
    "whose bounds are a text": CLAIMS | {"bounds": "ada"},
    "whose bounds name nothing": CLAIMS | {"bounds": {}},
    "whose bounds have an empty list": CLAIMS | {"bounds": {"app_ids": ["shop"], "user_ids": []}},
    "whose bounds have an unknown list": CLAIMS | {"bounds": {"users": ["ada"]}},
    "whose bounds have an empty user": CLAIMS | {"bounds": {"user_ids": [""]}},
    "of a bound administrator": CLAIMS | {"bounds": {"user_ids": ["ada"]}, "scope": "admin"},
}
refused = {name: token("EdDSA", "ed", ed.sign, claims) for name, claims in wrong.items()}
refused["with an unknown key"] = token("EdDSA", "other", ed.sign)
refused["signed with the public key as a secret"] = token(
    "HS256", "ed",
    lambda m: __import__("hmac").digest(ed.public_key().public_bytes_raw(), m, "sha256"))
refused["without a signature"] = token("none", "ed", lambda m: b"")
refused["of another algorithm than its key"] = token("RS256", "ed", ed.sign)
head, body, sign = tokens["EdDSA"].split(".")
other = text(json.dumps(CLAIMS | {"tenant": "globex"}).encode())
refused["with changed claims"] = f"{head}.{other}.{sign}"

(HERE / "keys.json").write_text(json.dumps({"keys": keys}, indent=1) + "\n")
bounds = {
    "bounds": CLAIMS | {"bounds": {"app_id_prefixes": ["shop-"], "user_ids": ["backend", "ada"]}},
    "bounds of others": CLAIMS | {"bounds": {"user_ids": ["ada"]}},
    "email": CLAIMS | {"email": "ada@example.com"},
}
bound = {name: token("EdDSA", "ed", ed.sign, claims) for name, claims in bounds.items()}
pages = {"accepted": tokens, "refused": refused, "bound": bound}
(HERE / "tokens.json").write_text(json.dumps(pages, indent=1) + "\n")
