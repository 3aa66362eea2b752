"""Where examples come from: each description becomes a tf.data.Dataset in whichever process performs it."""

from tfdistribute.inputs.description import Input, Purpose
from tfdistribute.inputs.functions import dataset_function, generator, transformed
from tfdistribute.inputs.memory import in_memory, mapped
from tfdistribute.inputs.records import fixed_length, tfrecord
from tfdistribute.inputs.tables import arrow_file, csv_file, parquet_file

__all__ = [
    "Input",
    "Purpose",
    "arrow_file",
    "csv_file",
    "dataset_function",
    "fixed_length",
    "generator",
    "in_memory",
    "mapped",
    "parquet_file",
    "tfrecord",
    "transformed",
]
