"""Gives the wheel the tag of the platform that its program runs on."""

import os
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class PlatformHook(BuildHookInterface[Any]):
    """Reads the tag from `RECOLLECT_WHEEL_TAG`, such as `py3-none-manylinux_2_28_x86_64`."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        build_data["pure_python"] = False
        build_data["tag"] = os.environ["RECOLLECT_WHEEL_TAG"]
