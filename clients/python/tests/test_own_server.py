"""Servers that a program starts for itself."""

from __future__ import annotations

import asyncio
import os
import multiprocessing
import pathlib
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Callable

import pytest

import recollect
from recollect import RecollectError, errors
from recollect._server import find_program

STARTS = """
import sys, recollect
server = recollect.server(program=sys.argv[1], data_dir=sys.argv[2])
memory = server.start()
print(server.addr, flush=True)
"""


@pytest.fixture(scope="session")
def program() -> str:
    """The server's program."""
    try:
        return find_program(None)
    except errors.ServerStartError as error:
        pytest.skip(str(error))


def eventually(what: Callable[[], bool], seconds: float = 30) -> None:
    """Waits until something is so."""
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline, "it did not become so"
        time.sleep(0.05)


def answers(addr: str) -> bool:
    host, _, port = addr.rpartition(":")
    with socket.socket() as connection:
        return connection.connect_ex((host, int(port))) == 0


def written(directory: pathlib.Path, script: str) -> pathlib.Path:
    """A program made of a shell script."""
    path = directory / "program"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_a_server_starts_remembers_and_stops(
    program: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What a program has set for another server does not reach this one.
    monkeypatch.setenv("DATABASE_URL", "postgresql://nobody@127.0.0.1:1/none")
    monkeypatch.setenv("RECOLLECT_SERVER__MAX_CALLS", "no number")
    monkeypatch.setenv("RECOLLECT_API_KEY", "secret")
    (tmp_path / "recollect.toml").write_text("not a setting")
    monkeypatch.chdir(tmp_path)
    server = recollect.server(program=program, data_dir="data", log_file="server.log")
    with pytest.raises(errors.PreconditionError, match="not running"):
        server.addr
    with pytest.raises(KeyError, match="of the body"):
        with server as memory:
            fork = multiprocessing.get_context("fork").Process(target=server.stop)
            fork.start()
            fork.join(30)
            assert fork.exitcode == 0, "a fork leaves the server alone"
            assert (server.addr, repr(server)) == (memory.addr, f"<Server {memory.addr}>")
            session = memory.session(app="support", user="ada", session="42")
            session.append(user="My dog is called Pixel.", assistant="A fine name!")
            with pytest.raises(errors.PreconditionError, match="running already"):
                server.start()
            raise KeyError("of the body")
    assert not answers(memory.addr) and repr(server) == "<Server not running>"
    with pytest.raises(errors.PreconditionError, match="closed"):
        session.history()
    assert memory.addr in (tmp_path / "server.log").read_text()

    async def again() -> list[str]:
        async with server as client:
            session = client.session(app="support", user="ada", session="42")
            texts = [message.text for message in await session.history()]
        assert not answers(client.addr)
        return texts

    assert asyncio.run(again()) == ["My dog is called Pixel.", "A fine name!"]


@pytest.mark.parametrize("kill", [True, False], ids=["killed", "ended"])
def test_a_server_does_not_outlive_its_program(
    program: str, tmp_path: pathlib.Path, kill: bool
) -> None:
    script = STARTS + ("import time; time.sleep(600)" if kill else "")
    command = [sys.executable, "-c", script, program, str(tmp_path / "data")]
    # What a killed program leaves behind is deleted with the directory of the test.
    env = {**os.environ, "TMPDIR": str(tmp_path)}
    postgres = tmp_path / "data" / "postgres" / "postmaster.pid"
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env) as process:
        assert process.stdout
        addr = process.stdout.readline().strip()
        if kill:
            assert answers(addr) and postgres.exists()
            process.send_signal(signal.SIGKILL)
        process.wait(30)
    eventually(lambda: not answers(addr))
    eventually(lambda: not postgres.exists())


def test_a_program_that_fails_is_reported_with_the_end_of_its_log(tmp_path: pathlib.Path) -> None:
    failing = written(tmp_path, 'for n in $(seq 30); do echo "line $n"; done; exit 3')
    with pytest.raises(errors.ServerStartError) as raised:
        recollect.server(program=failing).start()
    assert "the server ended with exit code 3:\nline 11\n" in raised.value.message
    assert raised.value.message.endswith("line 30") and isinstance(raised.value, RecollectError)


def test_a_program_that_does_not_become_ready_is_killed(tmp_path: pathlib.Path) -> None:
    # It ignores SIGTERM.
    stuck = written(tmp_path, "trap '' TERM; echo $$ > $0.pid; while true; do sleep 0.1; done")
    server = recollect.server(program=stuck, timeout=1, stop_timeout=0.2)
    with pytest.raises(errors.ServerStartError, match="not ready within 1 seconds and printed not"):
        server.start()
    pid = int(pathlib.Path(f"{stuck}.pid").read_text())
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)

    longest = 0.0

    async def ticks() -> None:
        nonlocal longest
        while True:
            before = time.monotonic()
            await asyncio.sleep(0.01)
            longest = max(longest, time.monotonic() - before)

    async def starts() -> None:
        ticking = asyncio.create_task(ticks())
        try:
            async with recollect.server(program=stuck, timeout=0.2, stop_timeout=2):
                pass
        finally:
            ticking.cancel()

    with pytest.raises(errors.ServerStartError, match="not ready within 0.2 seconds"):
        asyncio.run(starts())
    assert longest < 1.5, "the event loop goes on while the program is stopped"


def test_the_servers_of_others_are_unknown_to_the_program(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = (
        "DATABASE_URL",
        "OTEL_EXPORTER_OTLP_ENDPOINT",
        "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
        "RECOLLECT_DATA_DIR",
        "RECOLLECT_SERVER__MAX_CALLS",
        "RUST_LOG",
    )
    for name in others:
        monkeypatch.setenv(name, "of-another-server")
    telling = written(tmp_path, 'env | grep -E "another|=own"; exit 3')
    with pytest.raises(errors.ServerStartError) as raised:
        recollect.server(program=telling, env={"RUST_LOG": "own"}).start()
    assert raised.value.message.endswith("exit code 3:\nRUST_LOG=own")


def test_a_missing_program_says_how_to_install_it(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RECOLLECT_PROGRAM", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(errors.ServerStartError, match="pip install recollect-server"):
        recollect.server().start()
    with pytest.raises(errors.ServerStartError, match="other is no program that can be run"):
        recollect.server(program="other").start()
    for argument in ("timeout", "stop_timeout"):
        with pytest.raises(errors.InvalidArgumentError, match=f"{argument} must be above 0"):
            recollect.server(**{argument: 0})  # type: ignore[arg-type]


def test_the_program_is_found_in_the_order_that_is_documented(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_path, named, given = (tmp_path / name for name in ("path", "named", "given"))
    for directory in (on_path, named, given):
        directory.mkdir()
        (directory / "recollect").touch(0o755)
    monkeypatch.delenv("RECOLLECT_PROGRAM", raising=False)
    monkeypatch.setenv("PATH", str(on_path))
    assert find_program(None) == str(on_path / "recollect")
    (tmp_path / "recollect_server.py").write_text("def program(): return '/packaged/recollect'\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert find_program(None) == "/packaged/recollect"
    sys.modules.pop("recollect_server")
    monkeypatch.setenv("RECOLLECT_PROGRAM", str(named / "recollect"))
    assert find_program(None) == str(named / "recollect")
    assert find_program(given / "recollect") == str(given / "recollect")
