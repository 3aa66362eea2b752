"""One process on another system than Linux, such as macOS: Linux without what only it has stands for them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support import project

pytest.importorskip("tensorflow")

_LEAVE = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parents[1])!r})
from support import not_linux
not_linux.leave_linux()
"""

_IMPORT = """
import importlib
import google_crc32c, numpy, pyarrow.parquet, resource, subprocess, urllib.request
{leave}
import tfdistribute
from pathlib import Path
root = Path(tfdistribute.__file__).parents[1]
for name in {plain}:
    paths = [root / f"tfdistribute/{{name}}.py", *sorted((root / "tfdistribute" / name).rglob("*.py"))]
    for path in filter(Path.exists, paths):
        importlib.import_module(".".join(path.relative_to(root).with_suffix("").parts))
"""

_TRAIN = """
import importlib.util, json, pkgutil, subprocess, urllib.request
from pathlib import Path
import numpy as np, pyarrow.parquet
import tfdistribute
from tfdistribute import engine
engine.tf
has_ydf = importlib.util.find_spec("ydf") is not None
if has_ydf:
    importlib.import_module("ydf")
{leave}
for module in pkgutil.walk_packages(tfdistribute.__path__, "tfdistribute."):
    if not module.name.startswith(("tfdistribute.r", "tfdistribute.__main__")):
        importlib.import_module(module.name)
from support import checkpoints, inputs, models, strategies
from tfdistribute.launch.start import new_directory
from tfdistribute.cluster.spec import LocalCluster
from tfdistribute.cluster.managed import KubernetesCluster
from tfdistribute.descriptions import read
from tfdistribute.errors import TfdistributeError
from tfdistribute.inputs import Input
from tfdistribute.launch.host import private_directory
from tfdistribute.training.evaluate import evaluate
from tfdistribute.training.train import train

random = np.random.default_rng(3)
x = random.normal(size=64).astype("float32")
columns = {{"x": x, "y": 2 * x + 1}}
found = {{}}
for name in ("none", "one device", "mirrored"):
    directory = Path({directory!r}) / name
    model = models.model(
        model_dir=directory,
        kind="linear_regressor",
        feature_columns=[{{"kind": "numeric", "key": "x"}}],
        optimizer=models.sgd(0.1),
    )
    settings = strategies.settings(name, seed=1)
    train(model, settings, inputs.in_memory(columns, batch_size=16, epochs=20, shuffle=False))
    loss = evaluate(model, settings, inputs.in_memory(columns, batch_size=16, epochs=1))["loss"]
    weights = checkpoints.variables(directory)
    found[name] = [float(weights[key].sum()) for key in sorted(weights) if "linear" in key]
rows = Path({directory!r}) / "rows.csv"
np.savetxt(rows, np.transpose([x, columns["y"]]), delimiter=",", header="x,y", comments="")
source = read(Input, {{"kind": "csv", "paths": [str(rows)], "response": "y", "batch_size": 16, "epochs": 1}})
train(models.line(Path({directory!r}) / "file"), strategies.settings("none"), source)
if has_ydf:
    trees = models.model("boosted_trees_regressor", Path({directory!r}) / "trees", n_trees=3)
    train(trees, strategies.settings("none"), inputs.in_memory(columns))
local = LocalCluster(workers=2)
managed = KubernetesCluster(workers=2, image="registry/image")
for cluster in (local, managed):
    try:
        private_directory.remove(new_directory(cluster, None))
    except TfdistributeError as error:
        found["job"] = [cluster.kind, str(error)]
print(json.dumps(found))
"""


def test_plain_modules_are_imported_without_what_only_linux_has(run_python: Callable[..., Any]):
    contracts = project.settings()["tool"]["importlinter"]["contracts"]
    plain = next(each["source_modules"] for each in contracts if each["id"] == "plain")
    names = sorted(name.rpartition(".")[2] for name in plain)
    run_python(_IMPORT.format(leave=_LEAVE, plain=names))


def test_one_process_and_mirrored_train_there_and_only_local_jobs_need_linux(
    run_python: Callable[..., Any], tmp_path: Path
):
    code = _TRAIN.format(leave=_LEAVE, directory=str(tmp_path))
    found = json.loads(run_python(code).stdout.splitlines()[-1])
    kind, error = found.pop("job")
    assert kind == "local"
    assert "The supervisor of a job needs Linux" in error and 'this is "darwin"' in error
    weights = found.pop("none")
    # The slope and the intercept of the data.
    assert sorted(weights)[-2:] == pytest.approx([1, 2], abs=0.01)
    for others in found.values():
        assert others == pytest.approx(weights, rel=1e-5)
