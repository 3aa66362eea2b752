"""Files that AutoGraph generates."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any


def test_generated_code_is_gone_when_the_process_has_ended(
    run_python: Callable[..., Any], tmp_path: Path
) -> None:
    directory = tmp_path / "tmp"
    directory.mkdir()
    finished = run_python(
        """
import os, shutil, sys, tempfile
from tfdistribute import engine

def double(x):
    return x * 2 if x > 1 else x

def generated():
    return {name for _, _, files in os.walk(tempfile.gettempdir()) for name in files}

print(engine.tf.autograph.to_graph(double)(2), len(generated()) > 0)
# A program that cleans the temporary directory comes by.
shutil.rmtree(next(os.scandir(tempfile.gettempdir())).path)
print(engine.tf.autograph.to_graph(lambda x: double(x))(3), len(generated()) > 0)
""",
        env={"TMPDIR": str(directory), "PYTHONDONTWRITEBYTECODE": ""},
    )
    assert finished.stdout.split() == ["4", "True", "6", "True"]
    assert list(directory.iterdir()) == []
