"""The packages that the build puts into an image: each of their modules must import, or there is no image."""

from __future__ import annotations

import importlib
import json

__all__ = ["BakingFailed", "import_packages"]


class BakingFailed(Exception):
    """A package does not import here. The build reads the message off the output of componentize-py."""


def import_packages(listed: bytes) -> None:
    """Import the packages in this JSON: a list of {name, version, modules}. Raises `BakingFailed`."""
    for package in json.loads(listed):
        for module in package["modules"]:
            try:
                importlib.import_module(module)
            except BaseException as error:
                said = f"{type(error).__name__}: {error}".replace("\n", " ")
                raise BakingFailed(
                    f"{package['name']} {package['version']}: its module {module} does not import ({said})"
                ) from error
