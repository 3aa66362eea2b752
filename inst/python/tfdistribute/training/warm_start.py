"""Comparison of a model with the model of its warm start, in which a position may have another meaning."""

import os
import re
from collections.abc import Mapping
from typing import Any

from tfdistribute import storage
from tfdistribute.checkpoints.newest import newest_checkpoint
from tfdistribute.errors import ModelError
from tfdistribute.models import FactorCodes, Model, WarmStart, safe_key
from tfdistribute.models.differences import columns_of, find_difference, plain, show
from tfdistribute.training.model_directory import ModelDirectory

# Fields of a column that change no weight's meaning, and fields of the categories, whose rows follow their names.
_FREE, _CATEGORIES = ("default_value", "trainable"), ("num_oov_buckets", "vocabulary_list")
_OUTPUTS = ("dnn/logits/kernel", "dnn/logits/bias", "linear/linear_model/bias_weights")
_FIRST_LAYER = "dnn/hiddenlayer_0/kernel"

# Categories in the checkpoint and in this model, by name of the variable.
Vocabularies = dict[str, tuple[list[Any], list[Any]]]


def compare_warm_start(model: Model, codes: FactorCodes) -> Vocabularies:
    """Return the categories that have other positions in the checkpoint of a model's warm start.

    Raises ModelDirectoryError if there is no checkpoint, and ModelError if a weight of the checkpoint has another
    meaning in this model. The checkpoint of another program has no signature, so its positions are taken as they are.
    """
    start: WarmStart | None = getattr(model, "warm_start_from", None)
    # A trained model continues from its own checkpoint, even if the checkpoint of its warm start is gone.
    if start is None or newest_checkpoint(model.model_dir) is not None:
        return {}
    start.check()
    path = start.ckpt_to_initialize_from
    source = ModelDirectory(path if storage.is_directory(path) else os.path.dirname(path))
    if source.structure is None:
        return {}
    comparison = _Comparison(start, source.structure, plain(model.structure()))
    comparison.check_levels(source.codes, codes)
    comparison.check_classes()
    return {**comparison.linear(), **comparison.deep()}


class _Comparison:
    def __init__(
        self, start: WarmStart, source: Mapping[str, Any], structure: Mapping[str, Any]
    ) -> None:
        self._start = start
        self._source, self._own = source, structure
        self._columns = [columns_of(each) for each in (source, structure)]

    def check_levels(self, source: FactorCodes, codes: FactorCodes) -> None:
        pairs = [(name, source.features.get(name), own) for name, own in codes.features.items()]
        for name, known, own in [*pairs, ("the response", source.label, codes.label)]:
            if known is not None and own is not None and known != own:
                raise self._error(
                    f"the levels of the factor `{name}` are {show(known)}, this model's are {show(own)}",
                    "Give the factor these levels, as in factor(x, levels = ).",
                    name,
                )

    def check_classes(self) -> None:
        known, own = (each.get("label_vocabulary") for each in (self._source, self._own))
        if known != own and known is not None and own is not None and self._takes(*_OUTPUTS):
            raise self._error(
                f"the classes (`label_vocabulary`) are {show(known)}, this model's are {show(own)}",
                "Give `label_vocabulary` in the same order, or leave the output layer out with `vars_to_warm_start`.",
                "label_vocabulary",
            )

    def linear(self) -> Vocabularies:
        exchanged: Vocabularies = {}
        source, own = (columns["linear"] for columns in self._columns)
        for name, column in own.items():
            variable = f"linear/linear_model/{safe_key(name)}/weights"
            if not self._takes(variable):
                continue
            known = self._previous(source, variable, name)
            if known is None:
                continue
            self._check_column(
                name, known, column, _CATEGORIES if column["kind"] != "embedding" else ()
            )
            exchanged |= _exchange(variable, known, column)
        return exchanged

    def deep(self) -> Vocabularies:
        exchanged: Vocabularies = {}
        source, own = (columns["dnn"] for columns in self._columns)
        reads = self._takes(_FIRST_LAYER)
        if reads and source and own and sorted(source) != sorted(own):
            raise self._error(
                f"the layers read {', '.join(sorted(source))}, this model's layers read {', '.join(sorted(own))}",
                "Leave the first layer out with `vars_to_warm_start`, or give the same columns.",
                next(iter({*own} ^ {*source})),
            )
        for name, column in own.items():
            known, embedded = source.get(name), column["kind"] == "embedding"
            table = f"{_TABLES}/{safe_key(name)}/embedding_weights"
            if known is not None and (reads or (embedded and self._takes(table))):
                self._check_column(name, known, column, _CATEGORIES if embedded else ())
            if known is not None and embedded and self._takes(table):
                exchanged |= _exchange(table, known, column)
        return exchanged

    def _takes(self, *variables: str) -> bool:
        patterns = self._start.vars_to_warm_start
        several = [patterns] if isinstance(patterns, str) else patterns
        return any(re.match(pattern, f"{name}:0") for pattern in several for name in variables)

    def _previous(self, source: Mapping[str, Any], variable: str, name: str) -> Any:
        renamed = (self._start.var_name_to_prev_var_name or {}).get(variable)
        if renamed is None:
            return source.get(name)
        scopes = {safe_key(each): column for each, column in source.items()}
        return scopes.get(renamed.split("/")[-2] if "/" in renamed else "")

    def _check_column(self, name: str, known: Any, column: Any, free: tuple[str, ...]) -> None:
        found = find_difference(known, column, {*_FREE, *free, "name"})
        if found is not None:
            raise self._error(
                found.of_column(name),
                "Give the column of the trained model, or leave its weights out with `vars_to_warm_start`.",
                name,
            )

    def _error(self, difference: str, remedy: str, argument: str) -> ModelError:
        path = self._start.ckpt_to_initialize_from
        return ModelError(
            f'`warm_start_from` "{path}" holds another model: {difference}.',
            remedy,
            value=argument,
        )


_TABLES = "dnn/input_from_feature_columns/input_layer"


def _exchange(variable: str, known: Any, column: Any) -> Vocabularies:
    old, new = _categories(known), _categories(column)
    return {} if old is None or new is None or old == new else {variable: (old, new)}


def _categories(column: Any) -> list[Any] | None:
    """Return the categories of a column's rows by name, buckets of unlisted values included; None without a list."""
    while "categorical_column" in column:
        column = column["categorical_column"]
    if "vocabulary_list" not in column:
        return None
    buckets = column["num_oov_buckets"]
    # A value's bucket depends on the number of buckets.
    return [*column["vocabulary_list"], *((buckets, bucket) for bucket in range(buckets))]
