"""What the package says of itself."""

from __future__ import annotations

import ast
import pathlib
import re
import textwrap
from importlib import metadata, resources
from typing import Any

import pytest
from packaging.requirements import Requirement

import recollect
from recollect.types import Recalled

PACKAGE = pathlib.Path(__file__).resolve().parents[1]
REPOSITORY = PACKAGE.parents[1]


def test_it_is_the_installed_package_with_its_types() -> None:
    root = resources.files(recollect)
    assert "site-packages" in str(root)
    for name in ("py.typed", "v1/message_pb2.pyi", "v1/message_service_pb2_grpc.pyi"):
        assert root.joinpath(name).is_file(), name


def test_its_dependencies_allow_what_it_is_tested_with() -> None:
    pins = [PACKAGE / name for name in ("frameworks.txt", "crewai.txt")]
    if not pins[0].exists():
        pytest.skip("not in a checkout")
    # What is not installed here is tested apart.
    texts = [path.read_text() for path in pins]
    apart = dict(re.findall(r"^([\w-]+)==([^ ]+)", "\n".join(texts), re.MULTILINE))
    for line in metadata.requires("recollect-client") or []:
        requirement = Requirement(line)
        try:
            version = metadata.version(requirement.name)
        except metadata.PackageNotFoundError:
            version = apart[requirement.name]
        assert version in requirement.specifier, line


def test_its_version_is_that_of_the_server() -> None:
    manifest = REPOSITORY / "Cargo.toml"
    if not manifest.exists():
        pytest.skip("not in a checkout")
    found = re.search(r'^version = "(.+)"$', manifest.read_text(), re.MULTILINE)
    assert found and recollect.__version__ == found[1]


def test_the_readme_names_what_exists() -> None:
    kinds: dict[str, list[Any]] = {
        "memory": [recollect.Session, recollect.AsyncSession],
        "user": [recollect.User, recollect.AsyncUser],
        "client": [recollect.Recollect, recollect.AsyncRecollect],
        "context": [recollect.Context],
        "found": [Recalled],
    }
    used = set()
    for block in (PACKAGE / "README.md").read_text().split("```python\n")[1:]:
        code = "async def block():\n" + textwrap.indent(block.split("```")[0], "    ")
        for node in ast.walk(ast.parse(code)):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                used.add((node.value.id, node.attr))
    assert len(used) > 25
    for name, attribute in used:
        for kind in kinds.get(name, []):
            # What an object gets when it is made.
            fields = {"ref", *getattr(kind, "__dataclass_fields__", ())}
            assert hasattr(kind, attribute) or attribute in fields, f"{name}.{attribute}"
