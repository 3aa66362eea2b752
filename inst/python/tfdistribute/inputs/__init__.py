"""Where examples come from: each description becomes a tf.data.Dataset in whichever process performs it."""

from tfdistribute.inputs import (
    arrow_file,
    csv_file,
    dataset_function,
    fixed_length,
    generator,
    in_memory,
    mapped,
    parquet_file,
    tfrecord,
    transformed,
)
from tfdistribute.inputs.description import Input, Purpose

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
