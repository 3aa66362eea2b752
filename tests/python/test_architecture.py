"""Architecture rules that no linter checks."""

from __future__ import annotations

import ast
import dataclasses
import re
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from support import project

from tfdistribute.bridge import functions
from tfdistribute.descriptions import Description
from tfdistribute.descriptions.fields import fields_of

# All descriptions are known.
assert functions

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "inst" / "python" / "tfdistribute"
TESTS = ROOT / "tests" / "python"

TOP_LEVEL = {
    "CODE_OF_CONDUCT.md",
    "CONTRIBUTING.md",
    "DESCRIPTION",
    "LICENSE.md",
    "Makefile",
    "NAMESPACE",
    "NEWS.md",
    "R",
    "README.md",
    "SECURITY.md",
    "_pkgdown.yml",
    "bench",
    "codemeta.json",
    "cran-comments.md",
    "inst",
    "man",
    "pkgdown",
    "pyproject.toml",
    "tests",
    "tools",
    "vignettes",
}

# Modules that must respond without TensorFlow, in less than a second.
PLAIN = (
    "environment",
    "errors",
    "files",
    "gpus",
    "callbacks",
    "checkpoints",
    "checksums",
    "history_file",
    "descriptions",
    "columns",
    "cluster",
    "interrupts",
    "launch",
    "metrics_page",
    "model_file",
    "plan",
    "rules",
    "sharding",
    "storage",
    "task_events",
    "trackers",
    "versions",
)

TENSORFLOW = ("tensorflow", "tensorflow_estimator", "keras", "tf_keras")


def contracts() -> dict[str, Any]:
    """The import-linter contracts by id."""
    settings = project.settings()
    return {contract["id"]: contract for contract in settings["tool"]["importlinter"]["contracts"]}


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def exists(module: str) -> bool:
    return (PACKAGE / f"{module}.py").exists() or (PACKAGE / module / "__init__.py").exists()


def imported_names(path: Path) -> Iterator[str]:
    """Dotted names that a module imports, including those inside functions."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None and node.level == 0:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def private_parts_used(path: Path) -> Iterator[str]:
    """Imports of TensorFlow's internals, and attributes that reach into them, as in tf.python.framework."""
    for name in imported_names(path):
        if name.startswith(("tensorflow.python", "tensorflow.core", "tensorflow_estimator.")):
            yield name
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if (
            isinstance(node, ast.Attribute)
            and node.attr == "python"
            and isinstance(node.value, ast.Name)
            and node.value.id in {"tf", "tensorflow"}
        ):
            yield ast.unparse(node)


def tracked_top_level() -> set[str]:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout
    return {name.split("/", 1)[0] for name in listed.split("\0") if name}


def test_the_top_level_holds_what_the_layout_names() -> None:
    visible = {name for name in tracked_top_level() if not name.startswith(".")}
    assert visible - TOP_LEVEL == set()


def test_no_module_has_more_than_450_lines() -> None:
    long = {
        str(path.relative_to(PACKAGE)): lines
        for path in modules()
        if (lines := len(path.read_text(encoding="utf-8").splitlines())) > 450
    }
    assert long == {}


def test_no_folder_has_more_than_16_modules() -> None:
    counts = Counter(str(path.parent.relative_to(PACKAGE)) for path in modules())
    assert {folder: count for folder, count in counts.items() if count > 16} == {}


def test_tests_mirror_the_folders_of_the_package() -> None:
    folders = {path.parent.relative_to(TESTS) for path in TESTS.rglob("test_*.py")}
    assert [str(folder) for folder in folders if not (PACKAGE / folder).is_dir()] == []
    others = [path.name for path in TESTS.glob("*.py") if not path.name.startswith("test_")]
    assert others == ["conftest.py"]


def test_r_cmd_check_finds_no_other_program_than_testthat() -> None:
    assert [path.name for path in TESTS.parent.glob("*.R")] == ["testthat.R"]


