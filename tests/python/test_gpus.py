"""Reports on the GPUs of a machine, by a stand-in for nvidia-smi."""

from __future__ import annotations

import ast
import ctypes.util
import os
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from support.fake_gpus import CUDA_12, GPU, fake_nvidia_smi, fake_tensorflow

from tfdistribute import gpus

ALL = (
    *("libcudart.so.12", "libcublas.so.12", "libcublasLt.so.12", "libcufft.so.11"),
    *("libcusolver.so.11", "libcusparse.so.12", "libcudnn.so.9"),
)


def problems(python: str = sys.executable) -> list[str]:
    return [f"{each['problem']} {each['fix']}" for each in gpus.report_of(python)["problems"]]


def with_libraries(directory: Path, monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Make new processes find libraries of these names, whatever is in them."""
    (any_library,) = [
        line.split()[-1]
        for line in Path("/proc/self/maps").read_text().splitlines()
        if "/libm.so" in line or "/libm-" in line
    ][:1]
    directory.mkdir()
    for name in names:
        shutil.copy(any_library, directory / name)
    monkeypatch.setenv("LD_LIBRARY_PATH", str(directory))


def test_names_drivers_and_memory_come_from_nvidia_smi(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    fake_nvidia_smi(tmp_path, monkeypatch, f"{GPU}\nNVIDIA GB10, 580.95.05, [N/A]")
    found = gpus.report()["gpus"]
    assert found == [
        {"name": "NVIDIA H100 80GB HBM3", "driver": "550.54.15", "memory_mb": 81559},
        {"name": "NVIDIA GB10", "driver": "580.95.05", "memory_mb": None},
    ]
    assert [gpus.described(each) for each in found] == [
        "NVIDIA H100 80GB HBM3 (81559 MB, driver 550.54.15)",
        "NVIDIA GB10 (driver 580.95.05)",
    ]


@pytest.mark.parametrize(
    ("said", "status", "words"),
    [
        ("No devices were found", 6, []),
        (
            "Failed to initialize NVML: Driver/library version mismatch",
            18,
            ["nvidia-smi says: Failed to initialize NVML"],
        ),
    ],
)
def test_a_driver_that_does_not_answer_is_a_problem_and_no_gpu_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, status: int, words: list[str]
):
    fake_nvidia_smi(tmp_path, monkeypatch, said, status=status)
    report = gpus.report()
    assert report["gpus"] == []
    assert len(report["problems"]) == len(words)
    assert all(
        word in each["problem"] for word, each in zip(words, report["problems"], strict=True)
    )


def test_without_nvidia_smi_there_is_nothing_to_report(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", "/nowhere")
    nothing: dict[str, Any] = {"gpus": [], "problems": []}
    assert gpus.report_of(sys.executable) == nothing
    assert gpus.report_of("/no/such/python") == nothing
    assert gpus.other_programs() == []


@pytest.mark.parametrize(
    ("build", "gpu", "words"),
    [
        (
            {"is_cuda_build": False},
            GPU,
            [r"is built for CPUs only.*pip install \"tensorflow\[and-cuda\]==2\.\d+\.\d+\""],
        ),
        (
            CUDA_12,
            "Tesla T4, 470.57.02, 15360",
            [r"driver 470.57.02 is too old for TensorFlow 2\S+, which needs 525 or newer"],
        ),
        (CUDA_12, GPU, [r"libcuda.so.1 of the NVIDIA driver is not found"]),
    ],
)
def test_what_tensorflow_lacks_to_use_a_gpu_is_named_with_its_fix(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    build: dict[str, object],
    gpu: str,
    words: list[str],
):
    if ctypes.util.find_library("cuda"):
        pytest.skip("this machine has an NVIDIA driver")
    fake_nvidia_smi(tmp_path / "bin", monkeypatch, gpu)
    fake_tensorflow(tmp_path / "site", monkeypatch, build)
    (found,) = problems()
    assert all(re.search(word, found) for word in words), found


def test_missing_cuda_libraries_are_named_with_the_line_that_installs_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    fake_nvidia_smi(tmp_path / "bin", monkeypatch)
    fake_tensorflow(tmp_path / "site", monkeypatch, CUDA_12)
    with_libraries(tmp_path / "lib", monkeypatch, "libcuda.so.1", *ALL[:-2])
    # The packages of pip beside TensorFlow are found, too.
    packaged = tmp_path / "site/nvidia/cusparse/lib"
    packaged.mkdir(parents=True)
    (packaged / "libcusparse.so.12").touch()
    (found,) = problems()
    assert "does not find the CUDA libraries libcudnn.so.9. Run `pip install" in found
    shutil.copy(tmp_path / "lib/libcuda.so.1", tmp_path / "lib/libcudnn.so.9")
    assert problems() == []
    assert len(gpus.report_of(sys.executable)["gpus"]) == 1


@pytest.mark.parametrize("hidden", ["", "-1"])
def test_gpus_that_the_user_hides_are_no_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hidden: str
):
    fake_nvidia_smi(tmp_path / "bin", monkeypatch)
    fake_tensorflow(tmp_path / "site", monkeypatch, {"is_cuda_build": False})
    assert len(problems()) == 1
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", hidden)
    assert problems() == []


def test_other_programs_on_the_visible_gpus_are_listed_by_their_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    programs = f"{os.getpid()}, 900, python\n11, [N/A], /usr/bin/a\n12, 9000, /opt/x, y/train\n"
    asked = fake_nvidia_smi(tmp_path, monkeypatch, programs=programs)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1,3")
    assert gpus.other_programs() == [
        {"pid": 12, "name": "train", "memory_mb": 9000},
        {"pid": 11, "name": "a", "memory_mb": 0},
    ]
    assert asked.read_text().strip().endswith("-i 1,3")


def test_hosts_can_run_it_with_an_old_python_and_nothing_else():
    tree = ast.parse(Path(gpus.__file__).read_text(encoding="utf-8"), feature_version=(3, 8))
    plain = [
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
    ]
    others = [str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    assert {name.split(".")[0] for name in (*plain, *others)} <= sys.stdlib_module_names
