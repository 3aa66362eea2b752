"""Model and input functions in R for programs in Python, each in a process of its own that starts R."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.skipif(
    shutil.which("Rscript") is None or importlib.util.find_spec("rpy2") is None,
    reason="needs R and rpy2",
)

MODEL = """
library(tfdistribute)
# Without seeds of their own, initial weights depend on how many operations the graph had before.
dense <- function(x, units, seed, ...) {
  initializer <- tf$compat$v1$glorot_uniform_initializer(seed = seed)
  tf$compat$v1$layers$dense(x, units, kernel_initializer = initializer, ...)
}
model_fn <- function(features, labels, mode, params) {
  hidden <- dense(tf$math$log(features), params$units, 1L, activation = tf$nn$tanh)
  predicted <- tf$squeeze(dense(hidden, 1L, 2L), axis = 1L)
  if (mode == "infer") return(estimator_spec(mode, predictions = list(mpg = predicted)))
  loss <- tf$reduce_mean(tf$math$squared_difference(labels, predicted))
  estimator_spec(mode, loss = loss, optimizer = "adam", predictions = list(mpg = predicted))
}
wrong_fn <- function(features, labels, mode) {
  stop("there is no such layer")
}
no_features <- function(x) NULL
"""

INPUT = """
input_fn <- function() {
  tfdistribute::input_fn(mpg ~ wt + hp, mtcars, batch_size = 8, epochs = NULL, shuffle = TRUE, seed = 7)
}
not_an_input <- function() mtcars
"""

# gc() in R runs finalizers of what R holds of Python.
PROGRAM = """
import json, os, sys
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tfdistribute.r
from tfdistribute import engine
tf = engine.tf
model_fn = tfdistribute.r.model_fn("model.R", params={"units": 3})
# As in trainings of this package: joined operations may round differently.
session_config = tf.compat.v1.ConfigProto()
session_config.graph_options.rewrite_options.remapping = 2  # OFF
config = tf.estimator.RunConfig(
    tf_random_seed=5, save_summary_steps=None, log_step_count_steps=None, session_config=session_config
)
estimator = tf.estimator.Estimator(model_fn, model_dir="python", config=config)
estimator.train(tfdistribute.r.input_fn("input.R"), max_steps=20)
print(json.dumps({n: estimator.get_variable_value(n).tobytes().hex() for n in sorted(estimator.get_variable_names())}))
"""

SCRIPT = """
source("model.R")
source("input.R")
model <- estimator(
  model_fn, params = list(units = 3), model_dir = "r",
  config = run_config(seed = 5, save_summary_steps = NULL, log_step_count_steps = NULL)
)
train(model, input_fn(), max_steps = 20)
"""

READ = """
import json, sys
from tfdistribute import engine
read = engine.tf.train.load_checkpoint(sys.argv[1])
print(json.dumps({n: read.get_tensor(n).tobytes().hex() for n in sorted(read.get_variable_to_shape_map())}))
"""


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    (tmp_path / "model.R").write_text(MODEL, encoding="utf-8")
    (tmp_path / "input.R").write_text(INPUT, encoding="utf-8")
    (tmp_path / "broken.R").write_text("x <- 1\nx + y\n", encoding="utf-8")
    return tmp_path


def run(directory: Path, *command: str) -> str:
    ended = subprocess.run(
        command, cwd=directory, capture_output=True, text=True, timeout=120, check=False
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def errors_of(directory: Path, *calls: str) -> list[dict[str, Any]]:
    """Make calls in a process with R, and return the error of each."""
    code = (
        "import json, tfdistribute.r\nfrom tfdistribute import errors\nfrom tfdistribute.r import *\n"
        "def of(call):\n"
        "    try:\n        call()\n"
        "    except errors.TfdistributeError as error:\n        return errors.as_values(error)\n"
        f"print(json.dumps([of(lambda: {'), of(lambda: '.join(calls)})]))"
    )
    return json.loads(run(directory, sys.executable, "-c", code).splitlines()[-1])


@pytest.mark.slow
def test_a_model_function_in_r_trains_the_same_weights_in_python_and_in_r(directory: Path):
    in_python = json.loads(run(directory, sys.executable, "-c", PROGRAM).splitlines()[-1])
    run(directory, "Rscript", "--vanilla", "-e", SCRIPT)
    in_r = json.loads(run(directory, sys.executable, "-c", READ, "r").splitlines()[-1])
    assert len(in_python) > 4
    assert in_python == in_r


@pytest.mark.full
def test_no_thread_of_r_ends_the_process_after_pythons_end(directory: Path):
    # The C library waits for as many seconds as the status, when Python has ended.
    code = (
        "import ctypes, sys, tfdistribute.r\n"
        "tfdistribute.r.input_fn('input.R')\n"
        "ctypes.CDLL(None).on_exit(ctypes.CDLL(None).sleep, None)\n"
        "sys.exit(2)\n"
    )
    # Without the repair, about every second process gets SIGSEGV.
    processes = [
        subprocess.Popen([sys.executable, "-c", code], cwd=directory, stderr=subprocess.DEVNULL)
        for _ in range(4)
    ]
    assert [process.wait(120) for process in processes] == [2] * 4


def test_an_error_of_r_names_the_function_and_has_rs_calls(directory: Path):
    wrong = "tfdistribute.r.model_fn('model.R', 'wrong_fn')({}, None, 'train', None)"
    (failure,) = errors_of(directory, wrong)
    assert failure["kind"] == "callback"
    assert failure["problem"].startswith("`wrong_fn` failed at model.R:")
    assert failure["problem"].endswith("there is no such layer")
    assert "stop(" in failure["r_traceback"] or "wrong_fn" in failure["r_traceback"]


def test_what_cannot_be_called_is_told_with_what_can(directory: Path):
    found = errors_of(
        directory,
        "tfdistribute.r.model_fn('none.R')",
        "tfdistribute.r.model_fn('model.R', 'model')",
        "tfdistribute.r.model_fn('model.R', 'no_features')",
        "tfdistribute.r.model_fn('broken.R')",
        "tfdistribute.r.input_fn('input.R', 'not_an_input')",
    )
    assert [each["kind"] for each in found] == [
        "argument",
        "argument",
        "argument",
        "callback",
        "callback",
    ]
    assert found[0]["problem"] == '`path` "none.R" is not a file.'
    assert found[1]["problem"] == '`path` "model.R" has no function `model`.'
    assert found[1]["remedy"] == "Use one of its functions: dense, model_fn, no_features, wrong_fn."
    assert found[3]["problem"] == "`broken.R` failed: object 'y' not found"
    assert "must be what input_fn() returns" in found[4]["problem"]


def test_another_thread_than_rs_is_refused(directory: Path):
    code = (
        "import threading, tfdistribute.r\n"
        "model = tfdistribute.r.model_fn('model.R')\n"
        "def call():\n"
        "    try:\n        model({}, None, 'train', None)\n"
        "    except Exception as error:\n        print(error)\n"
        "thread = threading.Thread(target=call)\nthread.start()\nthread.join()"
    )
    assert "was called on a thread of its own" in run(directory, sys.executable, "-c", code)


def test_a_missing_rpy2_is_named(directory: Path):
    code = (
        "import sys; sys.modules['rpy2.rinterface'] = None\nimport tfdistribute.r\n"
        "try:\n    tfdistribute.r.model_fn('model.R')\nexcept Exception as error:\n    print(error)"
    )
    assert "pip install tfdistribute[r]" in run(directory, sys.executable, "-c", code)
