"""The project's settings."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]


def settings() -> dict[str, Any]:
    """Return what ``pyproject.toml`` holds."""
    # Python 3.11 has tomli as tomllib.
    toml = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    return toml.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
