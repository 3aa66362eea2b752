"""The report on a machine whose GPU TensorFlow does not see."""

from __future__ import annotations

from typing import Any

import pytest

from tfdistribute import engine, gpus
from tfdistribute.bridge import doctor
from tfdistribute.engine.patches.patch_list import Patch


def test_a_gpu_that_tensorflow_does_not_see_is_a_problem_unless_it_is_hidden(
    tensorflow: Any, monkeypatch: pytest.MonkeyPatch
):
    gpu = {"name": "NVIDIA H100", "driver": "550.54.15", "memory_mb": 81559}
    monkeypatch.setattr(gpus, "report_of", lambda python: {"gpus": [gpu], "problems": []})
    monkeypatch.setattr(engine.devices, "gpu_count", lambda: 0)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    report = doctor.report()
    assert report["nvidia_gpus"] == [gpu]
    assert "sees none" in report["problems"][-1]["problem"]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "-1")
    assert doctor.report()["problems"] == []
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
    monkeypatch.setattr(engine.devices, "gpu_count", lambda: 1)
    assert doctor.report()["problems"] == []


def test_a_part_that_tensorflow_lacks_is_a_problem(
    tensorflow: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    patch = Patch("own", ("tensorflow.python.ops.gradients_util:none",), "It fails.", "")
    monkeypatch.setitem(getattr(engine.patches, "_BY_NAME"), "own", patch)  # noqa: B009
    monkeypatch.setattr(engine.patches, "PATCHES", (patch,))
    problems = doctor.report()["problems"]
    assert [each["problem"] for each in problems if "own" in each["problem"]] == [
        "TensorFlow has no tensorflow.python.ops.gradients_util:none. Without the patch own: It fails."
    ]
