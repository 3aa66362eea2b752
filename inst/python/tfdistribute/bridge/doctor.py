"""Report on this Python: versions, devices, missing packages."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import sys
from typing import Any

from tfdistribute import engine
from tfdistribute.errors import BackendError

# Packages and the versions that this package is tested with.
NEEDED = {"tensorflow": "2.15", "tensorflow-estimator": "2.15", "numpy": "1.2"}
# Other names of the same package.
SAME = {"tensorflow": ("tensorflow-cpu", "tensorflow-intel", "tensorflow-macos")}


def report(start_tensorflow: bool = True) -> dict[str, Any]:
    """Describe this Python for tfdistribute_sitrep(). Never raises.

    Args:
        start_tensorflow: Import TensorFlow to count its devices.

    Returns:
        ``python``, ``executable``, ``packages`` (versions by name, None if missing), ``problems`` (sentences on
        packages that are missing or have another version), ``cpus``, ``gpus`` and ``tensorflow_error``.
    """
    packages = {name: _version(name) for name in NEEDED}
    problems = [
        f"{name} {found or 'is missing'}{'' if found is None else f', tested with {wanted}'}"
        for name, wanted in NEEDED.items()
        if (found := packages[name]) is None or not found.startswith(wanted)
    ]
    answer: dict[str, Any] = {
        "python": platform.python_version(),
        "executable": sys.executable,
        "packages": packages,
        "problems": problems,
        "cpus": None,
        "gpus": None,
        "tensorflow_error": None,
    }
    if start_tensorflow and packages["tensorflow"] is not None:
        try:
            answer["cpus"], answer["gpus"] = os.cpu_count(), engine.devices.counts()[1]
        except BackendError as error:
            answer["tensorflow_error"] = error.problem
    return answer


def _version(name: str) -> str | None:
    for candidate in (name, *SAME.get(name, ())):
        try:
            return importlib.metadata.version(candidate)
        except importlib.metadata.PackageNotFoundError:
            continue
    return None
