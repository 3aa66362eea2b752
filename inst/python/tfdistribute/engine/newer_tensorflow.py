"""Parts of TensorFlow that tensorflow-estimator 2.15 uses and newer versions lack, put back.

TensorFlow 2.16 removed ``tf.estimator``, its ties to distribution strategies, and embeddings on TPUs. Keras 3 knows
no graphs of TensorFlow 1, so ``tf_keras`` stands for Keras 2. Nothing of this changes TensorFlow 2.15.
"""

import contextlib
import importlib
import sys
import types
import warnings
from typing import Any

from tfdistribute import versions
from tfdistribute.engine import patches
from tfdistribute.environment import changed_variable
from tfdistribute.errors import UnsupportedError

# The Keras names of TensorFlow's modules, and where Keras 2 has them.
_KERAS_2 = {
    "": {
        "keras": "tf_keras.api._v2.keras",
        "losses": "tf_keras.api._v2.keras.losses",
        "metrics": "tf_keras.api._v2.keras.metrics",
        "optimizers": "tf_keras.api._v2.keras.optimizers",
        "initializers": "tf_keras.api._v2.keras.initializers",
    },
    "compat.v1": {
        "keras": "tf_keras.api._v1.keras",
        "layers": "tf_keras.api._v1.keras.__internal__.legacy.layers",
    },
    "compat.v1.nn": {"rnn_cell": "tf_keras.api._v1.keras.__internal__.legacy.rnn_cell"},
}
_KERAS_2["compat.v2"] = _KERAS_2[""]
_SOURCES = [source for names in _KERAS_2.values() for source in names.values()]


def keras_2_chosen() -> contextlib.AbstractContextManager[Any]:
    """Make TensorFlow choose Keras 2 if it is imported in the block.

    The environment variable is reset at the end, so that processes that the user starts choose for themselves.
    """
    is_newer = versions.is_newer(versions.tensorflow())
    return changed_variable("TF_USE_LEGACY_KERAS", "1") if is_newer else contextlib.nullcontext()


def complete(tensorflow: Any) -> None:
    """Put back the parts that a newer TensorFlow lacks; on TensorFlow 2.15, and in a second call, nothing changes.

    ``tf.keras`` becomes Keras 2, as ``TF_USE_LEGACY_KERAS=1`` makes it, and ``import keras`` stays Keras 3. Raises
    ImportError if tf_keras or tensorflow_estimator is missing, or TensorFlow lacks something else.
    """
    api_names = importlib.import_module("tensorflow.python.util.tf_export")
    if hasattr(api_names, "ESTIMATOR_API_NAME") or not patches.is_on("newer_tensorflow"):
        return
    # tf_keras imports TensorFlow's API by other names (`import tensorflow.compat.v2`), which makes a second set of
    # modules. Users may hold modules of either.
    modules = [_api_modules(tensorflow)]
    _warn_of_change(tensorflow.keras)
    for name in (*_SOURCES, "tensorflow.compat.v1", "tensorflow.compat.v2"):
        importlib.import_module(name)
    modules.append(_api_modules(tensorflow))
    for each in modules:
        _use_keras_2(each)
    _add_api_name(api_names)
    _add_module(
        "tensorflow.python.distribute.estimator_training",
        init_run_config=_init_run_config,
        should_run_distribute_coordinator=_should_run_distribute_coordinator,
        train_and_evaluate=_refuse,
        estimator_train=_refuse,
        estimator_evaluate=_refuse,
    )
    # tensorflow_estimator imports these when it is imported itself, and uses them on TPUs only.
    _add_module("tensorflow.python.tpu.session_support")
    _add_module("tensorflow.python.tpu.tpu_embedding", __getattr__=_absent_class)
    _add_module("tensorflow.python.tpu.tpu_embedding_gradient")
    _forget_failed_import("tensorflow_estimator")
    for each in modules:
        _add_estimators(each)
    sys.modules["tensorflow.keras"] = tensorflow.keras
    sys.modules["tensorflow.estimator"] = tensorflow.estimator


