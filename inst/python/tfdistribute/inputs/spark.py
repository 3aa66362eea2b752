"""Spark DataFrames: summaries of their columns, and their rows as Parquet files.

The functions use SQL in text, which DataFrames of a classic session and of Spark Connect understand alike.
"""

import contextlib
import importlib
import math
import secrets
from collections.abc import Generator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tfdistribute import storage
from tfdistribute.cluster.frameworks.spark import join_context, reason_of
from tfdistribute.errors import InputError, TfdistributeError
from tfdistribute.files import absolute_path, is_remote
from tfdistribute.inputs.tables.parquet_file import Parquet

# The type of a column, by the name of Spark's type.
_TYPES: Mapping[str, str] = {
    "byte": "integer",
    "short": "integer",
    "integer": "integer",
    "long": "integer64",
    "float": "float",
    "double": "float",
    "decimal": "float",
    "boolean": "logical",
    "string": "string",
    "date": "date",
    "timestamp": "datetime",
}
_SHARED = (
    "Give a directory that this machine, the executors of Spark and all tasks share, as in "
    'staging = "/shared/rows".'
)


def open_table(session: Any, query: str) -> Any:
    """Return the DataFrame of a query.

    Args:
        session: A SparkSession, or the address of a classic one on this machine.
    """
    with explain_spark_errors("Spark does not run the query of the data"):
        if isinstance(session, str):
            # On the main thread, pyspark takes Ctrl-C away from R.
            with ThreadPoolExecutor(1) as thread:
                context = thread.submit(join_context, session).result()
            if context is None:
                raise InputError("The connection to Spark is closed.", "Connect again.")
            # Its updates would wait for a thread of Python, which cannot run while R waits for Spark.
            context._javaAccumulator = None
            session = importlib.import_module("pyspark.sql").SparkSession(context)
        return session.sql(query)


def column_types(table: Any) -> dict[str, str]:
    """Return the type of each column, one of ``columns.TYPES``, or the name of a type that TensorFlow lacks."""
    with explain_spark_errors("Spark does not describe the data"):
        fields = table.schema.fields
    return {
        each.name: _TYPES.get(each.dataType.typeName(), f"Spark's {each.dataType.simpleString()}")
        for each in fields
    }


def summarize(table: Any, names: tuple[str, ...]) -> dict[str, Any]:
    """Compute the number of rows, and of each column its sorted labels, or its mean and standard deviation."""
    types = column_types(table)
    expressions = ["count(1)"]
    for name in names:
        if types[name] == "string":
            expressions.append(f"sort_array(collect_set({quoted(name)}))")
        else:
            number = f"nanvl(cast({number_of(name, types[name])} as double), cast(null as double))"
            expressions += [f"avg({number})", f"stddev_samp({number})"]
    with explain_spark_errors("Spark does not summarize the data"):
        values = iter(table.selectExpr(*expressions).collect()[0])
    rows = next(values)
    columns: dict[str, dict[str, Any]] = {}
    for name in names:
        if types[name] == "string":
            columns[name] = {"labels": list(next(values))}
        else:
            mean, deviation = (
                math.nan if each is None else each for each in (next(values), next(values))
            )
            columns[name] = {"mean": mean, "deviation": deviation}
    return {"rows": rows, "columns": columns}


def write_rows(table: Any, names: tuple[str, ...], staging: str) -> list[str]:
    """Write columns as Parquet files into a new directory below ``staging``, and return the paths of the files.

    Raises InputError if Spark cannot write there, or this machine does not see all rows.
    """
    staging = absolute_path(staging)
    directory = f"{staging.rstrip('/')}/spark-rows-{secrets.token_hex(8)}"
    try:
        with explain_spark_errors(
            f'Spark cannot write the rows into `staging` "{staging}"', _SHARED
        ):
            storage.of(staging).make_directory(staging)
            rows = _write(table.select(*map(quoted, names)), directory)
        found = [each for each in storage.of(directory).names(directory) if each[0] not in "._"]
        paths = [f"{directory}/{each}" for each in found]
        seen = Parquet(paths=tuple(paths)).facts().rows if paths else 0
        if seen != rows:
            raise InputError(
                f'Spark wrote {rows} rows into `staging` "{staging}", and this machine sees {seen} rows there.',
                _SHARED,
                argument="staging",
                value=staging,
            )
    except BaseException:
        storage.of(directory).remove_directory(directory)
        raise
    return paths


def remove_rows(paths: tuple[str, ...]) -> None:
    """Remove the directory of the files that ``write_rows`` wrote."""
    directory = paths[0].rpartition("/")[0]
    storage.of(directory).remove_directory(directory)


def _write(table: Any, directory: str) -> int:
    package = "pyspark.sql"
    if type(table).__module__.startswith("pyspark.sql.connect."):
        package = "pyspark.sql.connect"
    functions = importlib.import_module(f"{package}.functions")
    observed = importlib.import_module(f"{package}.observation").Observation()
    counted = table.observe(observed, functions.count(functions.lit(1)).alias("rows"))
    counted.write.parquet(directory if is_remote(directory) else f"file://{directory}")
    return observed.get.get("rows", 0)


def quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


def number_of(name: str, column_type: str) -> str:
    """Return SQL for the values of a column, which are days since 1970-01-01 for dates."""
    value = quoted(name)
    return f"datediff({value}, date'1970-01-01')" if column_type == "date" else value


@contextlib.contextmanager
def explain_spark_errors(problem: str, remedy: str | None = None) -> Generator[None]:
    """Raise any other error of Spark as an InputError, which has its reason."""
    try:
        yield
    except TfdistributeError:
        raise
    except ImportError as error:
        raise InputError(
            f"{problem}: {error}.",
            "Install the version of the Spark cluster in the Python of this session, such as pip install "
            '"pyspark[connect]==4.0.1".',
        ) from error
    except Exception as error:
        raise InputError(f"{problem}: {reason_of(error)}.", remedy, argument="data") from error
