"""Prediction on the executors of Spark, which need TensorFlow but not this package."""

import importlib
import importlib.util
import io
import os
import socket
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tfdistribute import engine
from tfdistribute.columns import ColumnFacts, list_columns
from tfdistribute.errors import BackendError, InputError
from tfdistribute.inputs.spark import column_types, explain_spark_errors, number_of, quoted
from tfdistribute.models import Model, tensors_receiver
from tfdistribute.run_config import RunSettings
from tfdistribute.training.export import export_savedmodel
from tfdistribute.training.model_directory import ModelDirectory, trained_columns
from tfdistribute.training.predict import select_outputs

# The types of Spark and Arrow for tensors.
_TYPES = {
    "float32": ("FloatType", "float32"),
    "float64": ("DoubleType", "float64"),
    "int32": ("IntegerType", "int32"),
    "int64": ("LongType", "int64"),
    "bool": ("BooleanType", "bool_"),
    "string": ("StringType", "string"),
}
_SQL = {"float32": "float", "float64": "double", "int32": "int", "int64": "bigint"}
_NUMBERS = {"float", "double", "integer", "integer64", "logical"}
_NEEDED = "tensorflow"
# Tasks of the check, so that each executor of a small cluster gets one.
_PROBES = 8
_REMEDY = "Install TensorFlow, pandas and pyarrow in the Python of the executors, which spark.pyspark.python names."


def predict_table(
    model: Model,
    settings: RunSettings,
    table: Any,
    *,
    checkpoint_path: str | None = None,
    predict_keys: Sequence[str] | None = None,
    hidden_keys: Sequence[str] | None = None,
) -> Any:
    """Return a Spark DataFrame with the columns of ``table`` and the outputs of the model.

    Spark predicts when the rows are read. They need not be in order, so that their columns are kept.

    Raises:
        ArgumentError: if the model has none of the outputs in predict_keys.
        BackendError: if executors lack something.
        InputError: if the columns do not fit the model.
        ModelDirectoryError: if the model was not trained.
    """
    trained_columns(model.model_dir, "predict")
    features = ModelDirectory(model.model_dir).features or {}
    casts = _casts(table, features)
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "model")
        request = tensors_receiver(features)
        export_savedmodel(model, settings, path, request=request, checkpoint_path=checkpoint_path)
        loaded = engine.tf.saved_model.load(path)
        outputs = select_outputs(loaded.signatures["predict"].structured_outputs, predict_keys)
        archive = _pack(Path(path))
    hidden = hidden_keys or () if predict_keys is None else ()
    kinds, schema = _describe(table, {key: outputs[key] for key in outputs.keys() - set(hidden)})
    pickle = importlib.import_module("pyspark.cloudpickle")
    # The executors have no module of this package.
    pickle.register_pickle_by_value(sys.modules[__name__])
    with explain_spark_errors("Spark does not predict", _REMEDY):
        _check_executors(table.sparkSession)
        predict = make_predict(archive, list(features), kinds)
        return table.selectExpr("*", *casts).mapInArrow(predict, schema)


def _describe(table: Any, outputs: Mapping[str, Any]) -> tuple[dict[str, tuple[str, bool]], Any]:
    """Return Arrow's type of each output, whether it has one value per row, and the schema of the result."""
    types = importlib.import_module("pyspark.sql.types")
    schema = types.StructType(list(table.schema.fields))
    kinds: dict[str, tuple[str, bool]] = {}
    for name, output in sorted(outputs.items()):
        if name in table.columns:
            problem = f"The data has a column `{name}`, which is also an output of the model."
            raise InputError(problem, "Rename the column in Spark.", argument=name)
        is_single = output.shape.rank is not None and set(output.shape[1:]) <= {1}
        of_spark, of_arrow = _TYPES[output.dtype.name]
        item = getattr(types, of_spark)()
        schema = schema.add(name, item if is_single else types.ArrayType(item))
        kinds[name] = (of_arrow, is_single)
    return kinds, schema


def _casts(table: Any, features: Mapping[str, ColumnFacts]) -> list[str]:
    """Make the expressions of SQL for the features, with the types that the model was trained with."""
    types = column_types(table)
    casts: list[str] = []
    for name, facts in features.items():
        if name not in types:
            problem = f"The data has no column `{name}`, which the model was trained with."
            raise InputError(problem, list_columns(types), argument=name)
        if facts.shape or not (types[name] == facts.type or {types[name], facts.type} <= _NUMBERS):
            trained = facts.type if not facts.shape else f"several {facts.type} per row"
            raise InputError(
                f"The column `{name}` is {types[name]}, and the model was trained with {trained}.",
                "Convert the column in Spark, or collect the rows and predict in this session.",
                argument=name,
            )
        target = _SQL.get(facts.dtype, "string")
        number = number_of(name, types[name])
        casts.append(f"cast({number} as {target}) as {quoted(f'feature {len(casts)}')}")
    return casts


def _pack(directory: Path) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for path in sorted(directory.rglob("*")):
            archive.write(path, path.relative_to(directory))
    return content.getvalue()


def _check_executors(session: Any) -> None:
    rows = session.range(0, _PROBES, 1, _PROBES).mapInArrow(find_problems, "problem string")
    problem = max(row[0] for row in rows.collect())
    if problem:
        raise BackendError(f"The executors of Spark cannot predict: {problem}.", _REMEDY)


# What follows runs on executors.


def find_problems(batches: Iterable[Any]) -> Iterator[Any]:
    pyarrow = importlib.import_module("pyarrow")
    problem = ""
    if importlib.util.find_spec(_NEEDED) is None:
        problem = f"{socket.gethostname()} has no {_NEEDED} in the Python {sys.executable}"
    for batch in batches:
        yield pyarrow.RecordBatch.from_arrays(
            [pyarrow.array([problem] * batch.num_rows)], ["problem"]
        )


def make_predict(
    archive: bytes, features: list[str], outputs: dict[str, tuple[str, bool]]
) -> Callable[..., Any]:
    """Make the function of batches, whose last columns are the features, that puts the outputs in their place."""

    def predict(batches: Iterable[Any]) -> Iterator[Any]:
        pyarrow = importlib.import_module("pyarrow")
        tensorflow = importlib.import_module("tensorflow")
        with tempfile.TemporaryDirectory() as directory:
            with zipfile.ZipFile(io.BytesIO(archive)) as packed:
                packed.extractall(directory)
            loaded = tensorflow.saved_model.load(directory)
        for batch in batches:
            if batch.num_rows == 0:
                continue
            first = batch.num_columns - len(features)
            tensors = {
                name: tensorflow.constant(complete(batch.column(first + index), name))
                for index, name in enumerate(features)
            }
            results = loaded.signatures["predict"](**tensors)
            arrays = [
                as_column(pyarrow, results[name].numpy(), *each) for name, each in outputs.items()
            ]
            yield pyarrow.RecordBatch.from_arrays(
                [*batch.columns[:first], *arrays], [*batch.schema.names[:first], *outputs]
            )

    return predict


def complete(column: Any, name: str) -> Any:
    values = column.to_numpy(zero_copy_only=False)
    numpy = importlib.import_module("numpy")
    if column.null_count or (values.dtype.kind == "f" and numpy.isnan(values).any()):
        raise ValueError(f"The column `{name}` has a missing value, which the model cannot use.")
    return values


def as_column(pyarrow: Any, values: Any, kind: str, is_single: bool) -> Any:
    item = getattr(pyarrow, kind)()
    if is_single:
        return pyarrow.array(values.ravel().tolist(), item)
    return pyarrow.array(values.reshape(len(values), -1).tolist(), pyarrow.list_(item))