def layers_in_contributing() -> list[set[str]]:
    """The Python layers in CONTRIBUTING.md's table, highest first."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = text.split("| Layer | Modules | Subject |", 1)[1].split("\n\n", 1)[0]
    rows = [row.split("|") for row in table.splitlines() if re.match(r"\| \d", row)]
    return [set(re.findall(r"`([^`]+)`", row[2])) for row in rows]


def test_contributing_and_import_linter_name_the_same_layers() -> None:
    layers = [set(re.findall(r"\w+", layer)) for layer in contracts()["layers"]["layers"]]
    assert layers_in_contributing() == layers


# Methods that TensorFlow's Estimator calls on itself and this package overrides.
ESTIMATOR_MEMBERS = {
    "_call_model_fn",
    "_model_fn",
    "_train_with_estimator_spec",
    "evaluate",
    "export_saved_model",
    "predict",
    "train",
}


def changed_estimators(path: Path) -> Iterator[str]:
    """Assignments to an Estimator's members, whatever the variable is called."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
            if node.attr in ESTIMATOR_MEMBERS or ast.unparse(node.value).endswith("estimator"):
                yield ast.unparse(node)
        elif (
            isinstance(node, ast.Call)
            and ast.unparse(node.func) == "setattr"
            and ast.unparse(node.args[0]).endswith("estimator")
        ):
            yield ast.unparse(node)


def test_only_one_module_changes_an_estimator() -> None:
    changing = {
        str(path.relative_to(PACKAGE)): changes
        for path in modules()
        if (changes := list(changed_estimators(path)))
    }
    assert set(changing) == {"engine/estimator/adoption.py"}


# Attributes that follow an edge of a graph forwards, change one, or copy nodes and functions.
GRAPH_MEMBERS = {
    "GraphDef",
    "_add_control_input",
    "_add_control_inputs",
    "_add_function_recursive",
    "_control_outputs",
    "_remove_all_control_inputs",
    "_update_input",
    "as_graph_def",
    "cached_definition",
    "consumers",
    "graph_def_versions",
    "import_graph_def",
}
# A module may look at an operation's inputs. A loop or a recursive function that does so walks along them.
EDGES = {"inputs", "control_inputs", "input"}


def attributes(tree: ast.AST) -> set[str]:
    return {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}


def calls(tree: ast.AST, name: str) -> bool:
    called = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    return not called.isdisjoint({name, f"self.{name}"})


def work_on_graphs(code: str) -> set[str]:
    """Walks in a module's code, by what repeats them, and the attributes that change or copy a graph."""
    tree = ast.parse(code)
    found = attributes(tree) & GRAPH_MEMBERS
    for node in ast.walk(tree):
        is_loop = isinstance(node, ast.While)
        is_recursive = isinstance(node, ast.FunctionDef) and calls(node, node.name)
        if (is_loop or is_recursive) and attributes(node) & EDGES:
            found.add(getattr(node, "name", "while"))
    return found


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("while waiting:\n    waiting += [each.op for each in waiting.pop().inputs]", "while"),
        ("def before(each):\n    return [before(t.op) for t in each.inputs]", "before"),
        ("users = tensor.consumers()", "consumers"),
        ("operation._update_input(0, tensor)", "_update_input"),
        ("tf.import_graph_def(nodes)", "import_graph_def"),
        ("first = operation.inputs[0]\nwhile first:\n    first = None", ""),
    ],
)
def test_walks_and_edits_of_graphs_are_recognized(code: str, found: str) -> None:
    assert work_on_graphs(code) == ({found} if found else set())


def test_only_the_graph_package_walks_edits_or_copies_graphs() -> None:
    working = {
        str(path.relative_to(PACKAGE)): sorted(found)
        for path in modules()
        if path.parent != PACKAGE / "engine" / "graph"
        and (found := work_on_graphs(path.read_text(encoding="utf-8")))
    }
    assert working == {}


