"""A server that runs as long as a program, a notebook or a test needs it."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import importlib
import json
import logging
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

from recollect._async.client import AsyncRecollect
from recollect._calls import seconds
from recollect._sync.client import Recollect
from recollect.errors import PreconditionError, ServerStartError

_LOG = logging.getLogger("recollect")
_POLL = 0.02
"""Seconds between two looks at whether the server is ready, or has ended."""
_LINES = 20
"""The lines at the end of the log that an error has."""


def server(
    *,
    program: str | os.PathLike[str] | None = None,
    data_dir: str | os.PathLike[str] | None = None,
    timeout: float = 60.0,
    stop_timeout: float = 10.0,
    env: Mapping[str, str] | None = None,
    log_file: str | os.PathLike[str] | None = None,
) -> Server:
    """A server of your own on a free port of this machine, such as for a notebook or a test:

        with recollect.server() as memory:              # a Recollect
        async with recollect.server() as memory:        # an AsyncRecollect

    It runs `recollect dev`, without keys, and ends with the block, with `stop()`, or with this
    process, however that ends.

    Args:
        program: the server's program. Default: RECOLLECT_PROGRAM, or else that of the package
            `recollect-server`, or else `recollect` on the PATH.
        data_dir: where the data is, and stays. Default: a temporary directory, which is deleted
            when the server stops; one remains if this process is killed.
        timeout: the seconds in which the server must be ready.
        stop_timeout: the seconds that the server has to stop before it is killed.
        env: settings of the server, such as `{"RECOLLECT_SERVER__MAX_CALLS": "10"}`. The
            settings in this process's environment, DATABASE_URL, RUST_LOG and OpenTelemetry's
            endpoints included, and `recollect.toml` do not apply.
        log_file: where the server's output is appended. Default: a temporary file, whose last
            20 lines are in the ServerStartError if the server does not start.
    """
    seconds("timeout", timeout)
    seconds("stop_timeout", stop_timeout)
    return Server(_Options(program, data_dir, timeout, stop_timeout, env or {}, log_file))


class _Options(NamedTuple):
    """What `server` was called with."""

    program: str | os.PathLike[str] | None
    data_dir: str | os.PathLike[str] | None
    timeout: float
    stop_timeout: float
    env: Mapping[str, str]
    log_file: str | os.PathLike[str] | None


class Server:
    """A server of this process. `recollect.server` makes it."""

    def __init__(self, options: _Options) -> None:
        self._options = options
        self._run: _Run | None = None
        self._client: Recollect | None = None
        self._async_client: AsyncRecollect | None = None

    def __repr__(self) -> str:
        addr = self._run.addr if self._run else ""
        return f"<Server {addr or 'not running'}>"

    @property
    def addr(self) -> str:
        """The address of the running server: `host:port`."""
        if self._run is None or not self._run.addr:
            raise PreconditionError(
                "the server is not running: call start(), or use it in a `with`",
                code="FAILED_PRECONDITION",
            )
        return self._run.addr

    def start(self) -> Recollect:
        """Starts the server, and returns a client of it once it is ready. ServerStartError if
        that fails."""
        run = self._launch()
        try:
            while not run.is_ready():
                time.sleep(_POLL)
            self._client = Recollect(run.addr, api_key="")
        except BaseException:
            self.stop()
            raise
        return self._client

    def stop(self) -> None:
        """Stops the server, and closes the client that `start` returned. It does nothing if the
        server does not run, or belongs to the process that this one was forked from."""
        run, self._run = self._run, None
        client, self._client = self._client, None
        if client is not None:
            client.close()
        if run is not None:
            run.stop()

    def __enter__(self) -> Recollect:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    async def __aenter__(self) -> AsyncRecollect:
        run = self._launch()
        try:
            while not run.is_ready():
                await asyncio.sleep(_POLL)
            self._async_client = AsyncRecollect(run.addr, api_key="")
        except BaseException:
            await self._stop_async()
            raise
        return self._async_client

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._stop_async()

    async def _stop_async(self) -> None:
        run, self._run = self._run, None
        client, self._async_client = self._async_client, None
        try:
            if client is not None:
                await client.close()
            if run is not None:
                run.ask_to_stop()
                while run.may_go_on():
                    await asyncio.sleep(_POLL)
        finally:
            if run is not None:
                run.end()

    def _launch(self) -> _Run:
        if self._run is not None:
            raise PreconditionError("the server is running already", code="FAILED_PRECONDITION")
        self._run = _Run(find_program(self._options.program), self._options)
        return self._run


class _Run:
    """A process of the server, from its launch to its end."""

    def __init__(self, program: str, options: _Options) -> None:
        self.addr = ""
        self._pid = os.getpid()
        self._options = options
        self._deadline = time.monotonic() + options.timeout
        self._directory = Path(tempfile.mkdtemp(prefix="recollect-"))
        self._ready_file = self._directory / "ready.json"
        self._log_path = Path(options.log_file or self._directory / "server.log")
        self._postgres_pid: int | None = None
        data = Path(options.data_dir).absolute() if options.data_dir else self._directory / "data"
        try:
            with self._log_path.open("ab") as log:
                self._process = subprocess.Popen(
                    [
                        *(program, "dev", "--json", "--data-dir", str(data)),
                        *("--listen", "127.0.0.1:0", "--ready-file", str(self._ready_file)),
                        # The pipe ends with this process, also if that is killed.
                        "--stop-with-stdin",
                    ],
                    stdin=subprocess.PIPE,
                    stdout=log,
                    stderr=log,
                    # Without a recollect.toml of the user's.
                    cwd=self._directory,
                    env=_environment(options.env),
                    # Ctrl-C in a terminal or notebook is for this process, which stops the server.
                    start_new_session=True,
                )
        except OSError as error:
            shutil.rmtree(self._directory, ignore_errors=True)
            raise ServerStartError(f"cannot run {program}: {error}", code="UNAVAILABLE") from error
        atexit.register(self.stop)

    def is_ready(self) -> bool:
        """Whether the server answers; ServerStartError if it will not."""
        if self._ready_file.exists():
            ready = json.loads(self._ready_file.read_text())
            self.addr, self._postgres_pid = ready["addr"], ready["postgres_pid"]
            if ready["state"] != "ready":
                _LOG.warning(
                    "the server at %s is %s: %s", self.addr, ready["state"], ready["reasons"]
                )
            return True
        if self._process.poll() is not None:
            raise self._failed(f"ended with exit code {self._process.returncode}")
        if time.monotonic() >= self._deadline:
            raise self._failed(f"was not ready within {self._options.timeout:g} seconds")
        return False

    def _failed(self, what: str) -> ServerStartError:
        lines = self._log_path.read_text(errors="replace").splitlines()[-_LINES:]
        log = "\n".join([":", *lines]) if lines else " and printed nothing"
        return ServerStartError(f"the server {what}{log}", code="UNAVAILABLE")

    def stop(self) -> None:
        """Asks the server to stop, and kills it if it does not."""
        # A fork of this process has a copy of this object, and not the server.
        if os.getpid() != self._pid:
            return
        try:
            self.ask_to_stop()
            while self.may_go_on():
                time.sleep(_POLL)
        finally:
            self.end()

    def ask_to_stop(self) -> None:
        self._deadline = time.monotonic() + self._options.stop_timeout
        self._process.terminate()

    def may_go_on(self) -> bool:
        """Whether the server is still stopping, within its time for that."""
        return self._process.poll() is None and time.monotonic() < self._deadline

    def end(self) -> None:
        """Kills what still runs, and deletes what is temporary."""
        atexit.unregister(self.stop)
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
            if self._postgres_pid is not None:
                # Postgres outlives a server that was killed.
                with contextlib.suppress(ProcessLookupError):
                    os.kill(self._postgres_pid, signal.SIGQUIT)
        if self._process.stdin is not None:
            self._process.stdin.close()
        shutil.rmtree(self._directory, ignore_errors=True)


def find_program(given: str | os.PathLike[str] | None) -> str:
    """The path of the server's program."""
    named = os.fspath(given) if given else os.environ.get("RECOLLECT_PROGRAM")
    if named:
        found = shutil.which(named)
        if found is None:
            raise ServerStartError(f"{named} is no program that can be run", code="UNAVAILABLE")
        return os.path.abspath(found)
    try:
        package: Any = importlib.import_module("recollect_server")
    except ModuleNotFoundError as error:
        if error.name != "recollect_server":
            raise
    else:
        return str(package.program())
    found = shutil.which("recollect")
    if found is None:
        raise ServerStartError(
            "there is no program `recollect` here: pip install recollect-server, or name the "
            "program as program=… or in RECOLLECT_PROGRAM",
            code="UNAVAILABLE",
        )
    return os.path.abspath(found)


def _environment(env: Mapping[str, str]) -> dict[str, str]:
    """The environment of a server with these settings and no others."""
    settings = (
        "DATABASE_URL",
        "OTEL_EXPORTER_OTLP_ENDPOINT",
        "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
        "RECOLLECT_CONFIG",
        "RECOLLECT_DATA_DIR",
        "RUST_LOG",
    )
    inherited = {
        name: value
        for name, value in os.environ.items()
        if name not in settings and not (name.startswith("RECOLLECT_") and "__" in name)
    }
    return {**inherited, **env}
