"""The best export of earlier processes, which TensorFlow's BestExporter forgets."""

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import tensorflow as tf

_STEP = "global_step"


def remember(
    exporters: Iterable[Any], model_dir: str, evaluations: Sequence[Mapping[str, Any]]
) -> None:
    """Let each BestExporter that is new to a model compare with the evaluations of the exports that exist.

    After a restart, ``BestExporter.export`` replaces the best export, whatever it reads from event files, because its
    ``_has_exported`` is False.
    """
    for exporter in exporters:
        if not isinstance(exporter, tf.estimator.BestExporter) or exporter._model_dir == model_dir:
            continue
        steps = _exported_steps(os.path.join(model_dir, "export", exporter.name))
        best: Any = None
        for each in evaluations:
            if each.get(_STEP) in steps and (best is None or exporter._compare_fn(best, each)):
                best = dict(each)
        if best is not None:
            exporter._model_dir, exporter._best_eval_result = model_dir, best
            exporter._has_exported = True


def _exported_steps(directory: str) -> set[float]:
    steps: set[float] = set()
    # A directory whose name is not a number is an export that did not end.
    names = tf.io.gfile.listdir(directory) if tf.io.gfile.isdir(directory) else []
    for name in (each.rstrip("/") for each in names):
        if name.isdecimal():
            variables = os.path.join(directory, name, "variables", "variables")
            steps.add(float(tf.train.load_variable(variables, _STEP)))
    return steps
