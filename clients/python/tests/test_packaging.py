"""What the package says of itself."""

from __future__ import annotations

import pathlib
import re
from importlib import metadata, resources

from packaging.requirements import Requirement

import recollect

REPOSITORY = pathlib.Path(__file__).resolve().parents[3]


def test_it_is_the_installed_package_with_its_types() -> None:
    root = resources.files(recollect)
    assert "site-packages" in str(root)
    for name in ("py.typed", "v1/message_pb2.pyi", "v1/message_service_pb2_grpc.pyi"):
        assert root.joinpath(name).is_file(), name


def test_its_dependencies_allow_what_it_is_tested_with() -> None:
    for line in metadata.requires("recollect-client") or []:
        requirement = Requirement(line)
        assert metadata.version(requirement.name) in requirement.specifier, line


def test_its_version_is_that_of_the_server() -> None:
    manifest = (REPOSITORY / "Cargo.toml").read_text()
    found = re.search(r'^version = "(.+)"$', manifest, re.MULTILINE)
    assert found and recollect.__version__ == found[1]
