"""Report on this Python: versions, devices, missing packages."""

from __future__ import annotations

import os
import platform
import sys
from typing import Any

from tfdistribute import engine, versions
from tfdistribute.errors import BackendError


def report(start_tensorflow: bool = True) -> dict[str, Any]:
    """Describe this Python for tfdistribute_sitrep(). Never raises.

    ``start_tensorflow`` imports it to count its devices. In the result, ``packages`` has versions by name, None if
    missing, and ``problems`` mappings with ``problem`` and ``fix``.
    """
    packages = versions.packages()
    answer: dict[str, Any] = {
        "python": platform.python_version(),
        "executable": sys.executable,
        "packages": packages,
        "problems": [
            {"problem": problem.message, "fix": problem.fix} for problem in versions.problems()
        ],
        "cpus": None,
        "gpus": None,
        "tensorflow_error": None,
    }
    if start_tensorflow and packages["tensorflow"] is not None:
        try:
            answer["cpus"], answer["gpus"] = os.cpu_count(), engine.devices.counts()[1]
        except BackendError as error:
            # A problem that is known already is not told twice.
            answer["tensorflow_error"] = None if answer["problems"] else error.problem
    return answer | {"patches": engine.patches.listed()}
