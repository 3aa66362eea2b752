"""Where examples come from: each description becomes a tf.data.Dataset in whichever process performs it."""

from tfdistribute.inputs import (
    arrow_file,
    csv_file,
    dataset_function,
    fixed_length,
    generator,
    in_memory,
    parquet_file,
    tfrecord,
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
    "parquet_file",
    "tfrecord",
]
