"""A stand-in for nvidia-smi, and one for an installed TensorFlow with CUDA."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

GPU = "NVIDIA H100 80GB HBM3, 550.54.15, 81559"
DESCRIBED = "NVIDIA H100 80GB HBM3 (81559 MB, driver 550.54.15)"

_NVIDIA_SMI = """#!/bin/sh
here=$(dirname "$0")
echo "$*" >> "$here/asked"
case "$1" in
  --query-gpu=*) cat "$here/gpus" ;;
  --query-compute-apps=*) cat "$here/programs" ;;
esac
exit {status}
"""
CUDA_12 = {"is_cuda_build": True, "cuda_version": "12.5.1", "cudnn_version": "9"}


def fake_nvidia_smi(
    directory: Path,
    monkeypatch: pytest.MonkeyPatch,
    gpus: str = GPU,
    programs: str = "",
    status: int = 0,
) -> Path:
    """Put an nvidia-smi that prints these lines first on the PATH; return the file with its arguments."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "gpus").write_text(f"{gpus}\n")
    (directory / "programs").write_text(programs)
    command = directory / "nvidia-smi"
    command.write_text(_NVIDIA_SMI.format(status=status))
    command.chmod(0o755)
    monkeypatch.setenv("PATH", f"{directory}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    return directory / "asked"


def fake_tensorflow(
    directory: Path, monkeypatch: pytest.MonkeyPatch, build: dict[str, object]
) -> None:
    """Make new Python processes find a TensorFlow with this build instead of the installed one."""
    info = directory / "tensorflow/python/platform/build_info.py"
    info.parent.mkdir(parents=True)
    info.write_text(f"build_info = {build!r}\n")
    (directory / "tensorflow/__init__.py").touch()
    monkeypatch.setenv("PYTHONPATH", str(directory))
