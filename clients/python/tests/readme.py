"""The examples of the README, which tests run as they are."""

from __future__ import annotations

import ast
import asyncio
import inspect
import pathlib
from typing import Any

README = pathlib.Path(__file__).resolve().parents[1] / "README.md"


async def run_example(module: str, app: str, names: dict[str, Any]) -> dict[str, Any]:
    """Runs the block that imports a module, in an app of its own, with the names that it takes for
    granted. Returns all names."""
    blocks = README.read_text().split("```python\n")[1:]
    [code] = [of.split("```")[0] for of in blocks if f"from {module} import" in of]
    assert len(code.strip().splitlines()) <= 10
    code = code.replace('app="support"', f'app="{app}"')
    compiled = compile(code, README.name, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    if compiled.co_flags & inspect.CO_COROUTINE:
        await eval(compiled, names)
    else:
        # As in a program without asyncio.
        await asyncio.to_thread(eval, compiled, names)
    return names
