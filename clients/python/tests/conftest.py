"""The servers that tests call: scripted ones in this process, and the one at RECOLLECT_ADDR."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator

import pytest
from models import Models
from scripted import ScriptedServer

from recollect import Recollect, Session


@pytest.fixture
def scripted() -> Iterator[ScriptedServer]:
    with ScriptedServer() as server:
        yield server


@pytest.fixture(scope="session")
def addr() -> str:
    """The address of a real server."""
    given = os.environ.get("RECOLLECT_ADDR")
    if not given:
        pytest.skip("RECOLLECT_ADDR names no server")
    return given


@pytest.fixture(scope="session")
def client(addr: str) -> Iterator[Recollect]:
    with Recollect(addr) as client:
        yield client


@pytest.fixture
def app() -> str:
    """An app that no other test uses."""
    return f"python-{uuid.uuid4()}"


@pytest.fixture(scope="session")
def started() -> Iterator[Models]:
    with Models() as models:
        yield models


@pytest.fixture
def models(started: Models) -> Models:
    started.reset()
    return started


@pytest.fixture
def known(client: Recollect, app: str) -> Session:
    """The conversation of a user of whom something is known from another one."""
    other = client.session(app=app, user="ada", session="other")
    other.append(user="My dog is called Pixel.", assistant="A fine name!")
    other.user.remember("The dog of Ada is a greyhound.")
    return client.session(app=app, user="ada", session="42")
