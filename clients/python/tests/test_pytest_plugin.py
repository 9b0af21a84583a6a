"""The fixtures of the pytest plugin, in runs of pytest of their own."""

from __future__ import annotations

import pytest

pytest_plugins = ["pytester"]

SUITE = """
import pytest

SEEN = set()

@pytest.mark.parametrize("number", [1, 2])
def test_each_test_has_an_app_of_its_own(
    recollect_client, recollect_app, recollect_server, number
):
    assert recollect_client.addr == recollect_server
    memory = recollect_client.session(app=recollect_app, user="ada", session="42")
    assert list(memory.history()) == []
    memory.append(user=f"My dog is called Pixel {number}.")
    SEEN.add((recollect_app, recollect_server))
    assert [found.text for found in memory.recall("dog")] == [f"My dog is called Pixel {number}."]

def test_they_share_a_server():
    assert len({app for app, _ in SEEN}) == 2 and len({addr for _, addr in SEEN}) == 1
"""


@pytest.fixture(autouse=True)
def own_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RECOLLECT_TEST_ADDR", raising=False)


def test_tests_use_an_existing_server(pytester: pytest.Pytester, addr: str) -> None:
    pytester.makeini(f"[pytest]\nrecollect_addr = {addr}")
    pytester.makepyfile(SUITE)
    pytester.runpytest_subprocess().assert_outcomes(passed=3)


def test_the_environment_names_an_existing_server_too(
    pytester: pytest.Pytester, addr: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytester.makeini("[pytest]\nrecollect_addr = 127.0.0.1:1")
    monkeypatch.setenv("RECOLLECT_TEST_ADDR", addr)
    pytester.makepyfile(f"def test_it(recollect_server): assert recollect_server == {addr!r}")
    pytester.runpytest_subprocess().assert_outcomes(passed=1)


def test_a_server_is_started_for_the_tests(pytester: pytest.Pytester) -> None:
    from recollect._server import find_program
    from recollect.errors import ServerStartError

    try:
        program = find_program(None)
    except ServerStartError as error:
        pytest.skip(str(error))
    pytester.makeini(f"[pytest]\nrecollect_program = {program}")
    pytester.makepyfile(SUITE)
    pytester.runpytest_subprocess().assert_outcomes(passed=3)


def test_a_server_that_cannot_start_is_an_error_of_the_tests(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nrecollect_program = /nowhere/recollect")
    pytester.makepyfile(SUITE)
    result = pytester.runpytest_subprocess("-k", "own")
    result.assert_outcomes(errors=2)
    result.stdout.fnmatch_lines(["*/nowhere/recollect is no program that can be run*"])


def test_the_plugin_imports_nothing_of_the_client_until_a_fixture_is_used(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(
        """
        import sys

        def test_nothing_is_imported():
            assert "pytest_recollect" in sys.modules
            assert not {"recollect", "grpc", "google.protobuf"} & set(sys.modules)
        """
    )
    pytester.runpytest_subprocess().assert_outcomes(passed=1)
