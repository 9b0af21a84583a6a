"""Where the server is, and how to connect to it."""

from __future__ import annotations

import asyncio
import ipaddress
import os
import threading
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

import grpc
import grpc.aio

from recollect._arguments import text
from recollect._calls import CallSettings, Open, SyncInterceptor, async_interceptors, seconds
from recollect._retry import Retry
from recollect.errors import PreconditionError, invalid
from recollect.v1.stubs import AsyncStubs, Stubs

DEFAULT_ADDR = "127.0.0.1:50051"


class _Fork:
    """Whether channels of asyncio work in this process. They share a poller, which a process that
    was forked does not have: its calls would hang."""

    used = False
    """Whether this process, or one that it was forked from, has made such a channel."""
    lost = False

    def forked(self) -> None:
        self.lost = self.used

    def check(self) -> None:
        if self.lost:
            raise PreconditionError(
                "an asynchronous client made calls before the process forked, and gRPC does not "
                "work across a fork: make the first asynchronous call in each process, after the "
                "fork, or start processes with `spawn`",
                code="FAILED_PRECONDITION",
            )


_fork = _Fork()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_fork.forked)


def _is_local(target: str) -> bool:
    """Whether connections to a target stay on this machine."""
    if target.startswith("unix:"):
        return True
    host = target.rpartition(":")[0].strip("[]")
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class Connection:
    """The settings of a client, checked."""

    def __init__(
        self,
        addr: str | None,
        api_key: str | None,
        tls: bool | None,
        ca_file: str | os.PathLike[str] | None,
        client_cert: tuple[str | os.PathLike[str], str | os.PathLike[str]] | None,
        server_name: str | None,
        timeout: float | None,
        retry: Retry | None,
        allow_plaintext_key: bool | None = None,
    ):
        given = text("addr", addr or "") or os.environ.get("RECOLLECT_ADDR") or DEFAULT_ADDR
        scheme, separator, rest = given.rpartition("://")
        if separator and scheme not in ("http", "https"):
            raise invalid(
                "addr", f"must be host:port, http://host:port or https://host:port: {given!r}"
            )
        target = rest.rstrip("/")
        if ":" not in target:
            raise invalid("addr", f"needs a port, such as {target}:50051")
        if tls is None:
            tls = scheme == "https" or ca_file is not None or client_cert is not None
        elif tls and scheme == "http":
            raise invalid("tls", "is True, which contradicts an address with http://")
        elif not tls and (scheme == "https" or ca_file or client_cert):
            raise invalid("tls", "is False, which contradicts https://, ca_file and client_cert")
        seconds("timeout", timeout)
        if api_key is None:
            api_key = os.environ.get("RECOLLECT_API_KEY", "")
        text("api_key", api_key)
        if allow_plaintext_key is None:
            allowed = os.environ.get("RECOLLECT_ALLOW_PLAINTEXT_KEY", "")
            allow_plaintext_key = allowed.lower() in ("1", "true")
        if api_key and not tls and not allow_plaintext_key and not _is_local(target):
            raise invalid(
                "api_key",
                f"would be sent to {target} in the clear: use https://, or on a private network "
                "allow_plaintext_key=True or RECOLLECT_ALLOW_PLAINTEXT_KEY=1",
            )
        self.target = target
        self.tls = tls
        self._ca_file = ca_file
        self._client_cert = client_cert
        self._server_name = server_name
        self.settings = CallSettings(
            target=target,
            tls=tls,
            api_key=api_key,
            timeout=timeout,
            retry=retry or Retry(attempts=1),
        )

    @property
    def addr(self) -> str:
        """The server, as a client takes it: with `https://` if it is called with TLS."""
        return f"https://{self.target}" if self.tls else self.target

    def credentials(self) -> grpc.ChannelCredentials | None:
        """What a channel needs for TLS. None: no TLS."""
        if not self.tls:
            return None
        certificate, key = self._client_cert or (None, None)
        return grpc.ssl_channel_credentials(
            root_certificates=Path(self._ca_file).read_bytes() if self._ca_file else None,
            private_key=Path(key).read_bytes() if key else None,
            certificate_chain=Path(certificate).read_bytes() if certificate else None,
        )

    def options(self) -> list[tuple[str, str | int]]:
        """Options of a channel."""
        options: list[tuple[str, str | int]] = [
            ("grpc.primary_user_agent", f"recollect-python/{metadata.version('recollect-client')}"),
            # A response has about 4 MiB, which is also gRPC's default limit.
            ("grpc.max_receive_message_length", 64 * 1024 * 1024),
            # By default a channel waits up to two minutes before it connects again.
            ("grpc.initial_reconnect_backoff_ms", 100),
            ("grpc.max_reconnect_backoff_ms", 2000),
        ]
        if self._server_name:
            options.append(("grpc.ssl_target_name_override", self._server_name))
        return options


class Channels:
    """The channel of a client, made with its first call, and its stubs."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._lock = threading.Lock()
        self._made: tuple[grpc.Channel, Stubs] | None = None
        self._open = Open()

    def stubs(self) -> Stubs:
        with self._lock:
            self._open.check()
            if self._made is None:
                channel = self._connect()
                self._made = channel, Stubs(channel)
            return self._made[1]

    def _connect(self) -> grpc.Channel:
        connection = self.connection
        credentials, options = connection.credentials(), connection.options()
        if credentials is None:
            channel = grpc.insecure_channel(connection.target, options=options)
        else:
            channel = grpc.secure_channel(connection.target, credentials, options=options)
        return grpc.intercept_channel(channel, SyncInterceptor(connection.settings, self._open))

    def close(self) -> None:
        with self._lock:
            self._open.closed = True
            if self._made is not None:
                self._made[0].close()


class _AsyncChannel(NamedTuple):
    channel: grpc.aio.Channel
    stubs: AsyncStubs
    open: Open


class AsyncChannels:
    """The channels of a client, one for each event loop, since a channel belongs to one."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._lock = threading.Lock()
        self._made: dict[asyncio.AbstractEventLoop, _AsyncChannel] = {}

    def stubs(self) -> AsyncStubs:
        _fork.check()
        loop = asyncio.get_running_loop()
        with self._lock:
            made = self._of(loop)
            made.open.check()
            return made.stubs

    def _of(self, loop: asyncio.AbstractEventLoop) -> _AsyncChannel:
        made = self._made.get(loop)
        if made is None:
            # Channels hold their loops, so those of ended loops must be dropped.
            self._made = {of: kept for of, kept in self._made.items() if not of.is_closed()}
            open = Open()
            _fork.used = True
            channel = self._connect(open)
            made = self._made[loop] = _AsyncChannel(channel, AsyncStubs(channel), open)
        return made

    def _connect(self, open: Open) -> grpc.aio.Channel:
        connection = self.connection
        interceptors = async_interceptors(connection.settings, open)
        credentials, options = connection.credentials(), connection.options()
        if credentials is None:
            return grpc.aio.insecure_channel(
                connection.target, options=options, interceptors=interceptors
            )
        return grpc.aio.secure_channel(
            connection.target, credentials, options=options, interceptors=interceptors
        )

    async def close(self) -> None:
        """Closes the channel of the running loop."""
        if _fork.lost:
            return
        with self._lock:
            made = self._of(asyncio.get_running_loop())
            made.open.closed = True
        await made.channel.close()
