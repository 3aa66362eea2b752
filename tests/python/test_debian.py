"""The way of users and of this project on a fresh Debian 12 and 13."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[2] / "tools" / "test-debian"

pytestmark = [
    pytest.mark.full,
    pytest.mark.timeout(3600),
    pytest.mark.skipif(
        os.geteuid() != 0 or shutil.which("debootstrap") is None,
        reason="needs root and debootstrap",
    ),
]


@pytest.mark.parametrize("way", ["users", "project"])
@pytest.mark.parametrize("suite", ["bookworm", "trixie"])
def test_a_fresh_debian_trains(suite: str, way: str):
    done = subprocess.run([TOOL, suite, way], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert f"{suite}: {'two processes' if way == 'users' else 'make test'}: " in done.stdout


def test_what_the_tool_cannot_do_is_named():
    done = subprocess.run([TOOL, "sid"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (
        1,
        "test-debian: 'sid' is no suite. Say bookworm or trixie.\n",
    )
