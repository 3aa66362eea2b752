"""A new field with a limit, added to dataclasses in a copy of the package: what it brings with it."""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
SCRIPT = ROOT / "tests" / "python" / "support" / "new-field.R"
# The class of each R constructor, with its module.
CLASSES = {
    "run_config": ("run_config/settings.py", "RunSettings"),
    "local_cluster": ("cluster/spec.py", "LocalCluster"),
    "ray_cluster": ("cluster/frameworks/ray.py", "RayCluster"),
    "strategy_mirrored": ("strategies/mirrored.py", "Mirrored"),
    "strategy_parameter_server": ("strategies/parameter_server.py", "ParameterServer"),
    "track_mlflow": ("trackers.py", "Mlflow"),
    "hook_early_stopping": ("training/hooks/early_stopping.py", "EarlyStopping"),
    "column_numeric": ("models/feature_columns/numeric.py", "Numeric"),
    "column_indicator": ("models/feature_columns/derived.py", "Indicator"),
    "column_bucketized": ("models/feature_columns/numeric.py", "Bucketized"),
    "linear_regressor": ("models/canned/linear.py", "LinearRegressor"),
    "input_csv": ("inputs/tables/csv_file.py", "Csv"),
    "eval_spec": ("training/specs.py", "EvalSpec"),
}
IMPORTS = """
from typing import Annotated
from tfdistribute.descriptions.constraints import Ge
"""
FIELD = "    settling_steps: Annotated[int, Ge(1)] | None = None"
IN_PYTHON = """
import dataclasses, importlib, json, sys
from tfdistribute.bridge import functions
from tfdistribute.descriptions import read
from tfdistribute.descriptions.comparison import Exceptions, entries_of, first_difference
from tfdistribute.errors import TfdistributeError

def error_of(of, fields):
    try:
        read(of, fields)
    except TfdistributeError as error:
        return error.problem

found = {}
for name, (module, of, sent) in json.load(sys.stdin).items():
    of = getattr(importlib.import_module("tfdistribute." + module), of)
    # An estimator's settings are sent beside it.
    sent.pop("config", None)
    one, other = (read(of, sent | {"settling_steps": steps}) for steps in (3, 4))
    entries = [entries_of(each, "it", Exceptions(between_tasks=True)) for each in (one, other)]
    found[name] = {
        "error": error_of(of, sent | {"settling_steps": 0}),
        "read": read(of, sent).settling_steps,
        "differ": first_difference(*entries),
    }
print(json.dumps(found))
"""


def add_field(path: Path, name: str) -> None:
    """Add the field after the others of a class, as anyone would who needs it."""
    text = path.read_text(encoding="utf-8")
    (of,) = (
        each
        for each in ast.parse(text).body
        if isinstance(each, ast.ClassDef) and each.name == name
    )
    fields = [each for each in of.body if isinstance(each, ast.AnnAssign)]
    last = fields[-1] if fields else of.body[0]
    lines = text.splitlines()
    assert last.end_lineno is not None
    # The class may have no body of its own yet.
    lines[last.end_lineno - 1] = lines[last.end_lineno - 1].removesuffix(" ...")
    lines.insert(last.end_lineno, FIELD)
    if IMPORTS not in text:
        first = next(line for line in lines if line.startswith(("from ", "import ")))
        lines.insert(lines.index(first) + first.startswith("from __future__"), IMPORTS)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


class Copy:
    """A copy of the package with the new field: R's answers, and Python's."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ("R", "inst/python", "tools", "man"):
            shutil.copytree(
                ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__")
            )
        for name in ("DESCRIPTION", "NAMESPACE"):
            shutil.copy(ROOT / name, folder / name)
        for module, of in CLASSES.values():
            add_field(folder / "inst" / "python" / "tfdistribute" / module, of)
        (folder / "a.csv").write_text("x\n1\n", encoding="utf-8")
        self._run(sys.executable, str(folder / "tools" / "schema.py"))
        self._run("Rscript", "--vanilla", str(folder / "tools" / "document.R"), str(folder))
        printed = self._run("Rscript", "--vanilla", str(SCRIPT), str(folder))
        self.r = json.loads(printed.splitlines()[-1])
        asked = {
            name: (
                module.removesuffix(".py").replace("/", "."),
                of,
                json.loads(self.r[name]["sent"]),
            )
            for name, (module, of) in CLASSES.items()
        }
        self.python = json.loads(self._run(sys.executable, "-c", IN_PYTHON, text=json.dumps(asked)))

    def _run(self, *command: str, text: str = "") -> str:
        environment = os.environ | {"PYTHONPATH": str(self.folder / "inst" / "python")}
        done = subprocess.run(
            command,
            input=text,
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=250,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-3000:]
        return done.stdout

    def help_of(self, constructor: str) -> str:
        pages = (path.read_text(encoding="utf-8") for path in (self.folder / "man").glob("*.Rd"))
        return next(page for page in pages if f"\\alias{{{constructor}}}" in page)


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    return Copy(tmp_path_factory.mktemp("package") / "tfdistribute")


def each_constructor(ask: Callable[[str], Any]) -> dict[str, Any]:
    return {name: ask(name) for name in CLASSES}


@pytest.mark.full
def test_a_new_field_is_checked_in_both_languages_with_the_same_text(copy: Copy) -> None:
    expected = "`settling_steps` must be a whole number of at least 1 or NULL, not 0."
    assert each_constructor(lambda name: copy.r[name]["error"]) == dict.fromkeys(CLASSES, expected)
    assert each_constructor(lambda name: copy.python[name]["error"]) == dict.fromkeys(
        CLASSES, expected
    )


@pytest.mark.full
def test_a_new_field_is_sent_from_r_and_compared_between_tasks(copy: Copy) -> None:
    assert each_constructor(lambda name: copy.python[name]["read"]) == dict.fromkeys(CLASSES, 3)
    differ = each_constructor(lambda name: copy.python[name]["differ"])
    assert differ == each_constructor(lambda name: ["it$settling_steps", 3, 4])


@pytest.mark.full
def test_a_new_field_is_an_argument_with_help(copy: Copy) -> None:
    words = "A whole number of at least 1 or \\code{NULL}."
    for constructor in CLASSES:
        page = " ".join(copy.help_of(constructor).split())
        assert f"\\item{{settling_steps}}{{{words}}}" in page, constructor
        usage = page.partition(f"{constructor}(")[2].partition(")")[0]
        assert "settling_steps = NULL" in usage or "settling_steps = NULL" in page, constructor
