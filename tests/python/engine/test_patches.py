"""The registry of changes to other packages: one test for each change, which fails without it."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tfdistribute.engine import patches
from tfdistribute.engine.patches import patch_list
from tfdistribute.errors import ArgumentError, BackendError

ROOT = Path(__file__).parents[3]
PACKAGE = ROOT / "inst" / "python" / "tfdistribute"
TESTS = ROOT / "tests" / "python"
HERE, PARTS = "engine/test_patches.py", "engine/model_parts/test_placement_of_parts.py"

# For each patch, the test that fails without it.
PROOFS = {
    "deprecation_warnings": f"{HERE}::test_deprecated_functions_do_not_warn",
    "dataset_tuning": "engine/repairs/test_dataset_tuning.py::test_what_passes_batches_on_to_devices_is_not_tuned",
    "generated_files": "engine/repairs/test_generated_files.py::test_generated_code_is_gone_when_the_process_has_ended",
    "all_reduce": "models/test_custom_equality.py::test_values_that_depend_on_variables_can_be_reduced_over_replicas",
    "sparse_all_reduce": f"{HERE}::test_sparse_gradients_are_summed_between_processes_with_constant_shapes",
    "gradient_scale": "models/test_custom_losses.py::test_an_optimizer_of_the_new_keras_is_refused_by_name",
    "place_gradients": f"{PARTS}::test_each_replica_has_logical_devices_of_its_own",
    "tape_gradients": "engine/model_parts/test_pipelines.py::test_a_tape_sees_all_micro_batches",
    "gradients_of_rows": "engine/step/test_accumulate.py::test_a_loop_of_tensorflow_1_is_refused_by_name",
    "served_sessions": (
        "engine/r_thread/test_main_thread_calls.py::test_tensorflow_is_changed_only_while_something_is_served"
    ),
    "observed_sessions": f"{HERE}::test_a_session_is_observed_before_its_variables_are_initialized",
    "r_functions": "bridge/test_r_calls.py::test_an_old_reticulate_refuses_every_other_thread",
    "sequential_replicas": (
        "engine/r_thread/test_sequential_replicas.py::test_replicas_run_on_the_thread_that_calls_the_strategy"
    ),
    "placed_variables": f"{PARTS}::test_each_replica_has_logical_devices_of_its_own",
    "named_matrix": "engine/features/test_named_matrix.py::test_it_is_a_read_only_dictionary_of_its_columns",
    "functional_optimizers": "models/keras/test_keras3.py::test_optimizers_of_keras_3_train_as_in_fit",
    "distinct_rows": (
        "engine/step/test_distinct_rows.py::test_rows_that_a_lookup_has_summed_are_not_summed_again"
    ),
    "known_classes": (
        "engine/estimator/test_category_codes.py"
        "::test_classes_that_were_checked_for_all_rows_are_not_checked_again"
    ),
    "adopted_estimators": "engine/estimator/test_estimator.py::test_an_adopted_estimator_stays_what_it_is",
    "keras_classes": f"{HERE}::test_a_keras_model_that_was_made_before_a_graph_works",
    "keras_names": f"{HERE}::test_keras_numbers_layers_anew_in_each_call",
    "layer_configurations": (
        "models/keras/test_training.py::test_synchronised_batch_normalisation_is_that_of_one_device"
    ),
    "clipped_rows": "training/test_clipping.py::test_replicas_clip_as_one_device",
    "custom_gradients": (
        "engine/repairs/test_custom_gradients.py"
        "::test_trainings_keep_no_graphs_in_memory_but_those_of_the_last_evaluations"
    ),
    "newer_tensorflow": (
        "engine/test_newer_tensorflow.py::test_tf_keras_is_keras_2_and_the_choice_is_not_left_in_the_environment"
    ),
}
SINCE_KERAS_3 = {"functional_optimizers", "newer_tensorflow"}
NAMES = [each.name for each in patches.PATCHES]


def test_every_patch_has_a_name_of_its_own_and_a_test_that_exists() -> None:
    assert sorted(PROOFS) == sorted(NAMES)
    for proof in PROOFS.values():
        path, _, name = proof.partition("::")
        tree = ast.parse((TESTS / path).read_text(encoding="utf-8"))
        assert name in {each.name for each in tree.body if isinstance(each, ast.FunctionDef)}, proof


@pytest.mark.full
@pytest.mark.parametrize("name", NAMES)
def test_without_a_patch_its_test_fails(tmp_path: Path, name: str) -> None:
    from tfdistribute import versions

    if name in SINCE_KERAS_3 and not versions.is_newer(versions.tensorflow()):
        pytest.skip("TensorFlow 2.15 needs no such patch.")
    run = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-x",
            "-m",
            "",
            f"--basetemp={tmp_path / 'own'}",
            str(TESTS / PROOFS[name]),
        ],
        cwd=ROOT,
        env={**os.environ, patches.VARIABLE: name},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    # 1: a test has failed; 3: without `newer_tensorflow`, Estimators cannot be imported at all.
    assert run.returncode == (3 if name == "newer_tensorflow" else 1), run.stdout[-2000:]


@pytest.mark.versions
@pytest.mark.oldest
@pytest.mark.parametrize("name", NAMES)
def test_tensorflow_has_the_parts_that_a_patch_replaces_or_needs(
    tensorflow: Any, name: str
) -> None:
    of_r = {"rpycall", "rpytools"}
    patch = next(each for each in patches.PATCHES if each.name == name)
    if not any(target.partition(":")[0].partition(".")[0] in of_r for target in patch.targets):
        lacking = patches.list_missing(name)
        assert not lacking, (
            f"TensorFlow lacks {lacking}, which the patch {name!r} replaces or needs: see the section on patches in "
            "engine/README.md"
        )


def test_a_part_that_tensorflow_lacks_is_named_with_its_patch(
    tensorflow: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = SimpleNamespace(renamed=1)
    monkeypatch.setitem(sys.modules, "changed", module)
    patch = patch_list.Patch("own", ("changed:function",), "", "")
    monkeypatch.setitem(getattr(patches, "_BY_NAME"), "own", patch)  # noqa: B009
    with pytest.raises(BackendError, match=r"has no changed:function") as caught:
        patches.install("own", None)
    assert "own" in (caught.value.remedy or "")
    assert patches.list_missing("own") == ["changed:function"]


def test_the_first_of_several_names_that_exists_is_replaced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    module = SimpleNamespace(new=1)
    monkeypatch.setitem(sys.modules, "changed", module)
    patch = patch_list.Patch("own", ("changed:old|new",), "", "")
    monkeypatch.setitem(getattr(patches, "_BY_NAME"), "own", patch)  # noqa: B009
    assert patches.list_missing("own") == []
    with patches.patch_temporarily("own", 2):
        assert vars(module) == {"new": 2}
    assert vars(module) == {"new": 1}


def test_a_patch_in_a_block_ends_with_it_and_one_for_good_is_made_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def original(value: int) -> int:
        return value

    def twice(given: Any, value: int) -> int:
        return 2 * given(value)

    module = SimpleNamespace(function=original, value=1)
    monkeypatch.setitem(sys.modules, "changed", module)
    patch = patch_list.Patch("own", ("changed:function", "changed:value"), "", "")
    monkeypatch.setitem(getattr(patches, "_BY_NAME"), "own", patch)  # noqa: B009
    with pytest.raises(ZeroDivisionError), patches.patch_temporarily("own", twice, 2):
        assert (module.function(4), module.value) == (8, 2)
        _ = 1 / 0
    assert (module.function, module.value) == (original, 1)
    for _ in range(2):
        patches.install("own", twice, 2)
    assert (module.function(4), module.value) == (8, 2)
    monkeypatch.setattr(patches, "PATCHES", (patch,))
    assert [(each["name"], each["used"]) for each in patches.list_patches()] == [("own", True)]


def test_a_patch_that_does_not_exist_cannot_be_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(patches.VARIABLE, "all_reduce, other")
    with pytest.raises(ArgumentError, match="'other'"):
        patches.is_on("dataset_tuning")
    monkeypatch.setenv(patches.VARIABLE, "all_reduce")
    assert not patches.is_on("all_reduce")


# Tests of patches that have none elsewhere ------------------------------------------------------


def test_deprecated_functions_do_not_warn(tensorflow: Any) -> None:
    from tensorflow.python.util import deprecation

    assert deprecation._PRINT_DEPRECATION_WARNINGS is False


@pytest.mark.versions
def test_sparse_gradients_are_summed_between_processes_with_constant_shapes(
    tensorflow: Any,
) -> None:
    from tensorflow.python.distribute import collective_util, cross_device_utils

    tf, device = tensorflow, "/job:worker/replica:0/task:0/device:CPU:0"
    with tf.Graph().as_default() as graph:
        keys = cross_device_utils.CollectiveKeys()
        launcher = cross_device_utils.CollectiveReplicaLauncher(
            keys.get_group_key([device]), 2, keys, device, collective_util.Options()
        )
        rows = tf.compat.v1.placeholder(tf.float32, [None, 3])
        read = tf.compat.v1.placeholder(tf.int64, [None])
        launcher.all_reduce_indexed_slices(tf.IndexedSlices(rows, read, tf.constant([5, 3])))
        types = {operation.type for operation in graph.get_operations()}
    assert "CollectiveReduceV2" in types
    assert "CollectiveGatherV2" not in types


@pytest.mark.versions
def test_a_session_is_observed_before_its_variables_are_initialized(tensorflow: Any) -> None:
    from tensorflow.python.training import session_manager

    from tfdistribute.engine.multi_worker.trainer import _observe_sessions

    seen: list[Any] = []
    with tensorflow.Graph().as_default() as graph:
        initialized = tensorflow.no_op()
        manager = session_manager.SessionManager(graph=graph)
        with _observe_sessions(seen.append):
            session = manager.prepare_session("", init_op=initialized)
    assert seen == [session]
    session.close()


def test_a_keras_model_that_was_made_before_a_graph_works(tensorflow: Any) -> None:
    from tfdistribute.engine.repairs import keras_classes

    tf = tensorflow
    layer = tf.keras.layers.Dense(1)
    before = {each: each.__bases__ for each in type(layer).__mro__}
    with keras_classes.preserve_classes(), tf.Graph().as_default():
        tf.keras.layers.Dense(1)(tf.compat.v1.placeholder(tf.float32, [None, 2]))
    assert {each: each.__bases__ for each in before} == before
    assert layer(tf.zeros([1, 2])).shape == (1, 1)


def test_keras_numbers_layers_anew_in_each_call(tensorflow: Any) -> None:
    from tfdistribute.engine.keras.models import _fresh_names

    names: list[str] = []
    for _ in range(2):
        with _fresh_names():
            names.append(tensorflow.keras.layers.Dense(1).name)
    assert names == ["dense", "dense"]


# No change elsewhere ----------------------------------------------------------------------------

FOREIGN = {"tensorflow", "tensorflow_estimator", "keras", "tf_keras", "rpycall", "rpytools"}
FOREIGN_HERE = {"tfdistribute.engine.keras2"}
CODE = {"__class__", "__bases__", "__code__", "__mro__", "__dict__"}
# The first makes all changes, and the second puts back what a newer TensorFlow lacks: `newer_tensorflow`.
CHANGING = {
    PACKAGE / "engine" / "patches" / "__init__.py",
    PACKAGE / "engine" / "newer_tensorflow.py",
}


def imported(node: ast.AST) -> Iterator[str]:
    """Names that an import of another package binds."""
    if isinstance(node, ast.Import):
        for each in node.names:
            root = each.name.partition(".")[0]
            if root in FOREIGN:
                yield each.asname or root
    elif isinstance(node, ast.ImportFrom):
        module = node.module or ""
        if module.partition(".")[0] in FOREIGN or module in FOREIGN_HERE:
            yield from (each.asname or each.name for each in node.names)


def assigned(node: ast.AST) -> list[ast.expr]:
    """The targets of an assignment, a deletion, or a call of setattr(), as expressions."""
    if isinstance(node, ast.Assign | ast.Delete):
        return [
            leaf
            for target in node.targets
            for leaf in (target.elts if isinstance(target, ast.Tuple) else [target])
        ]
    if isinstance(node, ast.AugAssign | ast.AnnAssign):
        return [node.target]
    if isinstance(node, ast.Call) and ast.unparse(node.func) in {"setattr", "delattr"}:
        owner, name = node.args[:2]
        return [ast.Attribute(owner, str(getattr(name, "value", "")))]
    return []


def changes(tree: ast.Module) -> Iterator[str]:
    """Assignments to attributes of foreign modules and classes, and to those that change an object's code."""
    nodes = list(ast.walk(tree))
    foreign = {name for node in nodes for name in imported(node)}

    def is_foreign(value: ast.expr) -> bool:
        while isinstance(value, ast.Attribute):
            value = value.value
        return isinstance(value, ast.Name) and value.id in foreign

    # Names for parts of foreign modules: `base = distribute_lib.ReplicaContextBase`.
    for node in nodes:
        if isinstance(node, ast.Assign) and is_foreign(node.value):
            foreign |= {each.id for each in node.targets if isinstance(each, ast.Name)}
    for target in (target for node in nodes for target in assigned(node)):
        if isinstance(target, ast.Attribute) and (is_foreign(target.value) or target.attr in CODE):
            yield ast.unparse(target)


def test_only_the_registry_changes_other_packages() -> None:
    found = {
        f"{path.relative_to(PACKAGE)}: {change}"
        for path in PACKAGE.rglob("*.py")
        if path not in CHANGING
        for change in changes(ast.parse(path.read_text(encoding="utf-8")))
    }
    assert found == set()


@pytest.mark.parametrize(
    "code",
    [
        "from tensorflow.python.client import session\nsession.BaseSession.close = None",
        "import tensorflow as tf\ntape = tf.GradientTape\ntape.pop, x = None, 1",
        "strategy.extended.__class__ = Own",
        "function.__code__ = other",
        "import keras\nsetattr(keras.Model, 'fit', None)",
        "import tensorflow\ndel tensorflow.keras",
    ],
)
def test_such_a_change_is_found(code: str) -> None:
    assert list(changes(ast.parse(code)))
