"""What all tests share: the one image, built once, and data."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox.image import Image, ensure


@pytest.fixture(scope="session")
def image() -> Image:
    """The default image, from the user's cache; built if there is none."""
    return ensure()


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of test data."""
    return Path(__file__).parent / "data"
