"""Numeric feature columns that are read together, with the variables that each of them has alone.

TensorFlow evaluates every column by itself: a dimension is added, cast and reshaped, and in linear models multiplied by
its own weight, about ten operations for each. What is read together is one tensor and one multiplication.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import tensorflow as tf
from tensorflow.python.feature_column import feature_column_v2
from tensorflow.python.ops import variable_scope
from tensorflow_estimator.python.estimator.canned import linear

from tfdistribute.engine.features.normalizers import Treatment, treated, treatment_of
from tfdistribute.engine.features.packed_features import Features

# Its private parts, of which type checkers do not know.
columns_lib: Any = feature_column_v2


class _Members(NamedTuple):
    members: tuple[Any, ...]
    # What the members' functions do, one for each; none where they have no function.
    treatments: tuple[Treatment, ...]


class NumbersTogether(columns_lib.DenseColumn, _Members):
    """Numeric columns that follow each other by name, as one column.

    Layers put columns side by side in the order of their names, so this one stands where its members would, and the
    layer's weights are the same. In a linear model each member keeps a variable of its own.
    """

    @property
    def name(self) -> str:
        """The first member's name, which puts it in the members' place."""
        return self.members[0].name

    @property
    def key(self) -> str:
        """Name of the feature that holds all members; no feature's own name has a slash."""
        return "/".join(member.name for member in self.members)

    @property
    def _is_v2_column(self) -> bool:
        return True

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """How the members are read from examples."""
        return columns_lib.make_parse_example_spec_v2(self.members)

    @property
    def variable_shape(self) -> Any:
        """The members' numbers side by side."""
        return tf.TensorShape([sum(_size(member) for member in self.members)])

    @property
    def parents(self) -> list[Any]:
        """The members."""
        return list(self.members)

    def transform_feature(self, transformation_cache: Any, state_manager: Any) -> Any:
        """Take the members' values together where they came so, else one by one."""
        if self.key in transformation_cache._features:
            whole = transformation_cache.get(self.key, state_manager)
            widths = [_size(member) for member in self.members]
            return treated(whole, self.treatments, widths) if self.treatments else whole
        values: list[Any] = []
        for member in self.members:
            value = member.get_dense_tensor(transformation_cache, state_manager)
            values.append(tf.reshape(value, [tf.shape(value)[0], _size(member)]))
        return tf.concat(values, 1)

    def get_dense_tensor(self, transformation_cache: Any, state_manager: Any) -> Any:
        """Give the values, of shape [examples, numbers]."""
        return transformation_cache.get(self, state_manager)

    def create_state(self, state_manager: Any) -> None:
        """Let a linear model make a variable for each member."""
        layer = state_manager._layer
        if isinstance(layer, linear._LinearModelLayer):
            layer._state_manager = _OneVariableEach.taking_over(state_manager)

    def get_config(self) -> dict[str, Any]:
        """Refuse: Estimators do not save columns."""
        raise NotImplementedError

    @classmethod
    def from_config(
        cls, config: Any, custom_objects: Any = None, columns_by_name: Any = None
    ) -> Any:
        """Refuse: Estimators do not save columns."""
        raise NotImplementedError


def together(columns: Sequence[Any]) -> list[Any]:
    """Let numeric columns be read together that have no function of their own, or functions of one form.

    Args:
        columns: Feature columns of one part of a model.

    Returns:
        Columns in the order of their names; of those that follow each other, one in place of several.
    """
    ordered = sorted(columns, key=lambda column: column.name)
    joined: list[Any] = []
    treatments = [_treatment(column) for column in ordered]
    for form, run in groupby(zip(ordered, treatments, strict=True), lambda pair: _form(*pair)):
        members, found = zip(*run, strict=True)
        if form is None or len(members) == 1:
            joined += members
        else:
            joined.append(NumbersTogether(members, tuple(each for each in found if each)))
    return joined


def with_joint_columns(
    features: Features, columns: Sequence[Any], keys: Mapping[str, str]
) -> Mapping[str, Any]:
    """Add the tensors of columns that are read together to features that came packed.

    Args:
        features: Features by their names in the data.
        columns: The feature columns of a model.
        keys: Names of features inside the model, by their names in the data.

    Returns:
        The same features, and a tensor by the ``key`` of each column whose numbers are in tensors.
    """
    wanted = {each.key: each for each in columns if isinstance(each, NumbersTogether)}
    if not wanted:
        return features
    names = {key: name for name, key in keys.items()}
    found = {
        key: features.side_by_side(
            [names[member.key] for member in each.members],
            # Functions get the numbers as they are in the data.
            only_float32=bool(each.treatments),
        )
        for key, each in wanted.items()
    }
    return {**features, **{key: value for key, value in found.items() if value is not None}}


class _OneVariableEach(columns_lib._StateManagerImpl):
    """A linear model's variables: one for each member of columns that are read together."""

    @classmethod
    def taking_over(cls, manager: Any) -> Any:
        """Make a manager that knows what another knows."""
        made = cls(manager._layer, manager._trainable)
        made._cols_to_vars_map = manager._cols_to_vars_map
        made._cols_to_resources_map = manager._cols_to_resources_map
        return made

    def create_variable(self, feature_column: Any, name: str, shape: Any, **settings: Any) -> Any:
        """Make a variable; for columns that are read together one for each, in a scope of its own name."""
        if not isinstance(feature_column, NumbersTogether):
            return super().create_variable(feature_column, name=name, shape=shape, **settings)
        for member in feature_column.members:
            with variable_scope._pure_variable_scope(_scope(member)):
                own_shape = (_size(member), *shape[1:])
                super().create_variable(member, name=name, shape=own_shape, **settings)
        return None

    def get_variable(self, feature_column: Any, name: str) -> Any:
        """Find a variable; for columns that are read together all of theirs, one below the other."""
        if not isinstance(feature_column, NumbersTogether):
            return super().get_variable(feature_column, name)
        found = [self._cols_to_vars_map[member][name] for member in feature_column.members]
        return tf.concat(found, 0)


def _scope(member: Any) -> Any:
    """Make the scope of a column's variables: the open one's neighbour."""
    scope = copy.copy(variable_scope.get_variable_scope())
    above = scope.name.rpartition("/")[0]
    own = columns_lib._sanitize_column_name_for_variable_scope(member.name)
    scope._name = f"{above}/{own}" if above else own
    return scope


def _treatment(column: Any) -> Treatment | None:
    function = getattr(column, "normalizer_fn", None)
    return None if function is None else treatment_of(function, column.shape)


def _form(column: Any, treatment: Treatment | None) -> bytes | None:
    """Say what columns must have in common to be read together; None for those that cannot be."""
    if not isinstance(column, columns_lib.NumericColumn):
        return None
    if column.normalizer_fn is None:
        return b""
    return None if treatment is None else treatment.structure


def _size(member: Any) -> int:
    return int(member.variable_shape.num_elements())
