"""These tests are not about the checks: the hook lets everything through, in a hundredth of the time of the shipped one."""

from __future__ import annotations

import pytest

from tests.conftest import World


@pytest.fixture
def stacked(stacked: World) -> World:
    """The world of two patches, with a hook that agrees."""
    (stacked.queue / "hooks" / "pre-apply").write_text("#!/bin/sh\nexit 0\n")
    return stacked
