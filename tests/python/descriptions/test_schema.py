"""R/schema.R, and what one field of a dataclass brings with it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_what_r_knows_of_fields_is_what_the_dataclasses_say(tmp_path: Path) -> None:
    written = tmp_path / "schema.R"
    command = [sys.executable, str(ROOT / "tools" / "schema.py"), str(written)]
    subprocess.run(command, check=True, timeout=300)
    own = (ROOT / "R" / "schema.R").read_text(encoding="utf-8")
    assert written.read_text(encoding="utf-8") == own, "make docs"
