"""Laws over many inputs. `pytest tests/property --hypothesis-profile=long` tries twenty times as many, and others each time."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "short", max_examples=100, deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("long", max_examples=2000, deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow])


def pytest_configure(config: pytest.Config) -> None:
    """Take the short profile unless another is asked for."""
    settings.load_profile(config.getoption("--hypothesis-profile") or "short")
