"""The path of a verb through the files of the package, in one process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.verb_path import trace

from tfdistribute.bridge import call


def arguments(model_dir: Path) -> dict[str, Any]:
    """Describe a model and its rows as R sends them for ``train(model, y ~ x, data)``."""
    numbers = np.arange(32.0)
    columns = [
        {"name": name, "type": "double", "shape": [], "values": lambda *_: numbers.copy()}
        for name in ("x", "y")
    ]
    return {
        "estimator": {
            "kind": "dnn_regressor",
            "model_dir": str(model_dir),
            "hidden_units": [4],
            "feature_columns": [{"kind": "numeric", "key": "x"}],
            "config": {},
        },
        "input": {
            "kind": "in_memory",
            "columns": columns,
            "response": "y",
            "batch_size": 16,
            "epochs": 1,
        },
    }


def perform(verb: str, model_dir: Path) -> None:
    given = arguments(model_dir)
    if verb == "train_and_evaluate":
        rows = given.pop("input")
        given |= {
            "train_spec": {"input": rows, "max_steps": 2},
            "eval_spec": {"input": arguments(model_dir)["input"]},
        }
    answer = call(verb, given, "")
    assert "value" in answer, answer


# Before verbs prepared a training in one place, train() took 25 files, 57 hops and 33 returns, and train_and_evaluate()
# 27, 71 and 45.
@pytest.mark.parametrize(
    ("verb", "reached", "most"),
    [
        ("train", "train", {"files": 12, "hops": 21, "returns": 10}),
        ("train_and_evaluate", "train", {"files": 16, "hops": 43, "returns": 28}),
        ("evaluate", "evaluate_rows", {"files": 12, "hops": 25, "returns": 14}),
        ("predict", "predict_batches", {"files": 12, "hops": 23, "returns": 12}),
    ],
)
def test_a_verb_goes_down_through_few_files_and_seldom_returns(
    tensorflow: Any, tmp_path: Path, verb: str, reached: str, most: dict[str, int]
):
    del tensorflow
    # Modules are imported, and what is kept for a later call is there.
    perform("train", tmp_path / "model")
    perform(verb, tmp_path / "model")
    is_new = verb.startswith("train")
    path = trace(lambda: perform(verb, tmp_path / ("new" if is_new else "model")), reached)
    too_long = {name: size for name, size in path.size.items() if size > most[name]}
    assert not too_long, f"{too_long} are more than {most}:\n{path}"
    of_jobs = [
        file for file in path.files if file.startswith(("launch/", "training/multi_worker/"))
    ]
    assert of_jobs == [], "Nothing of jobs is called in one process."
