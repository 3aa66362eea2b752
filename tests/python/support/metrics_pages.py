"""What the page of a training shows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def shown(directory: Path) -> dict[str, Any]:
    """The values that the page in a directory reads."""
    text = (directory / "metrics.js").read_text(encoding="utf-8")
    call, values = text.rstrip()[:-1].split("(", 1)
    assert call == "showMetrics"
    return json.loads(values)