# Lists of three or more fields of one description. A list that decides what happens to a field must be a fact at the
# field, see descriptions/constraints.py. These name what the code around them computes with.
LISTS_OF_FIELDS = {
    "cluster/spec.py": "roles of tasks, in TensorFlow's order",
    "inputs/functions/generator.py": "what no batch may change",
    "models/feature_columns/categorical.py": "what TensorFlow's column of the same name takes",
    "models/feature_columns/crossed.py": "what TensorFlow's column of the same name takes",
    "models/feature_columns/derived.py": "what TensorFlow's column of the same name takes",
    "models/feature_columns/numeric.py": "numbers per value, whose count depends on the shape",
    "models/training_loop.py": "what a custom model has in common with it",
    "training/hooks/session_run.py": "moments of TensorFlow's SessionRunHook",
}


def lists_of_fields(path: Path) -> Iterator[set[str]]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, (ast.Set, ast.Tuple, ast.List)):
            texts = [str(each.value) for each in node.elts if isinstance(each, ast.Constant)]
            if len(texts) >= 3 and len(texts) == len(node.elts):
                yield set(texts)


def fields_of_descriptions(of: type[Description] = Description) -> Iterator[set[str]]:
    for each in of.__subclasses__():
        yield from fields_of_descriptions(each)
        if each.__module__.startswith("tfdistribute.") and dataclasses.is_dataclass(each):
            yield set(fields_of(each))


def test_no_list_by_name_repeats_fields_of_a_description() -> None:
    described = list(fields_of_descriptions())
    found = {
        str(path.relative_to(PACKAGE))
        for path in modules()
        if any(names <= fields for names in lists_of_fields(path) for fields in described)
    }
    assert found == set(LISTS_OF_FIELDS)


def test_what_the_texts_import_exists() -> None:
    texts = [ROOT / "README.md", *ROOT.glob("vignettes/**/*.Rmd"), *ROOT.glob("R/*.R")]
    found = [
        (module, name.strip())
        for text in texts
        for module, names in re.findall(
            r"from (tfdistribute[\w.]*) import ([\w, ]+)", text.read_text("utf-8")
        )
        for name in names.split(",")
    ]
    assert len(found) >= 5
    missing = [
        f"{module}.{name}" for module, name in found if not hasattr(import_module(module), name)
    ]
    assert missing == []


def test_no_module_is_a_drawer_for_everything() -> None:
    drawers = {"utils", "util", "misc", "common", "helpers", "helper"}
    assert [path for path in modules() if path.stem in drawers or path.parent.name in drawers] == []


def test_only_the_engine_reaches_into_tensorflow() -> None:
    reaching = {
        str(path.relative_to(PACKAGE)): parts
        for path in modules()
        if path.relative_to(PACKAGE).parts[0] != "engine"
        and (parts := sorted(set(private_parts_used(path))))
    }
    assert reaching == {}


@pytest.mark.parametrize("module", [*PLAIN, "bridge"])
def test_importing_a_plain_module_does_not_import_tensorflow(
    module: str, run_python: Callable[..., Any]
) -> None:
    if not exists(module):
        return
    finished = run_python(
        f"import sys, tfdistribute.{module}\n"
        f"print(sorted(set({TENSORFLOW!r}) & {{name.split('.')[0] for name in sys.modules}}))",
        timeout_s=30,
    )
    assert finished.stdout.strip() == "[]"


def test_import_linter_names_every_plain_module_that_exists() -> None:
    plain = {f"tfdistribute.{module}" for module in PLAIN if exists(module)}
    assert set(contracts()["plain"]["source_modules"]) == plain


def test_no_walk_over_processes_looks_at_files_that_may_be_gone() -> None:
    # pathlib raises ProcessLookupError for /proc/PID/stat if the process ends between the listing and the look.
    pattern = re.compile(r"""Path\(["']/proc["']\)\.glob\(["'][^"']*/""")
    places = [
        str(path.relative_to(ROOT))
        for path in (*modules(), *TESTS.rglob("*.py"))
        if pattern.search(path.read_text(encoding="utf-8"))
    ]
    assert places == []
