"""NVIDIA GPUs of a machine, the programs that use them, and what TensorFlow lacks to use them.

TensorFlow is not started. Standard library of Python 3.8 only, because other hosts run this file too, with the Python
of their tasks.
"""

import ctypes
import importlib.metadata
import importlib.util
import json
import os
import re
import runpy
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

VISIBLE = "CUDA_VISIBLE_DEVICES"
_ANSWER_S = 20.0
# By the major version of CUDA: the oldest driver, and the libraries that TensorFlow loads before it uses a GPU; cuDNN's
# has the major version of cuDNN.
_NEEDS = {
    "12": (
        525,
        (
            *("libcudart.so.12", "libcublas.so.12", "libcublasLt.so.12", "libcufft.so.11"),
            *("libcusolver.so.11", "libcusparse.so.12", "libcudnn.so.{cudnn}"),
        ),
    )
}


def report() -> dict[str, Any]:
    """Describe the GPUs of this machine, and this Python's TensorFlow.

    Returns:
        ``gpus``: mappings with ``name``, ``driver`` (its version) and ``memory_mb`` (None if unknown). ``problems``:
        mappings with ``problem`` and ``fix``; empty without GPUs, without TensorFlow, and if CUDA_VISIBLE_DEVICES hides
        all GPUs.

    Source:
        https://docs.nvidia.com/deploy/cuda-compatibility, "Minor version compatibility"; ``TryDlopenCUDALibraries`` in
        dlopen_checker.cc of TensorFlow.
    """
    try:
        rows = _ask("--query-gpu=name,driver_version,memory.total")
    except OSError as error:
        text = f"The GPUs of this machine cannot be used: nvidia-smi says: {error}"
        fix = "Restart the machine, or install the NVIDIA driver again."
        return {"gpus": [], "problems": [{"problem": text, "fix": fix}]}
    gpus: list[dict[str, Any]] = [
        {"name": name, "driver": driver, "memory_mb": _count(memory)}
        for name, driver, memory in rows
    ]
    problem = None if are_hidden() or not gpus else _problem(gpus[0]["driver"])
    return {"gpus": gpus, "problems": [] if problem is None else [problem]}


def described(gpu: Mapping[str, Any]) -> str:
    memory = "" if gpu["memory_mb"] is None else f"{gpu['memory_mb']} MB, "
    return f"{gpu['name']} ({memory}driver {gpu['driver']})"


def are_hidden() -> bool:
    return re.match(r"\s*(-|$)", os.environ.get(VISIBLE, "0")) is not None


def report_of(python: str) -> dict[str, Any]:
    """Return ``report()`` of a Python, from a process that loads the libraries of CUDA and ends; empty if it fails."""
    command = [python, "-c", Path(__file__).read_text(encoding="utf-8")]
    try:
        output = subprocess.check_output(command, stdin=subprocess.DEVNULL, timeout=2 * _ANSWER_S)
        return json.loads(output.splitlines()[-1])
    except (OSError, subprocess.SubprocessError, ValueError, IndexError):
        return {"gpus": [], "problems": []}


def other_programs() -> list[dict[str, Any]]:
    """List ``pid``, ``name`` and ``memory_mb`` of other programs on this process's GPUs, the largest first.

    Containers and some drivers hide programs.
    """
    chosen = os.environ.get(VISIBLE, "").strip()
    only = ["-i", chosen] if chosen else []
    try:
        rows = _ask("--query-compute-apps=pid,used_memory,process_name", *only)
    except OSError:
        return []
    programs = [
        {"pid": int(pid), "name": os.path.basename(name), "memory_mb": _count(memory) or 0}
        for pid, memory, name in rows
        if int(pid) != os.getpid()
    ]
    return sorted(programs, key=lambda program: -program["memory_mb"])


def _ask(query: str, *options: str) -> list[list[str]]:
    """Return the rows of an answer of nvidia-smi; none without it, or without GPUs.

    OSError with the text of nvidia-smi if it failed.
    """
    command = ["nvidia-smi", query, "--format=csv,noheader,nounits", *options]
    try:
        process = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_ANSWER_S,
            check=False,
        )
    except FileNotFoundError:
        return []
    except subprocess.TimeoutExpired as error:
        raise OSError(f"nothing in {_ANSWER_S:g} seconds.") from error
    lines = process.stdout.decode(errors="replace").strip().splitlines()
    if process.returncode and lines[:1] != ["No devices were found"]:
        raise OSError(lines[0] if lines else f"nothing (exit status {process.returncode}).")
    rows = [[field.strip() for field in line.split(",", query.count(","))] for line in lines]
    return [row for row in rows if len(row) == 1 + query.count(",")]


def _count(text: str) -> int | None:
    return int(text) if text.isdigit() else None


def _problem(driver: str) -> dict[str, str] | None:
    spec = importlib.util.find_spec("tensorflow")
    if spec is None or not spec.submodule_search_locations:
        return None
    folder = Path(spec.submodule_search_locations[0])
    name, version = _distribution()
    install = f'`pip install "tensorflow[and-cuda]=={version}"`'
    # As tf.sysconfig.get_build_info() returns it.
    build = runpy.run_path(str(folder / "python/platform/build_info.py"))["build_info"]
    if not build.get("is_cuda_build"):
        text = f"TensorFlow {version} is built for CPUs only, and this machine has a GPU."
        return {"problem": text, "fix": f"Run `pip uninstall {name}`, then {install}."}
    cuda = build.get("cuda_version", "").split(".")[0]
    oldest, libraries = _NEEDS.get(cuda, (0, ()))
    if (_count(driver.partition(".")[0]) or oldest) < oldest:
        text = f"The NVIDIA driver {driver} is too old for TensorFlow {version}, which needs {oldest} or newer."
        return {"problem": text, "fix": "Install a newer driver, and restart the machine."}
    if not _loads("libcuda.so.1"):
        text = "The library libcuda.so.1 of the NVIDIA driver is not found."
        fix = "Install it (on Debian: apt-get install libcuda1), or run the container with `--gpus all`."
        return {"problem": text, "fix": fix}
    names = [each.format(cudnn=build.get("cudnn_version", "").split(".")[0]) for each in libraries]
    # The packages of pip come first.
    missing = [
        each
        for each in names
        if not list(folder.parent.glob(f"nvidia/*/lib/{each}")) and not _loads(each)
    ]
    if missing:
        text = f"TensorFlow {version} does not find the CUDA libraries {', '.join(missing)}."
        return {"problem": text, "fix": f"Run {install}."}
    return None


def _distribution() -> tuple[str, str]:
    for name in ("tensorflow", "tensorflow-cpu"):
        try:
            return name, importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return "tensorflow", "2.*"


def _loads(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


if __name__ == "__main__":
    sys.stdout.write(f"{json.dumps(report())}\n")
