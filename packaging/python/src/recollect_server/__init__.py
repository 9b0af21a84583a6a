"""The program `recollect`, with its model, ONNX Runtime and Postgres beside it."""

import os
import sys
from pathlib import Path

__all__ = ["program"]


def program() -> str:
    """The path of the program `recollect`."""
    return str(Path(__file__).parent / "bin" / "recollect")


def main() -> None:
    """Becomes the program, with the arguments of this process."""
    os.execv(program(), ["recollect", *sys.argv[1:]])
