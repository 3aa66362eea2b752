"""TPUs: what a machine must have, how cores are divided, and the steps of a run."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support import tpu

from tfdistribute import engine
from tfdistribute.errors import StrategyError, UnsupportedError
from tfdistribute.run_config import RunContext, RunSettings, preflight
from tfdistribute.strategies import Tpu
from tfdistribute.strategies import tpu as strategies_tpu


def test_a_machine_without_a_tpu_is_refused_within_a_second_and_without_tensorflow(
    run_python: Callable[..., Any],
):
    code = (
        "import sys, time\n"
        "from tfdistribute.errors import StrategyError\n"
        "from tfdistribute.run_config import RunContext, RunSettings, preflight\n"
        "from tfdistribute.strategies import Tpu\n"
        "began = time.monotonic()\n"
        "try:\n"
        "    preflight(RunContext(RunSettings(strategy=Tpu()), 'train'))\n"
        "except StrategyError as error:\n"
        "    print(error.problem)\n"
        "    print(error.remedy)\n"
        "print(time.monotonic() - began < 1, 'tensorflow' in sys.modules)\n"
    )
    problem, remedy, facts = run_python(code, timeout_s=60).stdout.splitlines()
    assert problem == (
        "strategy_tpu() trains on the TPU of this machine, which lacks a device file (/dev/accel0 or /dev/vfio/0) "
        "and the driver libtpu.so."
    )
    assert "Run R on a TPU VM" in remedy
    assert "strategy_mirrored()" in remedy
    assert facts == "True False"


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder in which the files of a TPU VM are looked for; there are none."""
    monkeypatch.setattr(strategies_tpu, "DEVICE_FILES", (str(tmp_path / "accel0"),))
    monkeypatch.setattr(strategies_tpu, "LIBRARIES", (str(tmp_path / "libtpu.so"),))
    monkeypatch.delenv("TPU_LIBRARY_PATH", raising=False)
    # As if TensorFlow were not imported yet.
    monkeypatch.setattr(engine, "is_started", lambda: False)
    return tmp_path


def test_what_a_machine_lacks_is_named(parts: Path, monkeypatch: pytest.MonkeyPatch):
    assert Tpu().missing_parts() == [f"a device file ({parts}/accel0)", "the driver libtpu.so"]
    (parts / "accel0").touch()
    assert Tpu().missing_parts() == ["the driver libtpu.so"]
    (parts / "other.so").touch()
    monkeypatch.setenv("TPU_LIBRARY_PATH", str(parts / "other.so"))
    assert Tpu().missing_parts() == []
    assert Tpu().problem() is None
    monkeypatch.setenv("TPU_LIBRARY_PATH", str(parts / "missing.so"))
    (parts / "libtpu.so").touch()
    # TensorFlow looks nowhere else then.
    assert Tpu().missing_parts() == ["the driver libtpu.so"]


def test_a_tensorflow_without_kernels_for_tpus_is_refused_before_it_looks_for_one(
    tensorflow: Any, parts: Path, monkeypatch: pytest.MonkeyPatch
):
    for name in ("accel0", "libtpu.so"):
        (parts / name).touch()
    preflight(RunContext(RunSettings(strategy=Tpu()), "train"))
    monkeypatch.setattr(engine, "is_started", lambda: True)
    monkeypatch.setattr(engine.tpu, "cores", lambda: pytest.fail("TensorFlow looked for a TPU."))
    began = time.monotonic()
    with pytest.raises(StrategyError) as caught:
        Tpu().resolve(4, 0)
    assert time.monotonic() - began < 1
    version = tensorflow.__version__
    assert f"which lacks TPU kernels in TensorFlow {version}." in caught.value.problem
    assert caught.value.argument == "strategy"


def test_a_tpu_that_another_process_uses_is_an_error(
    tensorflow: Any, monkeypatch: pytest.MonkeyPatch
):
    tpu.describe(monkeypatch, cores=0)
    with pytest.raises(StrategyError, match="and TensorFlow finds none") as caught:
        Tpu().resolve(4, 0)
    assert "lsof" in str(caught.value.remedy)


def test_a_tpu_behind_another_machine_is_refused():
    with pytest.raises(UnsupportedError) as caught:
        Tpu("grpc://10.0.0.2:8470")
    assert caught.value.argument == "address"
    assert '`address = "local"`' in str(caught.value.remedy)


@pytest.mark.parametrize(
    ("strategy", "configured", "saved", "steps"),
    [
        (Tpu(), "auto", None, 100),
        (Tpu(), "auto", 1000, 100),
        # The largest number of at most 100 after which checkpoints are due.
        (Tpu(), "auto", 250, 50),
        (Tpu(), "auto", 30, 30),
        (Tpu(), "auto", 101, 1),
        (Tpu(), 7, None, 7),
        (Tpu(steps_per_run=20), 7, 100, 20),
    ],
)
def test_the_steps_of_a_run_end_where_checkpoints_are_due(
    strategy: Tpu, configured: int | str, saved: int | None, steps: int
):
    assert strategy.in_run(configured, saved).steps_per_run == steps
