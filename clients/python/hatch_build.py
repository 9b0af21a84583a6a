"""Generates recollect/v1 from the contract before a build.

In a checkout the contract is in ../../proto, and the generators are build requirements. A
source distribution has the generated code, so installing it needs no generator.
`python hatch_build.py` generates the code and builds nothing.
"""

from __future__ import annotations

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
from typing import Any

try:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface
except ModuleNotFoundError:  # Only a build needs it.
    BuildHookInterface = object  # type: ignore[assignment, misc]

GENERATORS = ["grpcio-tools==1.85.1", "mypy-protobuf==5.1.0"]


class GenerateContract(BuildHookInterface):  # type: ignore[type-arg]
    """Makes the generated code a part of each build."""

    @property
    def proto(self) -> pathlib.Path:
        return pathlib.Path(self.root).parent.parent / "proto"

    def dependencies(self) -> list[str]:
        return GENERATORS if self.proto.is_dir() else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        out = pathlib.Path(self.root, "src", "recollect", "v1")
        if self.proto.is_dir():
            generate(self.proto, out)
        elif not out.is_dir():
            sys.exit(f"neither the contract ({self.proto}) nor code generated from it ({out})")


def generate(proto: pathlib.Path, out: pathlib.Path) -> None:
    """Replaces the directory out with the code of proto/recollect/v1."""
    files = sorted(proto.glob("recollect/v1/*.proto"))
    with tempfile.TemporaryDirectory(dir=out.parent) as work:
        protoc(proto, files, work)
        made = pathlib.Path(work, "recollect", "v1")
        contract = {file.stem: file.read_text() for file in files}
        for stem, text in contract.items():
            # The stub file of a proto file without services is empty.
            if not names("service", text):
                for suffix in ("py", "pyi"):
                    made.joinpath(f"{stem}_pb2_grpc.{suffix}").unlink(missing_ok=True)
        made.joinpath("__init__.py").write_text(messages_module(contract))
        made.joinpath("stubs.py").write_text(stubs_module(contract))
        if out.exists():
            shutil.rmtree(out)
        made.replace(out)


def protoc(proto: pathlib.Path, files: list[pathlib.Path], out: str) -> None:
    """Writes messages, stubs, and types of both."""
    command = [sys.executable, "-m", "grpc_tools.protoc", f"-I{proto}"]
    outs = [f"--python_out={out}", f"--grpc_python_out={out}"]
    outs += [f"--mypy_out=quiet:{out}", f"--mypy_grpc_out=quiet:{out}"]
    paths = [str(file.relative_to(proto)) for file in files]
    subprocess.run([*command, *outs, *paths], check=True)


def names(kind: str, text: str) -> list[str]:
    """The names of the top-level elements of a kind in a proto file."""
    return re.findall(rf"^{kind} (\w+) \{{", text, re.MULTILINE)


def messages_module(contract: dict[str, str]) -> str:
    """All messages, enums and values of enums under one name."""
    lines = ['"""Messages and enums of the contract, generated. docs/api.md describes them."""', ""]
    for stem, text in contract.items():
        own = names("message", text) + names("enum", text)
        # Values of top-level enums; the contract has no others.
        for body in re.findall(r"^enum \w+ \{(.*?)^\}", text, re.MULTILINE | re.DOTALL):
            own += re.findall(r"^  ([A-Z]\w+) = \d+", body, re.MULTILINE)
        if own:
            imports = "".join(f"    {name} as {name},\n" for name in sorted(own))
            lines.append(f"from recollect.v1.{stem}_pb2 import (\n{imports})")
    return "\n".join(lines) + "\n"


def stubs_module(contract: dict[str, str]) -> str:
    """A class with a stub of each service, by the service's name without `Service`."""
    services = [(stem, name) for stem, text in contract.items() for name in names("service", text)]
    attributes = {
        name: re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name.removesuffix("Service")).lower()
        for _, name in services
    }
    lines = ['"""A stub of each service of the contract, generated."""', ""]
    lines += ["from __future__ import annotations", ""]
    lines += ["from typing import TYPE_CHECKING", "", "import grpc", "import grpc.aio", ""]
    lines += [f"from recollect.v1.{stem}_pb2_grpc import {name}Stub" for stem, name in services]
    lines += ["", "if TYPE_CHECKING:"]
    for stem, name in services:
        lines.append(f"    from recollect.v1.{stem}_pb2_grpc import {name}AsyncStub")
    for prefix, channel in (("", "grpc.Channel"), ("Async", "grpc.aio.Channel")):
        lines += ["", "", f"class {prefix}Stubs:"]
        lines += ['    """A stub of each service, over one channel."""', ""]
        for _, name in services:
            lines.append(f"    {attributes[name]}: {name}{prefix}Stub")
        lines += ["", f"    def __init__(self, channel: {channel}) -> None:"]
        for _, name in services:
            lines.append(f"        self.{attributes[name]} = {name}Stub(channel)")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    package = pathlib.Path(__file__).resolve().parent
    generate(package.parent.parent / "proto", package / "src" / "recollect" / "v1")
