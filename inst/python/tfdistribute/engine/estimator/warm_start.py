"""Warm starts, in which rows of variables follow their categories by name."""

from collections.abc import Mapping, Sequence
from typing import Any

import tensorflow as tf
from tensorflow.python.training import checkpoint_utils, warm_starting_util
from tensorflow.python.training.saving import saveable_object_util

from tfdistribute.errors import ModelError

# The categories of the checkpoint and of this model, by name of the column's scope.
Vocabularies = Mapping[str, tuple[Sequence[Any], Sequence[Any]]]


def settings_by_name(settings: Any, model_dir: str, vocabularies: Vocabularies) -> Any:
    """Return the settings for the graph that is about to train, and begin its variables of other vocabularies.

    Raises ModelError if a pattern of the settings matches no variable.
    """
    if not settings or tf.train.latest_checkpoint(model_dir):
        return settings
    _check_patterns(settings.vars_to_warm_start)
    chosen: dict[str, list[Any]] = warm_starting_util._get_grouped_variables(
        settings.vars_to_warm_start
    )
    previous = dict(settings.var_name_to_prev_var_name or {})
    mapped = vocabularies.keys() & chosen.keys()
    for name in mapped:
        old_name, places = previous.pop(name, name), _places(*vocabularies[name])
        for variable in chosen.pop(name):
            _begin_with_rows(variable, settings.ckpt_to_initialize_from, old_name, places)
    if not mapped:
        return settings
    others = [each for group in chosen.values() for each in group]
    return settings._replace(vars_to_warm_start=others, var_name_to_prev_var_name=previous)


def _check_patterns(patterns: Any) -> None:
    # With None, TensorFlow takes the variables whose vocabularies are given.
    patterns = () if patterns is None else patterns
    several = not isinstance(patterns, str)
    keys = tf.compat.v1.GraphKeys
    key = keys.GLOBAL_VARIABLES if several else keys.TRAINABLE_VARIABLES
    for pattern in patterns if several else [patterns]:
        if not tf.compat.v1.get_collection(key, pattern):
            names = sorted({each.op.name for each in tf.compat.v1.get_collection(key)})
            raise ModelError(
                f'`vars_to_warm_start` "{pattern}" matches no variable of the model.',
                f"Give regular expressions that match some of {', '.join(names)}.",
                value=pattern,
            )


def _places(old: Sequence[Any], new: Sequence[Any]) -> list[int]:
    places = {category: place for place, category in enumerate(old)}
    return [places.get(category, len(places)) for category in new]


def _begin_with_rows(variable: Any, path: str, old_name: str, places: list[int]) -> None:
    """Set a variable's first value as ``checkpoint_utils._set_checkpoint_initializer`` does, with rows in other places.

    New categories begin with 0, as with TensorFlow's ``VocabInfo``.
    """
    file = checkpoint_utils._get_checkpoint_filename(path)
    with tf.device(variable.device), tf.device("/cpu:0"):
        stored = tf.raw_ops.RestoreV2(
            prefix=file, tensor_names=[old_name], shape_and_slices=[""], dtypes=[tf.float32]
        )[0]
        stored = tf.ensure_shape(stored, [None, *variable.shape[1:]])
        value = tf.gather(tf.pad(stored, [[0, 1], [0, 0]]), places)
    (saveable,) = [
        each
        for name, operation in saveable_object_util.op_list_to_dict([variable]).items()
        for each in saveable_object_util.saveable_objects_for_op(operation, name)
    ]
    variable._initializer_op = saveable.restore([value], restored_shapes=None)
    variable._initial_value = value
