"""The one list of what the fields of a saved model may be: numbers, names, files and code.

Code is whatever decides which program runs, what it is told, or which file or machine outside of the model is read.
Numbers and choices never do, so only other fields are annotated by ``Fact``, or are in the lists here, as
"Class.field". A field that nobody has judged counts as code.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any, cast

from tfdistribute.descriptions import Description
from tfdistribute.descriptions.constraints import Fact
from tfdistribute.descriptions.fields import fields_of, is_closed

# Text that is compared with known names or with names in the data, or becomes part of a name.
NAMES = frozenset(
    (
        # load_estimator() chooses the directory.
        "Model.model_dir",
        *("Canned.weight_column", "Canned.loss_reduction", "Classifier.label_vocabulary"),
        *("Linear.sparse_combiner", "Deep.activation_fn"),
        *("Combined.dnn_activation_fn", "Combined.linear_sparse_combiner"),
        *("FunctionModel.model_class", "FunctionModel.loss_reduction"),
        *("KerasModel.matrix_features", "KerasModel.weights"),
        *("NamedOptimizer.name", "NamedOptimizer.settings"),
        *("NamedInitializer.name", "NamedInitializer.settings"),
        *("WarmStart.vars_to_warm_start", "WarmStart.var_name_to_prev_var_name"),
        *("Numeric.key", "Numeric.dtype", "Categorical.key", "HashBucket.dtype"),
        *("VocabularyList.vocabulary_list", "VocabularyList.dtype", "VocabularyFile.dtype"),
        *("Crossed.keys", "Weighted.weight_feature_key", "Weighted.dtype"),
        *("Embedding.combiner", "Embedding.tensor_name_in_ckpt"),
    )
)

# Paths of files, which must be members of the model file: `file_fields` of save-values.R packs them.
FILES = frozenset(("VocabularyFile.vocabulary_file", "KerasModel.path"))

CODE = frozenset(
    (
        *("Custom.model_fn", "Custom.params", "TrainingLoop.params", "TrainingLoop.build_parts"),
        *("TrainingLoop.train_step", "TrainingLoop.eval_step", "TrainingLoop.predict_step"),
        # Layers can be code.
        *("KerasModel.path", "KerasModel.function", "KerasModel.custom_objects"),
        *("Wrapped.estimator", "OptimizerInstance.object", "OptimizerFunction.function"),
        *("InitializerFunction.function", "Numeric.normalizer_fn"),
        # Checkpoints elsewhere.
        *("WarmStart.ckpt_to_initialize_from", "Embedding.ckpt_to_load_from"),
    )
)


def is_in(listed: frozenset[str], of: type[Description], name: str) -> bool:
    return any(f"{each.__name__}.{name}" in listed for each in of.__mro__)


def code_in(description: Description) -> list[str]:
    """Return the fields that hold code, such as "optimizer$function"."""
    return list(_code_in(description, "", is_name=False))


def files_in(description: Description) -> Iterator[tuple[str, str]]:
    for name, value in _fields(description):
        if value is not None and is_in(FILES, type(description), name):
            yield name, value
        for part in value if isinstance(value, tuple) else (value,):
            if isinstance(part, Description):
                yield from files_in(part)


def _fields(description: Description) -> Iterator[tuple[str, Any]]:
    for field in dataclasses.fields(cast(Any, description)):
        yield field.name, getattr(description, field.name)


def _code_in(value: Any, place: str, *, is_name: bool) -> Iterator[str]:
    if value is None or isinstance(value, (int, float)) or (is_name and isinstance(value, str)):
        return
    if isinstance(value, Description):
        for name, inner in _fields(value):
            yield from _code_in_field(type(value), name, inner, f"{place}${name}".lstrip("$"))
    elif isinstance(value, (tuple, list, Mapping)):
        parts = value.values() if isinstance(value, Mapping) else value
        for each in cast("Iterator[Any]", parts):
            yield from _code_in(each, place, is_name=is_name)
    else:
        yield place


def _code_in_field(of: type[Description], name: str, value: Any, place: str) -> Iterator[str]:
    facts = fields_of(of)[name].facts
    if Fact.CODE in facts or is_in(CODE, of, name):
        yield from (place,) if value not in (None, {}) else ()
    else:
        is_name = Fact.NAME in facts or is_closed(fields_of(of)[name].options)
        is_name = is_name or is_in(NAMES, of, name) or is_in(FILES, of, name)
        yield from _code_in(value, place, is_name=is_name)
