"""How TensorFlow 2.16 and newer are completed, and what is said where that is not possible."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

from tfdistribute import versions


@pytest.mark.oldest
def test_tf_keras_is_keras_2_and_the_choice_is_not_left_in_the_environment(
    run_python: Callable[..., Any],
) -> None:
    finished = run_python(
        "import os, subprocess, sys\n"
        "from tfdistribute.engine import tf\n"
        "from tensorflow.keras import layers\n"
        "v1 = tf.compat.v1\n"
        "assert v1.layers.dense and v1.nn.rnn_cell.BasicRNNCell and tf.compat.v2.keras.Model\n"
        "assert layers.Dense is tf.keras.layers.Dense and issubclass(v1.keras.Model, tf.Module)\n"
        "import tensorflow.estimator\n"
        "assert tensorflow.estimator.Estimator is tf.estimator.Estimator\n"
        "print('.src.engine.' in tf.keras.Model.__module__, 'TF_USE_LEGACY_KERAS' in os.environ)\n"
    )
    assert finished.stdout.split() == ["True", "False"]


def test_an_import_of_estimators_that_failed_before_does_no_harm(
    run_python: Callable[..., Any],
) -> None:
    finished = run_python(
        "import tensorflow\n"
        "try:\n"
        "    import tensorflow_estimator\n"
        "    print('whole')\n"
        "except ImportError:\n"
        "    print('failed')\n"
        "from tfdistribute.engine import tf\n"
        "print(tf.estimator.DNNRegressor.__name__)\n"
    )
    expected = "failed" if versions.is_newer(versions.tensorflow()) else "whole"
    assert finished.stdout.split() == [expected, "DNNRegressorV2"]


@pytest.mark.versions
def test_estimators_are_there_if_tensorflow_was_imported_and_used_before(
    run_python: Callable[..., Any],
) -> None:
    finished = run_python(
        "import tensorflow, warnings\n"
        "v1 = tensorflow.compat.v1\n"
        "before = tensorflow.keras.layers.Dense\n"
        "with warnings.catch_warnings(record=True) as told:\n"
        "    warnings.simplefilter('always')\n"
        "    from tfdistribute.engine import tf\n"
        "told = [each for each in told if 'tf.keras was Keras 3' in str(each.message)]\n"
        "print('.src.engine.' in tf.keras.Model.__module__, len(told), tf.keras.layers.Dense is before)\n"
        "from tensorflow.keras import layers\n"
        "assert layers.Dense is tf.keras.layers.Dense\n"
        "assert v1.layers.batch_normalization is tf.compat.v1.layers.batch_normalization\n"
        "assert v1.estimator.Estimator and v1.nn.rnn_cell.BasicRNNCell\n"
    )
    newer = versions.is_newer(versions.tensorflow())
    assert finished.stdout.split() == ["True", *(["1", "False"] if newer else ["0", "True"])]


def test_a_missing_part_is_named_with_the_command_that_adds_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from tfdistribute import engine

    packages = {"tensorflow": "2.18.1", "tensorflow-estimator": "2.15.0", "numpy": "2.0.2"}
    monkeypatch.setattr(versions, "installed", packages.get)
    error = engine._unusable(ImportError("No module named 'tf_keras'"))
    assert error.problem.startswith(f"TensorFlow's Estimators cannot be used by {sys.executable}")
    assert "tf_keras is not installed" in error.problem
    assert 'pip install --no-deps "tf_keras==2.18.*"' in (error.remedy or "")
    packages["tf_keras"] = "2.18.0"
    error = engine._unusable(ImportError("libcudart is missing"))
    assert error.problem.startswith("TensorFlow 2.18.1 cannot be imported")
    assert "libcudart is missing" in error.problem
