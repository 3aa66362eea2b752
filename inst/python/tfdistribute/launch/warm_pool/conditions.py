"""Conditions of a job's processes besides the options of their start."""

import contextlib
import ctypes
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tfdistribute.environment import available_cores
from tfdistribute.launch.job import Job
from tfdistribute.launch.setup import why_open

if sys.platform != "win32":
    import resource

# TensorFlow's import writes these into the environment, also in tasks.
_WRITTEN_BY_TENSORFLOW = {
    "ENABLE_RUNTIME_UPTIME_TELEMETRY": "1",
    "HDF5_PLUGIN_PATH": "disable",
    "TF2_BEHAVIOR": "1",
    "TF_CPP_MIN_LOG_LEVEL": "2",
    "TPU_ML_PLATFORM": "Tensorflow",
}
_VERSION_OF_TENSORFLOW = "TPU_ML_PLATFORM_VERSION"

_LIBRARIES = "R_LIBS"

# Directories of Python's packages; those of other modules are not used before the task.
_PACKAGES = ("site-packages", "dist-packages")
_THIS_PACKAGE = str(Path(__file__).parents[2])


def conditions_of(job: Job) -> dict[str, Any]:
    """Return the conditions, as plain values, that two jobs of a session must share to share processes."""
    libraries = [path for path in job.environment.get(_LIBRARIES, "").split(os.pathsep) if path]
    packages = [path for path in sys.path if Path(path).name in _PACKAGES]
    return {
        "command": list(job.command),
        "environment": {**_inherited_variables(), **job.environment},
        "directory": [each[:-1] for each in _identity([job.working_directory])],
        "network": [job.cluster.supervision.network, why_open(job) is None],
        "cores": available_cores(),
        "priority": os.nice(0),
        "limits": _limits(),
        "installed": _identity([*libraries, *packages, sys.executable, _THIS_PACKAGE]),
        "tensorflow": job.tensorflow,
    }


def _inherited_variables() -> dict[str, str]:
    # ``os.environ`` lacks changes that R has made.
    first = _first_variable()
    variables: dict[str, str] = {}
    number = 0
    while (entry := first[number]) is not None:
        name, _, value = os.fsdecode(entry).partition("=")
        variables[name] = value
        number += 1
    return {
        name: value
        for name, value in variables.items()
        if name != _VERSION_OF_TENSORFLOW and _WRITTEN_BY_TENSORFLOW.get(name) != value
    }


def _first_variable() -> Any:
    return ctypes.POINTER(ctypes.c_char_p).in_dll(ctypes.CDLL(None), "environ")


def _identity(paths: Iterable[str]) -> list[Any]:
    entries: list[Any] = []
    for path in paths:
        with contextlib.suppress(OSError):
            status = os.stat(path)
            entries.append([path, status.st_dev, status.st_ino, status.st_mtime_ns])
    return entries


def _limits() -> list[Any]:
    if sys.platform == "win32":
        return []
    names = sorted(name for name in dir(resource) if name.startswith("RLIMIT_"))
    limits: list[Any] = [[name, *resource.getrlimit(getattr(resource, name))] for name in names]
    with contextlib.suppress(OSError):
        lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
        limits += [line for line in lines if line.startswith("Umask")]
    return limits
