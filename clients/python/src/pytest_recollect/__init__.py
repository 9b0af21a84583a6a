"""Fixtures of pytest for code that uses Recollect.

`recollect-client` registers this plugin. It is apart from the package `recollect`, which is
imported by the first fixture that is used.
"""

from __future__ import annotations

import contextlib
import os
import uuid
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from recollect import Recollect


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini(
        "recollect_addr",
        "the Recollect server that tests use, as host:port; RECOLLECT_TEST_ADDR is stronger "
        "(default: one that is started for the tests)",
        default="",
    )
    parser.addini(
        "recollect_program",
        "the program of the server that is started (default: as in recollect.server)",
        default="",
    )
    parser.addini(
        "recollect_timeout", "the seconds in which that server must be ready", default="60"
    )


def _existing(config: pytest.Config) -> str:
    """The address of a server that the tests are to use; empty if one is to be started."""
    return os.environ.get("RECOLLECT_TEST_ADDR") or str(config.getini("recollect_addr"))


@pytest.fixture(scope="session")
def recollect_server(pytestconfig: pytest.Config) -> Iterator[str]:
    """The address of a server for all tests: `host:port`. It is started for them, with a
    database of its own, and stopped after them. With pytest-xdist each worker has its own."""
    existing = _existing(pytestconfig)
    if existing:
        yield existing
        return
    from recollect import server

    program = str(pytestconfig.getini("recollect_program")) or None
    timeout = float(pytestconfig.getini("recollect_timeout"))
    with server(program=program, timeout=timeout) as client:
        yield client.addr


@pytest.fixture
def recollect_client(recollect_server: str, pytestconfig: pytest.Config) -> Iterator[Recollect]:
    """A client of the server. A key, which only an existing server has, is that of
    RECOLLECT_API_KEY."""
    from recollect import Recollect

    api_key = None if _existing(pytestconfig) else ""
    with Recollect(recollect_server, api_key=api_key) as client:
        yield client


@pytest.fixture
def recollect_app(recollect_client: Recollect, pytestconfig: pytest.Config) -> Iterator[str]:
    """The id of an app that no other test has. Apps do not see each other's data. On an existing
    server the app is deleted after the test, if the key may delete."""
    app = f"pytest-{uuid.uuid4()}"
    yield app
    if _existing(pytestconfig):
        from recollect import errors, v1

        request = v1.DeleteAppRequest(app=v1.AppRef(app_id=app))
        with contextlib.suppress(errors.PermissionDeniedError):
            recollect_client.stubs.admin.DeleteApp(request)
