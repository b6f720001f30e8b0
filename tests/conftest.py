"""What all tests share: the one image, built once, and data."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from sandbox.image import Image, ensure

# Tests never depend on the machine's speed, so neither do the properties.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")


@pytest.fixture(scope="session", autouse=True)
def _runs_elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What commands record while they are tested is not the user's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture(scope="session")
def image() -> Image:
    """The default image, from the user's cache; built if there is none."""
    return ensure()


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of test data."""
    return Path(__file__).parent / "data"
