"""Joint numeric columns: several feature columns as one, each with its own variable in linear models.

TensorFlow needs about ten operations for each column, and a joint column is one tensor and one multiplication.
"""

import copy
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import tensorflow as tf
from tensorflow.python.feature_column import feature_column_v2
from tensorflow.python.ops import variable_scope
from tensorflow_estimator.python.estimator.canned import linear

from tfdistribute.engine.features.packed_features import Features
from tfdistribute.engine.features.standardizer import Standardizer, join_standardizers

# As Any: type checkers do not know its private parts.
columns_lib: Any = feature_column_v2


class _Members(NamedTuple):
    members: tuple[Any, ...]
    # None if the members have no centers and scales.
    standardizer: Standardizer | None


class JointNumericColumn(columns_lib.DenseColumn, _Members):
    """Numeric columns with adjacent names, as one column.

    Layers concatenate columns by name, so a joint column takes the place of its members.
    """

    @property
    def name(self) -> str:
        return self.members[0].name

    @property
    def key(self) -> str:
        return "/".join(member.name for member in self.members)

    @property
    def _is_v2_column(self) -> bool:
        return True

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        return columns_lib.make_parse_example_spec_v2(self.members)

    @property
    def variable_shape(self) -> Any:
        return tf.TensorShape([sum(_size(member) for member in self.members)])

    @property
    def parents(self) -> list[Any]:
        return list(self.members)

    def transform_feature(self, transformation_cache: Any, state_manager: Any) -> Any:
        if self.key in transformation_cache._features:
            whole = transformation_cache.get(self.key, state_manager)
            return self.standardizer(whole) if self.standardizer else whole
        values: list[Any] = []
        for member in self.members:
            value = member.get_dense_tensor(transformation_cache, state_manager)
            values.append(tf.reshape(value, [tf.shape(value)[0], _size(member)]))
        return tf.concat(values, 1)

    def get_dense_tensor(self, transformation_cache: Any, state_manager: Any) -> Any:
        return transformation_cache.get(self, state_manager)

    def create_state(self, state_manager: Any) -> None:
        layer = state_manager._layer
        if isinstance(layer, linear._LinearModelLayer):
            layer._state_manager = _OneVariableEach.replacing(state_manager)

    def get_config(self) -> dict[str, Any]:
        raise NotImplementedError

    @classmethod
    def from_config(
        cls, config: Any, custom_objects: Any = None, columns_by_name: Any = None
    ) -> Any:
        raise NotImplementedError


def join_numeric_columns(columns: Sequence[Any]) -> list[Any]:
    """Join adjacent numeric columns, separately with and without centers and scales; sort all columns by name."""
    ordered = sorted(columns, key=lambda column: column.name)
    columns_of_layer: list[Any] = []
    for form, run in groupby(ordered, _form):
        members = tuple(run)
        if form is None or len(members) == 1:
            columns_of_layer += members
        else:
            functions = [each.normalizer_fn for each in members if each.normalizer_fn]
            joint = join_standardizers(functions) if functions else None
            columns_of_layer.append(JointNumericColumn(members, joint))
    return columns_of_layer


def add_joint_columns(
    features: Features, columns: Sequence[Any], keys: Mapping[str, str]
) -> Mapping[str, Any]:
    joint_columns = {each.key: each for each in columns if isinstance(each, JointNumericColumn)}
    if not joint_columns:
        return features
    names = {key: name for name, key in keys.items()}
    matrices = {
        key: features.as_matrix(
            [names[member.key] for member in each.members],
            # Standardizers get numbers of the data's own type.
            only_float32=each.standardizer is not None,
        )
        for key, each in joint_columns.items()
    }
    return {**features, **{key: value for key, value in matrices.items() if value is not None}}


class _OneVariableEach(columns_lib._StateManagerImpl):
    @classmethod
    def replacing(cls, manager: Any) -> Any:
        replacement = cls(manager._layer, manager._trainable)
        replacement._cols_to_vars_map = manager._cols_to_vars_map
        replacement._cols_to_resources_map = manager._cols_to_resources_map
        return replacement

    def create_variable(self, feature_column: Any, name: str, shape: Any, **settings: Any) -> Any:
        if not isinstance(feature_column, JointNumericColumn):
            return super().create_variable(feature_column, name=name, shape=shape, **settings)
        for member in feature_column.members:
            with variable_scope._pure_variable_scope(_scope(member)):
                own_shape = (_size(member), *shape[1:])
                super().create_variable(member, name=name, shape=own_shape, **settings)
        return None

    def get_variable(self, feature_column: Any, name: str) -> Any:
        if not isinstance(feature_column, JointNumericColumn):
            return super().get_variable(feature_column, name)
        variables = [self._cols_to_vars_map[member][name] for member in feature_column.members]
        return tf.concat(variables, 0)


def _scope(member: Any) -> Any:
    scope = copy.copy(variable_scope.get_variable_scope())
    above = scope.name.rpartition("/")[0]
    own = columns_lib._sanitize_column_name_for_variable_scope(member.name)
    scope._name = f"{above}/{own}" if above else own
    return scope


def _form(column: Any) -> type | None:
    if type(column) is not columns_lib.NumericColumn:
        return None
    form = type(column.normalizer_fn)
    return form if form in (type(None), Standardizer) else None


def _size(member: Any) -> int:
    return int(member.variable_shape.num_elements())
