"""The list of changes to TensorFlow, Keras and reticulate from outside, with the reasons."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Patch:
    """A change that this package makes to another one.

    Args:
        name: Name in ``TFDISTRIBUTE_WITHOUT_PATCHES``.
        targets: Replaced objects: a module, a colon, and a path in it; without a colon, objects in words. Names of
            several versions are separated by ``|``, and the first that exists is replaced.
        why: The problem that it solves.
        source: The code that requires it.
        needs: Other private parts that the replacement uses, in the form of targets.
        optional: Whether a version without the target needs no patch.
        versions: Versions of TensorFlow, or another package, that it is for, as text for the list.
    """

    name: str
    targets: tuple[str, ...]
    why: str
    source: str
    needs: tuple[str, ...] = ()
    optional: bool = False
    versions: str = "all"


_OPS, _SESSION = "tensorflow.python.framework.ops", "tensorflow.python.client.session"
_DISTRIBUTE = "tensorflow.python.distribute"
_GRADIENTS = "tensorflow.python.ops.gradients_util"
_HEADS = "tensorflow_estimator.python.estimator.head"
_APPLY = "Optimizer._resource_apply_sparse_duplicate_indices"
_LAUNCHER = f"{_DISTRIBUTE}.cross_device_utils:CollectiveReplicaLauncher"

PATCHES = (
    Patch(
        "deprecation_warnings",
        ("tensorflow.python.util.deprecation:_PRINT_DEPRECATION_WARNINGS",),
        "Each part of an Estimator warns that it is deprecated.",
        "tensorflow/python/util/deprecation.py",
    ),
    Patch(
        "dataset_tuning",
        ("tensorflow.python.data.ops.multi_device_iterator_ops:_create_device_dataset",),
        "A session waits at its end, up to a minute, for a thread that tunes datasets with nothing to tune.",
        "Model::OptimizeLoop in tensorflow/core/framework/model.cc",
        optional=True,
    ),
    Patch(
        "generated_files",
        ("tensorflow.python.autograph.pyct.loader:tempfile",),
        "A Python inside R never deletes the files that AutoGraph generates.",
        "load_source in tensorflow/python/autograph/pyct/loader.py",
        optional=True,
    ),
    Patch(
        "all_reduce",
        (f"{_DISTRIBUTE}.distribute_lib:ReplicaContextBase.all_reduce",),
        "all_reduce() of values that depend on variables fails, as in batch normalization over replicas.",
        "_get_dependent_variables in tensorflow/python/ops/custom_gradient.py",
    ),
    Patch(
        "sparse_all_reduce",
        (f"{_LAUNCHER}.all_reduce_indexed_slices",),
        "A step whose batch reads another number of a table's rows fails in a cluster: servers keep the shapes.",
        "InstanceRec in tensorflow/core/common_runtime/collective_param_resolver_local.h",
    ),
    Patch(
        "gradient_scale",
        (
            "tensorflow:keras.optimizers.legacy.Optimizer._aggregate_gradients",
            "tensorflow:keras.optimizers.Optimizer.apply_gradients",
        ),
        "Keras optimizers in a model function take steps that are n times too large on n replicas.",
        "Optimizer._scale_loss in tensorflow/python/training/optimizer.py",
    ),
    Patch(
        "place_gradients",
        (f"{_GRADIENTS}:_maybe_colocate_with",),
        "The gradients of a model over several devices are computed on the first of them.",
        "tensorflow/python/ops/gradients_util.py; https://github.com/keras-team/keras/issues/3620",
    ),
    Patch(
        "tape_gradients",
        tuple(
            f"tensorflow:GradientTape.{name}" for name in ("_push_tape", "_pop_tape", "gradient")
        ),
        "A tape ignores devices, copies of operations, and micro-batches.",
        "tensorflow/python/eager/backprop.py",
    ),
    Patch(
        "gradients_of_rows",
        (f"{_GRADIENTS}:_GradientsHelper",),
        "The gradients of micro-batches and of replicas do not count by their rows.",
        "tensorflow/python/ops/gradients_util.py: tf.gradients and all optimizers in graphs call it",
    ),
    Patch(
        "served_sessions",
        (f"{_SESSION}:BaseSession._call_tf_sessionrun", f"{_SESSION}:BaseSession.close"),
        "R's functions are called on threads of TensorFlow, which ends R or waits for ever.",
        "tensorflow/python/client/session.py",
    ),
    Patch(
        "observed_sessions",
        ("tensorflow.python.training.session_manager:session",),
        "A task whose peer is lost while variables are initialized waits for ever.",
        "SessionManager.prepare_session in tensorflow/python/training/session_manager.py",
    ),
    Patch(
        "r_functions",
        ("rpycall:call_r_function", "rpytools.call:call_r_function"),
        "An R function on a thread of TensorFlow ends R, or both wait for ever.",
        "reticulate: src/python.cpp and inst/python/rpytools/call.py",
        optional=True,
        versions="reticulate; the second target since 1.41",
    ),
    Patch(
        "sequential_replicas",
        ("class of a strategy's extended",),
        "Replicas run on threads, where R's functions cannot.",
        "_call_for_each_replica in tensorflow/python/distribute/mirrored_run.py",
        needs=(
            f"{_OPS}:Graph()._thread_local",
            f"{_OPS}:Graph.switch_to_thread_local",
            f"{_OPS}:Graph._current_control_dependencies",
            f"{_OPS}:Operation._update_input",
            f"{_OPS}:Operation._add_control_inputs",
            "tensorflow.python.ops.variable_scope:get_variable_scope_store",
            "tensorflow.python.ops.summary_ops_v2:_summary_state",
            f"{_DISTRIBUTE}.distribute_utils:caching_scope_local",
        ),
    ),
    Patch(
        "placed_variables",
        ("class of a strategy's extended",),
        "A strategy keeps all variables on a replica's first device.",
        "MirroredExtended._create_variable in tensorflow/python/distribute/mirrored_strategy.py",
    ),
    Patch(
        "named_matrix",
        ("class of the tensor of a batch",),
        "A model function cannot read the columns of a matrix by name.",
        "Estimator._call_model_fn passes features as they are; a dictionary is taken apart",
    ),
    Patch(
        "functional_optimizers",
        ("class of a copy of a Keras 3 optimizer",),
        "Optimizers of Keras 3 write to variables in no order in a graph.",
        "keras/src/backend/tensorflow/optimizer.py",
        versions="2.16 and newer, with Keras 3",
    ),
    Patch(
        "distinct_rows",
        tuple(
            f"tensorflow:{name}.{_APPLY}" for name in ("keras.optimizers.legacy", "compat.v1.train")
        ),
        "Optimizers sum the rows of a table's gradient again: an embedding's step takes a tenth longer.",
        "embedding_lookup_sparse in tensorflow/python/ops/embedding_ops.py sums them",
    ),
    Patch(
        "clipped_rows",
        ("tensorflow:keras.optimizers.legacy.Optimizer._transform_gradients",),
        "The gradient of a table's row that two replicas have read is clipped as two.",
        "apply_gradients in keras/src/optimizers/legacy/optimizer_v2.py clips the replicas' rows side by side",
    ),
    Patch(
        "known_classes",
        tuple(
            f"{_HEADS}.{name}._processed_labels"
            for name in ("binary_class_head:BinaryClassHead", "multi_class_head:MultiClassHead")
        ),
        "Each step checks its labels, as was done for all rows: the small model is 0.95 times as fast.",
        "check_label_range in tensorflow_estimator/python/estimator/head/base_head.py",
    ),
    Patch(
        "adopted_estimators",
        ("class of an Estimator",),
        "A user's Estimator trains without strategies, inputs and hooks of this package.",
        "tensorflow_estimator/python/estimator/estimator.py",
    ),
    Patch(
        "keras_classes",
        ("base classes of Keras layers and models",),
        "A Keras object that is made in a graph makes all earlier models fail.",
        "swap_class in keras/src/utils/version_utils.py",
    ),
    Patch(
        "keras_names",
        tuple(
            f"tfdistribute.engine.keras2:backend.{name}"
            for name in ("PER_GRAPH_OBJECT_NAME_UIDS", "OBSERVED_NAMES")
        ),
        "A function's second model has other names of layers, which are not found in a checkpoint.",
        "unique_object_name in keras/src/backend.py",
    ),
    Patch(
        "layer_configurations",
        ("tensorflow:keras.layers.BatchNormalization.get_config",),
        "Clones of synchronized batch normalization are not synchronized.",
        "BatchNormalizationBase.get_config in keras/src/layers/normalization/batch_normalization.py",
    ),
    Patch(
        "custom_gradients",
        (f"{_OPS}:gradient_registry",),
        "Each training keeps its graph in memory until Python ends.",
        "_graph_mode_decorator in tensorflow/python/ops/custom_gradient.py",
    ),
    Patch(
        "newer_tensorflow",
        ("tensorflow.estimator, tensorflow.keras and modules that tensorflow_estimator imports",),
        "Estimators cannot be imported.",
        "tensorflow_estimator 2.15 imports parts that TensorFlow 2.16 removed",
        versions="2.16 and newer",
    ),
)