def _api_modules(tensorflow: Any) -> dict[str, Any]:
    v1, v2 = tensorflow.compat.v1, tensorflow.compat.v2
    return {"": tensorflow, "compat.v1": v1, "compat.v1.nn": v1.nn, "compat.v2": v2}


def _warn_of_change(keras: Any) -> None:
    if _was_used(keras):
        warnings.warn(
            "tf.keras was Keras 3 so far in this process, and is Keras 2 from now on, because Estimators need it. "
            "Models that exist stay as they are; Keras 3 is the module `keras`.",
            stacklevel=2,
        )


def _use_keras_2(modules: dict[str, Any]) -> None:
    for owner, names in _KERAS_2.items():
        for name, source in names.items():
            setattr(modules[owner], name, importlib.import_module(source))
    # `import tensorflow.keras` and `from tensorflow.keras import layers` look here first.
    for name in [name for name in sys.modules if f"{name}.".startswith("tensorflow.keras.")]:
        del sys.modules[name]


def _was_used(keras: Any) -> bool:
    """Return whether ``tf.keras``, a loader until its first use, was used as Keras 3."""
    loader = importlib.import_module("tensorflow.python.util.lazy_loader").KerasLazyLoader
    return not isinstance(keras, loader) and not keras.__name__.startswith("tf_keras.")


def _add_api_name(api_names: Any) -> None:
    api_names.ESTIMATOR_API_NAME = "estimator"
    tables = {"": api_names.API_ATTRS, "_v1": api_names.API_ATTRS_V1}
    for suffix, table in tables.items():
        table["estimator"] = type(table[api_names.TENSORFLOW_API_NAME])(
            f"_estimator_api_names{suffix}", f"_estimator_api_constants{suffix}"
        )


def _add_module(name: str, **members: Any) -> None:
    module = types.ModuleType(name)
    vars(module).update(members)
    sys.modules[name] = module
    parent, _, last = name.rpartition(".")
    setattr(importlib.import_module(parent), last, module)


def _forget_failed_import(package: str) -> None:
    if package not in sys.modules:
        for name in [name for name in sys.modules if name.startswith(f"{package}.")]:
            del sys.modules[name]


def _add_estimators(modules: dict[str, Any]) -> None:
    for owner, version in (("", "_v2"), ("compat.v2", "_v2"), ("compat.v1", "_v1")):
        modules[owner].estimator = importlib.import_module(
            f"tensorflow_estimator.python.estimator.api.{version}.estimator"
        )


def _init_run_config(config: Any, tf_config: Any) -> None:
    """Set the task of a ``tf.estimator.RunConfig`` that has a strategy, from TF_CONFIG.

    Source:
        ``init_run_config`` in tensorflow/python/distribute/estimator_training.py of TensorFlow 2.15.
    """
    train = importlib.import_module("tensorflow").train
    cluster = train.ClusterSpec(tf_config.get("cluster", {}))
    coordinated = cluster and config._train_distribute and "master" not in cluster.jobs
    config._init_distributed_setting_from_environment_var({} if coordinated else tf_config)
    if coordinated:
        config._cluster_spec = cluster
    else:
        config._maybe_overwrite_session_config_for_distributed_training()
    config._distribute_coordinator_mode = "independent_worker" if coordinated else None


def _should_run_distribute_coordinator(config: Any) -> bool:
    return bool(getattr(config, "_distribute_coordinator_mode", None) and config.cluster_spec)


def _refuse(*_args: Any, **_kwargs: Any) -> None:
    raise UnsupportedError(
        "TensorFlow's own coordinator of Estimators in a cluster was removed in TensorFlow 2.16.",
        "Train with train_and_evaluate() of tfdistribute, or with TensorFlow 2.15.",
    )


def _absent_class(name: str) -> type:
    if name.startswith("__"):
        raise AttributeError(name)
    return type(name, (), {})
