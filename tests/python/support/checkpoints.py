"""Contents of checkpoints, and ways to damage them."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tfdistribute.checkpoints.mirror import local_checkpoint
from tfdistribute.checkpoints.newest import newest_checkpoint


def variables(model_dir: str | Path) -> dict[str, Any]:
    """Return the variables of the newest checkpoint by name."""
    checkpoint = _newest(model_dir)
    names = [name for name, _ in _train().list_variables(checkpoint)]
    return {name: _train().load_variable(checkpoint, name) for name in names}


def summary_steps(directory: Path, tag: str) -> list[int]:
    """Return the steps with a TensorBoard value for this tag."""
    v1: Any = importlib.import_module("tensorflow").compat.v1
    return sorted(
        event.step
        for path in directory.glob("events*")
        for event in v1.train.summary_iterator(str(path))
        if any(value.tag == tag for value in event.summary.value)
    )


def assert_alike(
    found: Mapping[str, Any], expected: Mapping[str, Any], rtol: float = 2e-6, atol: float = 2e-6
) -> None:
    """Compare variables up to rounding."""
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol=rtol, atol=atol, err_msg=name)


def assert_identical(found: Mapping[str, Any], expected: Mapping[str, Any]) -> None:
    """Compare variables bit for bit."""
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_array_equal(found[name], value, err_msg=name, strict=True)


def break_newest_checkpoint(model_dir: Path) -> None:
    """Change one byte of the newest checkpoint's data, and all of the file that names the newest."""
    newest = Path(_newest(model_dir))
    flip(next(newest.parent.glob(f"{newest.name}.data-*")), 10)
    (newest.parent / "checkpoint").write_bytes(bytes(range(40, 256)))


def write_checkpoints(directory: Path, *steps: int) -> str:
    """Write checkpoints of one variable with TensorFlow, and return the prefix of the last one."""
    tf: Any = importlib.import_module("tensorflow")
    prefix = ""
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        variable = tf.compat.v1.get_variable("v", initializer=tf.zeros([300]))
        session.run(tf.compat.v1.global_variables_initializer())
        saver = tf.compat.v1.train.Saver([variable], save_relative_paths=True)
        for step in steps:
            prefix = saver.save(
                session, str(directory / "model.ckpt"), step, write_meta_graph=False
            )
    return prefix


def flip(path: Path, place: int) -> None:
    """Change every bit of one byte of a file; the same call again restores it."""
    content = bytearray(path.read_bytes())
    content[place] ^= 0xFF
    path.write_bytes(content)


def _newest(model_dir: str | Path) -> str:
    if "://" in str(model_dir):
        return local_checkpoint(newest_checkpoint(str(model_dir)) or "")
    return _train().latest_checkpoint(str(model_dir))


def _train() -> Any:
    return importlib.import_module("tensorflow").train
