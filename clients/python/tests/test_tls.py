"""TLS with a CA of one's own, and with a client's certificate."""

from __future__ import annotations

import datetime
import ipaddress
import pathlib
from typing import Any

import grpc
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from scripted import ScriptedServer

from recollect import Recollect, errors


class Authority:
    """A certificate authority that writes PEM files."""

    def __init__(self, directory: pathlib.Path) -> None:
        self.directory = directory
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.certificate = self._sign("ca", self.key.public_key(), None)
        self.file = directory / "ca.pem"
        self.file.write_bytes(self.certificate.public_bytes(serialization.Encoding.PEM))

    def issue(self, name: str) -> tuple[pathlib.Path, pathlib.Path]:
        """The files of a certificate for 127.0.0.1 and of its key."""
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = self._sign(name, key.public_key(), self.certificate)
        files = self.directory / f"{name}.pem", self.directory / f"{name}.key"
        files[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        files[1].write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
        )
        return files

    def _sign(
        self, name: str, key: ec.EllipticCurvePublicKey, issuer: x509.Certificate | None
    ) -> x509.Certificate:
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        now = datetime.datetime.now(datetime.timezone.utc)
        addresses = [x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(issuer.subject if issuer else subject)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(hours=1))
            .not_valid_after(now + datetime.timedelta(hours=1))
            .add_extension(
                x509.BasicConstraints(ca=issuer is None, path_length=None), critical=True
            )
            .add_extension(x509.SubjectAlternativeName(addresses), critical=False)
            .sign(self.key, hashes.SHA256())
        )


def test_tls_with_a_ca_file_and_a_client_certificate(tmp_path: pathlib.Path) -> None:
    authority = Authority(tmp_path)
    certificate, key = authority.issue("server")
    credentials = grpc.ssl_server_credentials(
        [(key.read_bytes(), certificate.read_bytes())],
        root_certificates=authority.file.read_bytes(),
        require_client_auth=True,
    )
    with ScriptedServer(credentials) as server:
        own = authority.issue("client")
        with Recollect(f"https://{server.addr}", ca_file=authority.file, client_cert=own) as client:
            client.session(app="support", user="ada", session="42").append(user="Hello")
        assert len(server.stored) == 1
        wrong: list[dict[str, Any]] = [
            {"ca_file": authority.file},
            {"tls": True, "client_cert": own},
            {},
        ]
        for settings in wrong:
            with Recollect(server.addr, retry=None, **settings) as client:
                with pytest.raises(errors.UnavailableError) as raised:
                    client.session(app="support", user="ada", session="42").append(user="Hello")
            if "tls" in settings:
                assert "not trusted: pass the file of its authority as ca_file" in str(raised.value)
            if not settings:
                assert "A server with TLS needs an address with https://" in str(raised.value)
        assert len(server.stored) == 1


def test_a_server_without_tls_is_said_to_be_one(scripted: ScriptedServer) -> None:
    with Recollect(f"https://{scripted.addr}", retry=None) as client:
        with pytest.raises(errors.UnavailableError) as raised:
            client.session(app="support", user="ada", session="42").history()
    said = f"The server at {scripted.addr} answers without TLS: call it without https://"
    assert raised.value.message.startswith(said)


def test_a_missing_server_is_not_said_to_need_tls() -> None:
    with pytest.raises(errors.UnavailableError) as raised:
        Recollect("https://127.0.0.1:1", retry=None).session(app="support", user="ada").history()
    assert "start one (`recollect dev`)" in raised.value.message
    assert "A server without TLS needs an address without https://" in raised.value.message
